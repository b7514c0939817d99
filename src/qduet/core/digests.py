"""Fingerprints: short digests of what functions compute; and shapes of arrays in words.

digest("mine", (update, (tables, transition, step_size)), (read, (tables,)))     # "5f0c…"
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np


def digest(name: str, *calls: tuple[Callable[..., Any], tuple[Any, ...]]) -> str:
    """Sixteen hexadecimal digits of `name` and of each function, traced with its arguments."""
    content = hashlib.sha256(name.encode())
    for function, arguments in calls:
        traced = jax.make_jaxpr(function)(*arguments)
        text = traced.jaxpr.pretty_print(use_color=False)  # str() has colours in a terminal
        content.update(re.sub(r"0x[0-9a-f]+", "", text).encode())
        for constant in _constants(traced):
            content.update(_as_numpy(constant).tobytes())
    return content.hexdigest()[:16]


def describe(tree: Any) -> str:
    """Shapes and types in words: ``uint32[4, 10]``, ``Ball(x=int32[], y=int32[])``."""
    return str(jax.tree.map(lambda x: f"{x.dtype}{list(x.shape)}", tree)).replace("'", "")


def _constants(traced: Any) -> Iterator[Any]:
    """The constant arrays of a traced function and of the functions that it calls."""
    yield from traced.consts
    for equation in traced.jaxpr.eqns:
        for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=_is_traced):
            if _is_traced(inner):
                yield from _constants(inner)


def _is_traced(value: Any) -> bool:
    return hasattr(value, "jaxpr") and hasattr(value, "consts")


def _as_numpy(constant: Any) -> np.ndarray:
    """An array or a random key as a NumPy array."""
    is_key = jax.dtypes.issubdtype(getattr(constant, "dtype", None), jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(constant) if is_key else constant)
