"""Standard input, output and error that cannot end a command.

A stream that the caller has closed (``2>&-``) becomes ``/dev/null``. What cannot be written to
standard error, or to a terminal that is gone, is dropped: training goes on, and an exit code keeps
its meaning. Output to a file or a pipe is never dropped without an error.
"""

import io
import os
import sys
from typing import Any


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
