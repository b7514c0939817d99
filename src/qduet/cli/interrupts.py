"""Ctrl-C that is raised again when Python drops it.

    with interrupts_raised_again():
        compute()

Python raises `KeyboardInterrupt` wherever the main thread happens to be. In a callback of the
garbage collector (jax has one), of a weak reference, or in ``__del__``, Python reports the
exception to ``sys.unraisablehook`` and goes on. Here that hook sends the interrupt once more.

Accepted: C code that drops an exception without telling Python, as some of jax's modules do while
they are imported. The command then goes on, and Ctrl-C must be pressed again.
"""

import _thread
import contextlib
import signal
import sys
import threading
from collections.abc import Iterator

DELAY = 0.05
"""Seconds until the interrupt is sent again: by then the callback that dropped it has ended."""


@contextlib.contextmanager
def interrupts_raised_again() -> Iterator[None]:
    """Within the block, a `KeyboardInterrupt` that Python could not raise is sent again."""
    before, timers = sys.unraisablehook, []

    def hook(event: "sys.UnraisableHookArgs") -> None:
        if not issubclass(event.exc_type, KeyboardInterrupt):
            return before(event)
        timers.append(threading.Timer(DELAY, _interrupt_main))
        timers[-1].start()

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
