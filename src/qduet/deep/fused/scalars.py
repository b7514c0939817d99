"""A function of small arrays as one GPU kernel, in which every element is a number in a register.

    turn = as_kernel(one_turn_of_a_game)        # turn(*args) == one_turn_of_a_game(*args)

A step of a game is hundreds of operations on single numbers and on arrays of ten. XLA makes some
twenty kernels of them, one waiting for the other, and each takes longer to start than to compute.
Here the function is traced once and then computed element by element, so that only scalars are
left. Pallas makes one kernel of them. ``vmap`` gives every run a GPU block of its own.

The function may use elementwise operations and those that move, repeat or reduce elements in a
fixed pattern: slices, stacking, reshaping, sums, ``any``, ``argmax``. A function with other
operations (loops, indexing by a value) cannot be a kernel, and `as_kernel` leaves it to XLA. One
result differs from XLA's: a GPU's max or min of NaN and a number is the number.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.extend.core import Literal

from qduet.deep.fused import kernels

T = TypeVar("T")
Elements = Any
"""An array of objects: tracers, or NumPy scalars where a value is known."""


class _Irregular(NotImplementedError):
    """An operation that cannot be computed element by element."""


def as_kernel(function: Callable[..., T], *, interpret: bool = False) -> Callable[..., T]:
    """`function`, of pytrees of small arrays, as a kernel for NVIDIA GPUs if it can be one."""

    def fused(*args: Any) -> T:
        traced, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
        closed_over = [x for x in traced.consts if isinstance(x, jax.core.Tracer)]
        inputs = [*jax.tree.leaves(args), *closed_over]
        outputs, tree = jax.tree.flatten(shapes)

        def kernel(*refs: Any) -> None:
            given = [_filled(ref.shape, ref.__getitem__) for ref in refs[: len(inputs)]]
            split = len(given) - len(closed_over)
            results = _computed(traced.jaxpr, _consts(traced, given[split:]), given[:split])
            for ref, result in zip(refs[len(inputs) :], results, strict=True):
                for at in np.ndindex(result.shape):
                    ref[at] = jnp.asarray(result[at], ref.dtype)

        name = getattr(function, "__name__", "scalars")
        how = kernels.options(interpret, warps=1)
        call = pl.pallas_call(kernel, out_shape=outputs, name=name, **how)
        try:
            return jax.tree.unflatten(tree, call(*inputs))
        except _Irregular:
            return function(*args)

    return fused


def _consts(traced: Any, closed_over: list[Elements]) -> list[Elements]:
    """The elements of a traced function's constants; tracers have theirs in `closed_over`."""
    rest = iter(closed_over)
    is_known = lambda x: not isinstance(x, jax.core.Tracer)
    return [_known(x) if is_known(x) else next(rest) for x in traced.consts]


def _filled(shape: tuple[int, ...], value: Callable[[tuple[int, ...]], Any]) -> Elements:
    out = np.empty(shape, object)
    for at in np.ndindex(shape):
        out[at] = value(at)
    return out


def _known(x: Any) -> Elements:
    """An array of known values."""
    array = np.asarray(x)
    return _filled(array.shape, array.__getitem__)


def _computed(jaxpr: Any, consts: Sequence[Elements], given: Sequence[Elements]) -> list[Elements]:
    values = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *given), strict=True))
    read = lambda v: _known(v.val) if isinstance(v, Literal) else values[v]
    for eqn in jaxpr.eqns:
        results = _applied(eqn, [read(v) for v in eqn.invars])
        values.update(zip(eqn.outvars, results, strict=True))
    return [read(v) for v in jaxpr.outvars]


def _applied(eqn: Any, args: list[Elements]) -> list[Elements]:
    """The results of one operation."""
    name, shapes = eqn.primitive.name, [out.aval.shape for out in eqn.outvars]
    if name in _CALLS:
        inner = eqn.params["jaxpr"]
        return _computed(inner.jaxpr, [_known(x) for x in inner.consts], args)
    if name == "optimization_barrier":
        return args
    is_bool = bool(args) and eqn.invars[0].aval.dtype == bool
    if (is_bool and name in _NOT_OF_BOOL) or (name == "select_n" and len(args) > 3):
        raise _Irregular(f"{name}, for which there is no GPU instruction")
    if name in _MOVES:
        return [_MOVES[name](args, shapes[0], eqn.params)]
    if (name in _FOLDS or name == "argmax") and not args[0].size:
        raise _Irregular(f"{name} of no elements")
    if name in _FOLDS:
        return [_reduced(_FOLDS[name], args[0], eqn.params["axes"])]
    if name == "argmax":
        (axis,) = eqn.params["axes"]
        return [_argmax(np.moveaxis(args[0], axis, -1), eqn.params["index_dtype"])]
    if name not in _ELEMENTWISE and name not in _SHIFTS:
        raise _Irregular(f"{name} is no operation on single elements")
    apply = _shifted if name in _SHIFTS else _on_scalars
    args = [np.broadcast_to(arg, shapes[0]) for arg in args]
    return [_filled(shapes[0], lambda at: apply(eqn, *(arg[at] for arg in args)))]


