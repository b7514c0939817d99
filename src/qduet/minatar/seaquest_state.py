"""Seaquest's state: submarine, bullets, divers, enemies, timers. The rules are in `seaquest`."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from qduet.minatar import seaquest_slots as slots

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
    zero, no = jnp.int32(0), jnp.bool_(False)
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
            alive=slots.none(),
            subs=slots.none(),
            moves_right=slots.none(),
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
