"""Where an iteration of training goes on a GPU: each kernel's time, and what runs side by side.

    PYTHONPATH=src python benchmarks/gpu_profile.py Breakout --runs 90

An iteration is an update and four steps of every run. A block of 250 is traced after warm-up. For
each kernel the table has, per iteration, its launches, the sum of their times, and the time in
which it runs *alone*: what would be gained if it took none. Times are in µs. *Busy* is the time in
which any kernel runs; the parts add up to more, because kernels run side by side.
"""

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from qduet.agents import PAPER_AGENTS
from qduet.bench import deep
from qduet.core.tables import Table
from qduet.deep.replay import STRIDE
from qduet.jobs import program


class Event(NamedTuple):
    """One launch of a kernel."""

    name: str
    start: float
    """ns"""
    end: float
    """ns"""


class Kernel(NamedTuple):
    """All launches of kernels of one name, per iteration."""

    name: str
    launches: float
    total: float
    """µs"""
    alone: float
    """µs in which nothing else runs"""


def kernels(events: Iterable[Event], iterations: int) -> tuple[list[Kernel], float]:
    """Each kernel, the one that is alone the longest first; and the busy time in µs."""
    events = list(events)
    launches = Counter(event.name for event in events)
    total, alone = Counter[str](), Counter[str]()
    for event in events:
        total[event.name] += event.end - event.start
    ends = [(e.start, 1, e.name) for e in events] + [(e.end, -1, e.name) for e in events]
    running, busy, last = Counter[str](), 0.0, 0.0
    for time, change, name in sorted(ends):
        if running.total():
            busy += time - last
        if running.total() == 1:
            alone[next(iter(running.elements()))] += time - last
        running[name] += change
        last = time
    per = lambda ns: ns / 1e3 / iterations
    rows = [
        Kernel(name, launches[name] / iterations, per(total[name]), per(alone[name]))
        for name in launches
    ]
    return sorted(rows, key=lambda row: -row.alone), per(busy)


def traced(directory: Path) -> Iterator[Event]:
    """The kernels in a trace that `jax.profiler.trace` wrote."""
    for path in directory.rglob("*.xplane.pb"):
        for plane in jax.profiler.ProfileData.from_file(str(path)).planes:
            for line in plane.lines if plane.name.startswith("/device:GPU") else ():
                for event in line.events if line.name.startswith("Stream") else ():
                    name = re.sub(r"([._]\d+)+$", "", event.name)
                    yield Event(name, event.start_ns, event.start_ns + event.duration_ns)


def block(game: str, runs: int, directory: Path) -> int:
    """Traces a block of training into `directory`; returns its iterations."""
    names = PAPER_AGENTS if runs % len(PAPER_AGENTS) == 0 else ["rdq"]
    job = deep.job(game, runs, list(names), 1)
    agent, built = job.members[0].agent, program.Program(job)
    state, step = built.warm_up(built.start()), agent.learn_from
    for _ in range(2):  # the first call compiles
        state, losses = built.advance(state, step, 1)
        step += agent.sync_every
    np.asarray(losses.total)
    with jax.profiler.trace(str(directory)):
        _, losses = built.advance(state, step, 1)
        np.asarray(losses.total)
    return agent.sync_every // STRIDE


def main() -> int:
    """Prints a table for each game."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("games", nargs="*", default=["Breakout", "Seaquest"])
    parser.add_argument("--runs", type=int, default=90)
    parser.add_argument("--most", type=int, default=30, help="rows of a table")
    args = parser.parse_args()
    if jax.default_backend() != "gpu":
        print("jax finds no GPU here; install jax for yours (pip install 'qduet[cuda]')")
        return 2
    for game in args.games:
        with tempfile.TemporaryDirectory() as directory:
            iterations = block(game, args.runs, Path(directory))
            found, busy = kernels(traced(Path(directory)), iterations)
        rows = [(k.name, f"{k.launches:.1f}", f"{k.total:.1f}", f"{k.alone:.1f}") for k in found]
        what = f"{game}, {args.runs} runs: {len(found)} kernels, busy {busy:.0f} µs"
        Table(what, ("kernel", "launches", "µs", "alone"), rows[: args.most]).show()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
