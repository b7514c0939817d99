"""An environment of one's own: a craft on a line must stop at its dock, in gusts of wind.

    qduet --import own_environment train rdq dqn Docking-v0 --seeds 3 --steps 20_000 \
        --learning-rate 1e-3 --epsilon-decay 10_000 --out out/docking
    qduet compare out/docking

run in this directory. The agent sees the place x and the speed v. Each tenth of a second it chooses
the force f: −2, 0 or 2. A gust is uniform in [−1, 1]; walls at −1 and 1 stop the craft:

    v ← v + 0.1 (f + gust),   x ← x + 0.1 v,   docked where |x| < 0.1 and |v| < 0.4

Each step has the reward −1 until the craft has docked or the time is over.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qduet.deep import Environment, Step, register_environment

TIME_LIMIT = 50


class Craft(NamedTuple):
    """Everything that decides the rest of an episode."""

    x: jax.Array  # float32[]
    v: jax.Array  # float32[]
    time: jax.Array  # int32[]: how many steps the episode has had


def within(bound: float, word: jax.Array) -> jax.Array:
    """A uniform number in [−bound, bound], from a random 32-bit word."""
    return bound * (word.astype(jnp.float32) / 2.0**31 - 1)


def reset(draws: jax.Array) -> Craft:
    """The craft starts anywhere but near a wall, with any speed up to 1."""
    return Craft(within(0.8, draws[0]), within(1.0, draws[1]), jnp.int32(0))


def step(state: Craft, action: jax.Array, draws: jax.Array) -> Step:
    """Docked, the episode is over. At the time limit it is cut, and could have gone on."""
    force = 2 * (action.astype(jnp.float32) - 1)
    v = state.v + 0.1 * (force + within(1.0, draws[0]))
    x = jnp.clip(state.x + 0.1 * v, -1.0, 1.0)
    after = Craft(x, jnp.where(jnp.abs(x) < 1, v, 0.0), state.time + 1)
    docked = (jnp.abs(x) < 0.1) & (jnp.abs(v) < 0.4)
    cut = (after.time >= TIME_LIMIT) & ~docked
    return Step(after, reward=jnp.float32(-1), terminated=docked, truncated=cut)


register_environment(
    Environment(
        name="Docking-v0",
        num_actions=3,
        num_draws=2,  # two random words for each call of `reset` and of `step`
        observation=jax.ShapeDtypeStruct((2,), jnp.float32),
        reset=reset,
        step=step,
        encode=lambda state: jnp.stack([state.x, state.v]),  # without the time
        reward_dtype=np.dtype(np.int8),  # the reward is always −1: one byte in memory, not four
        truncates=True,  # `step` says when the time limit has cut an episode
    )
)
