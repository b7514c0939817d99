"""``qduet bench``: how fast this machine runs each part of the project."""

import argparse
import importlib
import sys

from qduet.cli.options import add_json, print_json
from qduet.provenance import provenance

EXAMPLE = """qduet bench
qduet bench --tabular --json > bench.json"""

SECTIONS = {"tabular": "updates per second of each tabular rule, against plain NumPy"}
"""Each section, a module of `qduet.benchmarking`, and the line that ``--help`` shows for it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    for name, line in SECTIONS.items():
        parser.add_argument(f"--{name}", action="store_true", help=f"{line} (default: all)")
    parser.add_argument("--quick", action="store_true", help="less work, noisier readings")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Times the chosen sections, all of them by default."""
    chosen = [name for name in SECTIONS if getattr(args, name)] or list(SECTIONS)
    tell = lambda what: print(f"\r\033[Ktiming {what}", end="", file=sys.stderr, flush=True)
    document = {}
    for name in chosen:
        section = importlib.import_module(f"qduet.benchmarking.{name}")
        quiet = not sys.stderr.isatty()
        document[name] = section.measure(quick=args.quick, **({} if quiet else {"tell": tell}))
        if not quiet:
            print("\r\033[K", end="", file=sys.stderr)
        if not args.json:
            print(section.text(document[name]))
    if args.json:
        print_json({**document, "provenance": provenance()})
    return 0
