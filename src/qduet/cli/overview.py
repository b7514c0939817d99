"""Where a sweep stands, on a screen: once, or while it runs."""

import contextlib
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from qduet.cli.options import print_json
from qduet.cli.progress import LINE_SECONDS
from qduet.cluster import status
from qduet.cluster.status import Overview
from qduet.core.errors import InputError


def duration(seconds: float | None) -> str:
    """A time in the unit that people would say it in; ``?`` if it is not known."""
    if seconds is None:
        return "?"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def show_status(directory: Path, as_json: bool) -> int:
    """Prints where the jobs of a sweep stand."""
    overview = status.look(directory)
    if as_json:
        left = overview.seconds_left
        jobs = [
            {**job.note, "name": job.task.name, "runs": job.task.runs, "state": job.state}
            | {"done": job.done}
            for job in overview.jobs
        ]
        counts = {state: overview.count(state) for state in status.STATES}
        rate = overview.frames_per_second
        print_json({**counts, "frames_per_second": rate, "seconds_left": left, "jobs": jobs})
        return 0
    Console().print(_view(overview, most=30))
    return 0


def _view(overview: Overview, most: int) -> Any:
    """A line of counts, a table of the jobs that run, and a line for each that has failed."""
    counts = ", ".join(f"{overview.count(state):,} {state}" for state in status.STATES)
    rate, left = overview.frames_per_second, overview.seconds_left
    told = f"{counts}" + (f"; {rate:,.0f} frames/s" if rate else "")
    told += f"; about {duration(left)} left" if left else ""
    table = Table("job", "done", "frames/s", "node")
    running = overview.of("running")
    for job in running[:most]:
        rate = float(job.note.get("frames_per_second", 0.0))
        node = str(job.note.get("host", ""))
        table.add_row(job.task.name, f"{job.done:.0%}", f"{rate:,.0f}" if rate else "", node)
    failed = [
        Text(f"{job.task.name} failed: {job.note.get('reason', '')}")
        for job in overview.of("failed")[:most]
    ]
    return Group(told, *([table] if running else []), *failed)


class Display:
    """The state of a sweep while it runs: a table in a terminal, a line now and then elsewhere."""

    def __init__(self, directory: Path, quiet: bool) -> None:
        self.directory = directory
        self.live = (
            Live(console=Console(stderr=True), transient=True, auto_refresh=False)
            if sys.stderr.isatty() and not quiet
            else None
        )
        self.next = time.monotonic() + (0.0 if self.live else LINE_SECONDS)

    def __enter__(self) -> "Display":
        if self.live:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.live.stop()

    def __call__(self) -> None:
        """Shows the state, if the last time was a while ago and it can be read."""
        with contextlib.suppress(InputError, OSError):
            self._show()

    def _show(self) -> None:
        now = time.monotonic()
        if now < self.next:
            return
        if self.live:
            self.live.update(_view(status.look(self.directory), most=20), refresh=True)
            cost = time.monotonic() - now  # of reading thousands of files, perhaps
            self.next = now + max(2.0, 20 * cost)
        else:
            self.next = now + LINE_SECONDS
            overview = status.look(self.directory)
            counts = ", ".join(f"{overview.count(state):,} {state}" for state in status.STATES)
            print(
                f"{counts}; {overview.frames_per_second:,.0f} frames/s", file=sys.stderr, flush=True
            )
