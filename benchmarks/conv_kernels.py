"""The convolution's GPU kernels, written another way, against those of `qduet.kernels`.

    python benchmarks/conv_kernels.py

There, every input of the convolution is fetched from its byte. Here, the three rows of a channel
that a line of the output sees are first put into one 32-bit word, so a kernel loads one word for 30
inputs and spreads its bits in registers; and the gradient reads its cotangent once for up to five
channels. Both compute the same (``--interpret`` shows it without a GPU); which is faster is for a
GPU to say, and the winner goes into the library.
"""

import functools
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from qduet import kernels
from qduet.kernels import FILTERS, KERNEL, SIDE, _dot, _options

ROW, BOARD = 10, 100
"""Bits of a row and of a channel of a packed observation."""
SEEN = KERNEL * ROW
"""Bits of a channel that one row of the convolution's output sees: three rows."""
WORD = 32
"""Inputs of a channel: the bits seen, in channel 0 a 1 that meets the bias, and what is unused."""
OUT = SIDE * FILTERS
"""Outputs of one row: column by column, each with its filters."""
LINES = 64
"""Lines that a product of the gradient takes at a time."""
PARTS = 2
"""Pieces of a minibatch whose gradients are computed side by side and added in order."""
GROUP = 5
"""Channels, at most, whose gradients are computed together from one reading of their cotangent."""

Ref = Any


