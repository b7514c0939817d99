"""Seconds of one sweep against its workers, each a core: `qduet sweep`, alone and on Ray.

The sweep has four jobs of one run each. The floor is the time of one such job by ``qduet train``,
shared out over the workers.
"""

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from qduet.core.errors import InputError
from qduet.core.machine import cores

JOBS, STEPS = 4, 20_000
SETTINGS = {"steps": STEPS, "evaluate-every": STEPS, "episodes": 10}
REPEATS = 3
"""The least of so many times of one job is the floor."""
GAME, AGENT = "MinAtar/Breakout-v1", "rdq"


class Reading(NamedTuple):
    """One sweep."""

    engine: str
    """``local``, ``ray``, or ``floor``."""
    workers: int
    seconds: float
    """Of the whole command; without starting the Ray cluster."""


def readings() -> Iterator[Reading]:
    """Each engine with 1, 2, 4, … workers, as many as there are cores, and the floor."""
    numbers = [2**i for i in range(cores().bit_length())]
    train = ["train", AGENT, GAME, "--seeds", "1", "--device", "cpu"]
    train += [word for name, value in SETTINGS.items() for word in (f"--{name}", f"{value}")]
    _seconds(lambda out: train, workers=1)  # compiles what all others find compiled
    alone = min(_seconds(lambda out: train, workers=1) for _ in range(REPEATS))
    for workers in numbers:
        yield Reading("floor", workers, -(-JOBS // workers) * alone)
        yield Reading("local", workers, _seconds(_sweep, workers))
        if find_spec("ray"):
            yield Reading("ray", workers, _on_ray(workers))


def _sweep(out: Path) -> list[str]:
    """The command of the sweep, whose plan is written beside `out`."""
    lines = [f"{name.replace('-', '_')} = {value}\n" for name, value in SETTINGS.items()]
    plan = (
        f'environments = ["{GAME}"]\nseeds = {JOBS}\n{"".join(lines)}[[agents]]\nname = "{AGENT}"\n'
    )
    path = out.with_name("plan.toml")
    path.write_text(plan, encoding="utf-8")
    return ["sweep", str(path), "--runs-per-job", "1", "--device", "cpu"]


def _seconds(command: Callable[[Path], list[str]], workers: int, *options: str) -> float:
    """The time of a command of qduet in a process of its own, which has a core for each worker."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        words = [*command(out), *options, "--out", str(out)]
        given = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, given[:workers])  # the process inherits it
        begun = time.perf_counter()
        try:
            done: Any = subprocess.run(
                [sys.executable, "-m", "qduet", *words], capture_output=True, text=True, check=False
            )
        finally:
            os.sched_setaffinity(0, given)
        if done.returncode:
            raise InputError(f"qduet {' '.join(words)} failed: {done.stderr.strip()[-300:]}")
        return time.perf_counter() - begun


def _on_ray(workers: int) -> float:
    """On a Ray cluster on this machine, with a node of one core for each worker."""
    from ray.cluster_utils import Cluster

    with warnings.catch_warnings():  # that JAX has threads: what Ray starts makes no use of them
        warnings.simplefilter("ignore", RuntimeWarning)
        head = {"num_cpus": 1, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        for _ in range(workers - 1):
            cluster.add_node(num_cpus=1)
    try:
        return _seconds(_sweep, cores(), "--engine", "ray", "--address", cluster.address)
    finally:
        cluster.shutdown()
