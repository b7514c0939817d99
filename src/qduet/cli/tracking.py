"""Evaluations sent to TensorBoard or Weights & Biases, for those who ask for it."""

import contextlib
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from qduet import runs
from qduet.errors import InputError
from qduet.job import Job

Row = dict[str, Any]
COLUMNS = runs.PUBLISHED + runs.DIAGNOSTICS


def _package(name: str, option: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"{option} needs the package {name}: pip install 'qduet[track]'") from None


@contextlib.contextmanager
def tracker(
    job: Job, tensorboard: Path | None, wandb: str | None
) -> Iterator[Callable[[list[Row]], None]]:
    """A function that takes all rows so far and sends those that are new since its first call."""
    with contextlib.ExitStack() as stack:
        sinks: list[Callable[[Row], None]] = []
        if tensorboard is not None:
            sinks.append(stack.enter_context(_tensorboard(tensorboard)))
        if wandb is not None:
            sinks.append(stack.enter_context(_wandb(job, wandb)))
        sent: list[int] = []

        def track(rows: list[Row]) -> None:
            for row in rows[sent[0] :] if sent else []:
                for sink in sinks:
                    sink(row)
            sent[:] = [len(rows)]

        yield track


def _values(row: Row) -> dict[str, float]:
    return {name: row[name] for name in COLUMNS if row.get(name) is not None}


@contextlib.contextmanager
def _tensorboard(directory: Path) -> Iterator[Callable[[Row], None]]:
    """One TensorBoard run per run, ``DIR/rdq-0``."""
    package = _package("tensorboardX", "--tensorboard")
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
def _wandb(job: Job, project: str) -> Iterator[Callable[[Row], None]]:
    """One W&B run for the job, with metrics ``rdq-0/return_mean``."""
    package = _package("wandb", "--wandb")
    run = package.init(project=project, config=job.config(None))

    def send(row: Row) -> None:
        name = f"{row['agent']}-{row['seed']}"
        run.log({f"{name}/{c}": value for c, value in _values(row).items()}, step=row["step"])

    try:
        yield send
    finally:
        run.finish()
