"""A game of one's own: Catch. A ball falls, and a paddle catches it (reward 1) or not (−1).

    python examples/own_game.py out-catch

or, with this module imported by the command (in the directory of this file, or a package of yours),

    qduet --import own_game train rdq Catch-v0 --steps 10_000 --out out-catch
    qduet --import own_game watch out-catch

A game is pure functions of one state, for a board of 10 × 10 bits in any number of channels.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp

from qduet.deep import make_agent
from qduet.jobs import Job, train
from qduet.minatar import LEFT, NOOP, RIGHT, Environment, StepResult, register
from qduet.minatar.bitboard import one_cell
from qduet.minatar.random_words import below
from qduet.results import runs


class Catch(NamedTuple):
    """Everything that decides the rest of the game; int32[]."""

    ball_y: jax.Array
    ball_x: jax.Array
    paddle: jax.Array
    """The paddle's column; it is in row 9."""


def reset(draws: jax.Array) -> Catch:
    """The ball starts in any column of the top row, the paddle in any of its own."""
    ball_x, paddle = (below(draw, jnp.int32(10)) for draw in (draws[0], draws[1]))
    return Catch(jnp.int32(0), ball_x, paddle)


def step(state: Catch, action: jax.Array, draws: jax.Array) -> StepResult:
    """The paddle moves, the ball falls one row; in the last row the game is over."""
    paddle = jnp.clip(state.paddle + (action == RIGHT) - (action == LEFT), 0, 9)
    after = Catch(state.ball_y + 1, state.ball_x, paddle)
    landed = after.ball_y == 9
    caught = jnp.where(after.ball_x == paddle, 1.0, -1.0)
    return StepResult(after, jnp.where(landed, caught, 0.0), landed)


def rows(state: Catch) -> jax.Array:
    """The picture, uint32[2, 10]: bit x of a row is column x."""
    return jnp.stack([one_cell(jnp.int32(9), state.paddle), one_cell(state.ball_y, state.ball_x)])


GAME = Environment("Catch", ("paddle", "ball"), (NOOP, LEFT, RIGHT), 2, reset, step, rows)
register("Catch-v0", GAME)


def main(out: Path, steps: int = 10_000) -> float:
    """Trains RDQ and prints its score before and after; the score after."""
    agent = make_agent("rdq", epsilon_decay_steps=steps // 4, learning_rate=1e-3)
    job = Job("Catch-v0", {"rdq": agent}, seeds=[0], steps=steps)
    train(job, out)
    before, after = runs.load(out).scores("rdq").values[0]
    print(f"mean return of 1,000 episodes: {before:.2f} before, {after:.2f} after {steps:,} steps")
    return after


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out-catch"))
