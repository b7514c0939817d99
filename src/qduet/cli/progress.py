"""The progress bar of a long command."""

import contextlib
import sys
from collections.abc import Callable, Iterator

LINE_SECONDS = 60.0
"""Time between two lines of a command that goes on telling, where there is no terminal."""


@contextlib.contextmanager
def progress(total: int, unit: str) -> Iterator[Callable[..., None]]:
    """A bar on standard error, if that is a terminal: what runs, how far, how fast, how long still.

    The block gets a function of what runs now and how many of `total` units were done since the
    last call; any thread may call it. With ``earlier=True`` they were done by an earlier command,
    and say nothing about the speed.
    """
    from rich import progress as rich
    from rich.console import Console

    bar = rich.Progress(
        rich.TextColumn("{task.description:22}"),
        rich.BarColumn(),
        rich.TextColumn("{task.percentage:3.0f} %  {task.fields[rate]}"),
        rich.TimeElapsedColumn(),
        rich.TextColumn("left"),
        rich.TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    )
    task = bar.add_task("starting", total=total, rate="")

    def advance(what: str, count: int, *, earlier: bool = False) -> None:
        if earlier:
            bar.reset(task, completed=count, description=what)
        else:
            bar.update(task, advance=count, description=what)
        if speed := bar.tasks[0].speed:
            bar.update(task, rate=f"{speed:,.0f} {unit}/s")

    with bar:
        yield advance
