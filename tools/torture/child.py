"""The command in a process of its own, on tiny jobs, with one of its file operations disturbed.

A server process imports this module once and forks a child for every command (`laboratory`), so
that a command costs no imports. Nothing of jax runs before the fork.
"""

import contextlib
import dataclasses
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.figure
import matplotlib.pyplot

import qduet.cli
import qduet.cli.certify
import qduet.cli.compare
import qduet.cli.report
import qduet.cli.reproduce
import qduet.cli.sweep
import qduet.cli.theory
import qduet.cli.train
import qduet.cli.watch
import qduet.show.report.theory
from qduet import agents
from qduet.core.errors import InputError
from qduet.jobs import resuming, trainer

OPERATIONS = ("replace", "rename", "fsync", "unlink", "remove", "rmdir", "mkdir", "link")
"""Functions of `os` that can be disturbed."""

SMALL = {"capacity": 200, "learn_from": 100, "sync_every": 100}
"""Settings of every agent."""

ADDRESS_SPACE = 24 * 2**30
"""No command gets more, so that a failure does not take the machine with it."""


class Plan(NamedTuple):
    """What is done to a command."""

    at: int = 0
    """The number of the file operation to disturb, from 1; 0: none."""
    after: bool = False
    """Whether it is disturbed when it is done, not before."""
    error: int = 0
    """The errno that it fails with; 0: the process is killed there."""
    closed: tuple[int, ...] = ()
    """Standard streams that are closed."""


def tiny() -> None:
    """Makes jobs and figures so small that a command takes a second."""
    for name, agent in agents.AGENTS.items():
        agents.AGENTS[name] = agent.replace(**SMALL)
    trainer.CALL_SECONDS = 0.0  # a call of the compiled program is one block
    known = qduet.cli.reproduce.FIGURES
    for name, figure in known.items():
        known[name] = dataclasses.replace(figure.small(), seeds=2, steps=200)
    matplotlib.figure.Figure.savefig = _no_picture  # type: ignore[method-assign,assignment]
    qduet.show.report.theory.draw_figure2 = lambda norms: matplotlib.figure.Figure()


def _no_picture(figure: Any, file: Any, **options: Any) -> None:
    file.write(b"a picture")


def disturb(plan: Plan, done: list[str]) -> None:
    """Wraps the file operations: notes each in `done`, and disturbs the one of the plan."""

    def wrapped(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*arguments: Any, **options: Any) -> Any:
            done.append(name)
            meant = len(done) == plan.at
            if meant and not plan.after:
                _strike(plan)
            value = original(*arguments, **options)
            if meant and plan.after:
                _strike(plan)
            return value

        return operation

    for name in OPERATIONS:
        setattr(os, name, wrapped(name, getattr(os, name)))


def _strike(plan: Plan) -> None:
    if plan.error:
        raise OSError(plan.error, os.strerror(plan.error))
    os.kill(os.getpid(), signal.SIGKILL)


def run(arguments: list[str], where: str, files: str, plan: Plan) -> None:
    """Runs ``qduet`` in the directory `where`; its output goes to files in the folder `files`."""
    folder = Path(files)
    for number, name in ((1, "out"), (2, "err")):
        handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, number)
        os.close(handle)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    os.chdir(where)
    tiny()
    done: list[str] = []
    note = os.open(folder / "note.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number in plan.closed:
        os.close(number)
        setattr(sys, ("stdin", "stdout", "stderr")[number], None)
    disturb(plan, done)
    sys.argv = ["qduet", *arguments]
    code: Any = None
    try:
        qduet.cli.command()
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        os.write(note, json.dumps({"peak": peak, "done": done, "code": code}).encode())
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(code if isinstance(code, int) else 70)


def claim(directory: str, times: int, files: str) -> None:
    """Claims a directory again and again; writes how often it had it, and how often not alone."""
    counts = {"claims": times, "held": 0, "double holds": 0}
    sign = Path(directory).with_suffix(".held")
    for _ in range(times):
        with contextlib.suppress(InputError), resuming.claimed(Path(directory)):
            try:
                os.close(os.open(sign, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                counts["double holds"] += 1
                continue
            counts["held"] += 1
            sign.unlink()
    Path(files, "note.json").write_text(json.dumps(counts))
