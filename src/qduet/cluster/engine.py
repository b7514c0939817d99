"""What engines have in common: the options of a sweep, and how a job's turn ends."""

import contextlib
from pathlib import Path
from typing import Any, NamedTuple

from qduet.cluster import status
from qduet.cluster.estimates import Machine
from qduet.core.errors import InputError
from qduet.core.reading import read_json

CODES = {"finished": 0, "unfit": 77, "failed": 2, "stopped": 75, "busy": 76}
"""Exit codes of a process that does one job."""

PAUSE = 2.0
"""Seconds before a job that another process has is tried again."""


class Outcome(NamedTuple):
    """How a job's turn ended."""

    state: str
    """``finished``, ``failed``, ``stopped`` (it can go on), ``busy`` (another process has it),
    ``unfit`` (this machine cannot do it), ``killed``"""
    reason: str = ""
    """Why it failed, in one line."""

    @classmethod
    def of_process(cls, code: int, pid: int, directory: Path, name: str) -> "Outcome":
        """The outcome that a process left in its exit code and, if it failed, in its status."""
        state = {number: state for state, number in CODES.items()}.get(code, "failed")
        if state not in ("failed", "unfit"):
            return cls(state)
        note = {}
        with contextlib.suppress(InputError):
            note = read_json(directory / status.FOLDER / f"{name}.json")
        log = directory / "logs" / f"{name}.log"
        told = str(note.get("reason", "")) if note.get("pid") == pid else ""
        if not told and log.exists() and not log.stat().st_size:
            told = f"exit code {code}, and not a word could be written: is the disk full?"
        return cls("failed", told or f"exit code {code}; see {log}")


def give_up(directory: Path, name: str, reason: str) -> Outcome:
    """The outcome of a job that its engine starts no more, in its status too."""
    sweep = status.look(directory)
    if not any(job.task.name == name for job in sweep.of("finished")):  # by another driver
        status.Status(directory, name).write("failed", reason=reason)
    return Outcome("failed", reason)


class Options(NamedTuple):
    """How jobs are run; nothing here changes a result but `cpus`, on CPUs in the last bits."""

    cpus: int = 1
    """CPU cores of a job; where jobs run on CPUs, its threads."""
    retries: int = 3
    """How often a job is started again whose process was killed, or whose machine was lost."""
    checkpoint_minutes: float = 5.0
    """What a kill loses at most."""
    commit: str | None = None
    """For the record, where qduet is not in a git checkout."""
    address: str | None = None
    """Of a Ray cluster."""
    gpus: float = 1.0
    """GPUs of a task of Ray's, where jobs run on GPUs."""

    def of_work(self, machine: Machine) -> dict[str, Any]:
        """The options of `qduet.cluster.work.work`."""
        device = "gpu" if machine.gpu else "cpu"
        minutes, commit = self.checkpoint_minutes, self.commit
        return {"device": device, "checkpoint_minutes": minutes, "commit": commit}

    def environment(self, machine: Machine) -> dict[str, str]:
        """Variables that must be set before jax is imported."""
        return {} if machine.gpu else {"NPROC": str(self.cpus), "JAX_PLATFORMS": "cpu"}
