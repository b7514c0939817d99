"""`Environment`: what training needs to know of an environment, as pure functions of one of them.

All randomness comes in as `draws`, uniform 32-bit words. `jax.vmap` makes a batch.

A step may end an episode in two ways. *Terminated*: there is nothing after it, so its value is its
reward. *Truncated*: a time limit cut the episode, which would have gone on, so a truncated step
must never be learned from as if it were terminated.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

State = Any
"""A pytree of arrays; each environment has its own."""


class Step(NamedTuple):
    """What one step gives."""

    state: State
    """The next state; with auto-reset, the next episode's first one if this episode has ended."""
    reward: jax.Array
    """float32[]"""
    terminated: jax.Array
    """bool[]"""
    truncated: jax.Array | None
    """bool[]: cut by a time limit and not terminated; None if the environment never truncates"""


class Environment(NamedTuple):
    """An environment with actions 0, …, `num_actions` − 1."""

    name: str
    """Its full id, such as `MinAtar/Breakout-v1` or `gymnax/CartPole-v1`."""
    num_actions: int
    num_draws: int
    """Random words that each call of `reset` or `step` is given; it may ignore them."""
    observation: jax.ShapeDtypeStruct
    """What a network is given: the shape and type of what `decode` returns."""
    reset: Callable[[jax.Array], State]
    """draws uint32[num_draws] -> the first state of an episode"""
    step: Callable[[State, jax.Array, jax.Array], Step]
    """state, action int32[], draws uint32[num_draws] -> the step's result"""
    encode: Callable[[State], jax.Array]
    """state -> what the replay memory keeps of its observation

    The packed bits of a board, uint8 of frames, float32 of vectors.
    """
    decode: Callable[[jax.Array], jax.Array] = lambda encoded: encoded
    """what `encode` gave -> the observation; by default the same array"""
    reward_dtype: np.dtype = np.dtype(np.float32)
    """In which the replay memory keeps a reward: float32, or int8 for small whole numbers."""
    truncates: bool = False
    """Whether `step` tells `truncated`."""
    board: bool = False
    """Whether `encode` gives the packed bits of a board of 10 × 10 (`qduet.minatar.bitboard`)."""


def auto_reset(env: Environment) -> Environment:
    """A step that ends an episode returns its reward, how it ended, and the next one's start.

    `reset` and `step` must not read the same draws: see `qduet.minatar.wrappers.separate_draws`.
    """

    def step(state: State, action: jax.Array, draws: jax.Array) -> Step:
        after = env.step(state, action, draws)
        cut = False if after.truncated is None else after.truncated
        choose = lambda new, old: jnp.where(after.terminated | cut, new, old)
        return after._replace(state=jax.tree.map(choose, env.reset(draws), after.state))

    return env._replace(step=step)
