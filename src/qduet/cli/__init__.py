"""The command ``qduet``: one module per subcommand, each with `add_arguments` and `run`.

A subcommand module holds ``EXAMPLE`` (one or more command lines), ``add_arguments(parser)`` and
``run(args) -> int``. It is imported only when it is asked for, so that ``qduet --help`` needs
neither jax nor matplotlib. Bad input is an `InputError`: one line on standard error, exit code 2.
"""

import argparse
import contextlib
import difflib
import importlib
import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

import qduet
from qduet.cli import process
from qduet.core.errors import InputError, out_of_memory, printable, unknown_name

FAULT = 70
"""The exit code of an error that is qduet's own."""

COMMANDS: dict[str, str] = {
    "reproduce": "compute and draw the paper's figures",
    "tabular": "run one tabular rule with one setting",
    "theory": "check every claim of the paper on random MDPs, or on yours",
    "train": "train agents in an environment, many seeds at once",
    "sweep": "run a plan of many jobs, on this machine or on a Ray cluster",
    "agents": "list the agents, what they compute, and their numbers",
    "watch": "see an episode of a trained agent, with its value functions",
    "compare": "compare agents: tables, tests and figures from training runs",
    "certify": "compare our MinAtar runs, and the paper's claims, with the published scores",
    "play": "play a MinAtar game by keyboard in the terminal",
    "conformance": "examine which rules of the original MinAtar a port follows",
    "report": "write one page that shows everything in your results",
    "example": "list the example scripts, print one, or copy it",
    "bench": "time each part of the project on this machine",
}
"""Each subcommand and the line that ``qduet --help`` shows for it."""


_KEPT = "; what was finished is kept, run the same command again to continue"


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, and that accepts no abbreviated options."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)  # --seed 3 is not --seeds 3

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        if action.nargs in (None, "+") and arg_strings == ["--"]:  # --steps=--, which is no value
            raise argparse.ArgumentError(action, "needs a value; '--' is none")
        return super()._get_values(action, arg_strings)

    def error(self, message: str) -> NoReturn:
        """Prints `message` in one line and exits with code 2."""
        unknown = re.match(r"unrecognized arguments: (--[\w-]+)", message)
        if unknown and unknown[1] == "--import":
            message += ": it stands before the command, as in qduet --import MODULE train …"
        elif unknown:
            known = [name for name in self._option_string_actions if name.startswith("--")]
            near = difflib.get_close_matches(unknown[1].replace("_", "-"), known, n=1)
            message += f": did you mean {near[0]}?" if near else ""
        self.exit(2, printable(f"{self.prog}: {message} (see {self.prog} --help)") + "\n")


def _command_parser(name: str) -> Parser:
    command = importlib.import_module(f"qduet.cli.{name}")
    examples = "\n".join(f"  {line}" for line in command.EXAMPLE.splitlines())
    parser = Parser(
        prog=f"qduet {name}",
        description=COMMANDS[name],
        epilog=f"example:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_arguments(parser)
    parser.set_defaults(run=command.run)
    return parser


def _import(modules: Sequence[str]) -> None:
    """Imports the user's modules, also from the current directory.

    That directory comes last: a random.py in it does not replace Python's own.
    """
    if modules and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    for name in modules:
        try:
            importlib.import_module(name)
        except (Exception, SystemExit) as error:
            text = str if isinstance(error, ImportError | InputError) else repr
            reason = " ".join(text(error).split())
            missing = error.name if isinstance(error, ModuleNotFoundError) else None
            if missing is None or f"{name}.".startswith(f"{missing}."):
                hint = (
                    "give a module's name as in Python (my_game for my_game.py here), and try "
                    f"python -c 'import {name}'"
                )
            else:
                hint = f"{name} needs this package, which is not installed"
            raise InputError(f"--import {name}: {reason}; {hint}") from None


def _top_parser() -> Parser:
    commands = "\n".join(f"  {name:11}  {line}" for name, line in COMMANDS.items())
    parser = Parser(
        prog="qduet",
        description="TD methods that learn two value functions together.",
        epilog=f"commands:\n{commands}\n\nqduet COMMAND --help describes one of them.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"qduet {qduet.__version__}")
    parser.add_argument(
        "--import",
        dest="modules",
        metavar="MODULE",
        action="append",
        default=[],
        help="import a Python module first: one that registers a game, an agent or a network of "
        "yours (docs/training.md)",
    )
    parser.add_argument("command", metavar="COMMAND", nargs="?")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line `argv` and returns its exit code."""
    parser = _top_parser()
    top, args = parser.parse_args(argv), None
    try:
        if top.command is None:
            parser.error(f"COMMAND is missing: one of {', '.join(COMMANDS)}")
        if top.command not in COMMANDS:
            raise unknown_name("command", top.command, COMMANDS)
        _import(top.modules)
        command = _command_parser(top.command)
        # The intermixed form lets options stand between names, but it loses the meaning of "--".
        parse = command.parse_args if "--" in top.arguments else command.parse_intermixed_args
        args = parse(top.arguments)
        args.modules = top.modules
        code = args.run(args)
        sys.stdout.flush()  # a closed pipe is noticed here, and not at exit
        return code
    except InputError as error:
        return _refuse(top.command, str(error))
    except KeyboardInterrupt:
        told = ""
        if top.command in ("reproduce", "train", "sweep"):
            kept = args is not None and args.out is not None and any(args.out.glob("[!.]*"))
            told = _KEPT if kept else "; nothing was written"
        print(f"\nqduet {top.command}: interrupted{told}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _discard_output()
        return 141
    except OSError as error:  # a directory that cannot be read, a disk that is full
        _discard_output()
        return _refuse(top.command, str(error))
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        reason = str(error).splitlines()[0] if str(error) else "no more is left"
        return _refuse(top.command, f"not enough memory ({reason}); ask for less at once")


def _refuse(name: str, message: str) -> int:
    print(printable(f"qduet {name}: {message}"), file=sys.stderr)
    return 2


def _discard_output() -> None:
    """Sends buffered output to /dev/null, so that the flush at exit does not fail as well."""
    with contextlib.suppress(OSError, ValueError):  # standard output may be no file
        process.connect_to_nothing(sys.stdout.fileno())


def command() -> NoReturn:
    """Runs the command line of this process, and ends it."""
    process.keep_open()
    with process.interrupts_raised_again():
        try:
            code = main()
        except Exception:  # not Python's code 1, which is an answer of qduet certify
            traceback.print_exc()
            code = FAULT
    if code == 130:
        # jax may still be compiling, in a thread that does not survive the interpreter's end.
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
