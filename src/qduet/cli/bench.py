"""`qduet bench`: speed on this machine, in sections."""

import argparse
import importlib
import math
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from qduet.cli.options import add_json, print_json, real, whole
from qduet.core.errors import InputError
from qduet.core.files import check_writable, write_atomically

EXAMPLE = """qduet bench
qduet bench --minatar --games Seaquest --batch 1024 65536 --json
qduet bench --deep --games Breakout Seaquest
qduet bench --deep --games Breakout --runs 1 3 10 30 90
qduet bench --scaling --figure scaling.png
qduet bench --scaling --parts training --games Seaquest --runs 1 4 16"""

SECTIONS = ("tabular", "minatar", "deep", "scaling")
"""Modules of `qduet.bench`; the first is what `qduet bench` measures without an option."""

SHARED = {
    "games": ("minatar", "deep", "scaling"),
    "runs": ("deep", "scaling"),
    "steps": ("deep", "scaling"),
}
"""Options that several sections have, and which ones."""


def section(name: str) -> ModuleType:
    """The module of a section."""
    return importlib.import_module(f"qduet.bench.{name}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One switch for each section, and the sections' own options; their numbers are positive."""
    parser.register("type", int, whole(1))
    parser.register("type", float, real(0, math.inf, open_below=True))
    chosen = parser.add_mutually_exclusive_group()
    for name in SECTIONS:
        measured = section(name)
        chosen.add_argument(
            f"--{name}", action="store_const", const=name, dest="section", help=measured.DESCRIPTION
        )
        measured.add_arguments(parser.add_argument_group(f"options of --{name}"))
    shared = parser.add_argument_group("options of several sections")
    shared.add_argument(
        "--games",
        nargs="+",
        metavar="GAME",
        help="of --minatar, --deep, --scaling; default: all five, but for --scaling, and for "
        "--deep on a CPU, Breakout",
    )
    shared.add_argument(
        "--runs",
        type=int,
        nargs="+",
        help="how many side by side, of --deep and --scaling, one or more numbers; default: 90 on "
        "GPUs and 1 on CPUs, or several for --scaling; they are of RDQ, but in --deep of the "
        "paper's agents if all are multiples of 3",
    )
    shared.add_argument(
        "--steps",
        type=int,
        help="that are timed, of --deep and --scaling; default: 100,000 on GPUs, 4,000 on CPUs",
    )
    parser.set_defaults(section=SECTIONS[0])
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Measures one section and prints its readings."""
    check(args)
    if args.figure is not None:
        if not args.figure.endswith(".png"):
            raise InputError(f"--figure must name a .png file; it is {args.figure}")
        check_writable(Path(args.figure).parent)  # before minutes of measuring
    measured = section(args.section)
    readings: list[Any] = []
    for reading in measured.measure(args):
        readings.append(reading)
        if sys.stderr.isatty():
            count = "1 reading" if len(readings) == 1 else f"{len(readings)} readings"
            print(count, end="\r", file=sys.stderr, flush=True)
    if args.figure is not None:
        from qduet.show.figures import draw, rendered

        write_atomically(Path(args.figure), rendered(draw(measured.chart(readings)), "png")["png"])
        print(f"{args.figure} written", file=sys.stderr)
    if args.json:
        summary = measured.summary(readings) if hasattr(measured, "summary") else {}
        print_json({**document(args.section, readings), **summary})
    else:
        measured.show(readings)
    return 0


def check(args: argparse.Namespace) -> None:
    """Refuses an option of another section, which would be ignored."""
    own = _options(args.section)
    for other in SECTIONS:
        for name, default in _options(other).items():
            if name not in own and getattr(args, name) != default:
                raise InputError(
                    f"--{name} is an option of --{other}, but --{args.section} would be measured: "
                    f"leave it out, or measure --{other}"
                )


def _options(name: str) -> dict[str, Any]:
    """The options of a section, and their defaults."""
    parser = argparse.ArgumentParser(add_help=False)
    section(name).add_arguments(parser)
    shared = {option: None for option, sections in SHARED.items() if name in sections}
    return {**vars(parser.parse_args([])), **shared}


def document(name: str, readings: list[Any]) -> dict[str, Any]:
    """The JSON document: the machine and every reading."""
    import jax

    from qduet.core.provenance import provenance

    return {
        "section": name,
        **provenance(),
        "platform": jax.default_backend(),
        "cpu_cores": os.cpu_count(),
        "readings": [reading._asdict() for reading in readings],
    }
