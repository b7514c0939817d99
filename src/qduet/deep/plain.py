"""A network and its update as they are meant: `apply` by ``vmap``, the gradient by `jax.grad`.

    compute = plain.computation(network, env, optimiser, algorithm)
    compute.outputs(params, encoded)                       # V [n], A [n, |A|]
    compute.update(loss, params, state, encoded, …)        # one step of the optimiser on a loss

Any network, environment and optimiser works here. `fused.computation` does the same for the paper's
network on boards, faster.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from qduet.deep.algorithms import Algorithm, Losses, Numbers
from qduet.deep.environment import Environment
from qduet.deep.layers import Layer, Outputs
from qduet.deep.networks import Network
from qduet.deep.optimisers import Optimiser


class Updated(NamedTuple):
    """A network after an update."""

    params: Any
    state: Any
    """The optimiser's."""
    losses: Losses
    """Before the update."""


class Computation(NamedTuple):
    """How a run computes its network's outputs and its update."""

    outputs: Callable[[Any, jax.Array], Outputs]
    """params, encoded observations ``[n, …]`` -> V ``[n]`` and A ``[n, |A|]``"""
    scores: Callable[[Numbers, Any, jax.Array], jax.Array]
    """numbers, params, one encoded observation -> what ranks its actions ``[|A|]``"""
    update: Callable[..., Updated]
    """loss, params, state, encoded ``[n, …]``, learning_rate, number, uses_v, shared_bias ->

    `loss` takes the outputs at the encoded observations and gives their `Losses`. `number`
    counts updates from 1 on. `uses_v` and `shared_bias` are bool[]: false if the loss does not
    depend on V; whether the advantage head of a built-in network has one bias for all actions.
    """
    start: Callable[[Any], Any]
    """params -> the optimiser's first state"""


@functools.cache
def computation(
    network: Network, env: Environment, optimiser: Optimiser, algorithm: Algorithm
) -> Computation:
    """The plain way."""

    def see(params: Any, encoded: jax.Array) -> Outputs:
        return network.apply(params, env.decode(encoded).astype(jnp.float32))

    def update(
        loss: Callable[[Outputs], Losses],
        params: Any,
        state: Any,
        encoded: jax.Array,
        learning_rate: jax.Array,
        number: jax.Array,
        uses_v: jax.Array,
        shared_bias: jax.Array,
    ) -> Updated:
        def total(params: Any) -> tuple[jax.Array, Losses]:
            losses = loss(jax.vmap(functools.partial(see, params))(encoded))
            return losses.total, losses

        gradient, losses = jax.grad(total, has_aux=True)(params)
        if network.built_in:
            gradient = gradient._replace(adv=with_shared_bias(gradient.adv, shared_bias))
        return Updated(*optimiser.step(params, state, gradient, learning_rate, number), losses)

    return Computation(
        outputs=lambda params, encoded: jax.vmap(functools.partial(see, params))(encoded),
        scores=lambda numbers, params, encoded: algorithm.q(numbers, see(params, encoded)),
        update=update,
        start=optimiser.init,
    )


def with_shared_bias(gradient: Layer, shared: jax.Array) -> Layer:
    """The advantage head's gradient; if the actions share a bias, each gets the sum over actions.

    The biases of such a head start equal (`Agent.has_shared_bias`), so they remain equal: nothing
    else needs to know that they are one parameter.
    """
    return gradient._replace(b=jnp.where(shared, gradient.b.sum(), gradient.b))
