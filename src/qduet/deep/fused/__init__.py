"""The paper's network and the games' turns on packed boards, fast on GPUs and on CPUs.

Nothing here decides a result: each function computes what a plain one elsewhere says, but for
rounding. It serves every algorithm, because JAX differentiates the heads and the loss.

    computation   what `plain.computation` gives, for the network ``board`` with Adam
    turns         `acting.turns`

`network` chooses between plain code and `kernels` (Triton, for NVIDIA GPUs). `acting` makes one
kernel of a whole turn of a game, by `scalars`.
"""

import functools

import jax

from qduet.deep.algorithms import Algorithm, Numbers
from qduet.deep.board import Params
from qduet.deep.fused import network
from qduet.deep.fused.acting import turns
from qduet.deep.optimisers import make_optimiser
from qduet.deep.plain import Computation

__all__ = ["computation", "turns"]


@functools.cache
def computation(algorithm: Algorithm, adam_epsilon: float) -> Computation:
    """What `plain.computation` gives for the network ``board`` on packed boards, with Adam."""

    def scores(numbers: Numbers, params: Params, packed: jax.Array) -> jax.Array:
        if algorithm.ranks_by_adv:
            return network.advantages(params, packed)
        outputs = network.outputs(params, packed[None])
        return algorithm.q(numbers, jax.tree.map(lambda x: x[0], outputs))

    update = functools.partial(network.update, adam_epsilon)
    return Computation(network.outputs, scores, update, make_optimiser("adam", adam_epsilon).init)
