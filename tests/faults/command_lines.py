"""Random command lines: each is accepted, or refused in one line with exit code 2.

    counts = main(10_000, seed=0)
    counts["tracebacks"]            # 0

A line is a real command with real options, in any number and order. Values are good ones, odd ones
(empty, negative, huge, no number, other alphabets, control characters, bytes that are no text) and
paths (files, directories, links, a pipe, devices). What would compute for long is replaced by a
refusal; all that reads arguments, names and files is the real thing.
"""

import argparse
import contextlib
import io
import os
import random
import signal
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import planted
from examples_by_path import ROOT

from qduet import cli
from qduet.cli import options
from qduet.core.errors import InputError
from qduet.deep import AGENTS
from qduet.minatar import ENV_IDS
from qduet.tabular import RULES

ODD = (
    *("", " ", "-", "--", "-1", "0", "1", "2", "100", "1e3", "1_000", "1e40", "9" * 5_000, "-0.0"),
    *(
        "nan",
        "inf",
        "-inf",
        "1e-400",
        "1e400",
        "0x10",
        "1.5",
        "٣",
        "½",
        "²",
        "1,2",
        ",",
        "3-1",
        "0-5",
    ),
    *(
        "1-999999999999",
        "-v",
        "-v1",
        "x-v1",
        "=",
        "a=b",
        "a=",
        "=b",
        "@file",
        "%s",
        "%(prog)s",
        "{}",
    ),
    *(
        "a\nb",
        "\x1b[31mred",
        "\r",
        "\u202e",
        "💥",
        "é" * 200,
        "x" * 300,
        "\udcff",
        "\t",
        "~",
        "$HOME",
    ),
    *(
        "None",
        "True",
        "[]",
        "../..",
        ".",
        "..",
        "/proc",
        "//proc/1",
        "a/../b",
        "no/such/place",
        "rdq@a",
        "*",
    ),
)
"""Values that few options accept."""

GOOD = (
    *(*AGENTS, *RULES, *ENV_IDS, "breakout", "on-policy", "dueling", "ring", "FrozenLake-v1"),
    *("figure1", "figure6", "qvmax_bias", "gymnax", "qduet", "Breakout", "return_mean", "0.1", "3"),
)
"""Values that some option accepts."""

LIMIT_SECONDS = 60
"""A line that takes longer counts as a hang."""

BATCH = 100
"""Lines that are tried in one directory; some of them overwrite what is there."""


def make_places(root: Path) -> list[str]:
    """Makes files, directories and links of many kinds in `root`; returns their names."""
    (root / "empty").mkdir()
    (root / "nested" / "deeper").mkdir(parents=True)
    (root / "file.txt").write_text("a text\n")
    (root / "null.json").write_text("null")
    (root / "deep.json").write_text("[" * 50_000)
    (root / "bytes.npz").write_bytes(bytes(range(256)))
    (root / "model.safetensors").write_bytes(b"\xff" * 64)
    (root / "loop").symlink_to("loop")
    (root / "gone").symlink_to("nowhere")
    (root / "link").symlink_to("file.txt")
    (root / "link-to-directory").symlink_to("empty")
    os.mkfifo(root / "pipe")
    configuration = planted.config("Breakout", seeds=(0, 1))
    generator = planted.np.random.default_rng(0)
    curves = {
        agent: planted.resampled("Breakout", agent, generator, seeds=2)
        for agent in planted.published.AGENTS
    }
    planted.runs.write(root / "runs", configuration, planted.rows(configuration, curves))
    (root / "half").mkdir()
    (root / "half" / "config.json").write_bytes((root / "runs" / "config.json").read_bytes())
    columns = root / "columns"
    columns.mkdir()
    for name in ("config.json", "evaluations.csv"):
        (columns / name).write_bytes((root / "runs" / name).read_bytes())
    recordings = sorted((ROOT / "results" / "recordings").glob("*.json"))
    (root / "recording.json").write_bytes(recordings[0].read_bytes())
    text = (columns / "evaluations.csv").read_text()
    (columns / "evaluations.csv").write_text(text.replace("return_mean", "renamed"))
    names = sorted(path.name for path in root.iterdir())
    return [*names, "runs/config.json", "file.txt/inside", "name=runs", "/dev/null", "/dev/full"]


NAMES = {
    "agents": (*AGENTS,),
    "env": ENV_IDS,
    "rule": (*RULES,),
    "figures": ("figure1", "figure2", "figure4", "figure6"),
    "port": ("qduet", "minatar"),
    "directories": ("runs", "runs", "name=runs", "half", "columns", ".", "empty"),
    "source": ("runs", "half", "model.safetensors", "recording.json", "null.json"),
    "mdp": ("on-policy", "dueling", "ring", "FrozenLake-v1", "null.json"),
    "claim": ("qvmax_bias", "theorem"),
    "agent": ("rdq", "dqn"),
    "game": ("Breakout", "space_invaders"),
    "games": ("Breakout", "Seaquest"),
    "metric": ("return_mean", "q_overestimation"),
    "baseline": ("rdq", "dqn", "rdq@name"),
}
"""Values that fit an argument, by its name, where they are not numbers."""


class Argument(NamedTuple):
    """An argument of a command, and the values that fit it."""

    options: tuple[str, ...]
    nargs: str | int | None
    fitting: tuple[str, ...]


