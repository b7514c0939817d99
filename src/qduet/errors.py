"""Bad input, told in one line.

Everything a user can get wrong (an argument, a file, a directory) is raised as `InputError` before
any work is done; the command prints its message and exits with code 2.
"""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """What was wrong, where, and what to do about it, in one line."""


def unknown_name(kind: str, name: str, allowed: Iterable[str]) -> InputError:
    """The error for a name that is not one of `allowed`, with the nearest one suggested."""
    names = sorted(allowed)
    by_lower = {candidate.lower(): candidate for candidate in names}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    hint = f"did you mean '{by_lower[near[0]]}'? " if near else ""
    return InputError(f"unknown {kind} '{name}': {hint}allowed: {', '.join(names)}")
