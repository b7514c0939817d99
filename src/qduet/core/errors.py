"""Bad input, told in one line.

Everything a user can get wrong (an argument, a file, a directory) is raised as `InputError` before
any work is done; the command prints its message and exits with code 2.
"""

import contextlib
import difflib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any


class InputError(ValueError):
    """What was wrong, where, and what to do about it, in one line."""


def unknown_name(kind: str, name: str, allowed: Iterable[str]) -> InputError:
    """The error for a name that is not one of `allowed`, with the likeliest one suggested.

    That is the first of `allowed` that begins so (``returns``: ``return_mean``), or the nearest.
    """
    by_lower = {candidate.lower(): candidate for candidate in allowed}
    stem = name.lower().rstrip("s")
    near = [candidate for candidate in by_lower if len(stem) > 2 and candidate.startswith(stem)]
    near = near or difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    hint = f"did you mean '{by_lower[near[0]]}'? " if near else ""
    names = ", ".join(sorted(by_lower.values()))
    return InputError(f"unknown {kind} '{name}': {hint}allowed: {names}")


def parse_json(text: str | bytes) -> Any:
    """What a file says, or `json.JSONDecodeError`, also where it is nested beyond all measure."""
    try:
        return json.loads(text)
    except RecursionError:
        raise json.JSONDecodeError("Nested too deeply", "", 0) from None


AGAIN = "delete it, and run what wrote it again"


def read_json(path: Path) -> dict[str, Any]:
    """The JSON document of a file; `InputError` if it is none."""
    try:
        document = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{path} is damaged: it is not JSON; {AGAIN}") from None
    if not isinstance(document, dict):
        raise InputError(f"{path} is damaged: it holds no settings or results; {AGAIN}")
    return document


@contextlib.contextmanager
def reading(path: Path | None) -> Iterator[None]:
    """Turns what goes wrong within, for a document that lacks something, into an `InputError`."""
    try:
        yield
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        raise InputError(f"{path} is not what qduet wrote there ({what}); {AGAIN}") from None


def out_of_memory(error: BaseException) -> bool:
    """Whether an exception of Python, NumPy or jax says that there is no memory left."""
    if isinstance(error, MemoryError):
        return True
    words = ("RESOURCE_EXHAUSTED", "Out of memory")
    return isinstance(error, RuntimeError) and any(word in str(error) for word in words)


KINDS: dict[type, tuple[str, tuple[type, ...]]] = {
    str: ("a text", (str,)),
    bool: ("True or False", (bool,)),
    int: ("a whole number", (int, float)),
    float: ("a finite number", (int, float)),
}
"""Plain types of settings: what they are called, and what may be made one of them."""

LARGEST = 3.4e38
"""Beyond it a float32 is infinite."""


def plain(kind: Any, what: str, value: Any) -> Any:
    """`value` as a `kind` of `KINDS`, if it is such a number, flag or text of any library.

    A JSON document can then hold it, and equal settings are equal there too (1 and 1.0).
    """
    told, accepted = KINDS[kind]
    found = value.item() if getattr(value, "ndim", None) == 0 else value
    fits = isinstance(found, accepted) and (kind is bool or not isinstance(found, bool))
    if fits and kind is int:
        fits = isinstance(found, int) or found.is_integer()
    if fits and kind is float:
        fits = abs(found) <= LARGEST
    if not fits:
        raise InputError(f"{what} must be {told}; it is {value!r}")
    return kind(found)
