"""The replay memory: a ring that keeps each packed observation once.

A transition is read as (o_t, a_t, r_t, o_{t+1}). Four steps are written at a time (one iteration of
training), as one slice that must not wrap around. So the ring has capacity + 4 slots, and modulo
that size o_t is in slot t + 3, (a_t, r_t, end_t) in slot t. After t steps, o_{t−capacity}, …, o_t
are all there. If transition t ends an episode, o_{t+1} is the next episode's first observation,
which the loss ignores.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

STRIDE = 4
"""Steps that are written at a time."""


class Replay(NamedTuple):
    """The memory of one run."""

    observations: jax.Array
    """uint8[capacity + 4, bytes]"""
    actions: jax.Array
    """int8[capacity + 4]: the action, or −1 − action if the episode ended with it."""
    rewards: jax.Array
    """``[capacity + 4]``, of the environment's `reward_dtype`: int8 in MinAtar, else float32."""


class Batch(NamedTuple):
    """Transitions ``[batch, ...]``."""

    observations: jax.Array
    """uint8, packed"""
    actions: jax.Array
    """int32"""
    rewards: jax.Array
    """float32"""
    ended: jax.Array
    """bool"""
    next_observations: jax.Array
    """uint8, packed"""


def empty(capacity: int, first: jax.Array, reward_dtype: np.dtype) -> Replay:
    """A memory of `capacity` transitions (a multiple of 4) that starts from observation `first`."""
    size = capacity + STRIDE
    observations = jnp.zeros((size, first.size), jnp.uint8).at[STRIDE - 1].set(first)
    return Replay(observations, jnp.zeros(size, jnp.int8), jnp.zeros(size, reward_dtype))


def write(
    replay: Replay,
    step: jax.Array,
    actions: jax.Array,
    rewards: jax.Array,
    ended: jax.Array,
    next_observations: jax.Array,
) -> Replay:
    """Adds the transitions of steps `step`, …, `step` + 3; `step` is a multiple of 4."""
    size = replay.actions.shape[0]
    marked = jnp.where(ended, -1 - actions, actions).astype(jnp.int8)
    put = jax.lax.dynamic_update_slice_in_dim
    at = step % size
    return Replay(
        put(replay.observations, next_observations, (step + STRIDE) % size, axis=0),
        put(replay.actions, marked, at, axis=0),
        put(replay.rewards, rewards.astype(replay.rewards.dtype), at, axis=0),
    )


def sample(replay: Replay, steps: jax.Array, words: jax.Array) -> Batch:
    """Uniform transitions among those kept after `steps` steps, one per random word ``[batch]``."""
    size = replay.actions.shape[0]
    capacity = size - STRIDE
    kept = jnp.minimum(steps, capacity)
    t = (steps - kept + below(words, kept)) % size
    marked = replay.actions[t]
    return Batch(
        observations=replay.observations[(t + STRIDE - 1) % size],
        actions=jnp.where(marked < 0, -1 - marked, marked).astype(jnp.int32),
        rewards=replay.rewards[t].astype(jnp.float32),
        ended=marked < 0,
        next_observations=replay.observations[(t + STRIDE) % size],
    )


def below(words: jax.Array, bound: jax.Array) -> jax.Array:
    """Uniform integers in [0, bound): floor(word · bound / 2³²) for uint32 `words`, as int32.

    The high half of a 64-bit product, by 16-bit limbs.
    """
    a1, a0 = words >> 16, words & 0xFFFF
    b1, b0 = (half.astype(jnp.uint32) for half in (bound >> 16, bound & 0xFFFF))
    middle = (a0 * b0 >> 16) + (a1 * b0 & 0xFFFF) + (a0 * b1 & 0xFFFF)
    high = a1 * b1 + (a1 * b0 >> 16) + (a0 * b1 >> 16) + (middle >> 16)
    return high.astype(jnp.int32)
