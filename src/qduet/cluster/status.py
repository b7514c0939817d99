"""Where each job of a sweep stands: a file that it writes, and an overview read from all of them.

overview = look(Path("out/sweep"))              # from any machine, at any time
overview.count("finished"), overview.seconds_left
"""

import contextlib
import os
import socket
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from qduet.cluster import cutting
from qduet.cluster.cutting import Task
from qduet.core.errors import InputError
from qduet.core.files import write_json
from qduet.core.reading import read_json
from qduet.results.runs import EVALUATIONS

FOLDER = "status"
"""The folder of a sweep with a file for each job that was begun."""

EVERY = 5.0
"""Seconds between two writings of a status."""

SILENT = 60.0
"""Seconds without a sign of life, after which a job that was running is taken to be lost."""

STATES = ("finished", "running", "waiting", "failed")


class Status(contextlib.AbstractContextManager["Status"]):
    """The status file of a job that runs; inside the context it is written every few seconds."""

    def __init__(self, directory: Path, name: str) -> None:
        self._path = directory / FOLDER / f"{name}.json"
        self._values: dict[str, Any] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write_now_and_then, daemon=True)

    def __enter__(self) -> "Status":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def tell(self, **values: Any) -> None:
        """What the next writing says."""
        self._values = {**self._values, **values}

    def write(self, state: str, **values: Any) -> None:
        """Writes the file; a disk that is full does not end the job."""
        self.tell(**values, state=state, at=time.time(), host=socket.gethostname(), pid=os.getpid())
        with contextlib.suppress(InputError, OSError):
            write_json(self._path, self._values)

    def _write_now_and_then(self) -> None:
        while not self._ended.wait(EVERY if "at" in self._values else 1.0):
            if "doing" in self._values:  # not before it has the directory for itself
                self.write("running")


class JobStatus(NamedTuple):
    """Where one job stands."""

    task: Task
    state: str
    """One of `STATES`; a job that was stopped, or lost, waits."""
    note: dict[str, Any]
    """What its status file holds; empty if there is none."""

    @property
    def done(self) -> float:
        """The share of it that is done."""
        if self.state == "finished":
            return 1.0
        if not self.task.trains:
            return float(self.note.get("share", 0.0))
        return float(self.note.get("step", 0)) / self.task.settings["steps"]


class Overview(NamedTuple):
    """Where a sweep stands."""

    jobs: tuple[JobStatus, ...]

    def of(self, state: str) -> list[JobStatus]:
        """The jobs in a state."""
        return [job for job in self.jobs if job.state == state]

    def count(self, state: str) -> int:
        """How many are in a state."""
        return len(self.of(state))

    @property
    def frames_per_second(self) -> float:
        """Of all jobs that are running."""
        return sum(float(job.note.get("frames_per_second", 0.0)) for job in self.of("running"))

    @property
    def seconds_left(self) -> float | None:
        """Until all training is done, if it goes on as now; None if that is not known."""
        left = [job for job in self.jobs if job.task.trains and job.state in ("running", "waiting")]
        frames = sum((1 - job.done) * job.task.runs * job.task.settings["steps"] for job in left)
        return frames / self.frames_per_second if self.frames_per_second else None


def look(directory: Path) -> Overview:
    """Reads the sweep in `directory`; `InputError` if there is none."""
    sweep = cutting.load(directory)
    if sweep is None:
        raise InputError(f"{directory} holds no sweep; give the --out of a qduet sweep command")
    return Overview(tuple(_job(directory, task) for task in sweep.tasks))


def _has_results(directory: Path, task: Task) -> bool:
    return (directory / EVALUATIONS).exists() if task.trains else any(directory.rglob("*.npz"))


def _job(directory: Path, task: Task) -> JobStatus:
    try:
        note = read_json(directory / FOLDER / f"{task.name}.json")
        state, at = str(note["state"]), float(note["at"])
        _ = [float(note.get(key, 0)) for key in ("step", "share", "frames_per_second")]
    except (InputError, ValueError, KeyError, TypeError):  # none, or half of it is here yet
        return JobStatus(task, "waiting", {})
    if state == "running" and time.time() - at > SILENT:
        state = "waiting"
    if state == "finished" and not _has_results(directory / task.name, task):
        state = "waiting"
    return JobStatus(task, state if state in STATES else "waiting", note)
