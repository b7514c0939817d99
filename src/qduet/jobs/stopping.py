"""Stopping long work at a moment when nothing is lost.

    with Stop(deadline=time.monotonic() + 600) as stop:
        while not stop.asked():
            work()

Ctrl-C, SIGTERM and a deadline ask to stop; the work goes on until it asks whether to. A second
Ctrl-C ends it at once. SIGHUP is ignored: the work outlives its terminal.
"""

import contextlib
import signal
import threading
import time
from types import FrameType
from typing import Any

DEADLINE = "deadline"


class Stopped(Exception):
    """Raised by `Stop.check` when it is time to stop."""


class Stop(contextlib.AbstractContextManager["Stop"]):
    """Whether to stop, and why."""

    def __init__(self, deadline: float | None = None) -> None:
        self.reason: signal.Signals | str | None = None
        """The signal that came, or ``"deadline"``."""
        self._deadline = deadline
        """On the clock of ``time.monotonic``."""
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Stop":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
                    self._before[number] = signal.signal(number, self._handle)
            if hasattr(signal, "SIGHUP"):
                self._before[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.reason == number == signal.SIGINT:
            raise KeyboardInterrupt
        self.reason = signal.Signals(number)

    def asked(self, needs: float = 0.0) -> bool:
        """Whether to stop now; with `needs`, whether so many seconds would pass the deadline."""
        if self._deadline is not None and time.monotonic() + needs >= self._deadline:
            self.reason = self.reason or DEADLINE
        return self.reason is not None

    def check(self, needs: float = 0.0) -> None:
        """Raises `Stopped` if it is time to stop."""
        if self.asked(needs):
            raise Stopped
