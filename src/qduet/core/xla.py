"""Hints to XLA's CPU compiler, which make small loops fast, and their compilation short.

By default that compiler runs each operation of a loop body as a task of its own, which costs many
times the arithmetic of one table update. It also fuses a value into each of its users, so that it
copies whole tables when two are updated from one TD error. It does neither inside a
`native_function`, whose results are stored before they are used. Other backends see ordinary JAX
code.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.xla_metadata import set_xla_metadata


def jit_loops(function: Callable[..., Any], **options: Any) -> Any:
    """`jax.jit` for loops over small tables, which the CPU compiler then compiles in half the time.

    It makes fewer optimisations. The program is no slower, and rounds differently in the last bit.
    On other devices this is `jax.jit`. It must be the outermost one.
    """
    return jax.jit(function, compiler_options=_fewer_optimisations(), **options)


@functools.cache
def _fewer_optimisations() -> dict[str, Any]:
    """Options of XLA's CPU compiler; none on other devices."""
    if jax.default_backend() != "cpu":
        return {}
    options = {
        "xla_backend_optimization_level": 1,
        "xla_cpu_use_fusion_emitters": False,
        "xla_cpu_parallel_codegen_split_count": 1,  # these programs are too small to be split
    }
    return known_options(options)


def known_options(options: dict[str, Any]) -> dict[str, Any]:
    """Those of `options` that this version of the default device's compiler knows."""

    def is_known(name: str) -> bool:
        try:
            jax.jit(lambda: 0, compiler_options={name: options[name]}).lower().compile()
        except jax.errors.JaxRuntimeError:
            return False
        return True

    return {name: value for name, value in options.items() if is_known(name)}


def native_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which the CPU compiler turns into one native function."""

    @jax.jit
    def body(*args: Any) -> Any:
        # The attributes below apply to all that is traced inside, so they are undone here.
        with set_xla_metadata(xla_cpu_small_call="false", inlineable="true"):
            return function(*args)

    def native(*args: Any) -> Any:
        with set_xla_metadata(xla_cpu_small_call="true", inlineable="false"):
            return body(*args)

    return lambda *args: _on_cpu_or_else(native, function, *args)


def _on_cpu_or_else(cpu: Callable[..., Any], default: Callable[..., Any], *args: Any) -> Any:
    """``cpu(*args)`` on a CPU, ``default(*args)`` on another device."""
    if jax.default_backend() == "cpu":  # nothing runs elsewhere: half as much to trace
        return cpu(*args)
    return jax.lax.platform_dependent(*args, cpu=cpu, default=default)


def _over_actions(
    combine: Callable[[jax.Array, jax.Array], jax.Array],
    reduce: Callable[..., jax.Array],
    value: Callable[[Any], jax.Array],
    num_actions: int,
) -> jax.Array:
    def native() -> jax.Array:
        step = lambda a, total: combine(total, value(a))
        return jax.lax.fori_loop(1, num_actions, step, value(0))

    return _on_cpu_or_else(native, lambda: reduce(jax.vmap(value)(jnp.arange(num_actions)), axis=0))


def max_over_actions(value: Callable[[Any], jax.Array], num_actions: int) -> jax.Array:
    """max_a value(a)."""
    return _over_actions(jnp.maximum, jnp.max, value, num_actions)


def sum_over_actions(value: Callable[[Any], jax.Array], num_actions: int) -> jax.Array:
    """Σ_a value(a)."""
    return _over_actions(jnp.add, jnp.sum, value, num_actions)


def computed_once(value: jax.Array) -> jax.Array:
    """`value` (uint32 or bool, of any shape), unchanged but computed a single time on CPU.

    XLA's CPU compiler computes a value anew for each of its users, but never a reduction. So the
    value is returned as a reduction: the union of its two halves.
    """
    halves = jnp.array([0x0000FFFF, 0xFFFF0000], jnp.uint32).reshape(2, *[1] * value.ndim)
    parts = value.astype(jnp.uint32)[None] & halves
    return jax.lax.reduce_or(parts, axes=(0,)).astype(value.dtype)
