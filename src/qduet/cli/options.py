"""Arguments that several subcommands share, and what their values may be."""

import argparse
import contextlib
import math
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from qduet.core import shipped
from qduet.core.files import to_json

UNFINISHED = 75
"""The exit code of a job or a sweep that was stopped and can be continued."""


def whole(minimum: int, maximum: int = 2**63 - 1) -> Callable[[str], int]:
    """An integer of at least `minimum`; ``20_000`` and ``2e4`` are both fine."""

    def parse(text: str) -> int:
        with contextlib.suppress(InvalidOperation):
            value = Decimal(text)
            if value > maximum:
                raise argparse.ArgumentTypeError(f"'{text}' is more than {maximum:,}")
            if value >= minimum and value == value.to_integral_value():
                return int(value)
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least {minimum}")

    return parse


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


def shipped_figure6() -> list[Path]:
    """The runs that come with qduet, for a command that was given none."""
    return [shipped.directory("results") / "figure6"]


def tell_default(command: str, directories: Sequence[Path]) -> None:
    """Says whose results a command has shown that was given no directory."""
    named = " and ".join(map(str, directories))
    print(f"qduet {command}: no DIR given: these are the results in {named}", file=sys.stderr)


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
