"""Stopping a long program at a moment when nothing is lost.

    with Stop(deadline=time.monotonic() + 600) as stop:
        while not stop.asked():
            work()                        # never cut short
            with stop.interruptible():
                reading()                 # may be left at any moment, by `Stopped`

Ctrl-C, SIGTERM and a deadline all ask to stop. A second Ctrl-C does not wait.
"""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

DEADLINE = "deadline"


class Stopped(Exception):
    """Raised inside `Stop.interruptible` when a stop is asked for."""


class Stop(contextlib.AbstractContextManager["Stop"]):
    """Whether to stop, and why."""

    def __init__(self, deadline: float | None = None) -> None:
        self.reason: signal.Signals | str | None = None
        """The signal that came, or ``"deadline"``."""
        self._deadline = deadline
        """On the clock of ``time.monotonic``."""
        self._interruptible = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Stop":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.reason == signal.SIGINT and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.reason = signal.Signals(number)
        if self._interruptible:
            raise Stopped

    def _alarm(self, number: int, frame: FrameType | None) -> None:
        self.reason = self.reason or DEADLINE
        if self._interruptible:
            raise Stopped

    def asked(self, needs: float = 0.0) -> bool:
        """Whether to stop now; something that `needs` so many seconds must end by the deadline."""
        if self._deadline is not None and time.monotonic() + needs >= self._deadline:
            self.reason = self.reason or DEADLINE
        return self.reason is not None

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Inside, a request to stop raises `Stopped` at once."""
        if self.asked():
            raise Stopped
        try:
            with self._timer():
                self._interruptible = True
                yield
        finally:
            self._interruptible = False

    @contextlib.contextmanager
    def _timer(self) -> Iterator[None]:
        """A signal at the deadline, where there are such signals."""
        if self._deadline is None or not self._before or not hasattr(signal, "setitimer"):
            yield
            return
        before = signal.signal(signal.SIGALRM, self._alarm)
        signal.setitimer(signal.ITIMER_REAL, max(self._deadline - time.monotonic(), 1e-3))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
