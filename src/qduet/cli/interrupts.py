"""Ctrl-C that is not lost.

    with insistent():
        compute()

Python raises `KeyboardInterrupt` wherever the main thread happens to be. In a function that C code
has called, that code may drop the exception, and the program goes on. It happens in callbacks of
the garbage collector (jax has one) and of weak references, often the first Python to run after a
long wait in C, and while some of jax's modules are loaded.
"""

import contextlib
import gc
import signal
import sys
import weakref
from collections.abc import Iterator
from types import FrameType

PERIOD = 0.1
"""Seconds until an interrupt that was dropped is raised again."""


@contextlib.contextmanager
def insistent() -> Iterator[None]:
    """Ctrl-C raises `KeyboardInterrupt`, again and again until that has left the block.

    Cleaning up on the way out is not disturbed, except by another Ctrl-C. For the main thread. A
    process that ignores Ctrl-C, as under nohup, goes on ignoring it; without Unix's timers, Ctrl-C
    is Python's own.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN or not hasattr(signal, "setitimer"):
        yield
        return
    inside = True

    def interrupt(number: int, frame: FrameType | None) -> None:
        if inside:
            signal.setitimer(signal.ITIMER_REAL, PERIOD)
            again = number == signal.SIGALRM
            if not (_in_callback(frame) or (again and _on_its_way())):
                raise KeyboardInterrupt

    numbers = (signal.SIGALRM, signal.SIGINT)
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        inside = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_callback(frame: FrameType | None) -> bool:
    """Whether what is raised in `frame` is dropped, with a complaint on standard error."""
    callbacks = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None:
        code = frame.f_code
        of_weak_reference = code.co_filename == weakref.__file__ and code.co_name == "remove"
        if code in callbacks or of_weak_reference:
            return True
        frame = frame.f_back
    return False


def _on_its_way() -> bool:
    """Whether this thread is in an ``except``, a ``finally`` or an exit on account of Ctrl-C."""
    error = sys.exception()
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None
