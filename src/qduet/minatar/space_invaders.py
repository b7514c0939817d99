"""Space Invaders: a cannon shoots at a block of aliens that marches down and shoots back.

The aliens step sideways when their timer runs out, and turn and come down at an edge; each one shot
is worth 1. Every ten steps the alien nearest to the cannon's column shoots. A bullet or an alien on
the cannon, or an alien below the last row, ends the game. A new block comes when none is left, and
with ramping it marches faster.

Draws: none.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from qduet.minatar.bitboard import (
    SIZE,
    cell,
    count_cells,
    highest,
    lowest,
    one_cell,
    one_row,
    shift_down,
    shift_up,
)
from qduet.minatar.environment import ALL_ACTIONS, FIRE, LEFT, NOOP, RIGHT, Environment, StepResult

CHANNELS = ("cannon", "alien", "alien_left", "alien_right", "friendly_bullet", "enemy_bullet")
MINIMAL_ACTIONS = (NOOP, LEFT, RIGHT, FIRE)

BOTTOM = SIZE - 1
SHOT_COOLDOWN = 5
ENEMY_SHOT_INTERVAL = 10
SLOWEST_MARCH = 12
FASTEST_MARCH = 6
BLOCK_ROW = 0b0011111100
"""Columns 2 to 7; the block fills them in rows 0 to 3."""


class SpaceInvadersState(NamedTuple):
    """Everything that decides the rest of the game; a map is ten row masks, uint32[10]."""

    cannon: jax.Array
    """int32[]: the cannon's column; it is in row 9."""
    aliens: jax.Array
    """A map."""
    friendly_bullets: jax.Array
    """A map."""
    enemy_bullets: jax.Array
    """A map."""
    moves_right: jax.Array
    """bool[]: the direction in which the aliens march."""
    march_interval: jax.Array
    """int32[]: steps between the aliens' moves; fewer when few are left."""
    march_timer: jax.Array
    """int32[]"""
    enemy_shot_timer: jax.Array
    """int32[]"""
    shot_timer: jax.Array
    """int32[]: steps until the cannon may fire again."""
    ramp_index: jax.Array
    """int32[]: how often the difficulty has risen."""


def alien_block() -> jax.Array:
    """A full wave, as a map."""
    return jnp.where(jnp.arange(SIZE) < 4, jnp.uint32(BLOCK_ROW), jnp.uint32(0))


def at_cannon(board: jax.Array, cannon: jax.Array) -> jax.Array:
    """Whether the map has something where the cannon is."""
    return board[BOTTOM] & cell(cannon) != 0


def act(state: SpaceInvadersState, action: jax.Array) -> SpaceInvadersState:
    """Fire, or move within the grid."""
    fires = (action == FIRE) & (state.shot_timer == 0)
    shot = jnp.where(fires, cell(state.cannon), jnp.uint32(0))
    cannon = jnp.clip(state.cannon + (action == RIGHT) - (action == LEFT), 0, SIZE - 1)
    return state._replace(
        cannon=cannon,
        friendly_bullets=state.friendly_bullets | one_row(BOTTOM, shot),
        shot_timer=jnp.where(fires, SHOT_COOLDOWN, state.shot_timer),
    )


def fly(state: SpaceInvadersState) -> SpaceInvadersState:
    """All bullets move one row and leave at the far edge."""
    return state._replace(
        friendly_bullets=shift_up(state.friendly_bullets),
        enemy_bullets=shift_down(state.enemy_bullets),
    )


def march(state: SpaceInvadersState) -> tuple[SpaceInvadersState, jax.Array]:
    """When the timer is out the aliens move; and whether one came down past the last row."""
    due = state.march_timer == 0
    columns = jnp.bitwise_or.reduce(state.aliens)
    edge = jnp.where(state.moves_right, jnp.uint32(1 << (SIZE - 1)), jnp.uint32(1))
    turns = due & (columns & edge != 0)
    landed = turns & (state.aliens[BOTTOM] != 0)

    sideways = jnp.where(state.moves_right, state.aliens << 1, state.aliens >> 1)
    # Aliens below the last row come back at the top: the game is over, but its last frame is shown.
    down = jnp.roll(state.aliens, 1)
    moved = jnp.where(turns, down, jnp.where(due, sideways, state.aliens))
    interval = jnp.minimum(count_cells(state.aliens), state.march_interval)
    after = state._replace(
        aliens=moved,
        moves_right=state.moves_right ^ turns,
        march_timer=jnp.where(due, interval, state.march_timer),
    )
    return after, landed


