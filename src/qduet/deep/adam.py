"""Adam (Kingma & Ba, 2015), written for one array and for a pytree of them.

    m ← β₁ m + (1 − β₁) g,   v ← β₂ v + (1 − β₂) g²,   p ← p − α m̂ / (√v̂ + ε)

The bias corrections m̂ = m / (1 − β₁ᵗ) and v̂ = v / (1 − β₂ᵗ) are the same for all parameters of an
update, so they are two numbers (`Rate`) and not two arrays.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

BETA1, BETA2 = 0.9, 0.999


class Moments(NamedTuple):
    """The moving averages of all parameters: pytrees of the parameters' structure and shapes."""

    m: Any
    """Averages of the gradients."""
    v: Any
    """Averages of their squares."""


class Slot(NamedTuple):
    """One parameter array with its moving averages, all of one shape."""

    p: jax.Array
    m: jax.Array
    v: jax.Array


class Rate(NamedTuple):
    """The step size and the bias corrections of one update; scalars."""

    scale: jax.Array
    """α / (1 − β₁ᵗ)"""
    root: jax.Array
    """1 / √(1 − β₂ᵗ)"""


def rate(learning_rate: jax.Array, update: jax.Array) -> Rate:
    """The rate of update number `update`, counted from 1."""
    return Rate(learning_rate / (1 - BETA1**update), 1 / jnp.sqrt(1 - BETA2**update))


def step(slot: Slot, gradient: jax.Array, rate: Rate, epsilon: float) -> Slot:
    """One update of one array."""
    m = BETA1 * slot.m + (1 - BETA1) * gradient
    v = BETA2 * slot.v + (1 - BETA2) * gradient * gradient
    return Slot(slot.p - rate.scale * m / (jnp.sqrt(v) * rate.root + epsilon), m, v)
