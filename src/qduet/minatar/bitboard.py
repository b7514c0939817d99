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
