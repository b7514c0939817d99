"""Asterix: collect the gold that crosses the field, and avoid the enemies that cross it too.

Rows 1 to 8 hold at most one enemy or piece of gold each, entering at the left or right edge. They
all move when the move timer runs out; touching gold is worth 1, touching an enemy ends the game.
With ramping, things come and move faster every 102 steps.

Draws in a step: the first word decides whether the newcomer is gold (1/3), the second whether it
comes from the left (its top bit) and in which of the free rows (its low 24 bits).
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from qduet.minatar import random_words
from qduet.minatar.bitboard import SIZE, cell_if, middle_rows, one_cell
from qduet.minatar.environment import (
    ALL_ACTIONS,
    DOWN,
    LEFT,
    NOOP,
    RIGHT,
    UP,
    Environment,
    StepResult,
)

CHANNELS = ("player", "enemy", "trail", "gold")
MINIMAL_ACTIONS = (NOOP, LEFT, UP, RIGHT, DOWN)

NUM_SLOTS = 8
RAMP_INTERVAL = 100


class AsterixState(NamedTuple):
    """Everything that decides the rest of the game; slot i of an [8] array is row i + 1."""

    player_x: jax.Array
    """int32[]"""
    player_y: jax.Array
    """int32[] in 1..8"""
    present: jax.Array
    """bool[8]: something is in the row; if not, the row's other entries mean nothing."""
    x: jax.Array
    """int32[8]"""
    moves_right: jax.Array
    """bool[8]"""
    gold: jax.Array
    """bool[8]: it is gold, not an enemy."""
    spawn_speed: jax.Array
    """int32[]: steps between newcomers."""
    spawn_timer: jax.Array
    """int32[]"""
    move_speed: jax.Array
    """int32[]: steps between moves."""
    move_timer: jax.Array
    """int32[]"""
    ramp_timer: jax.Array
    """int32[]"""
    ramp_index: jax.Array
    """int32[]: how often the difficulty has risen."""


def spawn(state: AsterixState, draws: jax.Array) -> AsterixState:
    """When the timer is out, something enters in a free row, if there is one."""
    due = state.spawn_timer == 0
    slots = jnp.arange(NUM_SLOTS, dtype=jnp.uint32)
    free = jnp.sum((~state.present).astype(jnp.uint32) << slots, dtype=jnp.uint32)
    free_before = jax.lax.population_count(free & ((jnp.uint32(1) << slots) - 1))
    choice = random_words.below(draws[1], jax.lax.population_count(free)).astype(jnp.uint32)
    chosen = due & ~state.present & (free_before == choice)

    moves_right = random_words.happens(draws[1], 1 / 2)
    return state._replace(
        present=state.present | chosen,
        x=jnp.where(chosen, jnp.where(moves_right, 0, SIZE - 1), state.x),
        moves_right=jnp.where(chosen, moves_right, state.moves_right),
        gold=jnp.where(chosen, random_words.happens(draws[0], 1 / 3), state.gold),
        spawn_timer=jnp.where(due, state.spawn_speed, state.spawn_timer),
    )


def move_player(state: AsterixState, action: jax.Array) -> AsterixState:
    """One cell in any direction, within rows 1 to 8."""
    x = state.player_x + (action == RIGHT) - (action == LEFT)
    y = state.player_y + (action == DOWN) - (action == UP)
    return state._replace(player_x=jnp.clip(x, 0, SIZE - 1), player_y=jnp.clip(y, 1, SIZE - 2))


def touch(state: AsterixState) -> StepResult:
    """Gold under the player is taken for 1 point; an enemy there ends the game."""
    in_players_row = jnp.arange(1, NUM_SLOTS + 1) == state.player_y
    touched = state.present & in_players_row & (state.x == state.player_x)
    taken = touched & state.gold
    return StepResult(
        state._replace(present=state.present & ~taken),
        jnp.any(taken).astype(jnp.float32),
        jnp.any(touched & ~state.gold),
    )


def move_things(state: AsterixState) -> AsterixState:
    """When the timer is out, everything moves one cell and leaves at the far edge."""
    due = state.move_timer == 0
    x = jnp.where(due, state.x + jnp.where(state.moves_right, 1, -1), state.x)
    return state._replace(
        present=state.present & (x >= 0) & (x < SIZE),
        x=x,
        move_timer=jnp.where(due, state.move_speed, state.move_timer),
    )


def run_timers(state: AsterixState) -> AsterixState:
    """The spawn and move timers of one step."""
    return state._replace(
        spawn_timer=state.spawn_timer - 1,
        move_timer=state.move_timer - 1,
    )


def ramp(state: AsterixState) -> AsterixState:
    """Every 102 steps spawning gets faster, and every second time moving too."""
    unfinished = (state.spawn_speed > 1) | (state.move_speed > 1)
    waiting = unfinished & (state.ramp_timer >= 0)
    due = unfinished & (state.ramp_timer < 0)
    faster_move = due & (state.move_speed > 1) & (state.ramp_index % 2 == 1)
    return state._replace(
        move_speed=state.move_speed - faster_move,
        spawn_speed=state.spawn_speed - (due & (state.spawn_speed > 1)),
        ramp_index=state.ramp_index + due,
        ramp_timer=jnp.where(due, RAMP_INTERVAL, state.ramp_timer - waiting),
    )


def reset(draws: jax.Array) -> AsterixState:
    """An empty field with the player in the middle."""
    return AsterixState(
        player_x=jnp.int32(5),
        player_y=jnp.int32(5),
        present=jnp.zeros(NUM_SLOTS, bool),
        x=jnp.zeros(NUM_SLOTS, jnp.int32),
        moves_right=jnp.zeros(NUM_SLOTS, bool),
        gold=jnp.zeros(NUM_SLOTS, bool),
        spawn_speed=jnp.int32(10),
        spawn_timer=jnp.int32(10),
        move_speed=jnp.int32(5),
        move_timer=jnp.int32(5),
        ramp_timer=jnp.int32(RAMP_INTERVAL),
        ramp_index=jnp.int32(0),
    )


def step(
    state: AsterixState, action: jax.Array, draws: jax.Array, *, difficulty_ramping: bool
) -> StepResult:
    """One frame."""
    state = move_player(spawn(state, draws), action)
    state, first_reward, first_end = touch(state)
    # Touching twice is harmless when nothing has moved: gold is gone, and the game already over.
    state, second_reward, second_end = touch(move_things(state))
    state = run_timers(state)
    if difficulty_ramping:
        state = ramp(state)
    return StepResult(state, first_reward + second_reward, first_end | second_end)


def rows(state: AsterixState) -> jax.Array:
    """The picture, uint32[4, 10]."""
    behind = jnp.where(state.moves_right, state.x - 1, state.x + 1)
    return jnp.stack(
        [
            one_cell(state.player_y, state.player_x),
            middle_rows(cell_if(state.present & ~state.gold, state.x)),
            middle_rows(cell_if(state.present, behind)),
            middle_rows(cell_if(state.present & state.gold, state.x)),
        ]
    )


def game(*, difficulty_ramping: bool = True) -> Environment:
    """The game alone."""
    ramped_step = partial(step, difficulty_ramping=difficulty_ramping)
    return Environment(
        "Asterix", CHANNELS, ALL_ACTIONS, 2, reset, ramped_step, rows, small_rewards=True
    )
