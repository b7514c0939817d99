"""The process of a command: standard streams that cannot end it, and a Ctrl-C that is not lost.

A stream that the caller has closed (``2>&-``) becomes ``/dev/null``. What cannot be written to
standard error, or to a terminal that is gone, is dropped: training goes on, and an exit code keeps
its meaning. Output to a file or a pipe is never dropped without an error.

Python raises `KeyboardInterrupt` wherever the main thread happens to be. In a callback of the
garbage collector (jax has one), of a weak reference, or in ``__del__``, Python reports the
exception to ``sys.unraisablehook`` and goes on. `interrupts_raised_again` sends it once more.

Accepted: C code that drops an exception without telling Python, as some of jax's modules do while
they are imported. The command then goes on, and Ctrl-C must be pressed again.
"""

import _thread
import contextlib
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

DELAY = 0.05
"""Seconds until the interrupt is sent again: by then the callback that dropped it has ended."""


def keep_open() -> None:
    """Makes the three standard streams of the process safe to use, whatever becomes of them."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # else the next file that is opened would have its number
            connect_to_nothing(number)
            setattr(sys, name, open(number, "w" if number else "r"))  # noqa: SIM115
    if sys.stdout.isatty() and sys.stdout is sys.__stdout__:
        sys.stdout = _dropping(sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _dropping(sys.stderr)
    if isinstance(sys.stdout, io.TextIOWrapper):  # γ and ± where the encoding is ASCII
        sys.stdout.reconfigure(errors="replace")


def connect_to_nothing(number: int) -> None:
    """Makes ``/dev/null`` of a file descriptor, in the processes that are started too."""
    os.dup2(os.open(os.devnull, os.O_RDWR), number)
    os.set_inheritable(number, True)


class _Droppable(io.FileIO):
    """A stream that becomes ``/dev/null`` when it cannot be written to."""

    def write(self, content: Any) -> int:
        try:
            return super().write(content) or len(content)
        except OSError:
            connect_to_nothing(self.fileno())
            return len(content)


def _dropping(stream: Any) -> io.TextIOWrapper:
    raw = io.BufferedWriter(_Droppable(stream.fileno(), "w", closefd=False))
    return io.TextIOWrapper(raw, stream.encoding, stream.errors, line_buffering=True)


@contextlib.contextmanager
def interrupts_raised_again() -> Iterator[None]:
    """Within the block, a `KeyboardInterrupt` that Python could not raise is sent again."""
    before, timers = sys.unraisablehook, []

    def hook(event: "sys.UnraisableHookArgs") -> None:
        if not issubclass(event.exc_type, KeyboardInterrupt):
            return before(event)
        while True:
            timers.append(threading.Timer(DELAY, _interrupt_main))
            try:
                return timers[-1].start()
            except KeyboardInterrupt:  # on a busy machine it comes before the thread has started
                continue

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
        for timer in timers:
            timer.cancel()


def _interrupt_main() -> None:
    """Sends Ctrl-C to the main thread; a real signal, where there is one, also ends a sleep."""
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()
