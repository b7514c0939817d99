"""Three kernels for NVIDIA GPUs that keep in registers what XLA writes to memory and reads back.

With many runs an update is bound by memory traffic, not by arithmetic. Each of these is a step of
training that moves only what must be moved:

    features         packed observations → the convolution's output; no windows in memory
    band_gradient    its gradient, again straight from the packed bits
    hidden_update    a hidden layer's gradient xᵀ dz and Adam's step with it: the gradient is never
                     in memory, weights and moments are read once and written once

They are written for one run; ``vmap`` adds the runs. `qduet.layers` holds the same three steps in
plain jax.numpy and chooses. Products of float32 are TF32 here, as XLA's own are by default on these
GPUs. ``interpret=True`` runs a kernel anywhere, slowly, for tests.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from qduet import adam
from qduet.adam import Rate, Slot

SIDE, KERNEL, FILTERS = 8, 3, 16
ROW, BOARD = 10, 100
"""Bits of a row and of a channel of a packed observation."""
WINDOW = KERNEL * ROW
"""Bits of the three rows that one row of the convolution's output sees."""
OUT = SIDE * FILTERS
"""Outputs of one row: column by column, each with its filters."""
DEPTH = 64
"""Inputs that a product takes at a time."""

PARTS = 2
"""Pieces of a minibatch whose gradients are computed side by side and added in order."""

Ref = Any


def fits(batch: int) -> bool:
    """Whether the gradients' kernels can take a minibatch of this size: a power of two from 16."""
    return batch >= 16 and batch & (batch - 1) == 0


