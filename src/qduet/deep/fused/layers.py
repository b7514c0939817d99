"""The costly steps of training, batched: in plain jax.numpy, and as kernels where there are some.

    x = features(packed, conv)                                       # [n, 1024]
    dx = input_gradient(dz, w)                                       # for each stream
    dconv = conv_gradient(packed, x, [dx, …], conv)
    slot = hidden_update(x, dz, slot, rate, used, epsilon)           # for each stream

One run's arrays; ``vmap`` adds the runs. What a step computes is said by its plain form; on NVIDIA
GPUs `fused.kernels` computes the same (but for rounding) with less memory traffic, and leaves alone
weights that are not `used`, whose gradient is 0.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from qduet.deep import adam, networks
from qduet.deep.adam import Rate, Slot
from qduet.deep.fused import kernels
from qduet.deep.networks import Layer

T = TypeVar("T")


def _bits(packed: jax.Array) -> jax.Array:
    """``uint8[bytes] -> bool[C, 100]``."""
    num_bits = packed.size * 8 // 100 * 100
    bits = jnp.unpackbits(packed, bitorder="little")[:num_bits]
    return bits.reshape(-1, 100).astype(bool)


def features(packed: jax.Array, conv: Layer) -> jax.Array:
    """``[n, 1024]``: the convolution's features of packed observations ``uint8[n, bytes]``."""
    plain = lambda packed, w: jax.vmap(partial(_torso, w))(packed)
    w = jnp.concatenate([conv.w, conv.b[None]])
    fits = kernels.fits(w.shape[1]) and w.dtype == jnp.float32
    return _either(kernels.features, plain, packed, w, fits=fits)


def _torso(w: jax.Array, packed: jax.Array) -> jax.Array:
    return networks.torso(Layer(w[:-1], w[-1]), _bits(packed))


def conv_gradient(packed: jax.Array, x: jax.Array, dx: Sequence[jax.Array], conv: Layer) -> Layer:
    """The convolution's gradient, from that of its features: parts ``[n, 1024]`` that add up."""

    def plain(packed: jax.Array, x: jax.Array, *dx: jax.Array) -> Layer:
        see = lambda p: networks.windows(_bits(p))
        windows = jax.vmap(see)(packed).astype(x.dtype)
        d = jnp.where(x > 0, sum(dx), 0.0).reshape(*windows.shape[:2], -1)
        _, pull_back = jax.vjp(networks.band, conv)
        return pull_back(jnp.einsum("nyk,nyo->ko", windows, d))[0]

    def fused(packed: jax.Array, x: jax.Array, *dx: jax.Array) -> Layer:
        gradient = kernels.conv_gradient(packed, x, dx)
        return Layer(gradient[:-1], gradient[-1])

    fits = kernels.fits(len(packed), conv.w.shape[1]) and x.dtype == jnp.float32
    return _either(fused, plain, packed, x, *dx, fits=fits)


def input_gradient(dz: jax.Array, w: jax.Array) -> jax.Array:
    """The gradient of a hidden layer's input: dz wᵀ, ``[n, inputs]``."""
    # XLA's CPU compiler would copy w to transpose it; dz is much smaller.
    plain = lambda dz, w: (w @ dz.T).T
    return _either(lambda dz, w: dz @ w.T, plain, dz, w, fits=True)


def not_before(dx: Sequence[jax.Array], rate: Rate) -> Rate:
    """The same rate, but to XLA's CPU compiler a result of `dx`.

    It then knows that the weights have been read when Adam writes them, and lets it write in place;
    else it copies them in each update. (A run whose gradient overflows is lost either way.)
    """
    nothing = lambda dx: 0.0 * sum(part[0, 0] for part in dx)
    plain = lambda dx, rate: rate._replace(scale=rate.scale + nothing(dx))
    return _either(lambda dx, rate: rate, plain, tuple(dx), rate, fits=True)


def hidden_update(
    x: jax.Array, dz: jax.Array, slot: Slot, rate: Rate, used: jax.Array, epsilon: float
) -> Slot:
    """Adam's step with the gradient xᵀ dz on weights ``[inputs, outputs]``.

    `used` is false for weights that nothing depends on: they have no gradient and never move, and
    a kernel then leaves them alone.
    """

    def plain(x: jax.Array, dz: jax.Array, slot: Slot, rate: Rate, used: jax.Array) -> Slot:
        return adam.step(slot, x.T @ dz, rate, epsilon)

    fused = partial(kernels.hidden_update, epsilon=epsilon)
    fits = kernels.fits(*dz.shape) and x.dtype == jnp.float32
    return _either(fused, plain, x, dz, slot, rate, used, fits=fits)


def _either(fused: Callable[..., T], plain: Callable[..., T], *args: Any, fits: bool) -> T:
    """The kernel's result on an NVIDIA GPU, if it fits; else the plain one."""
    if not fits:
        return plain(*args)
    return jax.lax.platform_dependent(*args, cuda=fused, default=plain)
