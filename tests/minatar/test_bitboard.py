"""Packed observations and row masks, against plain NumPy."""

import jax.numpy as jnp
import numpy as np
import pytest

from qduet.minatar import bitboard


@pytest.mark.parametrize(("num_channels", "size"), [(4, 50), (6, 75), (7, 88), (10, 125)])
def test_packing_is_exact_and_tight(num_channels, size):
    rng = np.random.default_rng(num_channels)
    dense = rng.random((10, 10, num_channels)) < 0.4
    cells = dense.transpose(2, 0, 1)
    rows = jnp.asarray((cells << np.arange(10)).sum(-1), jnp.uint32)
    packed = bitboard.pack(rows)
    assert packed.dtype == jnp.uint8
    assert packed.shape == (size,) == (bitboard.packed_size(num_channels),)
    np.testing.assert_array_equal(packed, np.packbits(cells.reshape(-1), bitorder="little"))
    np.testing.assert_array_equal(bitboard.dense(rows), dense)
    np.testing.assert_array_equal(bitboard.unpack(packed, num_channels), dense)


def test_a_cell_off_the_grid_is_empty():
    assert bitboard.cell(jnp.arange(-1, 11)).tolist() == [0, *(2**x for x in range(10)), 0]


def test_lowest_and_highest_bits():
    masks = jnp.array([0, 1, 0b1010, 0b1000000000, 2**32 - 1], jnp.uint32)
    assert bitboard.lowest(masks).tolist() == [0, 1, 0b10, 0b1000000000, 1]
    assert bitboard.highest(masks).tolist() == [0, 1, 0b1000, 0b1000000000, 2**31]
