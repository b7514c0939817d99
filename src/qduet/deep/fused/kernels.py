"""Kernels for NVIDIA GPUs that keep in registers what XLA would write to memory and read back.

With many runs an update is bound by memory traffic, not by arithmetic. Each kernel is one step of
the update, and moves only what must be moved:

    features       packed observations → the convolution's output; no patches in memory
    conv_gradient  its gradient, again straight from the packed bits
    hidden_update  a hidden layer's gradient xᵀ dz and Adam's step with it: the gradient is never
                   in memory, weights and moments are read once and written once

They are written for one run; ``vmap`` adds the runs. `fused.network` holds the same steps in
jax.numpy and chooses between the two. Products of float32 are TF32 here, as XLA's own are by
default on these GPUs. ``interpret=True`` runs a kernel anywhere, slowly, for tests.

The convolution is three products, one for each column of its filters. Input (dy, c) of a product is
a bit of row y + dy of channel c. Two bytes hold that row, and the three products read three
neighbouring bits of it. The bias is one more input, a 1 that only the product of column 0 sees.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

from qduet.deep import adam
from qduet.deep.adam import Rate, Slot
from qduet.deep.board import KERNEL, SIDE

triton: Any
try:
    from jax.experimental.pallas import triton
except ImportError:  # deprecated since jax 0.11; without it the plain forms are used
    triton = None

ROW, BOARD = 10, 100
"""Bits of a row and of a channel of a packed observation."""
CELLS = SIDE * SIDE
"""Cells of the convolution's output, each with its filters."""

PART = 2
"""Observations per GPU block in `conv_gradient`, which then adds the blocks' gradients."""

T = TypeVar("T")
Ref = Any


def on_cuda(kernel: Callable[..., T], plain: Callable[..., T], *args: Any) -> T:
    """Calls `kernel` with `args` on an NVIDIA GPU, `plain` on any other device."""
    return jax.lax.platform_dependent(*args, cuda=kernel, default=plain)


def fits(*sizes: int) -> bool:
    """Whether a kernel can multiply matrices of these sizes: powers of two, 16 at least.

    The sizes are the number of filters and, for gradients, of transitions and of hidden units.
    """
    return all(size >= 16 and size & (size - 1) == 0 for size in sizes)


def depth_of(num_channels: int) -> int:
    """Inputs of one of the convolution's products, 3 C and the bias, padded to a power of two."""
    return max(16, 1 << (KERNEL * num_channels).bit_length())


def options(interpret: bool, warps: int) -> dict[str, Any]:
    """How a kernel is compiled, or interpreted."""
    if interpret:
        return {"interpret": True}
    return {"compiler_params": triton.CompilerParams(num_warps=warps, num_stages=1)}


def _divide(x: jax.Array, by: int) -> jax.Array:
    """⌊x / by⌋ for x ≥ 0."""
    return jax.lax.div(x, jnp.full_like(x, by))


def _rows(packed: Ref, cell: jax.Array, k: jax.Array, num_channels: int) -> jax.Array:
    """Input `k` of output `cell`: bit i is what the product of column i reads.

    Cell 64 n + 8 y + x is (y, x) of observation n; input C dy + c is row y + dy of channel c. The
    two arrays broadcast.
    """
    dy = _divide(k, num_channels)
    first = BOARD * (k - num_channels * dy) + ROW * (dy + ((cell >> 3) & 7))
    which = jnp.broadcast_to(cell >> 6, first.shape)
    there = jnp.broadcast_to(k < KERNEL * num_channels, first.shape)
    byte = lambda i: triton.load(packed.at[which, (first >> 3) + i], mask=there, other=0)
    row = byte(0).astype(jnp.int32) | byte(1).astype(jnp.int32) << 8
    is_bias = k == KERNEL * num_channels
    return jnp.where(is_bias, -1, row) >> ((first & 7) + (cell & 7))


def _bit(rows: jax.Array, column: int) -> jax.Array:
    return jnp.where((rows >> column) & 1 == 1, 1.0, 0.0)


def _dot(a: jax.Array, b: jax.Array, over: tuple[int, int]) -> jax.Array:
    dims = (((over[0],), (over[1],)), ((), ()))
    return jax.lax.dot_general(a, b, dims, preferred_element_type=jnp.float32)


