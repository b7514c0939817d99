"""What a results directory holds of a job: nothing, a part of it with a checkpoint, or all of it.

One process at a time works in a directory. Once a configuration, weights or a checkpoint are there,
the directory belongs to that job for good. The same job may begin anew only if nothing is lost by
it: without weights, and without evaluations after step 0. Results that cannot be read, and that no
checkpoint can make again, are never written over.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from qduet.agents import completed
from qduet.core.errors import InputError
from qduet.core.files import check_not_file, first_difference, lock, open_lock, to_json
from qduet.core.reading import read_json
from qduet.jobs import checkpoint, weights
from qduet.jobs.job import Job
from qduet.results import runs

LOCK = ".lock"
"""The file that a process locks while it works in a directory; it is never removed."""


class BusyError(InputError):
    """Another process is at work in the directory."""


class Found(NamedTuple):
    """What a directory holds of a job."""

    config: dict[str, Any]
    """The configuration to write: that of the job's start, if it was started before."""
    resumes: bool
    """Whether there is a checkpoint to go on from."""
    finished: bool
    """Whether all of the job is done."""


def examine(directory: Path, job: Job, provenance: Mapping[str, Any]) -> Found:
    """What `directory` holds of `job`; `InputError` if it holds something else, or is damaged."""
    saved = checkpoint.path_of(directory).exists()
    trained = next((directory / weights.FOLDER).glob("*.safetensors"), None)
    fresh = Found(job.config(dict(provenance)), False, False)
    path = directory / runs.CONFIG
    if not path.exists():
        evaluated = (directory / runs.EVALUATIONS).exists()
        if saved or trained or evaluated:
            what = "a checkpoint" if saved else runs.EVALUATIONS if evaluated else "weights"
            raise InputError(f"{directory} has {what} but no {runs.CONFIG}; restore that")
        return fresh
    there = _read(path)
    _check_same(directory, there, job)
    if not (saved or trained or _worth_keeping(directory)):
        return fresh
    steps = there["steps"]
    if saved:
        done = job.steps == steps and _whole(directory, job)
        return Found({**there, "steps": job.steps}, not done, done)
    if not _load(directory).finished:
        raise InputError(
            f"{directory} holds evaluations of an unfinished job, and the checkpoint to continue "
            "from is gone: delete the directory to start over, or choose another"
        )
    check_step(directory, job, steps)
    if job.steps > steps:
        raise InputError(
            f"{directory} is finished at {steps:,} steps and its checkpoint was not kept "
            "(--keep-checkpoint), so it cannot go on: choose another directory"
        )
    return Found(there, False, True)


def check_step(directory: Path, job: Job, step: int) -> None:
    """Raises if the job in `directory` has gone beyond the last step of `job`."""
    if job.steps < step:
        raise InputError(
            f"{directory} has been trained to step {step:,} already, and cannot end at "
            f"{job.steps:,}: choose another directory"
        )


def _whole(directory: Path, job: Job) -> bool:
    """Whether all files of a finished job are there; if not, the checkpoint has what is missing."""
    try:
        finished = runs.load(directory).finished
    except InputError:
        return False
    files = (weights.path_of(directory, label, seed) for label, _, seed in job.members)
    return finished and all(file.is_file() for file in files)


def _worth_keeping(directory: Path) -> bool:
    """Whether there are evaluations after step 0, which took training."""
    if not (directory / runs.EVALUATIONS).exists():
        return False
    return bool(_load(directory, check=False).table["step"].any())


def _load(directory: Path, *, check: bool = True) -> runs.Runs:
    try:
        return runs.load(directory, check=check)
    except InputError as error:
        raise InputError(
            f"{directory} holds results that cannot be read, and no checkpoint to make them from: "
            f"restore them, or choose another directory ({error})"
        ) from None


def continued(config: Mapping[str, Any], commit: str | None, step: int) -> dict[str, Any]:
    """The configuration with `commit` noted at `step`, if another commit was at work before.

    ``provenance`` describes the start. Its ``"continued"`` lists each change of commit since then,
    as ``{"commit": …, "step": …}``.
    """
    origin = config["provenance"]
    changes = origin.get("continued", [])
    last = changes[-1] if changes else origin
    if last.get("commit") == commit:
        return dict(config)
    changes = [*changes, {"commit": commit, "step": step}]
    return {**config, "provenance": {**origin, "continued": changes}}


def _read(path: Path) -> dict[str, Any]:
    try:
        config = read_json(path)
        if config["format"] != runs.FORMAT or config["kind"] != "train":
            raise ValueError
        if not runs.is_sound(config) or type(config["evaluate_every"]) is not int:
            raise ValueError
        _ = [change["commit"] for change in config["provenance"].get("continued", [])]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{path} is not what this version of qduet train writes; choose another directory"
        ) from None
    return config


def _check_same(directory: Path, there: dict[str, Any], job: Job) -> None:
    mine = job.identity()
    theirs = {name: value for name, value in there.items() if name in mine}
    theirs["agents"] = [completed(agent) for agent in theirs["agents"]]
    if to_json(theirs) != to_json(mine):
        raise InputError(
            f"{directory} holds runs of other settings "
            f"({first_difference(_by_label(theirs), _by_label(mine))}); choose another directory"
        )


def _by_label(config: dict[str, Any]) -> str:
    """The configuration as JSON, with the agents' labels in order, and their settings by label."""
    agents = {agent["label"]: agent for agent in config["agents"]}
    return to_json({**config, "agents": ", ".join(agents), "settings": agents})


@contextlib.contextmanager
def claimed(directory: Path) -> Iterator[None]:
    """Holds the directory for this process.

    `InputError` if another process has it, or if it holds directories of runs instead of a job.
    """
    check_not_file(directory)
    others = [] if (directory / runs.CONFIG).exists() else runs.below(directory)
    if others:
        raise InputError(
            f"{directory} has directories of runs in it, such as {others[0]}: choose another "
            "directory"
        )
    path = directory / LOCK
    with contextlib.ExitStack() as stack:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(os.fdopen(open_lock(path), "rb+", buffering=0))
            held = lock(file.fileno()) is False
        except OSError as error:
            told = f"cannot lock {path}: {error.strerror}; choose another directory"
            raise InputError(told) from None
        if held:
            raise BusyError(f"another qduet train is at work in {directory}")
        yield
