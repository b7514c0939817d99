"""What every network here is made of: affine layers, how they start, and what networks give.

layer = init_layer(key, (1024, 128), uniform=False)
features @ layer.w + layer.b
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from qduet.agents import InitScheme


class Layer(NamedTuple):
    """An affine map."""

    w: jax.Array
    """``[inputs, outputs]``"""
    b: jax.Array
    """``[outputs]``"""

    def __call__(self, x: jax.Array) -> jax.Array:
        """``[inputs] -> [outputs]``."""
        return x @ self.w + self.b


class Outputs(NamedTuple):
    """What a network computes for one state."""

    v: jax.Array
    """``[]``: V(s)"""
    adv: jax.Array
    """``[|A|]``: A(s, ·); in the QV family Q(s, ·)"""


LECUN = InitScheme()


def init_layer(key: jax.Array, shape: tuple[int, int], uniform: jax.Array | bool) -> Layer:
    """A layer that starts from PyTorch's default if `uniform`, else from LeCun's normal."""
    scale = shape[0] ** -0.5
    key_normal, key_uniform, key_bias = jax.random.split(key, 3)
    normal = scale * jax.random.normal(key_normal, shape)
    box = jax.random.uniform(key_uniform, shape, minval=-scale, maxval=scale)
    bias = jax.random.uniform(key_bias, shape[1:], minval=-scale, maxval=scale)
    return Layer(jnp.where(uniform, box, normal), jnp.where(uniform, bias, 0.0))
