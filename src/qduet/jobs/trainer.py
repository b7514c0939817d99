"""A job from its start, or from where it was stopped, to its end, with results on disk.

    result = train(job, "out/breakout")
    result.rows[-1]["return_mean"]

The loop is: evaluate if an evaluation is due; go on by some blocks; save if a checkpoint is due.
Evaluations are made at steps 0, `evaluate_every`, …, and the results are written after each
(`results.runs`). The weights of all runs are written at the end. The loop can be left only between
two calls of the compiled program, where the state is whole: by Ctrl-C, SIGTERM or a deadline, each
time with a checkpoint. An evaluation changes no state. If it is interrupted, it is given up and
made again later.

A kill at any moment does no harm, because of the order in which files are written: the
configuration with the rows of step 0, then checkpoints, rows after step 0 only if there is a
checkpoint, and at the end checkpoint, weights, last rows; then the checkpoint is removed.
"""

import contextlib
import dataclasses
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from qduet.core import machine
from qduet.core.errors import InputError
from qduet.core.provenance import provenance
from qduet.jobs import checkpoint, devices, resuming, weights
from qduet.jobs.checkpoint import State
from qduet.jobs.job import Job
from qduet.jobs.program import MAX_BLOCKS, Program
from qduet.jobs.stopping import Stop, Stopped
from qduet.jobs.weights import Weights
from qduet.results import runs

CALL_SECONDS = 1.0
"""How long one call of the compiled program should take: progress and Ctrl-C wait for its end."""


class Progress(NamedTuple):
    """Where a job stands while it is trained."""

    doing: str
    """``"compiling"``, ``"training"``, ``"evaluating"`` or ``"saving"``"""
    step: int
    """Steps that each run has taken."""
    frames_per_second: float
    """Of all runs together; 0 if not yet known."""
    rows: list[dict[str, Any]]
    """All evaluations so far."""


class TrainingResult(NamedTuple):
    """Where a job stands when `train` returns."""

    finished: bool
    """Whether all of the job is done."""
    step: int
    """Steps that each run has taken."""
    elapsed: float
    """Seconds spent on the job, by all calls that worked on it."""
    rows: list[dict[str, Any]]
    """One row for each run and evaluation, by step; the columns of ``evaluations.csv``."""
    was_finished: bool = False
    """Whether the job was finished before this call."""
    advanced: bool = True
    """False if the call ended before it could finish a single block; a longer slot is needed."""
    stopped_by: signal.Signals | str | None = None
    """The signal that ended the call, or ``"deadline"``."""


