"""What engines have in common: the options of a sweep, and how a job's turn ends."""

from pathlib import Path
from typing import NamedTuple

from qduet.cluster import status
from qduet.cluster.estimates import Machine
from qduet.core.errors import InputError
from qduet.core.reading import read_json

CODES = {"finished": 0, "unfit": 77, "failed": 2, "stopped": 75, "busy": 76}
"""Exit codes of a process that does one job."""


class Outcome(NamedTuple):
    """How a job's turn ended."""

    state: str
    """``finished``, ``failed``, ``stopped`` (it can go on), ``busy`` (another process has it),
    ``unfit`` (this machine cannot do it), ``killed``"""
    reason: str = ""
    """Why it failed, in one line."""

    @classmethod
    def of_code(cls, code: int, directory: Path, name: str) -> "Outcome":
        """The outcome that a process left in the status file and in its exit code."""
        state = {number: state for state, number in CODES.items()}.get(code, "failed")
        if state not in ("failed", "unfit"):
            return cls(state)
        try:
            reason = str(read_json(directory / status.FOLDER / f"{name}.json")["reason"])
        except (InputError, KeyError):
            reason = ""
        return cls("failed", reason or f"exit code {code}; see {directory / 'logs' / name}.log")

    def after(self, kills: int) -> "Outcome":
        """The outcome of a job that was killed so often before."""
        if self.state != "killed":
            return self
        return Outcome("failed", f"killed {kills + 1} times, the last time: {self.reason}")


class Options(NamedTuple):
    """How jobs are run; nothing here changes a result but `threads`, on CPUs in the last bits."""

    threads: int = 1
    """CPU cores of a job, where jobs run on CPUs."""
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
    cpus: int = 1
    """CPU cores of a task of Ray's."""

    def environment(self, machine: Machine) -> dict[str, str]:
        """Variables that must be set before jax is imported."""
        if machine.gpu:
            fraction = (
                {}
                if self.gpus >= 1
                else {"XLA_PYTHON_CLIENT_MEM_FRACTION": f"{0.7 * self.gpus:.2f}"}
            )
            return fraction
        return {"NPROC": str(self.threads), "JAX_PLATFORMS": "cpu"}
