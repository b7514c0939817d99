"""The paper's network and the games' turns on packed boards, fast on GPUs and on CPUs.

Nothing here decides a result: each function computes what a plain one elsewhere says, but for
rounding. It serves every algorithm, because JAX differentiates the heads and the loss.

    computation   what `plain.computation` gives, for the network ``board`` with Adam
    turns         `acting.turns`

`network` chooses between plain code and `kernels` (Triton, for NVIDIA GPUs). `acting` makes one
kernel of a whole turn of a game, by `scalars`.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax

from qduet.deep import adam
from qduet.deep.adam import Moments
from qduet.deep.algorithms import Algorithm, Losses, Numbers
from qduet.deep.board import Params
from qduet.deep.fused import network
from qduet.deep.fused.acting import turns
from qduet.deep.layers import Outputs
from qduet.deep.optimisers import make_optimiser
from qduet.deep.plain import Computation, Updated

__all__ = ["computation", "turns"]


@functools.cache
def computation(algorithm: Algorithm, adam_epsilon: float) -> Computation:
    """What `plain.computation` gives for the network ``board`` on packed boards, with Adam."""

    def scores(numbers: Numbers, params: Params, packed: jax.Array) -> jax.Array:
        if algorithm.ranks_by_adv:
            return network.advantages(params, packed)
        outputs = network.outputs(params, packed[None])
        return algorithm.q(numbers, jax.tree.map(lambda x: x[0], outputs))

    def update(
        loss: Callable[[Outputs], Losses],
        params: Params,
        moments: Moments,
        packed: jax.Array,
        learning_rate: jax.Array,
        number: jax.Array,
        uses_v: jax.Array,
        shared_bias: jax.Array,
    ) -> Updated:
        rate: Any = adam.rate(learning_rate, number)
        return network.update(
            loss,
            params,
            moments,
            packed,
            rate,
            adam_epsilon,
            uses_v=uses_v,
            shared_bias=shared_bias,
        )

    start = make_optimiser("adam", adam_epsilon).init
    return Computation(network.outputs, scores, update, start)
