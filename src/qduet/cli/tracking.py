"""Evaluations sent to TensorBoard or Weights & Biases, with ``--tensorboard`` and ``--wandb``."""

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from qduet.core.errors import InputError
from qduet.jobs.job import Job
from qduet.results import runs

Row = dict[str, Any]
COLUMNS = runs.PUBLISHED + runs.DIAGNOSTICS


def _package(name: str, option: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"{option} needs the package {name}: pip install 'qduet[track]'") from None


Send = Callable[[Row], None]


@contextlib.contextmanager
def tracker(
    job: Job, tensorboard: Path | None, wandb: str | None
) -> Iterator[Callable[[list[Row]], None]]:
    """A function that takes all rows so far, and sends those that came after its first call.

    A missing package is an error at once. Nothing is opened before the first call.
    """
    sinks = []
    if tensorboard is not None:
        package = _package("tensorboardX", "--tensorboard")
        sinks.append(_Sink("--tensorboard", _tensorboard(package, tensorboard)))
    if wandb is not None:
        sinks.append(_Sink("--wandb", _wandb(_package("wandb", "--wandb"), job, wandb)))
    sent: list[int] = []

    def track(rows: list[Row]) -> None:
        for sink in sinks:
            sink.send(rows[sent[0] :] if sent else [])
        sent[:] = [len(rows)]

    try:
        yield track
    finally:
        for sink in sinks:
            sink.close()


class _Sink:
    """A tracker that is dropped with a warning when it fails: training goes on without it."""

    def __init__(self, option: str, context: contextlib.AbstractContextManager[Send]) -> None:
        self.option, self.context = option, context
        self.take: Send | None = None
        """Where rows go once it is open."""
        self.dropped = False

    def send(self, rows: list[Row]) -> None:
        """Sends `rows`; opens the tracker first if it is not open."""
        with self._dropping_failures():
            if self.take is None and not self.dropped:
                self.take = self.context.__enter__()
            for row in rows:
                if self.take is not None:
                    self.take(row)

    def close(self) -> None:
        """Closes the tracker if it is open."""
        with self._dropping_failures():
            if self.take is not None:
                self.context.__exit__(None, None, None)

    @contextlib.contextmanager
    def _dropping_failures(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            if self.take is not None:
                with contextlib.suppress(Exception):
                    self.context.__exit__(None, None, None)
            self.take, self.dropped = None, True
            print(
                f"qduet train: {self.option} failed and is left out from here on ({reason})",
                file=sys.stderr,
            )


def _values(row: Row) -> dict[str, float]:
    return {name: row[name] for name in COLUMNS if row.get(name) is not None}


@contextlib.contextmanager
def _tensorboard(package: Any, directory: Path) -> Iterator[Send]:
    """One TensorBoard run per run, ``DIR/rdq-0``."""
    writers: dict[str, Any] = {}

    def send(row: Row) -> None:
        name = f"{row['agent']}-{row['seed']}"
        if name not in writers:
            writers[name] = package.SummaryWriter(logdir=str(directory / name))
        for column, value in _values(row).items():
            writers[name].add_scalar(column, value, row["step"])
        writers[name].flush()

    try:
        yield send
    finally:
        for writer in writers.values():
            writer.close()


@contextlib.contextmanager
def _wandb(package: Any, job: Job, project: str) -> Iterator[Send]:
    """One W&B run for the job, with metrics ``rdq-0/return_mean``."""
    run = package.init(project=project, config=job.config(None))

    def send(row: Row) -> None:
        name = f"{row['agent']}-{row['seed']}"
        run.log({f"{name}/{c}": value for c, value in _values(row).items()}, step=row["step"])

    try:
        yield send
    finally:
        run.finish()
