"""What a results directory holds of a job: nothing, a part of it with a checkpoint, or all of it.

A directory belongs to one job for good, and to one process at a time. Nothing here writes over
results of other settings.
"""

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from qduet import checkpoint, runs
from qduet.errors import InputError
from qduet.job import Job
from qduet.store import check_writable, difference, to_json


@dataclasses.dataclass(frozen=True)
class Found:
    """What is there."""

    config: dict[str, Any]
    """The configuration to go on with: the one of the start, if there was a start."""
    resumes: bool
    """Whether there is a checkpoint to go on from."""
    finished: bool
    """Whether all of the job is done."""


def examine(directory: Path, job: Job, provenance: Mapping[str, Any]) -> Found:
    """What `directory` holds of `job`; `InputError` if it holds something else."""
    saved = checkpoint.path_of(directory).exists()
    path = directory / runs.CONFIG
    if not path.exists():
        if saved:
            raise InputError(f"{directory} has a checkpoint but no {runs.CONFIG}; restore that")
        return Found(job.config(dict(provenance)), False, False)
    there = _read(path)
    _check_same(directory, there, job)
    steps = there["steps"]
    if job.steps < steps:
        raise InputError(
            f"{directory} is a job of {steps:,} steps; --steps can be raised, not lowered to "
            f"{job.steps:,}: choose another directory"
        )
    whole = (directory / runs.EVALUATIONS).exists() and _finished(directory, steps, job)
    if whole and not saved and job.steps > steps:
        raise InputError(
            f"{directory} is finished at {steps:,} steps and its checkpoint was not kept "
            "(--keep-checkpoint), so it cannot go on: choose another directory"
        )
    config = job.config(there["provenance"])
    return Found(config, saved, whole and job.steps == steps)


def _read(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        if config["format"] != runs.FORMAT or config["kind"] != "train":
            raise ValueError
        _ = int(config["steps"]), config["provenance"], [a["label"] for a in config["agents"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            f"{path} is not what this version of qduet train writes; choose another directory"
        ) from None
    return config


def _check_same(directory: Path, there: dict[str, Any], job: Job) -> None:
    mine = job.identity()
    theirs = {name: value for name, value in there.items() if name in mine}
    texts = [to_json({**c, "agents": {a["label"]: a for a in c["agents"]}}) for c in (theirs, mine)]
    if texts[0] != texts[1] or [a["label"] for a in theirs["agents"]] != [a for a, _ in job.agents]:
        raise InputError(
            f"{directory} holds runs of other settings ({difference(*texts)}); "
            "choose another directory"
        )


def _finished(directory: Path, steps: int, job: Job) -> bool:
    """Whether every run has its last evaluation; the checkpoint goes only after that."""
    try:
        table = runs.read_table((directory / runs.EVALUATIONS).read_text(encoding="utf-8"))
        return int((table["step"] == steps).sum()) == len(job.members)
    except (OSError, ValueError, KeyError, TypeError):
        return False


@contextlib.contextmanager
def claimed(directory: Path) -> Iterator[None]:
    """Holds the directory for this process; `InputError` if another one has it."""
    check_writable(directory / checkpoint.FOLDER)
    path = directory / checkpoint.FOLDER / "lock"
    with path.open("w") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # not on Windows: then two processes are the user's affair
            pass
        except OSError:
            raise InputError(f"another qduet train is at work in {directory}") from None
        try:
            _sweep(directory / checkpoint.FOLDER)
            yield
        finally:
            with contextlib.suppress(OSError):
                path.unlink()
                os.rmdir(path.parent)  # if nothing else is left in it


def _sweep(folder: Path) -> None:
    """Removes what a killed process had begun to write."""
    for path in folder.glob(f".{checkpoint.NAME}.*"):
        path.unlink(missing_ok=True)
