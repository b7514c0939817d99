"""Bad input, reported in one line.

Everything a user can get wrong (an argument, a file, a directory) is raised as `InputError` before
any work is done; the command prints its message and exits with code 2.
"""

import difflib
from collections.abc import Iterable
from typing import Any


def printable(text: str) -> str:
    """`text` in one line; what a terminal would obey, such as a line end, is escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class InputError(ValueError):
    """What was wrong, where, and what to do about it, in one line (`printable`)."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def unknown_name(
    kind: str, name: str, allowed: Iterable[str], *, importable: bool = False
) -> InputError:
    """The error for a name that is not one of `allowed`; it suggests the likeliest one.

    The likeliest is the first that begins like `name` (``returns``: ``return_mean``), or the
    nearest in spelling. `importable`: a module of the user's could have registered the name.
    """
    by_lower = {candidate.lower(): candidate for candidate in allowed}
    name = str(name)
    stem = name.lower().rstrip("s")
    near = [candidate for candidate in by_lower if len(stem) > 2 and candidate.startswith(stem)]
    near = near or difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    hint = f"did you mean '{by_lower[near[0]]}'? " if near else ""
    names = ", ".join(sorted(by_lower.values()))
    own = "; if it is your own, name its module: qduet --import MODULE COMMAND …"
    return InputError(f"unknown {kind} '{name}': {hint}allowed: {names}{own * importable}")


def out_of_memory(error: BaseException) -> bool:
    """Whether an exception of Python, NumPy or jax says that there is no memory left."""
    if isinstance(error, MemoryError):
        return True
    words = ("RESOURCE_EXHAUSTED", "Out of memory")
    return isinstance(error, RuntimeError) and any(word in str(error) for word in words)


_KINDS: dict[type, tuple[str, tuple[type, ...]]] = {
    str: ("a text", (str,)),
    bool: ("True or False", (bool,)),
    int: ("a whole number", (int, float)),
    float: ("a finite number", (int, float)),
}
"""The types of settings: how an error names them, and which Python types are accepted."""

_LARGEST = 3.4e38
"""A larger float32 is infinite."""


def as_setting(kind: Any, name: str, value: Any) -> Any:
    """`value` as Python's own `kind` (str, bool, int or float), so that JSON can hold it.

    Scalars of NumPy and jax are accepted, and whole floats for an int, so that equal settings are
    equal in JSON too (1 and 1.0). Anything else is an `InputError` that calls the setting `name`.
    """
    wanted, accepted = _KINDS[kind]
    scalar = value.item() if getattr(value, "ndim", None) == 0 else value
    fits = isinstance(scalar, accepted) and (kind is bool or not isinstance(scalar, bool))
    if fits and kind is int:
        fits = isinstance(scalar, int) or scalar.is_integer()
    if fits and kind is float:
        fits = abs(scalar) <= _LARGEST
    if not fits:
        raise InputError(f"{name} must be {wanted}; it is {value!r}")
    return kind(scalar)
