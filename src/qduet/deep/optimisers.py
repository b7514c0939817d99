"""Optimisers by name: Adam, and those of one's own with optax's interface.

    register_optimiser("rmsprop", lambda learning_rate: optax.rmsprop(learning_rate, 0.95))
    make_agent("dqn", optimiser="rmsprop", learning_rate=2.5e-4)

The learning rate is a number of the run, so a factory gets it as a traced float32[].
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from qduet.core.digests import digest
from qduet.core.errors import InputError, unknown_name
from qduet.deep import adam
from qduet.deep.adam import Moments, Slot

ADAM = "adam"

Factory = Callable[[Any], Any]
"""learning rate -> an optax.GradientTransformation, or anything with its `init` and `update`"""

OPTIMISERS: dict[str, Factory] = {}
"""Those of `register_optimiser`."""


class Optimiser(NamedTuple):
    """An optimiser as two functions of pytrees."""

    init: Callable[[Any], Any]
    """params -> its state"""
    step: Callable[..., tuple[Any, Any]]
    """params, state, gradient, learning rate, number of the update from 1 on -> params, state"""


def register_optimiser(name: str, factory: Factory) -> None:
    """Makes an optimiser of one's own known by `name`."""
    if name == ADAM:
        raise InputError(f"optimiser '{name}' is a built-in one; choose another name")
    OPTIMISERS[name] = factory
    make_optimiser.cache_clear()


@functools.cache
def make_optimiser(name: str, adam_epsilon: float) -> Optimiser:
    """The optimiser `name`; `adam_epsilon` is for Adam alone."""
    if name == ADAM:
        return Optimiser(_moments, functools.partial(_adam_step, adam_epsilon))
    if name not in OPTIMISERS:
        raise unknown_name("optimiser", name, (ADAM, *OPTIMISERS), importable=True)
    factory = OPTIMISERS[name]

    def step(
        params: Any, state: Any, gradient: Any, learning_rate: jax.Array, number: jax.Array
    ) -> tuple[Any, Any]:
        updates, state = factory(learning_rate).update(gradient, state, params)
        return jax.tree.map(lambda p, u: (p + u).astype(p.dtype), params, updates), state

    return Optimiser(lambda params: factory(0.0).init(params), step)


def _moments(params: Any) -> Moments:
    zeros = jax.tree.map(jnp.zeros_like, params)
    return Moments(zeros, zeros)


def _adam_step(
    epsilon: float,
    params: Any,
    moments: Moments,
    gradient: Any,
    learning_rate: jax.Array,
    number: jax.Array,
) -> tuple[Any, Moments]:
    rate = adam.rate(learning_rate, number)
    one = lambda p, m, v, g: adam.step(Slot(p, m, v), g, rate, epsilon)
    moved = jax.tree.map(one, params, moments.m, moments.v, gradient)
    pick = lambda i: jax.tree.map(lambda slot: slot[i], moved, is_leaf=lambda x: type(x) is Slot)
    return pick(0), Moments(pick(1), pick(2))


def fingerprint(name: str, params: Any) -> str | None:
    """Tells whether an optimiser of one's own has changed, by one step of it; None for Adam.

    `params` are the shapes of a network's parameters; `InputError` if it does not work on them.
    """
    if name == ADAM:
        return None
    optimiser, scalar = make_optimiser(name, 1.0), jax.ShapeDtypeStruct((), jnp.float32)
    try:
        state = jax.eval_shape(optimiser.init, params)
        number = jax.ShapeDtypeStruct((), jnp.int32)
        return digest(name, (optimiser.step, (params, state, params, scalar, number)))
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"optimiser {name} does not work on this network: {reason}") from None
