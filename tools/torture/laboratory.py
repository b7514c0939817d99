"""Commands are run here, watched, and judged.

A *fault* is one of: a traceback (or the exit code of an error of qduet's own, or a crash), a hang
of over a minute, a refusal that is not one line with code 2, a wrong number, a lost byte, a
temporary file left behind, more than 2 GB of memory for a tiny file.
"""

import csv
import functools
import hashlib
import json
import multiprocessing
import multiprocessing.forkserver
import multiprocessing.process
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
import unittest.mock
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from qduet.core.provenance import commit
from torture import child
from torture.child import Plan

NOTHING = Plan()

LONGEST = 60.0
"""Seconds after which a command hangs."""
MOST_MEMORY = 2 * 2**30

FAULTS = ("traceback", "hang", "refusal", "wrong number", "lost bytes", "left behind", "memory")

_PROGRESS = re.compile(
    r"step \d|figure\d+ done|qduet report: left out: |\d+ of \d+ devices in use|\S+ still explores"
)
_TIMES = ("elapsed_seconds", "frames_per_second")
_NUMBER = re.compile(r"\d*\.?\d+(?:[eE][-+]?\d+)?")

TRAIN = ["train", "rdq", "dqn", "MinAtar/Breakout-v1", "--seeds", "2", "--steps", "400"]
TRAIN += ["--evaluate-every", "200", "--episodes", "2", "--checkpoint-minutes", "0", "--out"]
OTHER = ["train", "rdq", "MinAtar/Breakout-v1", "--seeds", "7,", "--steps", "200"]
OTHER += ["--episodes", "2", "--out"]
REPRODUCE = ["reproduce", "figure5", "--out"]


class Outcome(NamedTuple):
    """How a command ended."""

    code: int | None
    """Its exit code, −9 if it was killed; None if it did not end in time."""
    out: str
    err: str
    seconds: float
    peak: int
    """Bytes of memory; 0 if it was killed."""
    done: list[str]
    """Its file operations, in order."""


class Fault(NamedTuple):
    """Something that should not have happened."""

    kind: str
    detail: str


ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",
    "JAX_COMPILATION_CACHE_DIR": str(Path(tempfile.gettempdir()) / "qduet-torture-cache"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    "PYTHONPATH": os.pathsep.join(
        [str(Path(path).parents[1]) for path in (child.__file__, child.qduet.__file__)]
    ),
}
"""Of the commands. Their compiled programs are apart, since a kill may leave one half-written."""

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["torture.child"])
_STARTING = threading.Lock()


@functools.cache
def _start_server() -> None:
    """Starts the server of processes, which keeps the environment of its own start."""
    with unittest.mock.patch.dict(os.environ, ENVIRONMENT):
        multiprocessing.forkserver.ensure_running()


def _begin(process: multiprocessing.process.BaseProcess) -> None:
    with _STARTING:
        _start_server()
        process.start()


def run(
    arguments: list[str],
    where: Path,
    plan: Plan = NOTHING,
    *,
    kill_after: float | None = None,
    longest: float = LONGEST,
) -> Outcome:
    """Runs ``qduet`` in the directory `where`; kills it after so many seconds, if asked to."""
    with tempfile.TemporaryDirectory(prefix="qduet-torture-") as files:
        process = start(arguments, where, files, plan)
        begun = time.monotonic()
        process.join(longest if kill_after is None else kill_after)
        if process.is_alive():
            process.kill()  # which may have ended in this moment
            process.join()
            code = process.exitcode if kill_after is not None else None
        else:
            code = process.exitcode
        return _outcome(Path(files), code, time.monotonic() - begun)


def start(
    arguments: list[str], where: Path, files: str, plan: Plan = NOTHING
) -> multiprocessing.process.BaseProcess:
    """Starts ``qduet`` in a process of its own, whose output goes to `files`."""
    process = _SERVER.Process(target=child.run, args=(arguments, str(where), files, plan))
    _begin(process)
    return process


LOST = 255
"""The exit code of a process whose end two threads awaited: multiprocessing gives it to one."""


