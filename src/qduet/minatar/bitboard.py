"""Boards in bits: a row of the grid is a mask in which bit x stands for column x.

A mask turns a rule about a whole row into one operation, without indexing. Games draw themselves as
row masks (`rows`, uint32[channels, 10]). Packed, an observation has 100 bits a channel: 50 bytes
for 4 channels and 125 for 10. Bit `100 c + 10 y + x` is cell (y, x) of channel c, the lowest bit of
a byte first; four rows of 10 bits are five bytes, so packing needs only fixed shifts.
"""

import jax
import jax.numpy as jnp

from qduet.core.xla import computed_once

SIZE = 10
"""The grid is SIZE by SIZE cells."""

FULL_ROW = 2**SIZE - 1
"""All ten columns."""


def cell(x: jax.Array) -> jax.Array:
    """The mask of column x; empty where x is off the grid."""
    # A shift by a negative or too large amount gives 0 in XLA.
    return (jnp.uint32(1) << x.astype(jnp.uint32)) & FULL_ROW


def cell_if(present: jax.Array, x: jax.Array) -> jax.Array:
    """The mask of column x where `present`, else empty."""
    return jnp.where(present, cell(x), jnp.uint32(0))


def one_cell(y: jax.Array, x: jax.Array) -> jax.Array:
    """The ten rows of a channel that shows only cell (y, x)."""
    return jnp.where(jnp.arange(SIZE) == y, cell(x), jnp.uint32(0))


def one_row(y: int, row: jax.Array) -> jax.Array:
    """The ten rows of a channel that shows `row` at height y, and nothing else."""
    return jnp.where(jnp.arange(SIZE) == y, row, jnp.uint32(0))


def middle_rows(rows: jax.Array) -> jax.Array:
    """The ten rows of a channel from its rows 1 to 8, uint32[8]; the others are empty."""
    return jnp.pad(rows, (1, 1))


def shift_up(board: jax.Array) -> jax.Array:
    """A map, uint32[10], moved up one row; the top row leaves."""
    return jnp.concatenate([board[1:], jnp.zeros_like(board[:1])])


def shift_down(board: jax.Array) -> jax.Array:
    """A map, uint32[10], moved down one row; the bottom row leaves."""
    return jnp.concatenate([jnp.zeros_like(board[:1]), board[:-1]])


def count_cells(board: jax.Array) -> jax.Array:
    """How many cells of a map are set (int32)."""
    return jnp.sum(jax.lax.population_count(board).astype(jnp.int32))


def lowest(mask: jax.Array) -> jax.Array:
    """The lowest set bit, alone; 0 for an empty mask."""
    return mask & -mask


def highest(mask: jax.Array) -> jax.Array:
    """The highest set bit, alone; 0 for an empty mask."""
    # The shift by 32 that an empty mask asks for gives 0 in XLA.
    return jnp.uint32(2**31) >> jax.lax.clz(mask)


# --- Observations ---------------------------------------------------------------------------------


def packed_size(num_channels: int) -> int:
    """Bytes that hold `num_channels` channels."""
    return -(-num_channels * SIZE * SIZE // 8)


def dense(rows: jax.Array) -> jax.Array:
    """Row masks [channels, 10] -> bool[10, 10, channels]."""
    columns = jnp.arange(SIZE, dtype=rows.dtype)[None, :, None]
    return (computed_once(rows).T[:, None, :] >> columns) & 1 == 1


def pack(rows: jax.Array) -> jax.Array:
    """Row masks [channels, 10] -> uint8[packed_size(channels)]."""
    num_channels = rows.shape[0]
    # Without the barrier the GPU compiler computes the picture again for each byte.
    flat = jax.lax.optimization_barrier(computed_once(rows)).reshape(-1)
    fours = jnp.pad(flat, (0, -flat.size % 4)).reshape(-1, 4)
    a, b, c, d = (fours[:, i] for i in range(4))
    octets = (a, a >> 8 | b << 2, b >> 6 | c << 4, c >> 4 | d << 6, d >> 2)
    whole = jnp.stack(octets, axis=-1).astype(jnp.uint8)
    return whole.reshape(-1)[: packed_size(num_channels)]


def unpack(packed: jax.Array, num_channels: int) -> jax.Array:
    """uint8[packed_size(channels)] -> bool[10, 10, channels], what `observe` gives."""
    bits = jnp.unpackbits(packed, bitorder="little")[: num_channels * SIZE * SIZE]
    return bits.reshape(num_channels, SIZE, SIZE).transpose(1, 2, 0).astype(bool)
