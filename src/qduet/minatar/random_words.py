"""Uniform 32-bit words as chances and choices.

A word w stands for the uniform number w / 2^32, so `happens(w, p)` is exactly `w / 2^32 < p`.
"""

import math

import jax
import jax.numpy as jnp


def happens(word: jax.Array, probability: float) -> jax.Array:
    """Whether an event of this probability takes place (to within 2^-32)."""
    threshold = math.ceil(probability * 2**32)
    if threshold >= 2**32:
        return jnp.ones_like(word, dtype=bool)
    return word < jnp.uint32(threshold)


def below(word: jax.Array, bound: jax.Array) -> jax.Array:
    """A uniform integer in [0, bound), bound at most 256, from the word's low 24 bits (int32)."""
    return (((word & 0xFFFFFF) * bound.astype(jnp.uint32)) >> 24).astype(jnp.int32)


def bits(word: jax.Array, first: int, count: int) -> jax.Array:
    """The uniform integer in [0, 2^count) that stands in the word's bits from `first` (int32)."""
    return ((word >> first) & (2**count - 1)).astype(jnp.int32)


def digits(word: jax.Array, base: int, count: int) -> list[jax.Array]:
    """Uniform integers in [0, base), the digits of floor(word base^count / 2^32), lowest first.

    Exact to within base^count / 2^32 in probability; base^count must be less than 2^16.
    """
    values = base**count
    high, low = word >> 16, word & 0xFFFF
    number = (high * values + (low * values >> 16)) >> 16
    return [(number // base**i % base).astype(jnp.int32) for i in range(count)]
