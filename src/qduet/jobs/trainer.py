"""A job from its start, or from where it was stopped, to its end, with results on disk.

    outcome = train(job, build(job), Path("out/breakout"))
    outcome.rows[-1]["return_mean"]

The loop is: evaluate if it is time to; go on by some blocks; save if it is time to. Evaluations are
at steps 0, `evaluate_every`, … and the results are written after each (`results.runs`); the weights
of every run at the end. Between two calls of the compiled program the state is whole, and there
alone the loop can be left: by Ctrl-C, SIGTERM or a deadline, always with a checkpoint. An
evaluation changes no state, and is given up and done again.

Files are written in an order that a kill at any moment does not hurt: rows after step 0 only where
there is a checkpoint, and at the end checkpoint, weights, last rows; then the checkpoint goes.
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

from qduet.core.errors import InputError
from qduet.core.provenance import provenance
from qduet.jobs import checkpoint, resuming, weights
from qduet.jobs.checkpoint import State
from qduet.jobs.job import Job
from qduet.jobs.program import MAX_BLOCKS, Program
from qduet.jobs.stopping import Stop, Stopped
from qduet.jobs.weights import Weights
from qduet.results import runs

CALL_SECONDS = 1.0
"""How long one call of the compiled program should take: progress and Ctrl-C wait for its end."""


class Progress(NamedTuple):
    """What is told while a job runs."""

    doing: str
    """``"compiling"``, ``"training"``, ``"evaluating"`` or ``"saving"``"""
    step: int
    frames_per_second: float
    """Of all runs together; 0 where not yet known."""
    rows: list[dict[str, Any]]
    """All evaluations so far."""


class Outcome(NamedTuple):
    """Where a job stands when `train` returns."""

    finished: bool
    step: int
    elapsed: float
    """Seconds spent on the job, by all commands that worked on it."""
    rows: list[dict[str, Any]]
    """Its evaluations, step by step; of a job that was finished before, as its table has them."""
    already: bool = False
    """Whether it was finished before."""
    advanced: bool = True
    """Whether this call took a step or an evaluation; if not, another one of its length may not."""


@dataclasses.dataclass(frozen=True)
class Options:
    """How a job is run, which changes none of its results but the times."""

    checkpoint_seconds: float = 300.0
    """Time between checkpoints; after an evaluation one is due in a fifth of it."""
    keep_checkpoint: bool = False
    """Whether to leave the last checkpoint, from which a job can go on with more steps."""
    provenance: dict[str, Any] = dataclasses.field(default_factory=provenance)
    """Versions, commit and device, for the record."""


def train(
    job: Job,
    program: Program,
    directory: Path | str,
    *,
    options: Options | None = None,
    stop: Stop | None = None,
    tell: Callable[[Progress], None] = lambda progress: None,
) -> Outcome:
    """Trains and evaluates until the job is finished or `stop` asks to stop.

    Without a `stop`, Ctrl-C and SIGTERM end the training with a checkpoint, and then do what they
    do elsewhere in the program.
    """
    if stop is None:
        with Stop() as stop:
            outcome = train(job, program, directory, options=options, stop=stop, tell=tell)
        if isinstance(stop.reason, signal.Signals):
            signal.raise_signal(stop.reason)
        return outcome
    mine, its = ((j.env_id, j.members, j.episodes) for j in (job, program.job))
    if mine != its:
        raise InputError("the program is of another job; give train the one of build(job)")
    directory = Path(directory)
    options = options or Options()
    with resuming.claimed(directory):
        found = resuming.examine(directory, job, options.provenance)
        if found.finished:
            return _as_found(directory, job)
        config = found.config
        if found.resumes:
            state = checkpoint.load(directory, job, program)
            resuming.check_step(directory, job, state.step)
            config = resuming.continued(config, options.provenance.get("commit"), state.step)
        else:
            state = State(program.start(), 0, np.zeros((3, len(job.members))))
        begun = state.step, len(state.rows)
        loop = _Loop(job, program, directory, config, options, stop, tell, state)
        finished = loop.run()
        advanced = finished or begun != (state.step, len(state.rows))
        if finished and not options.keep_checkpoint:
            checkpoint.path_of(directory).unlink(missing_ok=True)
    return Outcome(finished, state.step, state.elapsed, state.rows, advanced=advanced)


def _as_found(directory: Path, job: Job) -> Outcome:
    table = runs.load(directory).table
    columns = [[_number(value) for value in column] for column in table.values()]
    rows = [dict(zip(table, values, strict=True)) for values in zip(*columns, strict=True)]
    rows.sort(key=lambda row: row["step"])
    return Outcome(True, job.steps, float(table["elapsed_seconds"].max()), rows, already=True)


class _Loop:
    """The loop of `train`, with its clock."""

    def __init__(
        self,
        job: Job,
        program: Program,
        directory: Path,
        config: dict[str, Any],
        options: Options,
        stop: Stop,
        tell: Callable[[Progress], None],
        state: State,
    ) -> None:
        self.job, self.program, self.directory, self.config = job, program, directory, config
        self.options, self.stop, self.tell, self.state = options, stop, tell, state
        self.rate = 0.0
        """Frames per second of the last call."""
        self.block_seconds = 0.0
        """Time of a block in the last call; 0: there was none."""
        self.saved_at = time.monotonic()
        self.save_seconds = sum(x.nbytes for x in jax.tree.leaves(state.runs)) / 5e8
        """How long a checkpoint takes; a guess before the first one."""

    def run(self) -> bool:
        """Goes on until the end (True) or until it is asked to stop."""
        state, job = self.state, self.job
        if state.step < job.steps or not self._evaluated():
            self._write()  # a kill may have left other rows than those of the checkpoint
        while not self._stopping():
            if job.is_evaluation(state.step) and not self._evaluated():
                try:
                    self._evaluate()
                except Stopped:
                    continue
                if state.step < job.steps:
                    self._record()
            if state.step == job.steps:
                self._finish()
                return True
            if not self._stopping():
                self._advance()
                self._save_if_due(self.options.checkpoint_seconds)
        return False

    # --- Parts of the loop -----------------------------------------------------------------------

    def _advance(self) -> None:
        """Warms up, or takes as many blocks as fit into one call."""
        state, agent = self.state, self.job.members[0].agent
        if state.step == 0:
            self._tell("compiling")
            with self._clock():
                state.runs = jax.block_until_ready(self.program.warm_up(state.runs))
                state.step = agent.learn_from
            return
        if not self.block_seconds:
            self._tell("compiling")
            with self._clock():  # no blocks: what is timed below is then no compilation
                state.runs = jax.block_until_ready(self.program.advance(state.runs, state.step, 0))[
                    0
                ]
        every = self.job.evaluate_every
        left = (every - state.step % every) // agent.sync_every
        wanted = int(CALL_SECONDS / self.block_seconds) if self.block_seconds else 1
        count = max(1, min(wanted, left, MAX_BLOCKS))
        with self._clock() as clock:
            state.runs, losses = self.program.advance(state.runs, state.step, count)
            for block in np.stack([np.asarray(x) for x in losses], axis=1)[:count]:
                state.sums += block
        state.step += count * agent.sync_every
        state.blocks += count
        state.stretch_seconds += clock.seconds
        self.block_seconds = clock.seconds / count
        self.rate = agent.sync_every * len(self.job.members) / self.block_seconds
        self._tell("training")

    def _evaluated(self) -> bool:
        return any(row["step"] == self.state.step for row in self.state.rows)

    def _evaluate(self) -> None:
        state, job = self.state, self.job
        self._tell("evaluating")
        with self._clock():
            params = self.program.weights_to_evaluate(state.runs, state.step)
            check = lambda: self.stop.check(self.save_seconds * 2)
            columns = self.program.evaluate(params, state.step, check)
        means = state.sums / state.blocks if state.blocks else np.full_like(state.sums, np.nan)
        frames = state.blocks * job.members[0].agent.sync_every * len(job.members)
        columns |= {
            "train_total_loss_mean": means[0],
            "train_loss_mean": means[1],
            "train_q_mean": means[2],
        }
        shared = {
            "elapsed_seconds": state.elapsed,
            "frames_per_second": frames / state.stretch_seconds if state.blocks else None,
        }
        for i, (label, _, seed) in enumerate(job.members):
            named = {"game": job.game, "agent": label, "seed": seed, "step": state.step}
            state.rows.append(named | {k: _number(v[i]) for k, v in columns.items()} | shared)
        state.sums, state.blocks, state.stretch_seconds = np.zeros_like(state.sums), 0, 0.0
        self._tell("evaluating")

    def _record(self) -> None:
        """Writes the evaluations so far; those after step 0 never without a checkpoint."""
        if self.state.step and not checkpoint.path_of(self.directory).exists():
            self._save()
        else:
            self._save_if_due(self.options.checkpoint_seconds / 5)
        self._write()

    def _finish(self) -> None:
        """Writes what remains; the last rows come last, and say that all else is there."""
        self._save()
        self._export()
        self._write()

    def _write(self) -> None:
        place = {(label, seed): i for i, (label, _, seed) in enumerate(self.job.members)}
        order = lambda row: (place[row["agent"], row["seed"]], row["step"])
        runs.write(self.directory, self.config, sorted(self.state.rows, key=order))

    def _export(self) -> None:
        """Writes the weights of every run, as they were evaluated."""
        state, job = self.state, self.job
        params = jax.tree.map(np.asarray, self.program.weights_to_evaluate(state.runs, state.step))
        for i, (label, agent, seed) in enumerate(job.members):
            one = jax.tree.map(lambda x: x[i], params)  # noqa: B023
            content = Weights(one, agent, self.config["env"], label, seed, state.step)
            weights.save(weights.path_of(self.directory, label, seed), content)

    def _save_if_due(self, seconds: float) -> None:
        if time.monotonic() - self.saved_at >= seconds:
            self._save()

    def _save(self) -> None:
        self._tell("saving")
        begun = time.monotonic()
        checkpoint.save(self.directory, self.job, self.state)
        self.saved_at = time.monotonic()
        self.save_seconds = self.saved_at - begun

    def _stopping(self) -> bool:
        """Whether to stop now; if so, everything is on disk.

        Where nothing was done, that is nothing: the directory is then still anybody's.
        """
        if not self.stop.asked(self.save_seconds * 2 + self.block_seconds):
            return False
        if self.state.step or self.state.rows:
            self._save()
        return True

    def _tell(self, doing: str) -> None:
        self.tell(Progress(doing, self.state.step, self.rate, self.state.rows))

    @contextlib.contextmanager
    def _clock(self) -> Iterator["_Clock"]:
        """Adds the time of what is done inside to the job's."""
        clock, begun = _Clock(), time.perf_counter()
        try:
            yield clock
        finally:
            clock.seconds = time.perf_counter() - begun
            self.state.elapsed += clock.seconds


@dataclasses.dataclass
class _Clock:
    seconds: float = 0.0


def _number(value: Any) -> Any:
    """A NumPy scalar as JSON has it."""
    number = value.item()
    return None if number != number else number
