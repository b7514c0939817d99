"""How a training job is shown: lines about its evaluations, below them a bar if in a terminal.

Everything goes to standard error; the summary at the end is the command's own.
"""

import contextlib
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from qduet.cli.progress import LINE_SECONDS, progress
from qduet.core.tables import Table
from qduet.jobs.job import Job
from qduet.jobs.trainer import Progress
from qduet.results.published import title
from qduet.stats import Interval, mean_interval

SHOWN = {
    "return_mean": "return",
    "q_value_mean": "Q",
    "q_overestimation": "Q − discounted return",
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
    heading = f"{title(job.game)}, {max((row['step'] for row in rows), default=0):,} steps"
    if len(job.seeds) > 1:
        heading += f": means of {len(job.seeds)} seeds ± 95 % interval"
    shown = [
        (label, *(str(latest(rows, label, column) or "") for column in SHOWN))
        for label, _ in job.agents
    ]
    return Table(heading, ("agent", *SHOWN.values()), shown)


class Display(contextlib.ExitStack):
    """Shows the progress of `trainer.train`."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        self.job = job
        self.advance = self.enter_context(progress(job.steps * len(job.members), "frames"))
        self.step = 0
        self.printed = -LINE_SECONDS
        self.reported = False
        """Whether there was a report."""
        self.first: tuple[float, int] | None = None
        """Time and step at which the first chunk was done: programs are compiled by then."""
        self.num_rows = 0

    def __call__(self, report: Progress) -> None:
        """Shows one report."""
        doing, step, rate, rows = report
        now = time.monotonic()
        earlier = step > 0 and not self.reported
        if earlier:
            _print(f"continuing from step {step:,}")
        self.reported = True
        if self.first is None and doing == "training":
            self.first = now, step
        number = len(self.job.members)
        self.advance(doing, (step - self.step) * number, earlier=earlier)
        self.step = step
        if doing == "training" and now - self.printed >= LINE_SECONDS and not sys.stderr.isatty():
            self.printed = now
            speed = f"{rate:,.0f} frames/s" if rate else ""
            where = f"step {step:,} of {self.job.steps:,}", speed, self._left(step, now)
            _print("  ".join(filter(None, where)))
        elif doing == "evaluating" and len(rows) == self.num_rows:
            runs = f"{number} run{'s' * (number != 1)} × {self.job.episodes:,} episodes"
            _print(f"step {step:,}: evaluating {runs}")
        elif len(rows) > self.num_rows and rows[-1]["step"] == step:
            labels = [label for label, _ in self.job.agents]
            means = [f"{label} {latest(rows, label, 'return_mean')}" for label in labels]
            _print(f"step {step:,}: return {', '.join(means)}")
        self.num_rows = len(rows)

    def _left(self, step: int, now: float) -> str:
        """The time left, at the speed since the first chunk was done."""
        begun, first = self.first or (now, step)
        if step <= first:
            return ""
        seconds = (now - begun) / (step - first) * (self.job.steps - step)
        minutes, seconds = divmod(round(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{seconds:02} left"


def _print(line: str) -> None:
    """Above the bar, if there is one: rich sees to that."""
    print(line, file=sys.stderr, flush=True)
