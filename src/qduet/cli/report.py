"""``qduet report``: all results of some directories on one self-contained page."""

import argparse
import sys
from pathlib import Path

from qduet.cli.options import nonempty_path, tell_default
from qduet.core import shipped
from qduet.core.errors import InputError
from qduet.core.files import write_atomically

EXAMPLE = """qduet report                        # of out/ and the paper's results, into report.html
qduet report my_runs/ --title "My agent on Breakout" -o mine.html"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "directories",
        nargs="*",
        type=nonempty_path,
        metavar="DIR",
        help="of reproduce, theory --out, train or watch, in any mix (default: out, and "
        "results or, where there is none, those that come with qduet)",
    )
    parser.add_argument(
        "-o",
        "--out",
        type=nonempty_path,
        default=Path("report.html"),
        metavar="FILE",
        help="report.html",
    )
    parser.add_argument(
        "--title",
        metavar="TEXT",
        help="the heading (default: what the paper is about; of runs of one's own, the directory)",
    )


def _default_directories() -> list[Path]:
    own = [path for path in map(Path, ("out", "results")) if path.is_dir()]
    return own if Path("results") in own else [*own, shipped.directory("results")]


def run(args: argparse.Namespace) -> int:
    """Writes the page and says where it is."""
    from qduet.show.report import build

    if args.out.is_dir():
        raise InputError(f"-o {args.out} is a directory; give the name of a file in it")
    directories = args.directories or _default_directories()
    page = build(directories, title=args.title)
    content = shipped.with_short_paths(page.html).encode(errors="backslashreplace")
    write_atomically(args.out, content)
    if not args.directories and Path("results") not in directories:
        tell_default("report", directories)
    for problem in page.problems:
        print(f"qduet report: left out: {problem}", file=sys.stderr)
    print(f"{args.out.resolve()} ({len(content) / 1e6:.1f} MB, works from disk)")
    return 0
