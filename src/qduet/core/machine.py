"""The machine that a program runs on."""

import os


def cores() -> int:
    """CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS or Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads() -> int:
    """Threads of XLA's CPU programs, which decide how products are summed: ``NPROC``, or cores."""
    given = os.environ.get("NPROC", "")
    return int(given) if given.isdecimal() and int(given) else cores()
