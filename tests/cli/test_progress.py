"""The bar of a long command, in a terminal."""

import sys

import pytest
from rich import progress as rich

from qduet.cli.progress import progress


def test_what_an_earlier_command_did_says_nothing_about_the_speed(monkeypatch):
    """9,000 units were done before; then 20 s of compilation, and 100 units a second."""
    now, bars = [0.0], []
    made = rich.Progress.__init__

    def noted(bar, *args, **options):
        made(bar, *args, **options, get_time=lambda: now[0])
        bars.append(bar)

    monkeypatch.setattr(rich.Progress, "__init__", noted)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress(10_000, "frames") as advance:
        advance("compiling", 9_000, earlier=True)
        now[0] = 20.0
        advance("training", 0)
        for _ in range(5):
            now[0] += 1.0
            advance("training", 100)
        (task,) = bars[0].tasks
    assert task.completed == 9_500
    assert task.speed == pytest.approx(100)
    assert task.time_remaining == pytest.approx(5)
