"""Standard input, output and error that cannot end a command.

A stream that the caller has closed (``2>&-``) becomes ``/dev/null``. What cannot be written to
standard error, or to a terminal that is gone, is dropped. So a training outlives its terminal, and
an exit code keeps its meaning. Output to a file or a pipe is never dropped without an error.
"""

import contextlib
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any


def keep_open() -> None:
    """Makes the process's three standard streams safe to use, whatever becomes of them."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:  # or else the next file that is opened would have this number
            _connect_to_nothing(number)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, "w" if number else "r"))  # noqa: SIM115
    if sys.stdout is sys.__stdout__ and sys.stdout.isatty():
        sys.stdout = _dropping(sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _dropping(sys.stderr)
    if isinstance(sys.stdout, io.TextIOWrapper):  # γ and ± where the encoding is ASCII
        sys.stdout.reconfigure(errors="replace")


@contextlib.contextmanager
def hangups_ignored() -> Iterator[None]:
    """Within the block, the end of the terminal (SIGHUP) does not end the process."""
    if not hasattr(signal, "SIGHUP") or threading.current_thread() != threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


class _Droppable(io.FileIO):
    """A stream that becomes ``/dev/null`` when it cannot be written to."""

    def write(self, content: Any) -> int:
        try:
            return super().write(content) or len(content)
        except OSError:
            _connect_to_nothing(self.fileno())
            return len(content)


def _dropping(stream: Any) -> io.TextIOWrapper:
    raw = io.BufferedWriter(_Droppable(stream.fileno(), "w", closefd=False))
    return io.TextIOWrapper(raw, stream.encoding, stream.errors, line_buffering=True)


def _connect_to_nothing(number: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, number)
    if nothing != number:
        os.close(nothing)
