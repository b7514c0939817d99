"""Adam (Kingma & Ba, 2015), with the bias corrections as two numbers of a run and step.

    m ← β₁ m + (1 − β₁) g,   v ← β₂ v + (1 − β₂) g²,   p ← p − α m̂ / (√v̂ + ε)

A function of single arrays, so that `fused.kernels` can take the step where the gradient arises.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

BETA1, BETA2 = 0.9, 0.999


class Slot(NamedTuple):
    """A parameter and its moving averages, of one shape."""

    p: jax.Array
    m: jax.Array
    v: jax.Array


class Rate(NamedTuple):
    """What bias correction makes of the step size at one update; scalars."""

    scale: jax.Array
    """α / (1 − β₁ᵗ)"""
    root: jax.Array
    """1 / √(1 − β₂ᵗ)"""


def rate(learning_rate: jax.Array, update: jax.Array) -> Rate:
    """The rate of the `update`-th update, from 1."""
    return Rate(learning_rate / (1 - BETA1**update), 1 / jnp.sqrt(1 - BETA2**update))


def step(slot: Slot, gradient: jax.Array, rate: Rate, epsilon: float) -> Slot:
    """One update."""
    m = BETA1 * slot.m + (1 - BETA1) * gradient
    v = BETA2 * slot.v + (1 - BETA2) * gradient * gradient
    return Slot(slot.p - rate.scale * m / (jnp.sqrt(v) * rate.root + epsilon), m, v)
