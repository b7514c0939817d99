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
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Table

from qduet.cli.progress import LINE_SECONDS
from qduet.jobs.job import Job
from qduet.jobs.trainer import Progress
from qduet.results.published import title
from qduet.stats import Interval, mean_interval

SHOWN = {
    "return_mean": "return",
    "q_value_mean": "Q",
    "q_overestimation": "Q − discounted\nreturn",
}
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
    """Shows the progress of `trainer.train`; use as a context."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.console = Console(stderr=True)
        self.bar = Bar(
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
        self.reported = False
        """Whether there was a report."""
        self.first: tuple[float, int] | None = None
        """Time and step at which the first chunk was done: programs are compiled by then."""
        self.num_rows = 0

    def __enter__(self) -> "Display":
        if self.live:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.live.stop()

    def __call__(self, progress: Progress) -> None:
        """Shows one report."""
        now = time.monotonic()
        if not self.reported and progress.step:
            self.console.print(f"continuing from step {progress.step:,}", highlight=False)
        self.reported = True
        if self.first is None and progress.doing == "training":
            self.first = now, progress.step
        if self.live:
            self._draw(self.live, progress, now)
        elif progress.doing == "training" and now - self.printed >= LINE_SECONDS:
            self.printed = now
            step = f"step {progress.step:,} of {self.job.steps:,}"
            parts = step, _rate(progress), self._left(progress, now)
            print("  ".join(filter(None, parts)), file=sys.stderr, flush=True)
        elif progress.doing == "evaluating" and len(progress.rows) == self.num_rows:
            number = len(self.job.members)
            runs = f"{number} run{'s' * (number != 1)} × {self.job.episodes:,} episodes"
            print(f"step {progress.step:,}: evaluating {runs}", file=sys.stderr, flush=True)
        elif len(progress.rows) > self.num_rows and progress.rows[-1]["step"] == progress.step:
            print(self._scores(progress), file=sys.stderr, flush=True)
        self.num_rows = len(progress.rows)

    def _draw(self, live: Live, progress: Progress, now: float) -> None:
        fields: dict[str, Any] = {
            "step": f"{progress.step:,}/{self.job.steps:,}",
            "rate": _rate(progress),
            "left": self._left(progress, now),
        }
        self.bar.update(self.task, completed=progress.step, description=progress.doing, **fields)
        live.update(Group(self.bar, table(self.job, progress.rows)) if progress.rows else self.bar)

    def _left(self, progress: Progress, now: float) -> str:
        """The time left, at the speed since the first chunk was done."""
        begun, step = self.first or (now, progress.step)
        if progress.step <= step:
            return ""
        seconds = (now - begun) / (progress.step - step) * (self.job.steps - progress.step)
        minutes, seconds = divmod(round(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{seconds:02} left"

    def _scores(self, progress: Progress) -> str:
        labels = [label for label, _ in self.job.agents]
        means = [f"{label} {latest(progress.rows, label, 'return_mean')}" for label in labels]
        return f"step {progress.step:,}: return {', '.join(means)}"


def _rate(progress: Progress) -> str:
    return f"{progress.frames_per_second:,.0f} frames/s" if progress.frames_per_second else ""