def features(packed: jax.Array, w: jax.Array, *, interpret: bool = False) -> jax.Array:
    """``uint8[n, bytes], [9 C + 1, 16] -> [n, 1024]``: ReLU of the convolution; `w` ends with b."""
    n, num_filters = len(packed), w.shape[1]
    num_channels = w.shape[0] // (KERNEL * KERNEL)
    depth = depth_of(num_channels)
    size = CELLS if n % 2 else 2 * CELLS

    def kernel(packed: Ref, w: Ref, out: Ref) -> None:
        cell, k = pl.program_id(0) * size + jnp.arange(size), jnp.arange(depth)
        rows = _rows(packed, cell[:, None], k[None], num_channels)
        row = k + 2 * num_channels * _divide(k, num_channels)
        filters = jnp.broadcast_to(jnp.arange(num_filters)[None], (depth, num_filters))
        total = jnp.zeros((size, num_filters), jnp.float32)
        for column in range(KERNEL):
            num_inputs = KERNEL * num_channels + (column == 0)
            at = jnp.broadcast_to((row + num_channels * column)[:, None], filters.shape)
            mask = jnp.broadcast_to((k < num_inputs)[:, None], filters.shape)
            w_column = triton.load(w.at[at, filters], mask=mask, other=0.0)
            total += _dot(_bit(rows, column), w_column, (1, 0))
        out[...] = jnp.where(total < 0, 0.0, total)  # NaN stays, which a GPU's max would hide

    out = pl.pallas_call(
        kernel,
        grid=(n * CELLS // size,),
        in_specs=[
            pl.BlockSpec(packed.shape, lambda i: (0, 0)),
            pl.BlockSpec(w.shape, lambda i: (0, 0)),
        ],
        out_specs=pl.BlockSpec((size, num_filters), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((n * CELLS, num_filters), jnp.float32),
        name="features",
        **options(interpret, 4),
    )(packed, w)
    return out.reshape(n, CELLS * num_filters)


def conv_gradient(
    packed: jax.Array, x: jax.Array, dx: Sequence[jax.Array], *, interpret: bool = False
) -> jax.Array:
    """``[9 C + 1, 16]``: the gradient with respect to the `w` of `features`.

    `x` is the output of `features` ``[n, 1024]``; the `dx` add up to the gradient at that output.
    """
    n, num_filters = len(packed), x.shape[1] // CELLS
    num_channels = packed.shape[1] * 8 // BOARD
    assert n % PART == 0, "see `fits`"
    depth, cells, parts = depth_of(num_channels), PART * CELLS, n // PART
    by_cell = [a.reshape(n * CELLS, num_filters) for a in (x, *dx)]

    def kernel(packed: Ref, x: Ref, *dx_and_out: Ref) -> None:
        *dx, out = dx_and_out
        k = jnp.arange(depth)[:, None]
        totals = [jnp.zeros((depth, num_filters), jnp.float32)] * KERNEL
        for start in range(0, cells, CELLS):
            here = slice(start, start + CELLS)
            d = jnp.where(x[here, :] > 0, sum(part[here, :] for part in dx), 0.0)
            rows = _rows(packed, (start + jnp.arange(CELLS))[None], k, num_channels)
            totals = [t + _dot(_bit(rows, i), d, (1, 0)) for i, t in enumerate(totals)]
        for i, total in enumerate(totals):
            out[i] = total

    part = pl.pallas_call(
        kernel,
        grid=(parts,),
        in_specs=[
            pl.BlockSpec((PART, packed.shape[1]), lambda i: (i, 0)),
            *[pl.BlockSpec((cells, num_filters), lambda i: (i, 0)) for _ in by_cell],
        ],
        out_specs=pl.BlockSpec((None, KERNEL, depth, num_filters), lambda i: (i, 0, 0, 0)),
        out_shape=jax.ShapeDtypeStruct((parts, KERNEL, depth, num_filters), jnp.float32),
        name="conv_gradient",
        **options(interpret, 1),
    )(packed, *by_cell)
    total = part.sum(axis=0)
    by_column = total[:, : KERNEL * num_channels].reshape(KERNEL, KERNEL, num_channels, num_filters)
    w = by_column.transpose(1, 0, 2, 3).reshape(-1, num_filters)
    return jnp.concatenate([w, total[0, KERNEL * num_channels][None]])


def hidden_update(
    x: jax.Array,
    dz: jax.Array,
    slot: Slot,
    rate: Rate,
    used: jax.Array,
    epsilon: float,
    *,
    interpret: bool = False,
) -> Slot:
    """Adam's step with the gradient xᵀ dz on weights ``[inputs, outputs]``.

    `x` is ``[n, inputs]``, `dz` ``[n, outputs]``. Where `used` is false the slot stays as it is,
    and is not even read.
    """
    inputs, tile = x.shape[1], 16

    def kernel(x: Ref, dz: Ref, rate: Ref, p: Ref, m: Ref, v: Ref, *out: Ref) -> None:
        @pl.when(rate[2] != 0)  # used
        def _() -> None:
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
            pl.BlockSpec((4,), lambda i: (0,)),
            *[weights] * 3,
        ],
        out_specs=[weights] * 3,
        out_shape=[jax.ShapeDtypeStruct(a.shape, a.dtype) for a in slot],
        input_output_aliases={3: 0, 4: 1, 5: 2},
        name="hidden_update",
        **options(interpret, 4),
    )(x, dz, jnp.stack([*rate, used.astype(jnp.float32), jnp.float32(0)]), *slot)
    return Slot(*new)
