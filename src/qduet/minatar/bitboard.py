"""Rows of the grid as masks of ten bits: bit x stands for column x.

A mask turns a rule about a whole row into one operation, without indexing.
"""

import jax
import jax.numpy as jnp

from qduet.minatar.packing import SIZE

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
