"""The network of `board` on batches of packed observations, and its update by Adam.

    outputs(params, packed)                  # V [n], A [n, |A|] of packed observations uint8[n, …]
    advantages(params, packed)               # A [|A|] of one packed observation
    update(loss, params, moments, packed, …) # one step of Adam, with the loss before it

All are written for one run; ``vmap`` adds the runs. JAX differentiates the heads and the loss. The
other layers are differentiated by hand, in four steps:

    x = features(packed, conv)                                       # [n, 1024]
    dx = input_gradient(dz, w)                                       # for each stream
    dconv = conv_gradient(packed, x, [dx, …], conv)
    slot = hidden_update(x, dz, slot, rate, used, epsilon)           # for each stream

Each step has a plain form in jax.numpy, which says what it computes. On NVIDIA GPUs `fused.kernels`
computes the same, but for rounding, with less memory traffic.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from qduet.deep import adam, board
from qduet.deep.adam import Moments, Rate, Slot
from qduet.deep.algorithms import Losses
from qduet.deep.board import Hidden, Params
from qduet.deep.fused import kernels
from qduet.deep.layers import Layer, Outputs
from qduet.deep.plain import Updated, with_shared_bias

T = TypeVar("T")


def outputs(params: Params, packed: jax.Array) -> Outputs:
    """V ``[n]`` and A ``[n, |A|]`` of packed observations uint8[n, bytes]."""
    top = lambda features: board.heads(params, board.hidden(params, features))
    return jax.vmap(top)(features(packed, params.conv))


def advantages(params: Params, packed: jax.Array) -> jax.Array:
    """A ``[|A|]`` of one packed observation uint8[bytes]."""
    return board.advantages(params, features(packed[None], params.conv)[0])


def update(
    epsilon: float,
    loss: Callable[[Outputs], Losses],
    params: Params,
    moments: Moments,
    packed: jax.Array,
    learning_rate: jax.Array,
    number: jax.Array,
    uses_v: jax.Array,
    shared_bias: jax.Array,
) -> Updated:
    """Step `number` of Adam on `loss`, a function of the outputs at `packed`, uint8[n, bytes].

    `epsilon` is Adam's, a number that is known when this is traced.
    `uses_v` is bool[]: false if the loss does not depend on V, whose stream then has no gradient.
    `shared_bias` is bool[]: whether the advantage head has one bias for all actions.
    """
    rate: Any = adam.rate(learning_rate, number)
    x = features(packed, params.conv)

    def batch_loss(hidden: Hidden, v: Layer, adv: Layer) -> tuple[jax.Array, Losses]:
        heads = partial(board.heads, params._replace(v=v, adv=adv))
        losses = loss(jax.vmap(heads)(hidden))
        return losses.total, losses

    hidden = jax.vmap(partial(board.hidden, params))(x)
    differentiate = jax.grad(batch_loss, argnums=(0, 1, 2), has_aux=True)
    (dz, dv, dadv), losses = differentiate(hidden, params.v, params.adv)
    dadv = with_shared_bias(dadv, shared_bias)

    dx = tuple(map(input_gradient, dz, (params.v_hidden.w, params.adv_hidden.w)))
    rate = _depending_on(dx, rate)
    move = lambda slot, gradient: adam.step(slot, gradient, rate, epsilon)
    descend = lambda dz, slot, used: hidden_update(x, dz, slot, rate, used, epsilon)
    old = jax.tree.map(Slot, params, moments.m, moments.v)
    dconv = conv_gradient(packed, x, dx, params.conv)
    new: Any = {
        "conv": tuple(map(move, old.conv, dconv)),
        "v_hidden": (descend(dz.v, old.v_hidden.w, uses_v), move(old.v_hidden.b, dz.v.sum(0))),
        "adv_hidden": (
            descend(dz.adv, old.adv_hidden.w, jnp.bool_(True)),
            move(old.adv_hidden.b, dz.adv.sum(0)),
        ),
        "v": tuple(map(move, old.v, dv)),
        "adv": tuple(map(move, old.adv, dadv)),
    }
    pick = lambda i: Params(**{name: Layer(w[i], b[i]) for name, (w, b) in new.items()})
    return Updated(pick(0), Moments(pick(1), pick(2)), losses)


# --- The steps -----------------------------------------------------------------------------------


def features(packed: jax.Array, conv: Layer) -> jax.Array:
    """``[n, 1024]``: the convolution's features of packed observations uint8[n, bytes]."""
    plain = lambda packed, w: jax.vmap(partial(_torso, w))(packed)
    w = jnp.concatenate([conv.w, conv.b[None]])
    fits = kernels.fits(w.shape[1]) and w.dtype == jnp.float32
    return _kernel_if_it_fits(fits, kernels.features, plain, packed, w)