def nearest_column(columns: jax.Array, x: jax.Array) -> jax.Array:
    """The mask of the column nearest to x among `columns`; of two, the left one."""
    up_to_x = (cell(x) << 1) - 1
    left, right = highest(columns & up_to_x), lowest(columns & ~up_to_x)
    left_distance = jnp.where(left != 0, x - bit_index(left), SIZE)
    right_distance = jnp.where(right != 0, bit_index(right) - x, SIZE)
    return jnp.where(left_distance <= right_distance, left, right)


def bit_index(bit: jax.Array) -> jax.Array:
    """Which column a mask of one column stands for."""
    return 31 - jax.lax.clz(bit).astype(jnp.int32)


def shoot_back(state: SpaceInvadersState) -> SpaceInvadersState:
    """When the timer is out, the lowest alien of the column nearest to the cannon shoots."""
    due = state.enemy_shot_timer == 0
    column = nearest_column(jnp.bitwise_or.reduce(state.aliens), state.cannon)
    in_column = state.aliens & column
    heights = jnp.arange(SIZE, dtype=jnp.int32)
    lowest_y = jnp.max(jnp.where(in_column != 0, heights, -1))
    shot = jnp.where(due & (heights == lowest_y), in_column, jnp.uint32(0))
    return state._replace(
        enemy_bullets=state.enemy_bullets | shot,
        enemy_shot_timer=jnp.where(due, ENEMY_SHOT_INTERVAL, state.enemy_shot_timer),
    )


def kill(state: SpaceInvadersState) -> tuple[SpaceInvadersState, jax.Array]:
    """A friendly bullet and an alien in one cell remove each other; and how many did."""
    hits = state.aliens & state.friendly_bullets
    after = state._replace(
        aliens=state.aliens & ~hits,
        friendly_bullets=state.friendly_bullets & ~hits,
    )
    return after, count_cells(hits)


def run_timers(state: SpaceInvadersState) -> SpaceInvadersState:
    """The timers of one step."""
    return state._replace(
        shot_timer=jnp.maximum(state.shot_timer - 1, 0),
        march_timer=state.march_timer - 1,
        enemy_shot_timer=state.enemy_shot_timer - 1,
    )


def next_wave(state: SpaceInvadersState, difficulty_ramping: bool) -> SpaceInvadersState:
    """A new block when all aliens are gone; direction, timers and bullets stay as they are."""
    cleared = jnp.all(state.aliens == 0)
    ramps = cleared & (state.march_interval > FASTEST_MARCH) & difficulty_ramping
    return state._replace(
        aliens=jnp.where(cleared, alien_block(), state.aliens),
        march_interval=state.march_interval - ramps,
        ramp_index=state.ramp_index + ramps,
    )


def reset(draws: jax.Array) -> SpaceInvadersState:
    """A full block that marches to the left."""
    empty = jnp.zeros(SIZE, jnp.uint32)
    return SpaceInvadersState(
        cannon=jnp.int32(5),
        aliens=alien_block(),
        friendly_bullets=empty,
        enemy_bullets=empty,
        moves_right=jnp.bool_(False),
        march_interval=jnp.int32(SLOWEST_MARCH),
        march_timer=jnp.int32(SLOWEST_MARCH),
        enemy_shot_timer=jnp.int32(ENEMY_SHOT_INTERVAL),
        shot_timer=jnp.int32(0),
        ramp_index=jnp.int32(0),
    )


def step(
    state: SpaceInvadersState, action: jax.Array, draws: jax.Array, *, difficulty_ramping: bool
) -> StepResult:
    """One frame."""
    state = fly(act(state, action))
    shot = at_cannon(state.enemy_bullets, state.cannon)
    rammed = at_cannon(state.aliens, state.cannon)
    state, landed = march(state)
    rammed |= at_cannon(state.aliens, state.cannon)
    state, kills = kill(shoot_back(state))
    state = next_wave(run_timers(state), difficulty_ramping)
    return StepResult(state, kills.astype(jnp.float32), shot | rammed | landed)


def rows(state: SpaceInvadersState) -> jax.Array:
    """The picture, uint32[6, 10]; the aliens are shown again in the channel of their direction."""
    nothing = jnp.zeros(SIZE, jnp.uint32)
    return jnp.stack(
        [
            one_cell(jnp.int32(BOTTOM), state.cannon),
            state.aliens,
            jnp.where(state.moves_right, nothing, state.aliens),
            jnp.where(state.moves_right, state.aliens, nothing),
            state.friendly_bullets,
            state.enemy_bullets,
        ]
    )


def game(*, difficulty_ramping: bool = True) -> Environment:
    """The game alone."""
    ramped_step = partial(step, difficulty_ramping=difficulty_ramping)
    return Environment(
        "SpaceInvaders", CHANNELS, ALL_ACTIONS, 0, reset, ramped_step, rows, small_rewards=True
    )
