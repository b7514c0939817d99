"""The whole state of a job in one file, to continue from as if nothing had happened.

The file holds weights, targets, optimiser, replay memories, environments, observations and random
keys as tensors, with step, times, sums of losses and the evaluations so far. It also names the job
and the versions that made it: with another job, version, kind of device or, on CPUs, number of
threads it is refused.
"""

import contextlib
import dataclasses
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np

from qduet.core import machine, tensors
from qduet.core.errors import InputError
from qduet.core.files import first_difference, to_json
from qduet.core.provenance import versions
from qduet.core.reading import as_input_error, parse_json
from qduet.jobs.job import Job
from qduet.jobs.program import Program, Runs
from qduet.results import runs

FOLDER, NAME = "checkpoint", "state.safetensors"
FORMAT = "3"
"""Since 3, runs are kept by group, and an optimiser's state is no longer Adam's alone."""


@dataclasses.dataclass
class State:
    """Where a job is."""

    runs: Runs
    """Arrays ``[runs, ...]`` of each group"""
    step: int
    """Steps that each run has taken."""
    sums: np.ndarray
    """float64[3, runs]: losses (total, TD, mean Q) summed over `blocks`"""
    blocks: int = 0
    """Blocks since the last evaluation."""
    stretch_seconds: float = 0.0
    """Time spent on these blocks."""
    elapsed: float = 0.0
    """Time spent on the job, evaluations included."""
    rows: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    """The evaluations so far."""


_NO_ARRAYS = ("step", "blocks", "stretch_seconds", "elapsed", "rows")
"""Fields of a state that are kept as JSON."""


def path_of(directory: Path) -> Path:
    """Where a results directory keeps its checkpoint."""
    return directory / FOLDER / NAME


def save(directory: Path, job: Job, state: State, keep: bool = True) -> None:
    """Writes (or replaces) the checkpoint of a directory; `keep`: also once the job is finished."""
    arrays = tensors.flatten({"runs": state.runs, "sums": state.sums})
    stored = json.dumps({name: getattr(state, name) for name in _NO_ARRAYS})
    here = {"threads": str(machine.threads()), "keep": json.dumps(keep)}
    tensors.write(path_of(directory), arrays, {**_identity(job), **here, "state": stored})


def remove(directory: Path, *, unless_kept: bool = False) -> None:
    """Removes the checkpoint of a finished job; `unless_kept`: not if it was saved to be kept."""
    path = path_of(directory)
    if unless_kept and path.exists():
        try:
            metadata = tensors.read(path, path.stat().st_size)[1]  # of any size: it is ours
        except InputError:
            return
        if metadata.get("keep") != "false":
            return
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # there may be something else in it
        path.parent.rmdir()


def load(directory: Path, job: Job, program: Program) -> State:
    """The state that a directory's checkpoint holds, on the program's devices."""
    path = path_of(directory)
    sizes = (x.size * x.dtype.itemsize for x in jax.tree.leaves(program.shapes))
    arrays, metadata = tensors.read(path, tensors.MOST_HEADER + sum(sizes))
    with as_input_error(path, tensors.REMEDY):
        threads = metadata["threads"]
        if versions()["device"] == "cpu" and threads != str(machine.threads()):
            raise InputError(
                f"{path} was made with {threads} CPU threads, and here are {machine.threads()}, "
                f"which would change its results: continue with NPROC={threads} set in the "
                "environment, or choose another directory"
            )
        for what, here in _identity(job).items():
            if metadata[what] != here:
                raise InputError(
                    f"{path} was made with other {'settings' if what == 'job' else what} "
                    f"({first_difference(metadata[what], here)}); "
                    "continue with those, or choose another directory"
                )
        stored = parse_json(metadata["state"], path, finite=False)
        fields = {name: stored[name] for name in _NO_ARRAYS}
        counted = all(type(fields[name]) is int for name in ("step", "blocks"))
        rows = runs.read_table(runs.to_csv(fields["rows"]))  # or a value is of another type
        numbers = (row[name] for row in fields["rows"] for name in runs.COLUMNS[2:])
        typed = all(isinstance(number, int | float | None) for number in numbers)
        members = {(member.label, member.seed) for member in job.members}
        known = set(zip(rows["agent"].tolist(), rows["seed"].tolist(), strict=True)) <= members
        timed = fields["elapsed"] >= 0 and (fields["stretch_seconds"] > 0 or not fields["blocks"])
        if not (counted and typed and known and timed and fields["step"] >= 0):
            raise ValueError("its state is not of this job")
    sums = np.zeros((3, len(job.members)))
    whole = tensors.fit({"runs": program.shapes, "sums": sums}, arrays, path)
    return State(runs=program.to_devices(whole["runs"]), sums=whole["sums"], **fields)


def _identity(job: Job) -> dict[str, str]:
    """What must be the same for the numbers to be the same, as texts."""
    now = {**versions(), "checkpoint": FORMAT}
    same = {name: now[name] for name in ("qduet", "jax", "device", "checkpoint")}
    return {"versions": to_json(same), "job": to_json(job.identity())}