def _outcome(files: Path, code: int | None, seconds: float) -> Outcome:
    text = lambda name: (
        (files / name).read_text("utf-8", "replace") if (files / name).exists() else ""
    )
    note = json.loads(text("note.json") or '{"peak": 0, "done": []}')
    if code == LOST:
        code = note.get("code", code)
    return Outcome(code, text("out"), text("err"), seconds, note["peak"], note["done"])


def together(commands: list[list[str]], where: Path) -> list[Outcome]:
    """Runs the commands at the same time."""
    with tempfile.TemporaryDirectory(prefix="qduet-torture-") as files:
        folders = [Path(files) / str(i) for i in range(len(commands))]
        for folder in folders:
            folder.mkdir()
        begun = time.monotonic()
        started = [
            start(arguments, where, str(folder))
            for arguments, folder in zip(commands, folders, strict=True)
        ]
        outcomes = []
        for process, folder in zip(started, folders, strict=True):
            process.join(max(0.0, LONGEST * len(commands) - (time.monotonic() - begun)))
            code = None if process.is_alive() else process.exitcode
            if code is None:
                process.kill()  # which may have ended in this moment
                process.join()
            outcomes.append(_outcome(folder, code, time.monotonic() - begun))
        return outcomes


def claims(directory: Path, processes: int, times: int) -> Counter[str]:
    """How often processes that claim a directory at the same time had it, and not alone."""
    with tempfile.TemporaryDirectory(prefix="qduet-torture-") as files:
        folders = [Path(files) / str(i) for i in range(processes)]
        started = []
        for folder in folders:
            folder.mkdir()
            arguments = (str(directory), times, str(folder))
            started.append(_SERVER.Process(target=child.claim, args=arguments))
            _begin(started[-1])
        for process in started:
            process.join()
        counts: Counter[str] = Counter()
        for process, folder in zip(started, folders, strict=True):
            ended = process.exitcode == 0
            counts.update(json.loads((folder / "note.json").read_text()) if ended else {"odd": 1})
        return counts


# --- Judging -------------------------------------------------------------------------------------


def judge(outcome: Outcome, *, codes: tuple[int, ...] = (0, 2)) -> list[Fault]:
    """The faults that show in how a command ended."""
    last = (outcome.err.strip().splitlines() or [""])[-1][:300]
    faults = []
    if outcome.code is None:
        faults.append(Fault("hang", last))
    elif "Traceback (most recent call last)" in outcome.err or outcome.code not in codes:
        faults.append(Fault("traceback", f"code {outcome.code}: {last}"))
    elif outcome.code == 2:
        lines = [line for line in outcome.err.splitlines() if not _PROGRESS.match(line)]
        lines = [line for line in lines if line.strip()]
        if len(lines) != 1 or not lines[0].startswith("qduet ") or not lines[0].isprintable():
            faults.append(Fault("refusal", f"{len(lines)} lines: {last!r}"))
    if outcome.peak > MOST_MEMORY:
        faults.append(Fault("memory", f"{outcome.peak / 1e9:.1f} GB"))
    return faults


def files_of(directory: Path) -> dict[str, str]:
    """A digest of each regular file, by its relative path; locks and temporary files left out."""
    found = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file() and not path.name.startswith(".") and path.name != "lock":
            name = path.relative_to(directory).as_posix()
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def left_behind(directory: Path) -> list[str]:
    """Temporary files of commands that have ended."""
    hidden = (path for path in directory.rglob(".*") if "lock" not in path.name)
    return sorted(path.relative_to(directory).as_posix() for path in hidden)


def results_of(directory: Path) -> dict[str, str]:
    """What must be the same however often a command was killed, by file.

    Weights and curves files by their bytes, evaluations without times, tables by their bytes.
    """
    found = files_of(directory)
    kept = {
        name: digest
        for name, digest in found.items()
        if "checkpoint/" not in name
        and name.endswith((".safetensors", ".npz", ".md", "summary.json", "settings.json"))
    }
    for name in found:
        if name.endswith("evaluations.csv"):
            with (directory / name).open(encoding="utf-8") as file:
                rows = [
                    {k: v for k, v in row.items() if k not in _TIMES}
                    for row in csv.DictReader(file)
                ]
            kept[name] = hashlib.sha256(repr(rows).encode()).hexdigest()
    return kept


