"""Seaquest's picture: ten channels. `row_masks` also serves the rules, in `seaquest`."""

import jax
import jax.numpy as jnp

from qduet.minatar import seaquest_slots as slots
from qduet.minatar.bitboard import FULL_ROW, middle_rows, one_cell, one_row
from qduet.minatar.packing import SIZE
from qduet.minatar.seaquest_state import FULL_OXYGEN, Bullet, Diver, Enemies, SeaquestState

CHANNELS = (
    "sub_front",
    "sub_back",
    "friendly_bullet",
    "trail",
    "enemy_bullet",
    "fish",
    "enemy_sub",
    "oxygen_gauge",
    "diver_gauge",
    "diver",
)

NUM_ROWS = 8
"""Enemies, their bullets and divers swim in rows 1 to 8."""


def by_row(enemies: Enemies, chosen: slots.Set) -> jax.Array:
    """The set `chosen`, split by row: uint32[8], one set for each of rows 1 to 8."""
    return chosen & slots.equal(enemies.y, jnp.arange(1, NUM_ROWS + 1))


def row_masks(enemies: Enemies, chosen: slots.Set) -> jax.Array:
    """Where the enemies of the set are: uint32[8], a mask of columns for each of rows 1 to 8."""
    columns = jnp.arange(SIZE)
    in_cell = by_row(enemies, chosen)[:, None] & slots.equal(enemies.x, columns)[None, :]
    bits = jnp.where(in_cell != 0, (jnp.uint32(1) << columns.astype(jnp.uint32))[None, :], 0)
    return jax.lax.reduce_or(bits, axes=(1,))


def row_moves_right(enemies: Enemies, chosen: slots.Set) -> jax.Array:
    """Whether the enemies of the set in each row move right: bool[8]; a row has one direction."""
    return by_row(enemies, chosen & enemies.moves_right) != 0


def enemy_trails(enemies: Enemies, masks: jax.Array) -> jax.Array:
    """The cells behind the enemies that stand at `masks`, both uint32[8]."""
    moves_right = row_moves_right(enemies, enemies.alive)
    return jnp.where(moves_right, masks >> 1, (masks << 1) & FULL_ROW)


def drawn(thing: Bullet | Diver, x: jax.Array) -> jax.Array:
    """A bullet or diver as a channel, in column x of its row."""
    return one_cell(jnp.where(thing.alive, thing.y, -1), x)


def behind(diver: Diver) -> jax.Array:
    """The column of the diver's trail."""
    return jnp.where(diver.moves_right, diver.x - 1, diver.x + 1)


def oxygen_gauge(oxygen: jax.Array) -> jax.Array:
    """The oxygen left, as columns from the left."""
    return cell_below(jnp.maximum(oxygen, 0) * SIZE // FULL_OXYGEN)


def diver_gauge(count: jax.Array) -> jax.Array:
    """The divers aboard, as columns that end at column 8; none for a negative count."""
    count = jnp.maximum(count, 0)
    return cell_below(count) << (9 - count).astype(jnp.uint32)


def cell_below(x: jax.Array) -> jax.Array:
    """All columns left of x."""
    return (jnp.uint32(1) << x.astype(jnp.uint32)) - 1


def rows(state: SeaquestState) -> jax.Array:
    """The picture, uint32[10, 10]."""
    older_bullet, newer_bullet = state.older_bullet, state.newer_bullet
    older_diver, newer_diver = state.older_diver, state.newer_diver
    fish = row_masks(state.enemies, state.enemies.alive & ~state.enemies.subs)
    subs = row_masks(state.enemies, state.enemies.alive & state.enemies.subs)
    back = jnp.where(state.faces_right, state.sub_x - 1, state.sub_x + 1)
    return jnp.stack(
        [
            one_cell(state.sub_y, state.sub_x),
            one_cell(state.sub_y, back),
            drawn(older_bullet, older_bullet.x) | drawn(newer_bullet, newer_bullet.x),
            middle_rows(enemy_trails(state.enemies, fish | subs))
            | drawn(older_diver, behind(older_diver))
            | drawn(newer_diver, behind(newer_diver)),
            middle_rows(state.bullets_right | state.bullets_left),
            middle_rows(fish),
            middle_rows(subs),
            one_row(SIZE - 1, oxygen_gauge(state.oxygen)),
            one_row(SIZE - 1, diver_gauge(state.diver_count)),
            drawn(older_diver, older_diver.x) | drawn(newer_diver, newer_diver.x),
        ]
    )
