"""One seeded game: a game, the key its draws come from, and how many of them it has used.

Draw number n of a seed is `bits(fold_in(key, n))`, whatever stands around the game, so a game in a
batch is bit for bit the game that the same seed plays alone. This is what the Gymnasium adapters
and `qduet play` step; a training loop makes its own draws.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qduet.minatar.layers import StickyState
from qduet.minatar.types import NOOP, Environment


class Seeded(NamedTuple):
    """A game and its place in its stream of draws."""

    key: jax.Array
    """uint32[2]: the data of the seed's key."""
    used: jax.Array
    """uint32[]: the draws used so far, in vectors of `num_draws` words."""
    state: StickyState
    over: jax.Array
    """bool[]: the episode has ended and no new one has begun."""


class Played(NamedTuple):
    """What one step of a seeded game gives."""

    seeded: Seeded
    reward: jax.Array
    """float32[]"""
    terminated: jax.Array
    """bool[]"""


def key_data(seed: int) -> np.ndarray:
    """The key of a seed, uint32[2]; any non-negative integer is a seed."""
    return np.random.SeedSequence(seed).generate_state(2)


def draw(env: Environment, key: jax.Array, number: jax.Array) -> jax.Array:
    """Draw number `number` of the key, uint32[num_draws]."""
    at = jax.random.fold_in(jax.random.wrap_key_data(key, impl="threefry2x32"), number)
    return jax.random.bits(at, (env.num_draws,))


def first_episode(env: Environment, key: jax.Array) -> Seeded:
    """The start of a seed's first episode: no draw is used, no action has been executed."""
    state = env.reset(draw(env, key, jnp.uint32(0)))
    return Seeded(key, jnp.uint32(1), state._replace(last_action=jnp.int32(NOOP)), jnp.bool_(False))


def next_episode(env: Environment, seeded: Seeded) -> Seeded:
    """The start of another episode: the draws go on, and the last action survives."""
    state = env.reset(draw(env, seeded.key, seeded.used))
    state = state._replace(last_action=seeded.state.last_action)
    return Seeded(seeded.key, seeded.used + 1, state, jnp.bool_(False))


def step(env: Environment, seeded: Seeded, action: jax.Array) -> Played:
    """One step; a game that is over keeps its picture, with reward 0, and is over again.

    `env` must not reset by itself (`make(..., auto_reset=False)`).
    """
    after = env.step(seeded.state, action, draw(env, seeded.key, seeded.used))
    # As in the original, a finished game still notes the action it was given.
    kept = seeded.state._replace(last_action=after.state.last_action)
    frozen = seeded._replace(used=seeded.used + 1, state=kept)
    moved = frozen._replace(state=after.state, over=after.terminated)
    choose = lambda old, new: jnp.where(seeded.over, old, new)
    return Played(
        jax.tree.map(choose, frozen, moved),
        jnp.where(seeded.over, jnp.float32(0), after.reward),
        seeded.over | after.terminated,
    )