def differing(one: dict[str, str], other: dict[str, str]) -> str:
    """The files in which two sets of results differ."""
    names = sorted(name for name in {*one, *other} if one.get(name) != other.get(name))
    return ", ".join(names[:4])


def numbers(text: str) -> set[str]:
    """The numbers of a text with at least four digits, which are results and no counts."""
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:+.]+|[0-9a-f]{12,}", "", text)
    return {number for number in _NUMBER.findall(text) if sum(map(str.isdigit, number)) >= 4}


# --- A place for cases ---------------------------------------------------------------------------


class Laboratory:
    """A directory with specimens of every file that qduet writes, and room for experiments."""

    def __init__(self, root: Path, *, theory: bool = True) -> None:
        self.root = root
        self.specimens = root / "specimens"
        self._locks: dict[str, threading.Lock] = {}
        made, now = self.specimens / "made", str(commit())
        # Other code may write other bytes. What an edited tree is now, its commit does not tell.
        if not made.exists() or made.read_text() != now or now.endswith("+changes"):
            for name in ("specimens", "shown"):
                shutil.rmtree(root / name, ignore_errors=True)
            (root / "undisturbed.json").unlink(missing_ok=True)
            self.specimens.mkdir(parents=True)
            _make_specimens(self.specimens, theory)
            made.write_text(now)

    def only_one(self, name: str) -> threading.Lock:
        """A lock for what several cases need and one of them makes."""
        return self._locks.setdefault(name, threading.Lock())

    def room(self) -> Path:
        """An empty directory for one case of this thread."""
        room = self.root / "rooms" / str(threading.get_ident())
        if (room / "disk").is_mount():  # of a run that was killed
            subprocess.run(["umount", "--lazy", str(room / "disk")], check=True)
        shutil.rmtree(room, ignore_errors=True)
        room.mkdir(parents=True)
        return room


def _make_specimens(where: Path, theory: bool) -> None:
    commands = [
        [*TRAIN, "job"],
        ["reproduce", "figure5", "figure4", "--out", "out"],
        ["watch", "job", "--frames", "20", "--out", "watch"],
    ]
    if theory:
        commands.append(["theory", "--mdps", "2", "--out", "theory"])
    operations = 0
    for arguments in commands:
        outcome = run(arguments, where, longest=600)
        if outcome.code != 0:
            raise RuntimeError(f"qduet {' '.join(arguments)}: {outcome.code}\n{outcome.err}")
        operations = operations or len(outcome.done)
    # A job that was killed when it had rows and a checkpoint.
    run([*TRAIN, "stopped"], where, Plan(at=operations * 2 // 3), longest=600)
    _full_runs(where / "figure6" / "breakout")


def _full_runs(directory: Path) -> None:
    """Runs that `qduet certify` admits: the published scores of a game under our names."""
    from qduet.agents import make_agent
    from qduet.results import published, runs

    config = {
        "format": runs.FORMAT,
        "kind": "train",
        "env": "MinAtar/Breakout-v1",
        "game": "Breakout",
        "protocol": "reference",
        "agents": [
            {"label": name} | make_agent(name, protocol="reference").fields() | child.SMALL
            for name in published.AGENTS
        ],
        "seeds": list(range(10)),
        "steps": 10_000_000,
        "evaluate_every": 1_000_000,
        "episodes": 1_000,
        "provenance": {"commit": "0" * 40, "device": "none"},
    }
    rows = []
    for agent in published.AGENTS:
        values = published.scores("Breakout", agent).values * 1.01  # a copy would be refused
        for seed in range(10):
            for i in range(11):
                key = {"game": "Breakout", "agent": agent, "seed": seed, "step": i * 1_000_000}
                rows.append(key | {"return_mean": float(values[seed, i]), "elapsed_seconds": 9.0})
    runs.write(directory, config, rows)
