"""``qduet certify``: our runs against the published scores; exit code 1 if something differs."""

import argparse
from pathlib import Path

from qduet.cli.options import (
    add_json,
    nonempty_path,
    print_json,
    shipped_figure6,
    tell_default,
    whole,
)
from qduet.core.errors import InputError
from qduet.core.files import write_atomically
from qduet.paper.certificate import as_document, certify
from qduet.paper.certificate_tables import certificate_tables, explanation, markdown, sentences
from qduet.paper.claims import CORRECTED, FAILS, HOLDS, UNDECIDED

EXAMPLE = """qduet certify                     # the paper's 450 runs, which come with qduet
qduet certify out/breakout out/freeway --at 1_000_000 --markdown certificate.md
qduet certify --reproduced out --json"""

EXIT_CODES = """exit codes:
  0  nothing differs from the published scores, and no claim of the paper is refuted
  1  something differs, or a claim does not hold
  2  the runs cannot be certified, or the command line is wrong
  70 an error of qduet itself, with a traceback"""

COLOURS = {
    "agree": "green",
    HOLDS: "green",
    CORRECTED: "green",
    "differ": "bold red",
    FAILS: "bold red",
    UNDECIDED: "yellow",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add = parser.add_argument
    add(
        "directories",
        nargs="*",
        type=nonempty_path,
        metavar="DIR",
        help="of qduet train --protocol reference, one per game, or one that holds several "
        "(default: results/figure6, which comes with qduet)",
    )
    add("--at", type=whole(1), metavar="STEP", help="compare at this step (default: the last one)")
    add(
        "--reproduced",
        type=nonempty_path,
        metavar="DIR",
        help="of qduet reproduce, for the claims on tables and theory (default: out, if it exists)",
    )
    add("--markdown", type=nonempty_path, metavar="FILE", help="write it there as well")
    add_json(parser)
    parser.epilog = f"{EXIT_CODES}\n\n{parser.epilog}"


def run(args: argparse.Namespace) -> int:
    """Makes the certificate and prints it."""
    if args.reproduced is not None and not args.reproduced.is_dir():
        raise InputError(f"--reproduced {args.reproduced}: there is no such directory")
    reproduced = args.reproduced or (Path("out") if Path("out").is_dir() else None)
    directories = args.directories or shipped_figure6()
    certificate = certify(directories, step=args.at, reproduced=reproduced)
    if args.markdown is not None:
        write_atomically(args.markdown, markdown(certificate).encode())
    if not args.directories:
        tell_default("certify", directories)
    if args.json:
        print_json(as_document(certificate))
    else:
        for table in certificate_tables(certificate):
            table.show(COLOURS)
        print("\n".join([explanation(), *sentences(certificate)]))
    return 1 if certificate.differs else 0
