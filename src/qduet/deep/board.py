"""The paper's two-stream network (sec. 4.3): a pytree of weights, functions of one observation.

A 3×3 convolution with 16 filters, then two hidden layers of 128 units side by side, then V(s) and
A(s, ·):

    x = relu(conv(s)),   V(s) = v · relu(W_V x),   A(s, ·) = a · relu(W_A x)

    params = init(key, num_channels=4, num_actions=3)
    outputs = apply(params, observation)        # outputs.v [], outputs.adv [3]

DQN uses the advantage stream alone (`algorithms` gives V the weight 0). The convolution is written
as windows times a matrix: ``vmap`` over runs would turn a real convolution into a grouped one,
which is slow.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from qduet.core.errors import InputError
from qduet.core.xla import computed_once
from qduet.deep.layers import LECUN, InitScheme, Layer, Outputs, init_layer

FILTERS, HIDDEN, KERNEL, SIDE = 16, 128, 3, 8
"""Filters, hidden units, kernel size, and the side of the 8×8 map that a 10×10 board gives."""

WIDTH = 4
"""Neighbouring cells of the map that one window of the board gives; 4 is fastest on CPUs."""


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


class Hidden(NamedTuple):
    """The hidden units of both streams, before their ReLU."""

    v: jax.Array
    """``[128]``"""
    adv: jax.Array
    """``[128]``"""


def init(key: jax.Array, num_channels: int, num_actions: int, scheme: InitScheme = LECUN) -> Params:
    """Random weights for a board of `num_channels` channels."""
    features = FILTERS * SIDE * SIDE
    shapes = {
        "conv": (KERNEL * KERNEL * num_channels, FILTERS),
        "v_hidden": (features, HIDDEN),
        "adv_hidden": (features, HIDDEN),
        "v": (HIDDEN, 1),
        "adv": (HIDDEN, num_actions),
    }
    keys = jax.random.split(key, len(shapes))
    is_uniform = lambda name: scheme.uniform_conv if name == "conv" else scheme.uniform_streams
    layers = {
        name: init_layer(k, shape, is_uniform(name))
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }
    return Params(**layers)


def windows(bits: jax.Array) -> jax.Array:
    """``[C, 100] -> [64 / WIDTH, 3 (WIDTH + 2) C + 1]``: the inputs of `WIDTH` cells of the map.

    A 1 follows them, for the bias. Window i gives the cells from `WIDTH` i on of the 8×8 map, read
    row by row.
    """
    bits = computed_once(bits) if bits.dtype == bool else bits
    board = bits.reshape(-1, SIDE + KERNEL - 1, SIDE + KERNEL - 1)
    seen = [
        [board[:, dy : dy + SIDE, x : x + WIDTH + KERNEL - 1] for dy in range(KERNEL)]
        for x in range(0, SIDE, WIDTH)
    ]
    columns = jnp.array(seen).transpose(3, 0, 2, 1, 4).reshape(SIDE * SIDE // WIDTH, -1)
    return jnp.pad(columns, ((0, 0), (0, 1)), constant_values=1)


def band(conv: Layer) -> jax.Array:
    """``[3 (WIDTH + 2) C + 1, 16 WIDTH]``: what a window is multiplied by; the bias is a row of it.

    Row (c, dy, x') and column (x, f) hold the filter's weight (dy, x' − x, c, f), or 0 outside of
    the filter. Compared with 3×3 patches, `WIDTH` 4 means twice the operations on half the inputs,
    in fewer and larger products. The bias is a row because its gradient alone would be a slow
    reduction.
    """
    w = conv.w.reshape(KERNEL, KERNEL, -1, FILTERS)
    moved = [jnp.pad(w, ((0, 0), (x, WIDTH - 1 - x), (0, 0), (0, 0))) for x in range(WIDTH)]
    matrix = jnp.stack(moved, axis=-2).transpose(2, 0, 1, 3, 4).reshape(-1, WIDTH * FILTERS)
    return jnp.concatenate([matrix, jnp.tile(conv.b, WIDTH)[None]])


def torso(conv: Layer, bits: jax.Array) -> jax.Array:
    """``[C, 100] -> [1024]``: the convolution's features, cell by cell with 16 filters each."""
    seen = windows(bits).astype(conv.w.dtype)
    return jax.nn.relu(seen @ band(conv)).reshape(-1)


def hidden(params: Params, features: jax.Array) -> Hidden:
    """Both streams' hidden units before their ReLU, of features ``[1024]``."""
    v, adv = params.v_hidden, params.adv_hidden
    return Hidden(features @ v.w + v.b, features @ adv.w + adv.b)


def heads(params: Params, hidden: Hidden) -> Outputs:
    """V and A from the hidden units ``[128]`` before their ReLU."""
    v, adv = params.v, params.adv
    return Outputs((jax.nn.relu(hidden.v) @ v.w + v.b)[0], jax.nn.relu(hidden.adv) @ adv.w + adv.b)


def advantages(params: Params, features: jax.Array) -> jax.Array:
    """A(s, ·) of features ``[1024]``: all that a greedy action needs."""
    hidden, adv = params.adv_hidden, params.adv
    return jax.nn.relu(features @ hidden.w + hidden.b) @ adv.w + adv.b


def bits_of(observation: jax.Array) -> jax.Array:
    """``[10, 10, C] -> [C, 100]``, for `torso`."""
    return observation.transpose(2, 0, 1).reshape(observation.shape[2], -1)


def apply(params: Params, observation: jax.Array) -> Outputs:
    """V and A of one observation ``[10, 10, C]``."""
    side = SIDE + KERNEL - 1
    expected = (side, side, params.conv.w.shape[0] // KERNEL**2)
    if observation.shape != expected:
        raise InputError(
            f"an observation must be {list(expected)}; it is {list(observation.shape)}"
        )
    return heads(params, hidden(params, torso(params.conv, bits_of(observation))))
