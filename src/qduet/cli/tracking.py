"""Evaluations sent to TensorBoard or Weights & Biases, with ``--tensorboard`` and ``--wandb``."""

import contextlib
import functools
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qduet.core.errors import InputError
from qduet.jobs.job import Job
from qduet.results import runs

Row = dict[str, Any]
COLUMNS = runs.PUBLISHED + runs.DIAGNOSTICS


class Tracker(contextlib.AbstractContextManager["Tracker"]):
    """Takes all rows so far, and sends those that came after its first call.

    A missing package is an error at once. Nothing is opened before there is a row to send. A
    receiver that fails is dropped with a warning: training goes on without it.
    """

    def __init__(self, job: Job, tensorboard: Path | None, wandb: str | None) -> None:
        self._receivers: dict[str, _TensorBoard | _Wandb] = {}
        if tensorboard is not None:
            self._receivers["--tensorboard"] = _TensorBoard(tensorboard)
        if wandb is not None:
            self._receivers["--wandb"] = _Wandb(job, wandb)
        self._num_sent: int | None = None

    def __call__(self, rows: list[Row]) -> None:
        """Sends what is new in `rows`."""
        new = rows[len(rows) if self._num_sent is None else self._num_sent :]
        self._num_sent = len(rows)
        for row in new:
            self._each(lambda receiver: receiver.send(row))  # noqa: B023

    def __exit__(self, *_: object) -> None:
        self._each(lambda receiver: receiver.close())

    def _each(self, action: Callable[["_TensorBoard | _Wandb"], None]) -> None:
        for option, receiver in [*self._receivers.items()]:
            try:
                action(receiver)
            except Exception as error:
                del self._receivers[option]
                with contextlib.suppress(Exception):
                    receiver.close()
                reason = " ".join(str(error).split()) or type(error).__name__
                told = f"qduet train: {option} failed and is left out from here on ({reason})"
                print(told, file=sys.stderr)


def _package(name: str, option: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"{option} needs the package {name}: pip install 'qduet[track]'") from None


def _name_and_values(row: Row) -> tuple[str, dict[str, float]]:
    """``rdq-0``, and what is known of the columns."""
    values = {column: row[column] for column in COLUMNS if row.get(column) is not None}
    return f"{row['agent']}-{row['seed']}", values


class _TensorBoard:
    """One TensorBoard run per run, ``DIR/rdq-0``."""

    def __init__(self, directory: Path) -> None:
        self.package, self.directory = _package("tensorboardX", "--tensorboard"), directory
        self.writers: dict[str, Any] = {}

    def send(self, row: Row) -> None:
        name, values = _name_and_values(row)
        if name not in self.writers:
            self.writers[name] = self.package.SummaryWriter(logdir=str(self.directory / name))
        for column, value in values.items():
            self.writers[name].add_scalar(column, value, row["step"])
        self.writers[name].flush()

    def close(self) -> None:
        for writer in self.writers.values():
            writer.close()


class _Wandb:
    """One W&B run for the job, with metrics ``rdq-0/return_mean``."""

    def __init__(self, job: Job, project: str) -> None:
        package = _package("wandb", "--wandb")
        self.run = functools.cache(lambda: package.init(project=project, config=job.config(None)))

    def send(self, row: Row) -> None:
        name, values = _name_and_values(row)
        self.run().log({f"{name}/{c}": value for c, value in values.items()}, step=row["step"])

    def close(self) -> None:
        if self.run.cache_info().currsize:
            self.run().finish()
