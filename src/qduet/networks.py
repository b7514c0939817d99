"""The two-stream network of the paper (sec. 4.3), for one observation, as a plain pytree.

A 3×3 convolution with 16 filters, then two hidden layers of 128 units side by side, then V(s) and
A(s, ·):

    x = relu(conv(s)),   V(s) = v · relu(W_V x),   A(s, ·) = a · relu(W_A x)

DQN is the advantage stream alone (`qduet.agents` gives V the weight 0). The convolution is written
as patches times a matrix, because ``vmap`` over runs turns a real convolution into a grouped one,
which is slow.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

FILTERS, HIDDEN, KERNEL, SIDE = 16, 128, 3, 8
"""Filters, hidden units, kernel size, and the side of the 8×8 map that a 10×10 board gives."""


class Layer(NamedTuple):
    """An affine map."""

    w: jax.Array
    """``[inputs, outputs]``"""
    b: jax.Array
    """``[outputs]``"""


class Params(NamedTuple):
    """The weights of one network."""

    conv: Layer
    """``[9 C, 16]``: the inputs are the patch's cells (row by row), each with its C channels."""
    v_hidden: Layer
    """``[1024, 128]``"""
    adv_hidden: Layer
    """``[1024, 128]``"""
    v: Layer
    """``[128, 1]``"""
    adv: Layer
    """``[128, |A|]``"""


class Values(NamedTuple):
    """What the network says of one state."""

    v: jax.Array
    """``[]``"""
    adv: jax.Array
    """``[|A|]``, raw"""


class Uniform(NamedTuple):
    """Which layers start from PyTorch's uniform default; bool[] each."""

    conv: jax.Array
    streams: jax.Array


def init(key: jax.Array, num_channels: int, num_actions: int, uniform: Uniform) -> Params:
    """Weights drawn as the paper says: N(0, 1/fan_in) and zero biases (LeCun normal).

    Where `uniform` is true, weights *and* biases are U(±1/√fan_in) instead, PyTorch's default,
    which the released code uses for the convolution and for all of DQN.
    """
    features = FILTERS * SIDE * SIDE
    shapes = {
        "conv": (KERNEL * KERNEL * num_channels, FILTERS),
        "v_hidden": (features, HIDDEN),
        "adv_hidden": (features, HIDDEN),
        "v": (HIDDEN, 1),
        "adv": (HIDDEN, num_actions),
    }
    keys = jax.random.split(key, len(shapes))
    flags = {name: uniform.conv if name == "conv" else uniform.streams for name in shapes}
    layers = {
        name: _init_layer(k, shape, flags[name])
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }
    return Params(**layers)


def _init_layer(key: jax.Array, shape: tuple[int, int], uniform: jax.Array) -> Layer:
    scale = shape[0] ** -0.5
    key_normal, key_uniform, key_bias = jax.random.split(key, 3)
    normal = scale * jax.random.normal(key_normal, shape)
    box = jax.random.uniform(key_uniform, shape, minval=-scale, maxval=scale)
    bias = jax.random.uniform(key_bias, shape[1:], minval=-scale, maxval=scale)
    return Layer(jnp.where(uniform, box, normal), jnp.where(uniform, bias, 0.0))


def patches(observation: jax.Array) -> jax.Array:
    """``[10, 10, C] -> [64, 9 C + 1]``: the 3×3 window of each cell of the 8×8 map, and a 1."""
    windows = [
        observation[dy : dy + SIDE, dx : dx + SIDE] for dy in range(KERNEL) for dx in range(KERNEL)
    ]
    one = jnp.ones((SIDE, SIDE, 1), observation.dtype)
    return jnp.concatenate([*windows, one], axis=-1).reshape(SIDE * SIDE, -1)


def torso(params: Params, observation: jax.Array) -> jax.Array:
    """``[10, 10, C] -> [1024]``: the convolution's features.

    The bias is a row of the matrix, met by the 1 of each patch: its gradient is then part of one
    matrix product instead of a slow reduction.
    """
    x = patches(observation.astype(params.conv.w.dtype))
    return jax.nn.relu(x @ jnp.concatenate([params.conv.w, params.conv.b[None]])).reshape(-1)


def _stream(features: jax.Array, hidden: Layer, head: Layer) -> jax.Array:
    return jax.nn.relu(features @ hidden.w + hidden.b) @ head.w + head.b


def advantages(params: Params, observation: jax.Array) -> jax.Array:
    """``[|A|]``: A(s, ·) alone, which is all that a greedy action needs."""
    return _stream(torso(params, observation), params.adv_hidden, params.adv)


def apply(params: Params, observation: jax.Array) -> Values:
    """V and A of one observation ``[10, 10, C]``."""
    features = torso(params, observation)
    v = _stream(features, params.v_hidden, params.v)[0]
    return Values(v, _stream(features, params.adv_hidden, params.adv))
