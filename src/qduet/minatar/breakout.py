"""Breakout: a paddle keeps a ball in play that breaks three rows of bricks.

A step moves the paddle, then the ball, which flies diagonally. The ball bounces off the side walls,
the ceiling, a brick (reward 1) and the paddle; past the paddle the game is over. The wall of bricks
is rebuilt when the ball comes down to the paddle's row and none is left.

Draws: one word at reset, whose top bit chooses the corner the ball starts from; none in a step.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from qduet.minatar.bitboard import FULL_ROW, SIZE, one_cell, one_row
from qduet.minatar.environment import ALL_ACTIONS, LEFT, NOOP, RIGHT, Environment, StepResult

CHANNELS = ("paddle", "ball", "trail", "brick")
MINIMAL_ACTIONS = (NOOP, LEFT, RIGHT)

WALL = 2 ** (3 * SIZE) - 1
"""All thirty bricks."""


class BreakoutState(NamedTuple):
    """Everything that decides the rest of the game; int32[] where not said otherwise."""

    paddle: jax.Array
    """The paddle's column; it is in row 9."""
    ball_y: jax.Array
    ball_x: jax.Array
    moves_down: jax.Array
    """bool[]: the ball's direction."""
    moves_right: jax.Array
    """bool[]"""
    last_y: jax.Array
    """The row the ball was in before; that cell is shown as its trail."""
    last_x: jax.Array
    """The column it was in before."""
    bricks: jax.Array
    """uint32[]: bit 10 (y - 1) + x for the brick at (y, x), rows 1 to 3."""
    strike: jax.Array
    """bool[]: the ball has just broken a brick, and passes through bricks until it leaves them."""


def brick_at(y: jax.Array, x: jax.Array) -> jax.Array:
    """The bit of the brick at (y, x); 0 for cells outside rows 1 to 3."""
    index = SIZE * (y - 1) + x
    inside = (y >= 1) & (y <= 3)
    return jnp.where(inside, jnp.uint32(1) << index.astype(jnp.uint32), jnp.uint32(0))


def move_paddle(paddle: jax.Array, action: jax.Array) -> jax.Array:
    """Left or right, within the grid."""
    return jnp.clip(paddle + (action == RIGHT) - (action == LEFT), 0, SIZE - 1)


def reset(draws: jax.Array) -> BreakoutState:
    """The ball starts in a corner of the bricks' lowest row and flies down and inwards."""
    from_right = draws[0] >= jnp.uint32(2**31)
    ball_x = jnp.where(from_right, SIZE - 1, 0)
    return BreakoutState(
        paddle=jnp.int32(4),
        ball_y=jnp.int32(3),
        ball_x=ball_x,
        moves_down=jnp.bool_(True),
        moves_right=~from_right,
        last_y=jnp.int32(3),
        last_x=ball_x,
        bricks=jnp.uint32(WALL),
        strike=jnp.bool_(False),
    )


def step(state: BreakoutState, action: jax.Array, draws: jax.Array) -> StepResult:
    """One frame."""
    paddle = move_paddle(state.paddle, action)
    old_y, old_x = state.ball_y, state.ball_x
    y = old_y + jnp.where(state.moves_down, 1, -1)
    x = old_x + jnp.where(state.moves_right, 1, -1)

    at_side = (x < 0) | (x >= SIZE)
    x = jnp.clip(x, 0, SIZE - 1)
    moves_right = state.moves_right ^ at_side

    at_ceiling = y < 0
    y = jnp.maximum(y, 0)
    brick = brick_at(y, x)
    touches_brick = ~at_ceiling & (state.bricks & brick != 0)
    breaks_brick = touches_brick & ~state.strike
    at_floor = y == SIZE - 1

    # The rebuilding comes before the paddle is looked at, so a lost ball rebuilds the wall too.
    bricks = jnp.where(breaks_brick, state.bricks & ~brick, state.bricks)
    bricks = jnp.where(at_floor & (bricks == 0), jnp.uint32(WALL), bricks)

    on_paddle = at_floor & (old_x == paddle)
    on_paddle_edge = at_floor & ~on_paddle & (x == paddle)
    lost = at_floor & ~on_paddle & ~on_paddle_edge

    bounces_back = breaks_brick | on_paddle | on_paddle_edge
    after = BreakoutState(
        paddle=paddle,
        ball_y=jnp.where(bounces_back, old_y, y),
        ball_x=x,
        moves_down=state.moves_down ^ (at_ceiling | bounces_back),
        moves_right=moves_right ^ on_paddle_edge,
        last_y=old_y,
        last_x=old_x,
        bricks=bricks,
        strike=touches_brick,
    )
    return StepResult(after, breaks_brick.astype(jnp.float32), lost)


def rows(state: BreakoutState) -> jax.Array:
    """The picture, uint32[4, 10]."""
    wall = sum(one_row(y, (state.bricks >> (SIZE * (y - 1))) & FULL_ROW) for y in (1, 2, 3))
    return jnp.stack(
        [
            one_cell(jnp.int32(SIZE - 1), state.paddle),
            one_cell(state.ball_y, state.ball_x),
            one_cell(state.last_y, state.last_x),
            wall,
        ]
    )


def game(*, difficulty_ramping: bool = True) -> Environment:
    """The game alone; Breakout has no difficulty to ramp."""
    return Environment("Breakout", CHANNELS, ALL_ACTIONS, 1, reset, step, rows, small_rewards=True)
