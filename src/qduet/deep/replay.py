"""The replay memory: a ring that keeps each observation once, as the environment encodes it.

A transition is read as (o_t, a_t, r_t, o_{t+1}). Four steps are written at a time (one iteration of
training), as one slice that must not wrap around. So the ring has capacity + 4 slots, and modulo
that size o_t is in slot t + 3, (a_t, r_t, end_t) in slot t. After t steps, o_{t−capacity}, …, o_t
are all there. If transition t ends an episode, o_{t+1} is the next episode's first observation,
which the loss ignores.

With n steps a transition is (o_t, a_t, r_t + γ r_{t+1} + … + γ^{n−1} r_{t+n−1}, o_{t+n}); its sum
ends where the episode does. The last observation of an episode that a time limit cut is not kept,
so a sum ends before the truncated step, and bootstraps from what was seen there. If no reward is
left, which with n = 1 is every truncated step, the transition has the weight 0.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qduet.agents import STRIDE


class Replay(NamedTuple):
    """The memory of one run."""

    observations: jax.Array
    """``[capacity + 4, …]``, encoded"""
    actions: jax.Array
    """``[capacity + 4]``: the action; −1 − action if the episode ended with it; `_cut` + action if
    a time limit cut it."""
    rewards: jax.Array
    """``[capacity + 4]``, of the environment's `reward_dtype`: int8 in MinAtar, else float32."""


class Batch(NamedTuple):
    """Transitions ``[batch, ...]``."""

    observations: jax.Array
    """encoded"""
    actions: jax.Array
    """int32"""
    rewards: jax.Array
    """float32: sums of n discounted rewards"""
    discounts: jax.Array
    """float32: γⁿ, or 0 if the episode ended"""
    next_observations: jax.Array
    """encoded"""
    weights: jax.Array | None
    """float32: 0 for a transition to leave out, else 1; None if none ever is."""


def empty(capacity: int, first: jax.Array, reward_dtype: np.dtype, num_actions: int) -> Replay:
    """A memory of `capacity` transitions (a multiple of 4) that starts from observation `first`."""
    size = capacity + STRIDE
    observations = jnp.zeros((size, *first.shape), first.dtype).at[STRIDE - 1].set(first)
    marks = jnp.int8 if num_actions <= _cut(jnp.int8) else jnp.int32
    return Replay(observations, jnp.zeros(size, marks), jnp.zeros(size, reward_dtype))


def _cut(dtype: jax.typing.DTypeLike) -> int:
    """What is added to the action of a truncated step: 64 in an int8, 2³⁰ in an int32."""
    return jnp.iinfo(dtype).max // 2 + 1


def write(
    replay: Replay,
    step: jax.Array,
    actions: jax.Array,
    rewards: jax.Array,
    terminated: jax.Array,
    truncated: jax.Array | None,
    next_observations: jax.Array,
) -> Replay:
    """Adds the transitions of steps `step`, …, `step` + 3; `step` is a multiple of 4."""
    size, dtype = replay.actions.shape[0], replay.actions.dtype
    marked = jnp.where(terminated, -1 - actions, actions).astype(dtype)
    if truncated is not None:
        cut = truncated & ~terminated
        marked = jnp.where(cut, actions.astype(dtype) + _cut(dtype), marked).astype(dtype)
    put = jax.lax.dynamic_update_slice_in_dim
    at = step % size
    return Replay(
        put(replay.observations, next_observations, (step + STRIDE) % size, axis=0),
        put(replay.actions, marked, at, axis=0),
        put(replay.rewards, rewards.astype(replay.rewards.dtype), at, axis=0),
    )


def sample(
    replay: Replay,
    steps: jax.Array,
    words: jax.Array,
    *,
    discount: float,
    n_step: int = 1,
    truncates: bool = False,
) -> Batch:
    """Uniform transitions among those kept after `steps` steps, one per random word ``[batch]``.

    `truncates`: whether the environment has a time limit.
    """
    size = replay.actions.shape[0]
    capacity = size - STRIDE
    kept = jnp.minimum(steps, capacity)
    t = (steps - kept + below(words, kept - (n_step - 1))) % size
    marked = replay.actions[t]
    cut = _cut(marked.dtype)
    action = jnp.where(marked < 0, -1 - marked, marked)
    rewards = replay.rewards[t].astype(jnp.float32)
    discounts = jnp.where(marked < 0, 0.0, jnp.float32(discount))
    next_slot, weights = (t + STRIDE) % size, None
    if truncates:
        action = jnp.where(marked >= cut, marked - cut, action)
        weights = jnp.where(marked >= cut, 0.0, 1.0)
    going = (marked >= 0) & (marked < cut)
    for k in range(1, n_step):
        at = (t + k) % size
        marked = replay.actions[at]
        going &= marked < cut
        rewards += jnp.where(going, discounts * replay.rewards[at].astype(jnp.float32), 0.0)
        discounts = jnp.where(
            going, jnp.where(marked < 0, 0.0, jnp.float32(discount ** (k + 1))), discounts
        )
        next_slot = jnp.where(going, (at + STRIDE) % size, next_slot)
        going &= marked >= 0
    return Batch(
        observations=replay.observations[(t + STRIDE - 1) % size],
        actions=action.astype(jnp.int32),
        rewards=rewards,
        discounts=discounts,
        next_observations=replay.observations[next_slot],
        weights=weights,
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
