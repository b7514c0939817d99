"""`qduet conformance`: which rules of the original MinAtar a port follows."""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from qduet.cli.options import add_json, print_json, whole
from qduet.core.errors import unknown_name
from qduet.core.tables import Table
from qduet.results.published import title

if TYPE_CHECKING:
    from qduet.minatar.conformance import Finding, Port

EXAMPLE = """qduet conformance gymnax
qduet conformance pgx --game Seaquest --steps 20000 --json
exit code: 0 nothing differs, 1 something differs, 2 bad input or not installed"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `qduet conformance`."""
    parser.add_argument("port", help="qduet, gymnax, pgx, or minatar (the original itself)")
    parser.add_argument("--game", action="append", help="one game (may be repeated; default all)")
    parser.add_argument(
        "--steps", type=whole(1), default=6000, help="steps followed per game (default 6,000)"
    )
    parser.add_argument(
        "--episodes", type=whole(2), default=400, help="episodes of random play (default 400)"
    )
    parser.add_argument(
        "--seed",
        type=whole(0, 2**31),
        default=0,
        help="another seed is another examination (default 0)",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Examines the port game by game."""
    from qduet.minatar.conformance import Verdict, examine, port
    from qduet.minatar.registry import GAMES, minatar_game

    for name in args.game or ():
        if not minatar_game(name):
            raise unknown_name("game", name, GAMES)
    examined = port(args.port)
    findings: list[Finding] = []
    for game in filter(None, map(minatar_game, args.game or GAMES)):
        print(f"examining {title(game)} …", end="\r", file=sys.stderr, flush=True)
        findings += examine(
            examined, game, steps=args.steps, episodes=args.episodes, seed=args.seed
        )
    print(" " * 30, end="\r", file=sys.stderr, flush=True)
    if args.json:
        print_json(document(examined, findings, args))
    else:
        show(examined, findings)
    return int(any(finding.verdict is Verdict.DIFFERS for finding in findings))


def document(port: "Port", findings: "list[Finding]", args: argparse.Namespace) -> dict[str, Any]:
    """The JSON document."""
    from importlib.metadata import version

    from qduet.minatar.conformance.rules import LEVEL

    return {
        "port": port.name,
        "version": port.version,
        "original": version("minatar"),
        "steps_per_game": args.steps,
        "seed": args.seed,
        "level_of_tests": LEVEL,
        "differs": sum(finding.verdict == "differs" for finding in findings),
        "findings": [finding._asdict() for finding in findings],
    }


def show(port: "Port", findings: "list[Finding]") -> None:
    """A table with one line for each rule of each game."""
    colours = {"conforms": "green", "differs": "bold red", "not checked": "dim"}
    rows = [(title(f.game), f.rule, str(f.verdict), f.evidence) for f in findings]
    heading = f"{port.name} {port.version} against the original MinAtar"
    Table(heading, ("game", "rule", "verdict", "evidence"), rows).show(colours)
