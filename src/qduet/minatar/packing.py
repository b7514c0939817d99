"""Observations packed into bits: 100 bits a channel, 50 bytes for 4 channels and 125 for 10.

Bit `100 c + 10 y + x` of the packed observation is cell (y, x) of channel c, the lowest bit of a
byte first. Games draw themselves as row masks (`rows`, uint32[channels, 10], bit x for column x),
and four rows of 10 bits are five bytes, so packing needs only fixed shifts.
"""

import jax
import jax.numpy as jnp

from qduet.core.xla import computed_once

SIZE = 10
"""The grid is SIZE by SIZE cells."""


def packed_size(num_channels: int) -> int:
    """Bytes that hold `num_channels` channels."""
    return -(-num_channels * SIZE * SIZE // 8)


def dense(rows: jax.Array) -> jax.Array:
    """Row masks [channels, 10] -> bool[10, 10, channels]."""
    columns = jnp.arange(SIZE, dtype=rows.dtype)[None, :, None]
    return (computed_once(rows).T[:, None, :] >> columns) & 1 == 1


def pack(rows: jax.Array) -> jax.Array:
    """Row masks [channels, 10] -> uint8[packed_size(channels)]."""
    num_channels = rows.shape[0]
    # Without the barrier the GPU compiler computes the picture again for each byte.
    flat = jax.lax.optimization_barrier(computed_once(rows)).reshape(-1)
    fours = jnp.pad(flat, (0, -flat.size % 4)).reshape(-1, 4)
    a, b, c, d = (fours[:, i] for i in range(4))
    octets = (a, a >> 8 | b << 2, b >> 6 | c << 4, c >> 4 | d << 6, d >> 2)
    whole = jnp.stack(octets, axis=-1).astype(jnp.uint8)
    return whole.reshape(-1)[: packed_size(num_channels)]


def unpack(packed: jax.Array, num_channels: int) -> jax.Array:
    """uint8[packed_size(channels)] -> bool[10, 10, channels], what `observe` gives."""
    bits = jnp.unpackbits(packed, bitorder="little")[: num_channels * SIZE * SIZE]
    return bits.reshape(num_channels, SIZE, SIZE).transpose(1, 2, 0).astype(bool)
