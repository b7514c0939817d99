"""The four turns of a game between two updates, each as one kernel on an NVIDIA GPU.

Elsewhere, and in a game that cannot be one kernel (`scalars.as_kernel` says which), XLA compiles
`acting.turns` as it is. Tracing the kernel takes seconds, so training on CPUs does not ask for it.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp

from qduet.deep import acting
from qduet.deep.acting import Exploration, ScoresOf, Turn
from qduet.deep.environment import Environment
from qduet.deep.fused import kernels, scalars
from qduet.deep.replay import STRIDE


def turns(
    env: Environment,
    exploration: Exploration,
    scores_of: ScoresOf,
    step: jax.Array,
    state: Any,
    observation: jax.Array,
    words: jax.Array,
) -> Turn:
    """What `acting.turns` computes."""

    def loop(state: Any, observation: jax.Array, words: jax.Array) -> Turn:
        return acting.turns(env, exploration, scores_of, step, state, observation, words)

    def by_kernel(state: Any, observation: jax.Array, words: jax.Array) -> Turn:
        taken: list[Turn] = []
        for i in range(STRIDE):
            scores = scores_of(observation)
            now = _kernel(env, exploration, state, scores, step, jnp.int32(i), words)
            state, observation = now.state, now.observation
            taken.append(now._replace(state=None))
        return jax.tree.map(lambda *x: jnp.stack(x), *taken)._replace(state=state)

    if kernels.triton is None:
        return loop(state, observation, words)
    return kernels.on_cuda(by_kernel, loop, state, observation, words)


@functools.partial(jax.jit, static_argnums=0)  # traced once, for all turns and programs
def _kernel(
    env: Environment,
    exploration: Exploration,
    state: Any,
    scores: jax.Array,
    step: jax.Array,
    i: jax.Array,
    words: jax.Array,
) -> Turn:
    """Turn i of the four, which picks its own row of `words`."""

    def game(
        exploration: Exploration, state: Any, scores: Any, step: Any, i: Any, words: Any
    ) -> Turn:
        own = jnp.where(jnp.arange(STRIDE)[:, None] == i, words, 0).sum(axis=0, dtype=words.dtype)
        return acting.turn(env, exploration, state, scores, step + i, own)

    return scalars.as_kernel(game)(exploration, state, scores, step, i, words)
