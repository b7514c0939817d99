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

    A missing package is an error at once. Nothing is opened before the first call. A tracker that
    fails is dropped with a warning: training goes on without it.
    """
    sinks: dict[str, contextlib.AbstractContextManager[Send]] = {}
    if tensorboard is not None:
        sinks["--tensorboard"] = _tensorboard(
            _package("tensorboardX", "--tensorboard"), tensorboard
        )
    if wandb is not None:
        sinks["--wandb"] = _wandb(_package("wandb", "--wandb"), job, wandb)
    opened: dict[str, Send] = {}
    num_sent: int | None = None

    @contextlib.contextmanager
    def dropping(option: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            sink = sinks.pop(option)
            if opened.pop(option, None):
                with contextlib.suppress(Exception):
                    sink.__exit__(None, None, None)
            reason = " ".join(str(error).split()) or type(error).__name__
            told = f"qduet train: {option} failed and is left out from here on ({reason})"
            print(told, file=sys.stderr)

    def track(rows: list[Row]) -> None:
        nonlocal num_sent
        for option, sink in [*sinks.items()]:
            with dropping(option):
                if option not in opened:
                    opened[option] = sink.__enter__()
                for row in rows[len(rows) if num_sent is None else num_sent :]:
                    opened[option](row)
        num_sent = len(rows)

    try:
        yield track
    finally:
        for option in [*opened]:
            with dropping(option):
                sinks[option].__exit__(None, None, None)


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
