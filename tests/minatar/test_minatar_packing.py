"""Packed observations, the words behind the games, and sets of slots, against plain NumPy."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qduet.minatar import bitboard, chance, packing, slots

WORDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize(("num_channels", "size"), [(4, 50), (6, 75), (7, 88), (10, 125)])
def test_packing_is_exact_and_tight(num_channels, size):
    rng = np.random.default_rng(num_channels)
    dense = rng.random((10, 10, num_channels)) < 0.4
    cells = dense.transpose(2, 0, 1)
    rows = jnp.asarray((cells << np.arange(10)).sum(-1), jnp.uint32)
    packed = packing.pack(rows)
    assert packed.dtype == jnp.uint8
    assert packed.shape == (size,) == (packing.packed_size(num_channels),)
    np.testing.assert_array_equal(packed, np.packbits(cells.reshape(-1), bitorder="little"))
    np.testing.assert_array_equal(packing.dense(rows), dense)
    np.testing.assert_array_equal(packing.unpack(packed, num_channels), dense)


def test_a_cell_off_the_grid_is_empty():
    assert bitboard.cell(jnp.arange(-1, 11)).tolist() == [0, *(2**x for x in range(10)), 0]


def test_a_value_computed_once_is_unchanged():
    for value in (jnp.uint32(0xDEADBEEF), jnp.array([True, False]), jnp.uint32(0)):
        once = packing.computed_once(value)
        assert once.dtype == value.dtype
        np.testing.assert_array_equal(once, value)


def test_lowest_and_highest_bits():
    masks = jnp.array([0, 1, 0b1010, 0b1000000000, 2**32 - 1], jnp.uint32)
    assert bitboard.lowest(masks).tolist() == [0, 1, 0b10, 0b1000000000, 1]
    assert bitboard.highest(masks).tolist() == [0, 1, 0b1000, 0b1000000000, 2**31]


@given(WORDS, st.sampled_from([0.0, 0.1, 1 / 3, 1 / 2, 1.0]))
@settings(max_examples=50, deadline=None)
def test_a_word_stands_for_a_uniform_number(word, probability):
    assert bool(chance.happens(jnp.uint32(word), probability)) == (word / 2**32 < probability)


def test_the_words_around_a_third_fall_on_the_right_sides():
    words = jnp.array([1_431_655_765, 1_431_655_766], jnp.uint32)  # 2^32 / 3 = 1431655765.33
    assert chance.happens(words, 1 / 3).tolist() == [True, False]


@given(WORDS, st.integers(1, 8))
@settings(max_examples=50, deadline=None)
def test_a_choice_below_a_bound(word, bound):
    expected = (word % 2**24) * bound // 2**24
    assert int(chance.below(jnp.uint32(word), jnp.int32(bound))) == expected


def test_digits_are_those_of_the_scaled_word():
    first = [-(-k * 2**32 // 625) for k in range(625)]  # the smallest word of each of 5^4 numbers
    words = [word + d for word in first for d in (-1, 0, 1) if word + d >= 0]
    digits = np.stack(chance.digits(jnp.array(words, jnp.uint32), 5, 4), -1)
    numbers = [word * 625 // 2**32 for word in words]
    assert digits.tolist() == [[n % 5, n // 5 % 5, n // 25 % 5, n // 125] for n in numbers]


def numbers_of(values):
    """Plain numbers as planes of four bits."""
    return tuple(
        jnp.uint32(sum(int(v >> j & 1) << i for i, v in enumerate(values))) for j in range(4)
    )


def test_numbers_in_slots():
    values = np.arange(32) % 16
    chosen = np.arange(32) % 3 == 0
    members = jnp.uint32(sum(1 << i for i in np.flatnonzero(chosen)))
    planes = numbers_of(values)
    for value in range(16):
        assert int(slots.equal(planes, value)) == sum(1 << i for i in range(32) if i % 16 == value)
    assert slots.increment(planes, members) == numbers_of((values + chosen) % 16)
    assert slots.decrement(planes, members) == numbers_of((values - chosen) % 16)
    assert slots.assign(planes, members, 9) == numbers_of(np.where(chosen, 9, values))


def test_first_slot_from_anywhere_in_the_ring():
    first_from = jax.jit(slots.first_from)
    for members, start in itertools.product(([], [0], [5, 9], [0, 31]), (0, 5, 6, 10, 31)):
        word = jnp.uint32(sum(1 << i for i in members))
        nearest = sorted(members, key=lambda i: (i - start) % 32)[:1]
        assert int(first_from(word, jnp.int32(start))) == sum(1 << i for i in nearest)
