"""``qduet example``: the example scripts, to read, to copy and to change."""

import argparse
import ast
from pathlib import Path

from qduet.cli.options import nonempty_path
from qduet.core import shipped
from qduet.core.errors import InputError, unknown_name
from qduet.core.files import write_atomically

EXAMPLE = """qduet example                                      # what there is
qduet example rdq_cartpole                         # print it
qduet example own_game --out own_game.py           # a copy to change"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="print this one; lists all without")
    parser.add_argument(
        "--out", type=nonempty_path, metavar="FILE", help="write it there instead of printing it"
    )


def run(args: argparse.Namespace) -> int:
    """Lists the examples, or prints or writes one."""
    scripts = {path.stem: path for path in sorted(shipped.directory("examples").glob("*.py"))}
    if args.name is None:
        if args.out is not None:
            raise InputError("--out needs the NAME of an example; qduet example lists them")
        return _list(scripts)
    name = args.name.removesuffix(".py")
    if name not in scripts:
        raise unknown_name("example", args.name, scripts)
    text = scripts[name].read_text(encoding="utf-8")
    if args.out is not None:
        if args.out.exists():
            raise InputError(f"--out {args.out} exists, and is not overwritten; give another name")
        write_atomically(args.out, text.encode())
        print(f"wrote {args.out}; its first lines say how to run it")
    else:
        print(text, end="")
    return 0


def _list(scripts: dict[str, Path]) -> int:
    lines = {name: _first_line(path) for name, path in scripts.items()}
    width = max(map(len, lines), default=0)
    for name, line in lines.items():
        print(f"{name:{width}}  {line}")
    print("\nqduet example NAME prints one; with --out FILE it writes a copy to change.")
    return 0


def _first_line(path: Path) -> str:
    """The first line of a script's docstring, without running it."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    return (docstring or "").partition("\n")[0]