def _on_scalars(eqn: Any, *args: Any) -> Any:
    """The result of one operation on scalars, computed now if they are known."""
    if any(isinstance(arg, jax.core.Tracer) for arg in args):
        return eqn.primitive.bind(*args, **eqn.params)
    with jax.ensure_compile_time_eval():
        return np.asarray(eqn.primitive.bind(*args, **eqn.params))[()]


def _shifted(eqn: Any, x: Any, by: Any) -> Any:
    """A shift as XLA defines it: by a negative number, or by all bits or more, it leaves 0.

    Triton does not define such a shift. An arithmetic shift to the right leaves the sign.
    """
    width = jnp.iinfo(x.dtype).bits
    if not isinstance(by, jax.core.Tracer) and 0 <= by < width:
        return _on_scalars(eqn, x, by)
    inside = (by >= 0) & (by < width)
    if eqn.primitive.name == "shift_right_arithmetic":
        return _on_scalars(eqn, x, jnp.where(inside, by, width - 1).astype(x.dtype))
    return jnp.where(inside, _on_scalars(eqn, x, by), jnp.zeros((), x.dtype))


def _reduced(combine: Callable[[Any, Any], Any], x: Elements, axes: Sequence[int]) -> Elements:
    last = tuple(range(-len(axes), 0))
    kept = np.moveaxis(x, axes, last)
    kept = kept.reshape(*kept.shape[: len(kept.shape) - len(axes)], -1)
    return _filled(kept.shape[:-1], lambda at: functools.reduce(combine, kept[at]))


def _argmax(x: Elements, dtype: Any) -> Elements:
    """The first of the largest along the last axis; NaN is larger than all."""

    def one(at: tuple[int, ...]) -> Any:
        best: Any = x[at][0]
        index: Any = np.asarray(0, dtype)
        for i, value in enumerate(itertools.islice(x[at], 1, None), start=1):
            larger = (value > best) | ((value != value) & (best == best))
            best = jnp.where(larger, value, best)
            index = jnp.where(larger, np.asarray(i, dtype), index)
        return index

    return _filled(x.shape[:-1], one)


def _broadcast(args: list[Elements], shape: tuple[int, ...], params: dict[str, Any]) -> Elements:
    sizes = [1] * len(shape)
    for axis, size in zip(params["broadcast_dimensions"], args[0].shape, strict=True):
        sizes[axis] = size
    return np.broadcast_to(args[0].reshape(sizes), shape)


def _pad(args: list[Elements], shape: tuple[int, ...], params: dict[str, Any]) -> Elements:
    if any(min(low, high) < 0 for low, high, _ in params["padding_config"]):
        raise _Irregular("pad by a negative number")
    out = _filled(shape, lambda at: args[1][()])
    inside = tuple(
        slice(low, low + size * (between + 1) - between, between + 1)
        for (low, _, between), size in zip(params["padding_config"], args[0].shape, strict=True)
    )
    out[inside] = args[0]
    return out


def _iota(args: list[Elements], shape: tuple[int, ...], params: dict[str, Any]) -> Elements:
    return _known(np.indices(shape)[params["dimension"]].astype(params["dtype"]))


def _slice(args: list[Elements], shape: tuple[int, ...], params: dict[str, Any]) -> Elements:
    steps = params["strides"] or [1] * len(shape)
    parts = zip(params["start_indices"], params["limit_indices"], steps, strict=True)
    return args[0][tuple(slice(*part) for part in parts)]


_CALLS = frozenset({"jit", "pjit", "closed_call"})
_SHIFTS = frozenset({"shift_left", "shift_right_logical", "shift_right_arithmetic"})
_NOT_OF_BOOL = frozenset({"max", "min", "reduce_max", "reduce_min"})

_ELEMENTWISE = frozenset(
    {"add", "sub", "mul", "div", "rem", "neg", "sign", "max", "min"}
    | {"and", "or", "xor", "not", "clz", "population_count"}
    | {"eq", "ne", "lt", "le", "gt", "ge", "select_n", "convert_element_type"}
)

_MOVES: dict[str, Callable[[list[Elements], tuple[int, ...], dict[str, Any]], Elements]] = {
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda args, shape, params: np.concatenate(args, params["dimension"]),
    "iota": _iota,
    "pad": _pad,
    "reshape": lambda args, shape, params: args[0].reshape(shape),
    "rev": lambda args, shape, params: np.flip(args[0], params["dimensions"]),
    "slice": _slice,
    "squeeze": lambda args, shape, params: args[0].reshape(shape),
    "stack": lambda args, shape, params: np.stack(args, params["axis"]),
    "transpose": lambda args, shape, params: args[0].transpose(params["permutation"]),
}

_FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "reduce_and": jax.lax.bitwise_and,
    "reduce_max": jax.lax.max,
    "reduce_min": jax.lax.min,
    "reduce_or": jax.lax.bitwise_or,
    "reduce_sum": jax.lax.add,
}
