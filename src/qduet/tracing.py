"""What functions compute, as a short digest: another one of the same name is told apart.

digest("mine", (update, (tables, transition, step_size)), (read, (tables,)))     # "5f0c…"
"""

import hashlib
import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np


def digest(name: str, *calls: tuple[Callable[..., Any], tuple[Any, ...]]) -> str:
    """Of `name` and of each function as it is traced with its arguments; sixteen digits."""
    content = hashlib.sha256(name.encode())
    for function, arguments in calls:
        traced = jax.make_jaxpr(function)(*arguments)
        text = traced.jaxpr.pretty_print(use_color=False)  # str() has colours in a terminal
        content.update(re.sub(r"0x[0-9a-f]+", "", text).encode())
        for constant in traced.consts:
            content.update(np.asarray(constant).tobytes())
    return content.hexdigest()[:16]
