"""How a training job is shown: a bar and a table in a terminal, a line now and then elsewhere.

Everything goes to standard error; the summary at the end is the command's own.
"""

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from qduet.jobs.job import Job
from qduet.jobs.trainer import Progress as Told
from qduet.results.published import title
from qduet.stats import Interval, mean_interval

LINE_SECONDS = 60.0
"""Time between two lines where there is no terminal."""

SHOWN = {"return_mean": "return", "q_value_mean": "Q", "q_overestimation": "Q − return"}
"""Columns of an evaluation that the table shows."""


def latest(rows: Sequence[dict[str, Any]], label: str, column: str) -> Interval | None:
    """The interval over seeds of an agent's last evaluation."""
    mine = [row for row in rows if row["agent"] == label]
    if not mine:
        return None
    last = max(row["step"] for row in mine)
    values = [row[column] for row in mine if row["step"] == last]
    return mean_interval(np.array(values, np.float64))


def table(job: Job, rows: Sequence[dict[str, Any]]) -> Table:
    """The last evaluation of every agent, with 95 % intervals over seeds."""
    step = max((row["step"] for row in rows), default=0)
    num_seeds = len(job.seeds)
    shown = Table(caption=f"means of {num_seeds} seeds ± 95 % interval" if num_seeds > 1 else None)
    shown.add_column(f"{title(job.game)}, {step:,} steps")
    for heading in SHOWN.values():
        shown.add_column(heading, justify="right")
    for label, _ in job.agents:
        intervals = (latest(rows, label, column) for column in SHOWN)
        shown.add_row(label, *("" if value is None else str(value) for value in intervals))
    return shown


class Display:
    """Shows what `trainer.train` tells; use as a context."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.console = Console(stderr=True)
        self.bar = Progress(
            TextColumn("{task.description:10}"),
            BarColumn(),
            TextColumn("{task.fields[step]}"),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=self.console,
            auto_refresh=False,
        )
        fields: dict[str, Any] = {"step": "", "rate": "", "left": ""}
        self.task = self.bar.add_task("starting", total=job.steps, **fields)
        self.live = (
            Live(self.bar, console=self.console, transient=True) if sys.stderr.isatty() else None
        )
        self.printed = -LINE_SECONDS
        self.first: tuple[float, int] | None = None
        """Time and step at which this command began to train."""
        self.num_rows = 0

    def __enter__(self) -> "Display":
        if self.live:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.live.stop()

    def __call__(self, told: Told) -> None:
        """Shows one thing that was told."""
        now = time.monotonic()
        if self.first is None and told.step:
            self.console.print(f"continuing from step {told.step:,}", highlight=False)
        if self.first is None or not self.first[1]:
            self.first = now, told.step
        if self.live:
            self._draw(self.live, told, now)
        elif told.doing == "training" and now - self.printed >= LINE_SECONDS:
            self.printed = now
            line = (
                f"step {told.step:,} of {self.job.steps:,}  {_rate(told)}  {self._left(told, now)}"
            )
            print(line, file=sys.stderr, flush=True)
        elif told.doing == "evaluating" and len(told.rows) == self.num_rows:
            number = len(self.job.members)
            runs = f"{number} run{'s' * (number != 1)} × {self.job.episodes:,} episodes"
            print(f"step {told.step:,}: evaluating {runs}", file=sys.stderr, flush=True)
        elif len(told.rows) > self.num_rows and told.rows[-1]["step"] == told.step:
            print(self._scores(told), file=sys.stderr, flush=True)
        self.num_rows = len(told.rows)

    def _draw(self, live: Live, told: Told, now: float) -> None:
        fields: dict[str, Any] = {
            "step": f"{told.step:,}/{self.job.steps:,}",
            "rate": _rate(told),
            "left": self._left(told, now),
        }
        self.bar.update(self.task, completed=told.step, description=told.doing, **fields)
        live.update(Group(self.bar, table(self.job, told.rows)) if told.rows else self.bar)

    def _left(self, told: Told, now: float) -> str:
        """The time left if everything goes on as it did since this command began to train."""
        begun, step = self.first or (now, told.step)
        if told.step <= step:
            return ""
        seconds = (now - begun) / (told.step - step) * (self.job.steps - told.step)
        minutes, seconds = divmod(round(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{seconds:02} left"

    def _scores(self, told: Told) -> str:
        found = ((label, latest(told.rows, label, "return_mean")) for label, _ in self.job.agents)
        return f"step {told.step:,}: return " + ", ".join(f"{label} {x}" for label, x in found)


def _rate(told: Told) -> str:
    return f"{told.frames_per_second:,.0f} frames/s" if told.frames_per_second else ""
