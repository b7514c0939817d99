"""What a job will need: memory, disk and time, from measured figures, without jax.

Times are those that were measured on one H200 and on CPU cores (benchmarks/README.md); for another
GPU there is no figure, and none is made up. Memory is counted from the sizes of what a run keeps.
"""

import os
import subprocess
from typing import NamedTuple

from qduet.agents import STRIDE, Agent
from qduet.core import machine
from qduet.core.errors import InputError
from qduet.env_ids import game_of, minatar_id

CHANNELS = {"Asterix": 4, "Breakout": 4, "Freeway": 7, "Seaquest": 10, "SpaceInvaders": 6}
"""Of the games' boards, which decide the size of an observation and of the first layer."""

COST = {"Asterix": 1.02, "Breakout": 1.0, "Freeway": 1.11, "Seaquest": 1.16, "SpaceInvaders": 1.06}
"""Time of an iteration, relative to Breakout's."""

CPU_FRAMES = 2_000.0
"""Frames per second of a run on one CPU core."""

FEW_RUNS, EACH_RUN, MANY_RUNS = 135.0, 3.0, 4.4
"""On an H200 an iteration of n runs takes max(135 + 3 n, 4.4 n) µs.

Measured at 90 and 240 runs; at 15 and 30 only while two jobs shared the GPU.
"""

CPU_UPDATES = 1.5e8
"""Table updates per second of one CPU core."""


class Machine(NamedTuple):
    """Where jobs are to run."""

    device: str
    """``cpu``, or the name of its GPUs: ``NVIDIA H200``."""
    workers: int
    """Jobs at a time."""
    memory: int | None
    """Bytes that a job can have; None if not known."""

    @property
    def gpu(self) -> bool:
        """Whether jobs run on GPUs."""
        return self.device != "cpu"


def this_machine(device: str, cpus_per_task: int) -> Machine:
    """The GPUs of this machine, or its CPU cores; ``device`` as in ``qduet train``."""
    gpus = [] if device == "cpu" or os.environ.get("JAX_PLATFORMS") == "cpu" else gpus_here()
    if device == "gpu" and not gpus:
        raise InputError("device gpu: nvidia-smi finds none here; use device cpu")
    if gpus:
        return Machine(gpus[0][0], len(gpus), int(0.75 * min(size for _, size in gpus)))
    workers = max(1, machine.cores() // cpus_per_task)
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if os.name == "posix" else None
    return Machine("cpu", workers, pages and int(0.8 * pages / workers))


def gpus_here() -> list[tuple[str, int]]:
    """Name and bytes of each NVIDIA GPU that this process may use."""
    query = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(
            query, capture_output=True, text=True, check=True, timeout=30
        ).stdout
        rows = [line.rsplit(",", 1) for line in answer.splitlines() if line.strip()]
        gpus = [(name.strip(), int(size) * 2**20) for name, size in rows]
    except (OSError, ValueError, subprocess.SubprocessError):
        return []
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return gpus
    return gpus[: len([x for x in visible.split(",") if x.strip() not in ("", "-1")])]


def game(env_id: str) -> str | None:
    """The game of a MinAtar id; None for other environments, of which no sizes are known here."""
    full_id = minatar_id(env_id)
    return game_of(full_id) if full_id else None


def bytes_per_run(env_id: str, agent: Agent, episodes: int, on_cpu: bool) -> int | None:
    """Memory of a run: replay memory, weights (four copies), and what an evaluation keeps."""
    name = game(env_id)
    if name is None or agent.network not in ("auto", "board", "board-separate"):
        return None
    observation = -(-100 * CHANNELS[name] // 8)
    replay = (agent.capacity + 4) * (observation + 2)
    state = replay + 16 * parameters(name, agent)
    if on_cpu:
        return 2 * state
    return state + 270 * observation * episodes


def parameters(name: str, agent: Agent) -> int:
    """Weights of the paper's network, which has a convolution and two streams."""
    convolution, streams = 9 * CHANNELS[name] * 16 + 16, 2 * (1024 * 128 + 128) + 128 * 7 + 7
    return convolution * (2 if agent.network == "board-separate" else 1) + streams


def bytes_on_disk(env_id: str, agent: Agent) -> int:
    """Weights at the end, and a checkpoint while a run is trained."""
    name = game(env_id) or "Breakout"
    observation = -(-100 * CHANNELS[name] // 8)
    return (agent.capacity + 4) * (observation + 2) + 20 * parameters(name, agent)


def seconds(env_id: str, agent: Agent, runs: int, steps: int, machine: Machine) -> float | None:
    """Training time of a job of this many runs; None if nothing like it was measured."""
    name = game(env_id)
    if name is None:
        return None
    if not machine.gpu:
        return runs * steps / CPU_FRAMES * COST[name]
    if "H200" not in machine.device:
        return None
    micros = relative_cost(runs, machine) * COST[name]
    iterations = max(0, steps - agent.learn_from) // STRIDE
    return 20.0 + 1e-6 * micros * iterations


def relative_cost(runs: int, machine: Machine) -> float:
    """Time of a job of so many runs, in units of its device: µs per iteration of an H200."""
    if not machine.gpu:
        return runs + 0.2  # one after the other; a start takes as long as a fifth of a short run
    return max(FEW_RUNS + EACH_RUN * runs, MANY_RUNS * runs)