def _lines(packed: jax.Array) -> jax.Array:
    """``uint8[n, bytes] -> uint32[C, 8 n]``: what line y of an observation sees of a channel.

    Bit 10 dy + x of a word is cell (y + dy, x), bit 100 c + 10 (y + dy) + x of the observation;
    bit 30 is set in channel 0.
    """
    n, num_bytes = packed.shape
    channel = np.arange(num_bytes * 8 // BOARD)[:, None]
    first = BOARD * channel + ROW * np.arange(SIDE)
    byte = np.minimum((first >> 3)[..., None] + np.arange(5), num_bytes - 1)
    b = packed.astype(jnp.uint32)[:, byte]  # [n, C, 8, 5]
    shift = jnp.broadcast_to((first & 7).astype(np.uint32)[None], b.shape[:-1])
    low = b[..., 0] | b[..., 1] << 8 | b[..., 2] << 16 | b[..., 3] << 24
    word = (low >> shift | b[..., 4] << (WORD - shift)) & (2**SEEN - 1)
    bias = np.where(channel == 0, 2**SEEN, 0).astype(np.uint32)[None]
    return (word | bias).transpose(1, 0, 2).reshape(-1, SIDE * n)


def _inputs(words: jax.Array, bit: jax.Array) -> jax.Array:
    """Bits of words that broadcast together, as numbers."""
    return ((words >> bit) & 1).astype(jnp.float32)


def features(packed: jax.Array, w: jax.Array, *, interpret: bool = False) -> jax.Array:
    """``uint8[n, bytes], [9 C + 1, 16] -> [n, 1024]``: ReLU of the convolution; `w` ends with b."""
    n = len(packed)
    num_channels = w.shape[0] // (KERNEL * KERNEL)
    each, height, width = (16, SIDE * 16, 64) if n > 1 else (1, 16, 32)

    def kernel(lines: Ref, w: Ref, out: Ref) -> None:
        row, column = jnp.arange(height), pl.program_id(1) * width + jnp.arange(width)
        limit = SIDE * jnp.minimum(each, n - each * pl.program_id(0))
        bit = jnp.arange(WORD)
        dy = bit // ROW
        dx = (bit - ROW * dy)[:, None] - (column // FILTERS)[None]
        is_bias = jnp.broadcast_to((bit == SEEN)[:, None], dx.shape)
        inside = (bit < SEEN)[:, None] & (dx >= 0) & (dx < KERNEL)
        place = (KERNEL * dy[:, None] + dx) * num_channels
        unit = jnp.broadcast_to((column & (FILTERS - 1))[None], dx.shape)

        def add(c: jax.Array, total: jax.Array) -> jax.Array:
            here = jnp.where(is_bias, KERNEL * KERNEL * num_channels, place + c)
            band = triton.load(w.at[here, unit], mask=inside | (is_bias & (c == 0)), other=0.0)
            words = triton.load(lines.at[jnp.full_like(row, c), row], mask=row < limit, other=0)
            x = _inputs(words[:, None], bit.astype(jnp.uint32)[None])
            return total + _dot(x, band, (1, 0))

        total = jnp.zeros((height, width), jnp.float32)
        total = jax.lax.fori_loop(0, num_channels, add, total)
        at = jnp.broadcast_to(row[:, None], total.shape)
        to = jnp.broadcast_to(jnp.arange(width)[None], total.shape)
        triton.store(out.at[at, to], jnp.maximum(total, 0), mask=at < limit)

    out = pl.pallas_call(
        kernel,
        grid=(-(-n // each), OUT // width),
        in_specs=[
            pl.BlockSpec((num_channels, SIDE * each), lambda i, j: (0, i)),
            pl.BlockSpec(w.shape, lambda i, j: (0, 0)),
        ],
        out_specs=pl.BlockSpec((SIDE * each, width), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((SIDE * n, OUT), jnp.float32),
        name="features",
        **_options(interpret, 4),
    )(_lines(packed), w)
    return out.reshape(n, SIDE * OUT)


def band_gradient(
    packed: jax.Array, x: jax.Array, dx: Sequence[jax.Array], *, interpret: bool = False
) -> jax.Array:
    """``[30 C + 1, 128]``: the gradient of `networks.band`, given that of its ReLU's output.

    `x` is that output, ``[n, 1024]``; `dx` are parts of its gradient that add up.
    """
    n, num_channels = len(packed), packed.shape[1] * 8 // BOARD
    groups = -(-num_channels // GROUP)
    group, lines = -(-num_channels // groups), SIDE * n // PARTS
    words = jnp.pad(_lines(packed), ((0, groups * group - num_channels), (0, 0)))

    def kernel(words: Ref, x: Ref, *dx_and_out: Ref) -> None:
        *dx, out = dx_and_out
        bit = jnp.arange(WORD).astype(jnp.uint32)[:, None]
        totals = [jnp.zeros((WORD, OUT), jnp.float32) for _ in range(group)]
        for start in range(0, lines, LINES):
            here = slice(start, start + LINES)
            d = jnp.where(x[here, :] > 0, sum(part[here, :] for part in dx), 0.0)
            for c in range(group):
                totals[c] += _dot(_inputs(words[c, here][None], bit), d, (1, 0))
        for c in range(group):
            out[c] = totals[c]

    part = pl.pallas_call(
        kernel,
        grid=(groups, PARTS),
        in_specs=[
            pl.BlockSpec((group, lines), lambda i, j: (i, j)),
            *[pl.BlockSpec((lines, OUT), lambda i, j: (j, 0)) for _ in (x, *dx)],
        ],
        out_specs=pl.BlockSpec((None, group, WORD, OUT), lambda i, j: (j, i, 0, 0)),
        out_shape=jax.ShapeDtypeStruct((PARTS, groups * group, WORD, OUT), jnp.float32),
        name="band_gradient",
        **_options(interpret, 8),
    )(words, *[a.reshape(SIDE * n, OUT) for a in (x, *dx)])
    total = part.sum(axis=0)
    return jnp.concatenate([total[:num_channels, :SEEN].reshape(-1, OUT), total[0, SEEN][None]])


# --- Comparison ----------------------------------------------------------------------------------


def timed(function: Callable[..., jax.Array], *args: jax.Array, calls: int = 200) -> float:
    """Microseconds of one call, where calls follow each other on the device."""
    compiled = jax.jit(function)
    jax.block_until_ready(compiled(*args))
    begun = time.perf_counter()
    out = [compiled(*args) for _ in range(calls)]
    jax.block_until_ready(out[-1])
    return (time.perf_counter() - begun) / calls * 1e6


def old_gradient(packed: jax.Array, x: jax.Array, dx: Sequence[jax.Array], **how: Any) -> jax.Array:
    """`kernels.band_gradient`, without the rows that only fill it up."""
    num_channels = packed.shape[1] * 8 // BOARD
    return kernels.band_gradient(packed, x, dx, **how)[: SEEN * num_channels + 1]


def main() -> None:
    """Prints the largest difference and the times, for Breakout's and Seaquest's channels."""
    interpret = "--interpret" in sys.argv
    runs = 1 if interpret else 90
    for num_channels in (4, 10):
        key = jax.random.split(jax.random.key(0), 4)
        size = -(-num_channels * BOARD // 8)
        w = jax.random.normal(key[1], (runs, 9 * num_channels + 1, FILTERS))
        x, dx = jax.random.normal(key[2], (2, runs, 32, 1024))
        for n in (32, 1):
            packed = jax.random.bits(key[0], (runs, n, size), jnp.uint8)
            pair = [
                jax.vmap(functools.partial(f, interpret=interpret))
                for f in (kernels.features, features)
            ]
            report(f"features, {num_channels} channels, {n} a run", pair, (packed, w), interpret)
        packed = jax.random.bits(key[0], (runs, 32, size), jnp.uint8)
        pair = [
            jax.vmap(lambda p, x, d, f=f: f(p, x, (d, d), interpret=interpret))
            for f in (old_gradient, band_gradient)
        ]
        report(f"gradient, {num_channels} channels", pair, (packed, x, dx), interpret)


def report(name: str, pair: Sequence[Callable[..., jax.Array]], args: Any, interpret: bool) -> None:
    """One line."""
    old, new = (f(*args) for f in pair)
    difference = float(jnp.abs(old - new).max() / jnp.abs(old).max())
    calls = 1 if interpret else 200
    times = " -> ".join(f"{timed(f, *args, calls=calls):.1f}" for f in pair)
    print(f"{name}: relative difference {difference:.1e}, us {times}", flush=True)


if __name__ == "__main__":
    main()