def _torso(w: jax.Array, packed: jax.Array) -> jax.Array:
    return board.torso(Layer(w[:-1], w[-1]), _bits(packed))


def _bits(packed: jax.Array) -> jax.Array:
    """``uint8[bytes] -> bool[C, 100]``."""
    num_bits = packed.size * 8 // 100 * 100
    bits = jnp.unpackbits(packed, bitorder="little")[:num_bits]
    return bits.reshape(-1, 100).astype(bool)


def conv_gradient(packed: jax.Array, x: jax.Array, dx: Sequence[jax.Array], conv: Layer) -> Layer:
    """The convolution's gradient, given its features `x` ``[n, 1024]`` and their gradient.

    That gradient is the sum of the parts `dx`, one from each stream.
    """

    def plain(packed: jax.Array, x: jax.Array, *dx: jax.Array) -> Layer:
        see = lambda p: board.windows(_bits(p))
        windows = jax.vmap(see)(packed).astype(x.dtype)
        d = jnp.where(x > 0, sum(dx), 0.0).reshape(*windows.shape[:2], -1)
        _, pull_back = jax.vjp(board.band, conv)
        return pull_back(jnp.einsum("nyk,nyo->ko", windows, d))[0]

    def kernel(packed: jax.Array, x: jax.Array, *dx: jax.Array) -> Layer:
        gradient = kernels.conv_gradient(packed, x, dx)
        return Layer(gradient[:-1], gradient[-1])

    fits = kernels.fits(len(packed), conv.w.shape[1]) and x.dtype == jnp.float32
    return _kernel_if_it_fits(fits, kernel, plain, packed, x, *dx)


def input_gradient(dz: jax.Array, w: jax.Array) -> jax.Array:
    """The gradient of a hidden layer's input: dz wᵀ, ``[n, inputs]``."""
    # XLA's CPU compiler would copy w to transpose it; dz is much smaller.
    return kernels.on_cuda(lambda dz, w: dz @ w.T, lambda dz, w: (w @ dz.T).T, dz, w)


def _depending_on(dx: Sequence[jax.Array], rate: Rate) -> Rate:
    """The same rate, computed so that XLA's CPU compiler takes it for a result of `dx`.

    The compiler then knows that the weights have been read when Adam writes them, and writes in
    place. Otherwise it copies the weights in each update. (0 · ∞ is NaN, but a run whose gradient
    overflows is lost in any case.)
    """
    zero_of = lambda dx: 0.0 * sum(part[0, 0] for part in dx)
    plain = lambda dx, rate: rate._replace(scale=rate.scale + zero_of(dx))
    return kernels.on_cuda(lambda dx, rate: rate, plain, tuple(dx), rate)


def hidden_update(
    x: jax.Array, dz: jax.Array, slot: Slot, rate: Rate, used: jax.Array, epsilon: float
) -> Slot:
    """Adam's step with the gradient xᵀ dz on weights ``[inputs, outputs]``.

    `used` is bool[]: false for weights without influence on the loss. Their gradient is 0, so they
    never move, and the kernel does not even read them.
    """

    def plain(x: jax.Array, dz: jax.Array, slot: Slot, rate: Rate, used: jax.Array) -> Slot:
        return adam.step(slot, x.T @ dz, rate, epsilon)

    kernel = partial(kernels.hidden_update, epsilon=epsilon)
    fits = kernels.fits(*dz.shape) and x.dtype == jnp.float32
    return _kernel_if_it_fits(fits, kernel, plain, x, dz, slot, rate, used)


def _kernel_if_it_fits(
    fits: bool, kernel: Callable[..., T], plain: Callable[..., T], *args: Any
) -> T:
    there = fits and kernels.triton is not None
    return kernels.on_cuda(kernel, plain, *args) if there else plain(*args)
