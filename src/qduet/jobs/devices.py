"""The devices of a job, whether it fits into their memory, where compiled programs are kept."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import jax
import numpy as np

from qduet.core.errors import InputError, out_of_memory, unknown_name
from qduet.deep.networks import FILTERS, KERNEL, SIDE
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


def memory(device: jax.Device) -> int | None:
    """Bytes that a program can have on `device`; None if that is not known."""
    stats = device.memory_stats() or {}
    if "bytes_limit" in stats:
        return int(stats["bytes_limit"])
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable"))
        return 1024 * int(line.split()[1])
    return None


def bytes_per_run(program: Program, episodes: int) -> int:
    """Bytes that a run needs in training, or roughly in an evaluation if that is more."""
    leaves = jax.tree.leaves(program.shapes)
    state = sum(x.size * x.dtype.itemsize for x in leaves) // leaves[0].shape[0]
    channels = (program.shapes.params.conv.w.shape[1]) // KERNEL**2
    lane = 4 * SIDE**2 * (KERNEL**2 * channels + 1 + FILTERS)
    return int(max(program.copies * state, state + episodes * lane))


@contextlib.contextmanager
def checking_memory(
    program: Program, devices: Sequence[jax.Device], episodes: int
) -> Iterator[None]:
    """Raises `InputError`, with how many runs would fit, if memory is too small or runs out."""
    num_runs = program.shapes.observation.shape[0]
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
    fits = min(num_runs - 1, int(np.floor(0.8 * room / each)))
    if fits < 1:
        return InputError(
            f"{what} ({room / 2**30:.1f} GiB), and no smaller number would; free some, or use "
            "fewer episodes or another device"
        )
    return InputError(
        f"{what} ({room / 2**30:.1f} GiB): about {fits} would; use fewer seeds or agents at once "
        "(a seed gives the same run in any job)"
    )
