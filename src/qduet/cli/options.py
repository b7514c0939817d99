"""Arguments that several subcommands share, and what their values may be."""

import argparse
import contextlib
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qduet.core.files import to_json

LARGEST = 2**63 - 1
"""The largest integer of NumPy and jax."""


def whole(minimum: int, maximum: int = LARGEST) -> Callable[[str], int]:
    """An integer of at least `minimum`; ``20_000`` and ``2e4`` are both fine."""

    def parse(text: str) -> int:
        value = _integer(text)
        if value is not None and value > maximum:
            raise argparse.ArgumentTypeError(f"'{text}' is more than {maximum:,}")
        if value is None or value < minimum:
            raise argparse.ArgumentTypeError(
                f"'{text}' is not a whole number of at least {minimum}"
            )
        return value

    return parse


def _integer(text: str) -> int | None:
    """The integer that `text` stands for, exactly; None if it is not one."""
    with contextlib.suppress(ValueError):
        return int(text)
    with contextlib.suppress(ValueError, OverflowError):
        value = float(text)
        return int(value) if value.is_integer() else None
    return None


def real(
    minimum: float, maximum: float, *, open_below: bool = False, open_above: bool = False
) -> Any:
    """A finite number between `minimum` and `maximum`."""
    open_above = open_above or maximum == math.inf
    brackets = f"{'(' if open_below else '['}{minimum:g}, {maximum:g}{')' if open_above else ']'}"

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        above = value > minimum if open_below else value >= minimum
        below = value < maximum if open_above else value <= maximum
        if not (above and below and math.isfinite(value)):
            raise argparse.ArgumentTypeError(f"'{text}' is not a number in {brackets}")
        return value

    return parse


def nonempty_path(text: str) -> Path:
    """A file or directory. An empty text (an unset variable in a script) is refused."""
    if not text:
        raise argparse.ArgumentTypeError("an empty text names no file or directory")
    return Path(text)


def add_json(parser: argparse.ArgumentParser) -> None:
    """``--json``."""
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document and nothing else"
    )


def add_out(parser: argparse.ArgumentParser, what: str, default: str | None = None) -> None:
    """``--out``: its help says `what` is written there, and the default."""
    shown = what if default is None else f"{what} (default {default})"
    parser.add_argument(
        "--out", type=nonempty_path, metavar="DIR", default=default and Path(default), help=shown
    )


def print_json(value: Any) -> None:
    """Prints `value` as the one JSON document of a command."""
    sys.stdout.write(to_json(value) + "\n")