def train(
    job: Job,
    directory: Path | str,
    *,
    device: str = "auto",
    max_minutes: float | None = None,
    checkpoint_minutes: float = 5.0,
    keep_checkpoint: bool = False,
    commit: str | None = None,
    raise_signals: bool = True,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> TrainingResult:
    """Trains and evaluates the runs of a job; the same call again continues where it was stopped.

    None of the options changes a result.

    Args:
        job: What to train.
        directory: Where the results are written, and the checkpoints to continue from.
        device: ``"cpu"``, ``"gpu"``, or ``"auto"``: the fastest that jax finds.
        max_minutes: Saves and returns before so much time has passed.
        checkpoint_minutes: The time between two checkpoints. After an evaluation one is written if
            the last is older than a fifth of it.
        keep_checkpoint: Keeps the last checkpoint, from which a job can go on with more steps.
        commit: The commit of the code, for the record, if it is not in a git checkout.
        raise_signals: After Ctrl-C or SIGTERM the job is saved, and then the signal is raised
            again: Ctrl-C is a `KeyboardInterrupt`. If false, it is in `stopped_by` of the result.
        on_progress: Called about once a second, and before and after each evaluation.
    """
    if not isinstance(job, Job):
        raise InputError(f"job must be a qduet.jobs.Job; it is {job!r}")
    if not isinstance(directory, Path | str):
        raise InputError(f"directory must be the path of one; it is {directory!r}")
    deadline = time.monotonic() + 60 * max_minutes if max_minutes else None
    directory = Path(directory)
    chosen = devices.choose(device)
    devices.keep_compiled()
    program = Program(job, chosen)
    here = provenance()
    commit = commit or here["commit"]
    origin = {**here, "commit": commit, "devices": program.devices, "threads": machine.threads()}
    with (
        devices.checking_memory(program, chosen, job.episodes),
        Stop(deadline) as stop,
        resuming.claimed(directory),
    ):
        found = resuming.examine(directory, job, origin)
        if found.finished:
            if not keep_checkpoint:  # a kill may have come just before it was removed
                checkpoint.remove(directory, unless_kept=True)
            return _as_recorded(directory, job)
        if found.resumes:
            state = checkpoint.load(directory, job, program)
            resuming.check_step(directory, job, state.step)
            config = resuming.continued(found.config, commit, state.step)
        else:
            state = State(program.start(), 0, np.zeros((3, len(job.members))))
            config = found.config
        before = state.step, len(state.rows)
        options = 60 * checkpoint_minutes, keep_checkpoint, on_progress
        finished = _Loop(job, program, directory, config, state, stop, *options).run()
        if finished and not keep_checkpoint:
            checkpoint.remove(directory)
    if raise_signals and isinstance(stop.reason, signal.Signals):
        signal.raise_signal(stop.reason)
    return TrainingResult(
        finished,
        state.step,
        state.elapsed,
        state.rows,
        advanced=finished or before != (state.step, len(state.rows)),
        stopped_by=stop.reason,
    )


def _as_recorded(directory: Path, job: Job) -> TrainingResult:
    """The result of a job that was finished before, as its table has it."""
    table = runs.load(directory).table
    columns = [[_number(value) for value in column] for column in table.values()]
    there = (dict(zip(table, values, strict=True)) for values in zip(*columns, strict=True))
    rows: list[dict[str, Any]] = [dict.fromkeys(runs.COLUMNS) | row for row in there]
    rows.sort(key=lambda row: row["step"])
    elapsed = float(table["elapsed_seconds"].max())
    return TrainingResult(True, job.steps, elapsed, rows, was_finished=True)


@dataclasses.dataclass
class _Loop:
    """The loop of `train`, with its clock."""

    job: Job
    program: Program
    directory: Path
    config: dict[str, Any]
    state: State
    stop: Stop
    checkpoint_seconds: float
    keep_checkpoint: bool
    on_progress: Callable[[Progress], None]
    frames_per_second: float = 0.0
    """Of the last call of the compiled program."""
    block_seconds: float = 0.0
    """Time of a block in the last call; 0 if there was none."""
    saved_at: float = dataclasses.field(default_factory=time.monotonic)
    save_seconds: float = 0.0
    """How long a checkpoint takes; a guess before the first one."""

    def run(self) -> bool:
        """Goes on until the end (True) or until it is asked to stop (False)."""
        state, job = self.state, self.job
        self.save_seconds = sum(x.nbytes for x in jax.tree.leaves(state.runs)) / 5e8
        if state.rows and (state.step < job.steps or not self._evaluated()):
            self._write_results()  # a kill may have left other rows than those of the checkpoint
        while not self._stopping():
            if state.step % job.evaluate_every == 0 and not self._evaluated():
                try:
                    self._evaluate()
                except Stopped:
                    continue
                if state.step < job.steps:
                    if state.step:  # rows after step 0 are written only if there is a checkpoint
                        there = checkpoint.path_of(self.directory).exists()
                        self._save_if_due(self.checkpoint_seconds / 5 if there else 0.0)
                    self._write_results()
            if state.step == job.steps:
                self._save()
                self._export()
                self._write_results()  # comes last, as a sign that all else is there
                return True
            if not self._stopping():
                self._advance()
                self._save_if_due(self.checkpoint_seconds)
        return False

    def _advance(self) -> None:
        """Warms up, or takes as many blocks as fit into one call."""
        state, agent = self.state, self.job.members[0].agent
        if not self.block_seconds:
            self._report("compiling")
        if state.step == 0:
            with self._clock():
                state.runs = jax.block_until_ready(self.program.warm_up(state.runs))
                state.step = agent.learn_from
            return
        if not self.block_seconds:
            with self._clock():  # a call without blocks compiles, so that the next can be timed
                state.runs, _ = self.program.advance(state.runs, state.step, 0)
                jax.block_until_ready(state.runs)
        every = self.job.evaluate_every
        left = (every - state.step % every) // agent.sync_every
        wanted = int(CALL_SECONDS / self.block_seconds) if self.block_seconds else 1
        count = max(1, min(wanted, left, MAX_BLOCKS))
        before = state.elapsed
        with self._clock():
            state.runs, losses = self.program.advance(state.runs, state.step, count)
            for block in np.stack(losses, axis=1)[:count]:
                state.sums += block
        state.step += count * agent.sync_every
        state.blocks += count
        state.stretch_seconds += state.elapsed - before
        self.block_seconds = (state.elapsed - before) / count
        self.frames_per_second = agent.sync_every * len(self.job.members) / self.block_seconds
        self._report("training")

    def _evaluated(self) -> bool:
        return any(row["step"] == self.state.step for row in self.state.rows)

    def _evaluate(self) -> None:
        state, job = self.state, self.job
        self._report("evaluating")
        with self._clock():
            params = self.program.weights_to_evaluate(state.runs, state.step)
            check = lambda: self.stop.check(self.save_seconds * 2)
            columns = self.program.evaluate(params, state.step, check)
        means = state.sums / state.blocks if state.blocks else np.full_like(state.sums, np.nan)
        frames = state.blocks * job.members[0].agent.sync_every * len(job.members)
        names = ("train_total_loss_mean", "train_loss_mean", "train_q_mean")
        columns |= dict(zip(names, means, strict=True))
        shared = {
            "elapsed_seconds": state.elapsed,
            "frames_per_second": frames / state.stretch_seconds if state.blocks else None,
        }
        for i, (label, _, seed) in enumerate(job.members):
            named = {"game": job.game, "agent": label, "seed": seed, "step": state.step}
            state.rows.append(named | {k: _number(v[i]) for k, v in columns.items()} | shared)
        state.sums, state.blocks, state.stretch_seconds = np.zeros_like(state.sums), 0, 0.0
        self._report("evaluating")

    def _write_results(self) -> None:
        number = {(label, seed): i for i, (label, _, seed) in enumerate(self.job.members)}
        order = lambda row: (number[row["agent"], row["seed"]], row["step"])
        runs.write(self.directory, self.config, sorted(self.state.rows, key=order))

    def _export(self) -> None:
        """Writes the weights of every run, as they were evaluated."""
        state, job = self.state, self.job
        params = jax.tree.map(np.asarray, self.program.weights_to_evaluate(state.runs, state.step))
        for group, numbers in zip(params, self.program.members, strict=True):
            for row, number in enumerate(numbers):
                label, agent, seed = job.members[number]
                one = jax.tree.map(lambda x: x[row], group)  # noqa: B023
                content = Weights(one, agent, self.config["env"], label, seed, state.step)
                weights.save(weights.path_of(self.directory, label, seed), content)

    def _save_if_due(self, seconds: float) -> None:
        if time.monotonic() - self.saved_at >= seconds:
            self._save()

    def _save(self) -> None:
        self._report("saving")
        begun = time.monotonic()
        checkpoint.save(self.directory, self.job, self.state, self.keep_checkpoint)
        self.saved_at = time.monotonic()
        self.save_seconds = self.saved_at - begun

    def _stopping(self) -> bool:
        """Whether to stop now; if so, everything is on disk.

        If no step was taken, nothing is written, and another job may use the directory.
        """
        if not self.stop.asked(self.save_seconds * 2 + self.block_seconds):
            return False
        if self.state.step or self.state.rows:
            self._save()
        return True

    def _report(self, doing: str) -> None:
        state = self.state
        self.on_progress(Progress(doing, state.step, self.frames_per_second, state.rows))

    @contextlib.contextmanager
    def _clock(self) -> Iterator[None]:
        """Adds the time that is spent inside to the job's."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.state.elapsed += time.perf_counter() - begun


def _number(value: Any) -> Any:
    """A NumPy scalar as a Python number; None for NaN, which JSON does not have."""
    number = value.item()
    return None if number != number else number