def depth_of(num_channels: int) -> int:
    """Rows of the band matrix (30 per channel and the bias), up to a multiple of `DEPTH`."""
    return -(-(WINDOW * num_channels + 1) // DEPTH) * DEPTH


def _options(interpret: bool, warps: int) -> dict[str, Any]:
    if interpret:
        return {"interpret": True}
    return {"compiler_params": triton.CompilerParams(num_warps=warps, num_stages=1)}


def _divide(x: jax.Array, by: int) -> jax.Array:
    """The quotient for x ≥ 0, without a sign's care."""
    return jax.lax.div(x, jnp.full_like(x, by))


def _windows(
    packed: Ref, rows: jax.Array, k: jax.Array, num_channels: int, limit: jax.Array | int
) -> jax.Array:
    """Inputs `k` of the windows `rows`, which broadcast together.

    Row r is line r % 8 of observation r // 8. Input k = 30 c + 10 dy + x of line y is bit
    100 c + 10 (y + dy) + x of the observation; after the last channel comes a 1.
    """
    bit = ROW * (rows & (SIDE - 1)) + ((BOARD - WINDOW) * _divide(k, WINDOW) + k)
    which = jnp.broadcast_to(_divide(rows, SIDE), bit.shape)
    there = (rows < limit) & (k < WINDOW * num_channels)
    byte = triton.load(packed.at[which, bit >> 3], mask=there, other=0)
    value = (byte.astype(jnp.int32) >> (bit & 7)) & 1
    return jnp.where(k == WINDOW * num_channels, 1, value).astype(jnp.float32)


def _band(w: Ref, first: int, columns: jax.Array, num_channels: int) -> jax.Array:
    """``[DEPTH, columns]`` of the band matrix, from the filters and bias ``[9 C + 1, 16]``."""
    k = first + jnp.arange(DEPTH)
    channel = _divide(k, WINDOW)
    j = k - WINDOW * channel
    dy = _divide(j, ROW)
    dx = (j - ROW * dy)[:, None] - _divide(columns, FILTERS)[None]
    is_bias = (k == WINDOW * num_channels)[:, None]
    row = (KERNEL * dy[:, None] + dx) * num_channels + channel[:, None]
    row = jnp.where(is_bias, KERNEL * KERNEL * num_channels, row)
    inside = (k < WINDOW * num_channels)[:, None] & (dx >= 0) & (dx < KERNEL)
    which = jnp.broadcast_to((columns & (FILTERS - 1))[None], row.shape)
    return triton.load(w.at[row, which], mask=is_bias | inside, other=0.0)


def _dot(a: jax.Array, b: jax.Array, over: tuple[int, int]) -> jax.Array:
    dims = (((over[0],), (over[1],)), ((), ()))
    return jax.lax.dot_general(a, b, dims, preferred_element_type=jnp.float32)


def features(packed: jax.Array, w: jax.Array, *, interpret: bool = False) -> jax.Array:
    """``uint8[n, bytes], [9 C + 1, 16] -> [n, 1024]``: ReLU of the convolution; `w` ends with b."""
    n, num_bytes = packed.shape
    num_channels = w.shape[0] // (KERNEL * KERNEL)
    each = 16 if n > 1 else 1
    height, width = (SIDE * each, 64) if n > 1 else (16, 32)

    def kernel(packed: Ref, w: Ref, out: Ref) -> None:
        rows, columns = jnp.arange(height), pl.program_id(1) * width + jnp.arange(width)
        limit = SIDE * jnp.minimum(each, n - each * pl.program_id(0))
        total = jnp.zeros((height, width), jnp.float32)
        for first in range(0, depth_of(num_channels), DEPTH):
            k = first + jnp.arange(DEPTH)
            x = _windows(packed, rows[:, None], k[None], num_channels, limit)
            total += _dot(x, _band(w, first, columns, num_channels), (1, 0))
        at = jnp.broadcast_to(rows[:, None], total.shape)
        to = jnp.broadcast_to(jnp.arange(width)[None], total.shape)
        triton.store(out.at[at, to], jnp.maximum(total, 0), mask=at < limit)

    out = pl.pallas_call(
        kernel,
        grid=(-(-n // each), OUT // width),
        in_specs=[
            pl.BlockSpec((each, num_bytes), lambda i, j: (i, 0)),
            pl.BlockSpec(w.shape, lambda i, j: (0, 0)),
        ],
        out_specs=pl.BlockSpec((SIDE * each, width), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((SIDE * n, OUT), jnp.float32),
        name="features",
        **_options(interpret, 4),
    )(packed, w)
    return out.reshape(n, SIDE * OUT)


def band_gradient(
    packed: jax.Array, x: jax.Array, dx: Sequence[jax.Array], *, interpret: bool = False
) -> jax.Array:
    """``[depth, 128]``: the band matrix's gradient, given that of its ReLU's output ``[n, 1024]``.

    `dx` are parts that add up.
    """
    n, num_bytes = packed.shape
    num_channels = num_bytes * 8 // BOARD
    depth, lines, tile = depth_of(num_channels), SIDE * n // PARTS, 64
    by_line = [a.reshape(SIDE * n, OUT) for a in (x, *dx)]

    def kernel(packed: Ref, x: Ref, *dx_and_out: Ref) -> None:
        *dx, out = dx_and_out
        k = pl.program_id(0) * DEPTH + jnp.arange(DEPTH)
        total = jnp.zeros((DEPTH, OUT), jnp.float32)
        for start in range(0, lines, tile):
            rows, here = start + jnp.arange(tile), slice(start, start + tile)
            window = _windows(packed, rows[None], k[:, None], num_channels, lines)
            d = sum(part[here, :] for part in dx)
            total += _dot(window, jnp.where(x[here, :] > 0, d, 0.0), (1, 0))
        out[...] = total

    part = pl.pallas_call(
        kernel,
        grid=(depth // DEPTH, PARTS),
        in_specs=[
            pl.BlockSpec((n // PARTS, num_bytes), lambda i, j: (j, 0)),
            *[pl.BlockSpec((lines, OUT), lambda i, j: (j, 0)) for _ in by_line],
        ],
        out_specs=pl.BlockSpec((None, DEPTH, OUT), lambda i, j: (j, i, 0)),
        out_shape=jax.ShapeDtypeStruct((PARTS, depth, OUT), jnp.float32),
        name="band_gradient",
        **_options(interpret, 4),
    )(packed, *by_line)
    return part.sum(axis=0)


def hidden_update(
    x: jax.Array,
    dz: jax.Array,
    slot: Slot,
    rate: Rate,
    epsilon: float,
    *,
    interpret: bool = False,
) -> Slot:
    """Adam's step with the gradient xᵀ dz on weights ``[inputs, outputs]``.

    `x` is ``[n, inputs]``, `dz` ``[n, outputs]``.
    """
    inputs, tile = x.shape[1], 16

    def kernel(x: Ref, dz: Ref, rate: Ref, p: Ref, m: Ref, v: Ref, *out: Ref) -> None:
        gradient = _dot(x[...], dz[...], (0, 0))
        old = Slot(p[...], m[...], v[...])
        new = adam.step(old, gradient, Rate(rate[0], rate[1]), epsilon)
        for ref, value in zip(out, new, strict=True):
            ref[...] = value

    weights = pl.BlockSpec((tile, dz.shape[1]), lambda i: (i, 0))
    new = pl.pallas_call(
        kernel,
        grid=(inputs // tile,),
        in_specs=[
            pl.BlockSpec((x.shape[0], tile), lambda i: (0, i)),
            pl.BlockSpec(dz.shape, lambda i: (0, 0)),
            pl.BlockSpec((2,), lambda i: (0,)),
            *[weights] * 3,
        ],
        out_specs=[weights] * 3,
        out_shape=[jax.ShapeDtypeStruct(a.shape, a.dtype) for a in slot],
        input_output_aliases={3: 0, 4: 1, 5: 2},
        name="hidden_update",
        **_options(interpret, 4),
    )(x, dz, jnp.stack(rate), *slot)
    return Slot(*new)
