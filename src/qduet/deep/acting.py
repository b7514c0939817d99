"""ε-greedy play in an environment: one turn, and the four turns between two updates.

    turns(env, exploration, scores_of, step, state, observation, words).action   # [4]

`fused.turns` does the same with one GPU kernel per turn.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from qduet.deep import replay
from qduet.deep.environment import Environment
from qduet.deep.replay import STRIDE

ScoresOf = Callable[[jax.Array], jax.Array]
"""An encoded observation -> what ranks its actions: Q, or what has the same order ``[|A|]``."""


class Exploration(NamedTuple):
    """The schedule of ε: 1, then a linear fall, then the final value."""

    final: jax.Array
    """float32[]: ε after the fall"""
    hold_steps: jax.Array
    """float32[]: steps before the fall"""
    decay_steps: jax.Array
    """float32[]: steps of the fall"""


def epsilon(exploration: Exploration, step: jax.Array) -> jax.Array:
    """ε of the action taken in step `step`, counted from 0."""
    progress = (step - exploration.hold_steps) / exploration.decay_steps
    return 1.0 - (1.0 - exploration.final) * jnp.clip(progress, 0.0, 1.0)


class Choice(NamedTuple):
    """An ε-greedy action."""

    action: jax.Array
    """int32[]"""
    random: jax.Array
    """bool[]: whether the action was drawn at random; it may still be the greedy one"""


def choose(scores: jax.Array, epsilon: jax.Array | float, words: jax.Array) -> Choice:
    """The best of `scores` ``[|A|]``, or with probability `epsilon` a uniform action.

    The first of the random `words` decides which of the two, the second draws the action.
    """
    random = (words[0] >> 8).astype(jnp.float32) * 2.0**-24 < epsilon
    drawn = replay.below(words[1], jnp.int32(len(scores)))
    return Choice(jnp.where(random, drawn, scores.argmax().astype(jnp.int32)), random)


class Turn(NamedTuple):
    """One step of an environment, and what it led to."""

    state: Any
    """The environment's next state."""
    action: jax.Array
    """int32[]"""
    reward: jax.Array
    """float32[]"""
    terminated: jax.Array
    """bool[]"""
    truncated: jax.Array | None
    """bool[]; None if the environment has no time limit"""
    observation: jax.Array
    """the next observation, encoded"""


def turn(
    env: Environment,
    exploration: Exploration,
    state: Any,
    scores: jax.Array,
    step: jax.Array,
    words: jax.Array,
) -> Turn:
    """One ε-greedy step by `scores` ``[|A|]``, after `step` earlier ones."""
    action = choose(scores, epsilon(exploration, step), words).action
    state, reward, terminated, truncated = env.step(state, action, words[2:])
    return Turn(state, action, reward, terminated, truncated, env.encode(state))


def turns(
    env: Environment,
    exploration: Exploration,
    scores_of: ScoresOf,
    step: jax.Array,
    state: Any,
    observation: jax.Array,
    words: jax.Array,
) -> Turn:
    """Four turns, after `step` earlier ones, with random `words` ``[4, num_draws + 2]``.

    Fields are ``[4, ...]``, but `state` is that after the last turn.
    """

    def one(carry: Any, x: Any) -> tuple[Any, Turn]:
        state, observation = carry
        offset, words = x
        now = turn(env, exploration, state, scores_of(observation), step + offset, words)
        return (now.state, now.observation), now

    xs = jnp.arange(STRIDE), words
    (state, _), taken = jax.lax.scan(one, (state, observation), xs)
    return taken._replace(state=state)
