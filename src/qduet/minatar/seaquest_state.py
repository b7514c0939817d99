"""Seaquest's state (submarine, bullets, divers, enemies, timers) and its picture of ten channels.

The rules are in `seaquest`; they use `row_masks` and `row_moves_right` too.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from qduet.minatar import seaquest_slots as slots
from qduet.minatar.bitboard import FULL_ROW, SIZE, middle_rows, one_cell, one_row

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

FULL_OXYGEN = 200
DIVER_CAPACITY = 6
SHOT_COOLDOWN = 5
ENEMY_SHOT_INTERVAL = 10
ENEMY_INTERVAL = 20
DIVER_INTERVAL = 30
ENEMY_MOVE_INTERVAL = 5
DIVER_MOVE_INTERVAL = 5


class Bullet(NamedTuple):
    """A shot of the player's."""

    alive: jax.Array
    """bool[]; if not, the other fields mean nothing."""
    x: jax.Array
    """int32[]"""
    y: jax.Array
    """int32[]"""
    moves_right: jax.Array
    """bool[]"""


class Diver(NamedTuple):
    """A diver waiting to be picked up."""

    alive: jax.Array
    """bool[]; if not, the other fields mean nothing."""
    x: jax.Array
    """int32[]"""
    y: jax.Array
    """int32[]"""
    moves_right: jax.Array
    """bool[]"""
    timer: jax.Array
    """int32[]: steps until it moves."""


class Enemies(NamedTuple):
    """Fish and enemy subs: 32 slots, filled in turn."""

    next_slot: jax.Array
    """int32[]: where the next enemy goes; from here, upwards and around, is oldest to newest."""
    alive: slots.Set
    """The slots that hold an enemy; the others' numbers mean nothing."""
    subs: slots.Set
    """Those that hold a sub; the rest are fish."""
    moves_right: slots.Set
    """All enemies of a row move in one direction."""
    x: slots.Numbers
    """Columns, in 4 bits; 15 and 10 are just off the grid."""
    y: slots.Numbers
    """Rows 1 to 8, in 4 bits."""
    move_timer: slots.Numbers
    """Steps until the enemy moves, in 3 bits."""
    shot_timer: slots.Numbers
    """Steps until a sub fires, in 4 bits; nothing to a fish."""


class SeaquestState(NamedTuple):
    """Everything that decides the rest of the game; int32[] where not said otherwise."""

    sub_x: jax.Array
    """The submarine's column; its front, not its back."""
    sub_y: jax.Array
    """Its row: 0 is the surface, 8 the lowest."""
    faces_right: jax.Array
    """bool[]"""
    at_surface: jax.Array
    """bool[]: has surfaced, and not dived since."""
    oxygen: jax.Array
    """Steps of air left, 200 when full."""
    diver_count: jax.Array
    """Divers aboard; below 0 after surfacing with six, and then surfacing is free."""
    shot_timer: jax.Array
    """Steps until the player may fire again."""
    older_bullet: Bullet
    """The player's shots; there are never more than two."""
    newer_bullet: Bullet
    older_diver: Diver
    """The divers on the board; there are never more than two."""
    newer_diver: Diver
    enemies: Enemies
    bullets_right: jax.Array
    """uint32[8]: the enemy bullets that move right, a mask for each of rows 1 to 8."""
    bullets_left: jax.Array
    """uint32[8]: those that move left."""
    spawn_speed: jax.Array
    """Steps between enemies."""
    spawn_timer: jax.Array
    """Steps until an enemy appears."""
    diver_timer: jax.Array
    """Steps until a diver appears."""
    move_speed: jax.Array
    """Steps between the moves of an enemy."""
    ramp_index: jax.Array
    """How often the difficulty has risen."""


def reset(draws: jax.Array) -> SeaquestState:
    """An empty sea, the submarine at the surface."""
    zero, no, no_slots = jnp.int32(0), jnp.bool_(False), jnp.uint32(0)
    return SeaquestState(
        sub_x=jnp.int32(5),
        sub_y=zero,
        faces_right=no,
        at_surface=jnp.bool_(True),
        oxygen=jnp.int32(FULL_OXYGEN),
        diver_count=zero,
        shot_timer=zero,
        older_bullet=Bullet(no, zero, zero, no),
        newer_bullet=Bullet(no, zero, zero, no),
        older_diver=Diver(no, zero, zero, no, zero),
        newer_diver=Diver(no, zero, zero, no, zero),
        enemies=Enemies(
            next_slot=zero,
            alive=no_slots,
            subs=no_slots,
            moves_right=no_slots,
            x=slots.zeros(4),
            y=slots.zeros(4),
            move_timer=slots.zeros(3),
            shot_timer=slots.zeros(4),
        ),
        bullets_right=jnp.zeros(8, jnp.uint32),
        bullets_left=jnp.zeros(8, jnp.uint32),
        spawn_speed=jnp.int32(ENEMY_INTERVAL),
        spawn_timer=jnp.int32(ENEMY_INTERVAL),
        diver_timer=jnp.int32(DIVER_INTERVAL),
        move_speed=jnp.int32(ENEMY_MOVE_INTERVAL),
        ramp_index=zero,
    )


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
