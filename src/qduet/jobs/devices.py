"""The devices of a job, whether it fits into their memory, where compiled programs are kept."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import jax

from qduet.core.errors import InputError, out_of_memory, unknown_name
from qduet.jobs.program import Program

KINDS = ("auto", "cpu", "gpu")


def choose(kind: str) -> list[jax.Device]:
    """The local devices of a kind; ``"auto"`` are the fastest that jax finds."""
    if kind not in KINDS:
        raise unknown_name("device", kind, KINDS)
    if kind == "cpu":
        jax.config.update("jax_platforms", "cpu")
    try:
        return jax.local_devices(backend=None if kind == "auto" else kind)
    except RuntimeError:
        raise InputError(
            f"device {kind}: jax finds none here; use device cpu, or install jax for your GPU "
            "(in the repository: pip install -e '.[cuda]')"
        ) from None


def keep_compiled() -> None:
    """Keeps compiled programs in the user's cache directory, unless jax has a place for them."""
    if getattr(jax.config, "jax_compilation_cache_dir", None) is not None:
        return
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "qduet" / "jax"
    with contextlib.suppress(OSError):  # without it everything works, but starts later
        folder.mkdir(parents=True, exist_ok=True)
        jax.config.update("jax_compilation_cache_dir", str(folder))


# --- Memory --------------------------------------------------------------------------------------


PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")

COMPILING = 450 * 2**20
"""Bytes of a host's memory that compiling takes, and training beside the states of the runs."""


FEATURES_PER_BYTE = 270
"""Bytes of features in an evaluation for each byte of an encoded observation, as on boards."""


def memory(device: jax.Device) -> int | None:
    """Bytes that a program can have on `device`; None if that is not known."""
    stats = device.memory_stats() or {}
    if "bytes_limit" in stats:
        return int(stats["bytes_limit"])
    left = []
    for limit in (_left_by_machine, _left_by_groups, _left_by_process):
        with contextlib.suppress(ImportError, OSError, ValueError, KeyError):  # not on every system
            left += limit()
    return max(0, min(left) - COMPILING) if left else None


def _left_by_machine() -> list[int]:
    return [1024 * _fields(PROC / "meminfo")["MemAvailable:"]]


def _left_by_groups() -> list[int]:
    """What each control group (v1 or v2) of this process, and each above it, has left."""
    left = []
    for line in (PROC / "self" / "cgroup").read_text().splitlines():
        _, controllers, name = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = CGROUPS / "memory" if controllers else CGROUPS
        names = ("limit_in_bytes", "usage_in_bytes") if controllers else ("max", "current")
        lowest = root / name.lstrip("/")
        for group in (lowest, *lowest.parents[: len(lowest.parts) - len(root.parts)]):
            with contextlib.suppress(OSError, ValueError):  # "max": no limit
                most, used = (int((group / f"memory.{name}").read_text()) for name in names)
                kept = _fields(group / "memory.stat")
                # The kernel drops the content of files when memory is needed.
                cached = ("active_file", "inactive_file")
                files = [kept.get(f"total_{x}", kept.get(x, 0)) for x in cached]
                left.append(most - used + sum(files))
    return left


def _left_by_process() -> list[int]:
    """What ``ulimit -v`` leaves."""
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = int((PROC / "self" / "statm").read_text().split()[0])
    return [] if limit < 0 else [limit - pages * resource.getpagesize()]


def _fields(path: Path) -> dict[str, int]:
    """A file of lines ``name value …``."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {words[0]: int(words[1]) for words in lines}


def bytes_per_run(program: Program, episodes: int) -> int:
    """Bytes that a run needs in training, or roughly in an evaluation if that is more.

    A mean over the runs, if some have larger networks or memories than others.
    """
    size = lambda tree: sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(tree))
    num_runs = sum(map(len, program.members))
    state = size(program.shapes) // num_runs
    seen = max(size(group.observation) // len(group.key) for group in program.shapes)
    return int(max(program.copies * state, state + episodes * FEATURES_PER_BYTE * seen))


@contextlib.contextmanager
def checking_memory(
    program: Program, devices: Sequence[jax.Device], episodes: int
) -> Iterator[None]:
    """Raises `InputError`, with how many runs would fit, if memory is too small or runs out."""
    num_runs = sum(map(len, program.members))
    each = bytes_per_run(program, episodes)
    limit = memory(devices[0])
    shared = devices[0].platform == "cpu"  # devices of a host share its memory
    room = None if limit is None else limit * (1 if shared else program.devices)
    needed = bytes_per_run(program, 0)
    if room is not None and needed * num_runs > room:
        raise _too_large(num_runs, needed, room)
    try:
        yield
    except (MemoryError, jax.errors.JaxRuntimeError) as error:
        if not out_of_memory(error):
            raise
        raise _too_large(num_runs, each, room) from None


def _too_large(num_runs: int, each: int, room: int | None) -> InputError:
    what = f"{num_runs} runs of about {each / 2**20:.0f} MiB each do not fit into memory"
    if room is None:
        return InputError(f"{what}; use fewer seeds")
    fits = min(num_runs - 1, int(0.8 * room / each))
    remedy = (
        f": about {fits} would; use fewer seeds or agents at once (a seed gives the same run in "
        "any job)"
    )
    if fits < 1:
        remedy = ", and no smaller number would; free some, or use fewer episodes or another device"
    return InputError(f"{what} ({room / 2**30:.1f} GiB){remedy}")