def arguments_of(command: str, places: list[str]) -> list[Argument]:
    """All arguments of a command."""

    def fits(action: argparse.Action, value: str) -> bool:
        try:
            return action.type is None or action.type(value) is not None
        except (argparse.ArgumentTypeError, ValueError):
            return False

    arguments = []
    for action in cli._command_parser(command)._actions:
        fitting = [str(choice) for choice in action.choices or NAMES.get(action.dest, ())]
        pool = places if action.type is options.nonempty_path else ODD
        fitting = fitting or [value for value in pool if fits(action, value)]
        if action.dest != "help":
            argument = Argument(tuple(action.option_strings), action.nargs, tuple(fitting or GOOD))
            arguments.append(argument)
    return arguments


def command_line(rng: random.Random, arguments: dict, places: list[str]) -> list[str]:
    """One random command line: in a third of them every value fits."""
    oddness = rng.choice((0.0, 0.2, 0.6))

    def value(argument: Argument) -> str:
        pool = rng.choice((ODD, GOOD, places)) if rng.random() < oddness else argument.fitting
        return rng.choice(pool)

    if rng.random() < 0.02:
        return [rng.choice((*ODD, *GOOD, "--version", "--import", "--help")) for _ in range(3)]
    command = rng.choice(list(cli.COMMANDS))
    positional = [a for a in arguments[command] if not a.options]
    named = [a for a in arguments[command] if a.options]
    words = []
    for argument in positional:
        if rng.random() > oddness / 10:
            count = rng.randint(1, 3) if argument.nargs in ("+", "*") else 1
            words += [value(argument) for _ in range(count)]
    if command == "train" and rng.random() < 0.9:
        words += ["--out", rng.choice(places)]
    for argument in rng.choices(named, k=rng.randint(0, 4)):
        option = rng.choice(argument.options)
        if argument.nargs == 0:
            words.append(option + "=x" * (rng.random() < oddness / 5))
        elif rng.random() < 0.3:
            given = "--" if rng.random() < oddness / 10 else value(argument)
            words.append(f"{option}={given}")
        else:
            words += [option, value(argument)]
            if argument.nargs == "+" or rng.random() < oddness / 5:
                words += [value(argument)] * rng.randint(0, 2)
    if rng.random() < oddness / 5:
        rng.shuffle(words)
    front = ["--import", rng.choice((*ODD, *GOOD))] if rng.random() < oddness / 20 else []
    return [*front, command, *words]


class TooMuch(InputError):
    """In place of work that would take long."""


def refuse(*_: object, **__: object) -> None:
    raise TooMuch("accepted, and not run")


EXPENSIVE = (
    "qduet.cli.tabular.sweep",
    "qduet.cli.reproduce._reproduce",
    "qduet.cli.reproduce.figure4_chart",
    "qduet.cli.reproduce.save",
    "qduet.cli.theory.run_suite",
    "qduet.cli.theory.results_on",
    "qduet.jobs.recording.record",
    "qduet.jobs.trainer.Program",
    "qduet.minatar.conformance.examine",
    "qduet.bench.scaling.measure",
    "qduet.bench.tabular.measure",
    "qduet.bench.deep.measure",
    "qduet.bench.minatar.measure",
    "qduet.show.charts.comparison.comparison_charts",
    "qduet.show.charts.figure6.figure6_charts",
    "qduet.show.player.gif.gif",
)


def outcome(line: list[str]) -> tuple[str, str]:
    """What becomes of a command line, and what it printed to standard error."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.main(line)
    except SystemExit as stop:
        code = stop.code
    except Hang:
        return "hangs", err.getvalue()
    except Exception as error:
        return "tracebacks", f"{type(error).__name__}: {error}"
    told = err.getvalue()
    if code == 2 and "accepted, and not run" not in told:
        one_line = told.endswith("\n") and len(told.splitlines()) == 1 and not out.getvalue()
        return ("refused" if one_line else "not one line"), told
    return ("accepted" if code in (0, 1, 2, None) else f"exit code {code}"), told


def main(count: int, seed: int = 0) -> dict[str, int]:
    """Tries `count` random command lines; prints those that end badly, and returns the counts."""
    rng = random.Random(seed)
    counts = dict.fromkeys(
        ("lines", "accepted", "refused", "not one line", "tracebacks", "hangs"), 0
    )
    with contextlib.ExitStack() as stack:
        for name in EXPENSIVE:
            stack.enter_context(mock.patch(name, refuse))
        stack.enter_context(mock.patch.object(sys, "path", [*sys.path]))
        stack.callback(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, _hang))
        stack.callback(os.chdir, Path.cwd())
        while counts["lines"] < count:
            with tempfile.TemporaryDirectory() as directory:
                root = Path(directory, "two", "levels")  # .. and ../.. are still ours
                root.mkdir(parents=True)
                os.chdir(root)
                places = make_places(root)
                arguments = {command: arguments_of(command, places) for command in cli.COMMANDS}
                for _ in range(min(BATCH, count - counts["lines"])):
                    line = command_line(rng, arguments, places)
                    signal.alarm(LIMIT_SECONDS)
                    kind, told = outcome(line)
                    signal.alarm(0)
                    counts["lines"] += 1
                    counts[kind] = counts.get(kind, 0) + 1
                    if kind not in ("accepted", "refused"):
                        print(f"{kind}: qduet {line!r}: {told[:300]!r}", flush=True)
    return counts


class Hang(BaseException):
    """Raised in a line that takes too long."""


def _hang(*_: object) -> None:
    raise Hang


if __name__ == "__main__":
    print(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
