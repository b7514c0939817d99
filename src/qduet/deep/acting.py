"""ε-greedy play in a game: one turn, and the four between two updates.

    turns(env, exploration, look, step, state, observation, words, for_gpu=False).action   # [4]

On NVIDIA GPUs a turn is one kernel (`fused.scalars`); elsewhere, and in a game that cannot be one,
it is what XLA makes of it.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from qduet.deep import replay
from qduet.deep.fused import scalars
from qduet.deep.replay import STRIDE
from qduet.minatar import Environment

Look = Callable[[jax.Array], jax.Array]
"""A packed observation -> its advantages ``[|A|]``."""


class Exploration(NamedTuple):
    """The schedule of ε; scalars."""

    final: jax.Array
    hold_steps: jax.Array
    decay_steps: jax.Array


def epsilon(exploration: Exploration, step: jax.Array) -> jax.Array:
    """ε of the action taken in step `step` (from 0): 1, then linear, then its final value."""
    progress = (step - exploration.hold_steps) / exploration.decay_steps
    return 1.0 - (1.0 - exploration.final) * jnp.clip(progress, 0.0, 1.0)


class Choice(NamedTuple):
    """An ε-greedy action."""

    action: jax.Array
    random: jax.Array
    """Whether it was drawn, which can give the greedy one all the same."""


def choose(scores: jax.Array, chance: jax.Array | float, words: jax.Array) -> Choice:
    """The best of `scores` ``[|A|]``, or with probability `chance` any; by two of the `words`."""
    random = (words[0] >> 8).astype(jnp.float32) * 2.0**-24 < chance
    drawn = replay.below(words[1], jnp.int32(len(scores)))
    return Choice(jnp.where(random, drawn, scores.argmax().astype(jnp.int32)), random)


class Turn(NamedTuple):
    """What one step of a game leaves behind."""

    state: Any
    action: jax.Array
    reward: jax.Array
    ended: jax.Array
    observation: jax.Array
    """uint8[bytes]: what follows."""


def turn(
    env: Environment,
    exploration: Exploration,
    state: Any,
    adv: jax.Array,
    step: jax.Array,
    words: jax.Array,
) -> Turn:
    """One step, greedy by `adv` or at random; `step` steps were taken before."""
    action = choose(adv, epsilon(exploration, step), words).action
    state, reward, ended = env.step(state, action, words[2:])
    return Turn(state, action, reward, ended, env.pack(state))


def turns(
    env: Environment,
    exploration: Exploration,
    look: Look,
    step: jax.Array,
    state: Any,
    observation: jax.Array,
    words: jax.Array,
    *,
    for_gpu: bool,
) -> Turn:
    """Four turns from step counter `step` on; fields ``[4, ...]``, but for `state`, the last.

    `words` are ``[4, draws + 2]``. Without `for_gpu` no kernel is traced, which takes seconds.
    """

    def loop(state: Any, observation: jax.Array, words: jax.Array) -> Turn:
        def one(carry: Any, x: Any) -> tuple[Any, Turn]:
            state, observation = carry
            offset, words = x
            now = turn(env, exploration, state, look(observation), step + offset, words)
            return (now.state, now.observation), now

        xs = jnp.arange(STRIDE), words
        (state, _), taken = jax.lax.scan(one, (state, observation), xs)
        return taken._replace(state=state)

    def kernels(state: Any, observation: jax.Array, words: jax.Array) -> Turn:
        taken: list[Turn] = []
        for i in range(STRIDE):
            now = _kernel(env, exploration, state, look(observation), step, jnp.int32(i), words)
            state, observation = now.state, now.observation
            taken.append(now._replace(state=None))
        return jax.tree.map(lambda *x: jnp.stack(x), *taken)._replace(state=state)

    if for_gpu:
        return _on_cuda(kernels, loop, state, observation, words)
    return loop(state, observation, words)


def _on_cuda(kernels: Callable[..., Turn], loop: Callable[..., Turn], *args: Any) -> Turn:
    return jax.lax.platform_dependent(*args, cuda=kernels, default=loop)


@functools.partial(jax.jit, static_argnums=0)  # traced once, for all turns and programs
def _kernel(
    env: Environment,
    exploration: Exploration,
    state: Any,
    adv: jax.Array,
    step: jax.Array,
    i: jax.Array,
    words: jax.Array,
) -> Turn:
    """Turn i of the four, as one kernel; it takes its own of the `words`."""

    def game(exploration: Exploration, state: Any, adv: Any, step: Any, i: Any, words: Any) -> Turn:
        own = jnp.where(jnp.arange(STRIDE)[:, None] == i, words, 0).sum(axis=0, dtype=words.dtype)
        return turn(env, exploration, state, adv, step + i, own)

    return scalars.as_kernel(game)(exploration, state, adv, step, i, words)
