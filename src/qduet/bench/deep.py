"""Speed of training and evaluating the deep agents, through the programs that ``qduet train`` runs.

For each game, all runs of a job start and warm up. Then a stretch of training is timed, and an
evaluation of the weights after it. Both together give the time of the paper's protocol: 90 runs (3
agents × 30 seeds) × 10,000,000 steps with 11 evaluations of 1,000 episodes.

What bounds an iteration (4 steps and an update of every run) is its memory traffic. With P the
bytes of all weights and A those that acting needs (all but the V stream), it is

    9 P + 4 A:   Adam reads and writes p, m, v (6 P); forward pass, target network and backward
                 pass read p (3 P); four greedy actions read A

if a gradient is used where it arises and never stored. The *floor* is that over the bandwidth. It
is a tenth too high where a third of the runs are DQN, whose V stream is not moved. (On a CPU the
weights of a few runs stay in its caches, and the floor says little.)
"""

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qduet.agents import PAPER_AGENTS, make_agent
from qduet.core.errors import InputError, unknown_name
from qduet.core.tables import Table
from qduet.deep.board import Params
from qduet.deep.replay import STRIDE
from qduet.jobs import program
from qduet.jobs.devices import checking_memory
from qduet.jobs.job import Job
from qduet.jobs.program import Program
from qduet.minatar import GAMES
from qduet.results.published import title

DESCRIPTION = "training and evaluation of the deep agents"

BANDWIDTH = {"NVIDIA H200": 4.3e12}
"""Bytes per second that a large copy reaches, measured; the data sheet's H200 has 4.8e12."""

COPIED = 2**28
"""Bytes of the array whose copy is timed on other devices."""

RUNS, STEPS, EVALUATIONS, EPISODES = 90, 10_000_000, 11, 1_000
"""The paper's protocol for one game."""


class Reading(NamedTuple):
    """What was measured on one game with one number of runs."""

    game: str
    agents: str
    """Their names."""
    runs: int
    """Trained side by side."""
    steps: int
    """Of each run, in the timed stretch."""
    us_per_iteration: float
    """Microseconds of 4 steps and an update of all runs."""
    frames_per_second: float
    """Of all runs together."""
    bytes_per_iteration: int
    """The memory traffic, 9 P + 4 A."""
    bandwidth: float
    """Bytes per second, of all devices in use."""
    bandwidth_from: str
    """How the bandwidth is known."""
    floor_share: float
    """The floor's time over the measured one."""
    compile_seconds: float
    """What the first calls took longer than later ones; 1,000 steps of warm-up are in it."""
    episodes: int
    """Of each run, in the timed evaluation."""
    evaluation_seconds: float
    """Of all its episodes of all runs."""
    whole_minutes: float
    """Extrapolated to the paper's protocol, compilation included."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this section."""
    add = parser.add_argument
    add("--episodes", type=int, help="of an evaluation; default: 1,000 on GPUs, 50 on CPUs")


def measure(args: argparse.Namespace) -> Iterator[Reading]:
    """One reading for each game and number of runs."""
    on_cpu = jax.default_backend() == "cpu"
    games, numbers, steps = sizes(
        args, games=["Breakout"] if on_cpu else list(GAMES), runs=[1 if on_cpu else RUNS]
    )
    episodes = args.episodes or (50 if on_cpu else EPISODES)
    bandwidth = bandwidth_of(jax.local_devices()[0])
    alike = all(runs % len(PAPER_AGENTS) == 0 for runs in numbers)
    agents = PAPER_AGENTS if alike else ("rdq",)  # all readings are of the same agents
    for game in games:
        for runs in numbers:
            yield reading(job(game, runs, agents, episodes), steps, *bandwidth)


def sizes(
    args: argparse.Namespace, *, games: list[str], runs: list[int]
) -> tuple[list[str], list[int], int]:
    """The games, numbers of runs and steps that are asked for; by default `games` and `runs`."""
    for game in args.games or ():
        if game not in GAMES:
            raise unknown_name("game", game, GAMES)
    steps = args.steps or (4_000 if jax.default_backend() == "cpu" else 100_000)
    every = make_agent("rdq").sync_every
    if steps % every:
        raise InputError(f"--steps must be a multiple of {every:,}; it is {steps:,}")
    return args.games or games, sorted(args.runs or runs), steps


def job(game: str, runs: int, names: Sequence[str], episodes: int) -> Job:
    """The runs that are timed, which the agents of these `names` share evenly."""
    agents = tuple((name, make_agent(name)) for name in names)
    seeds = tuple(range(runs // len(names)))
    return Job(f"MinAtar/{game}-v1", agents, seeds, episodes=episodes)


def reading(job: Job, steps: int, bandwidth: float, bandwidth_from: str) -> Reading:
    """Times the training of a job, and an evaluation."""
    built = program.Program(job)
    with checking_memory(built, jax.local_devices(), job.episodes):
        trained = train(job, built, steps)
        slow, fast = (evaluate(job, trained).seconds for _ in range(2))
    num_runs, moved = len(job.members), traffic(built.shapes[0].params)
    compiling = trained.compile_seconds + max(slow - fast, 0.0)
    seconds = trained.seconds * STRIDE / steps
    return Reading(
        game=job.game,
        agents=" ".join(label for label, _ in job.agents),
        runs=num_runs,
        steps=steps,
        us_per_iteration=seconds * 1e6,
        frames_per_second=num_runs * steps / trained.seconds,
        bytes_per_iteration=moved,
        bandwidth=bandwidth * built.devices,
        bandwidth_from=bandwidth_from,
        floor_share=moved / (bandwidth * built.devices) / seconds,
        compile_seconds=compiling,
        episodes=job.episodes,
        evaluation_seconds=fast,
        whole_minutes=whole_minutes(num_runs, seconds, job.episodes, fast, compiling),
    )


class Trained(NamedTuple):
    """A stretch of training."""

    compile_seconds: float
    """What the first calls took; 1,000 steps of warm-up are in it."""
    seconds: float
    """Of the stretch."""
    step: int
    """At its end."""
    weights: Any
    """To be evaluated there."""


def train(job: Job, built: Program, steps: int) -> Trained:
    """Times `steps` steps of all runs, after warm-up."""
    agent = job.members[0].agent
    begun = time.perf_counter()
    runs = built.warm_up(built.start())
    runs, _ = jax.block_until_ready(built.advance(runs, agent.learn_from, 0))
    compiling = time.perf_counter() - begun
    runs, _ = built.advance(runs, agent.learn_from, 1)
    first = agent.learn_from + agent.sync_every
    jax.block_until_ready(runs)

    begun = time.perf_counter()
    left = steps // agent.sync_every
    while left:
        count = min(left, program.MAX_BLOCKS)
        now = first + steps - left * agent.sync_every
        runs, losses = built.advance(runs, now, count)
        np.asarray(losses.total)  # as when training: results come back to the host
        left -= count
    seconds, end = time.perf_counter() - begun, first + steps
    return Trained(compiling, seconds, end, built.weights_to_evaluate(runs, end))


class Evaluated(NamedTuple):
    """An evaluation."""

    seconds: float
    frames: float
    """Of all episodes of all runs."""


def evaluate(job: Job, trained: Trained) -> Evaluated:
    """Times the episodes of a job; compilation counts, the first time."""
    built = program.Program(job)
    begun = time.perf_counter()
    columns = built.evaluate(trained.weights, trained.step, lambda: None)
    seconds = time.perf_counter() - begun
    return Evaluated(seconds, job.episodes * float(columns["episode_length_mean"].sum()))


def _seconds(function: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    jax.block_until_ready(function())
    return time.perf_counter() - begun


def traffic(shapes: Params) -> int:
    """9 P + 4 A bytes, of weights with a leading axis of runs."""
    size = lambda tree: sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(tree))
    acting = size(shapes) - size((shapes.v_hidden, shapes.v))
    return int(9 * size(shapes) + STRIDE * acting)


def bandwidth_of(device: Any) -> tuple[float, str]:
    """Bytes per second of a device's memory, and how that is known."""
    if device.device_kind in BANDWIDTH:
        return BANDWIDTH[device.device_kind], "known"
    x = [jnp.zeros(COPIED // 4, jnp.float32)]
    add = jax.jit(lambda x: x + 1, donate_argnums=0)

    def copy() -> None:
        x[0] = jax.block_until_ready(add(x[0]))

    copy()  # compiles
    return 2 * COPIED / min(_seconds(copy) for _ in range(5)), "a large copy"


def whole_minutes(
    runs: int, iteration: float, episodes: int, evaluation: float, compiling: float
) -> float:
    """The paper's protocol, from seconds of `runs` runs; other sizes than its own as if linear."""
    training = STEPS / STRIDE * iteration
    evaluating = EVALUATIONS * evaluation * EPISODES / episodes
    return (RUNS / runs * (training + evaluating) + compiling) / 60


def summary(readings: Iterable[Reading]) -> dict[str, Any]:
    """What the readings were extrapolated to."""
    protocol = {"runs": RUNS, "steps": STEPS, "evaluations": EVALUATIONS, "episodes": EPISODES}
    return {"whole": protocol}


def show(readings: Iterable[Reading]) -> None:
    """A table with a line for each game and number of runs."""
    taken = list(readings)
    headings = ("game", "runs", "µs/iteration", "frames/s", "floor", "compile", "evaluation",
                "whole")  # fmt: skip
    rows = []
    for r in taken:
        minutes = r.whole_minutes
        whole = f"{minutes:,.1f} min" if minutes < 600 else f"{minutes / 60:,.0f} h"
        rows.append(
            (
                title(r.game),
                f"{r.runs}",
                f"{r.us_per_iteration:,.0f}",
                f"{r.frames_per_second:,.0f}",
                f"{r.floor_share:.0%}",
                f"{r.compile_seconds:.1f} s",
                f"{r.evaluation_seconds:.1f} s",
                whole,
            )
        )
    Table(jax.devices()[0].device_kind, headings, rows).show()
    one = taken[0]
    print(
        f"floor: time of an iteration's memory traffic ({one.bytes_per_iteration / 1e6:,.0f} MB in "
        f"{title(one.game)}) at {one.bandwidth / 1e9:,.0f} GB/s ({one.bandwidth_from}), over the "
        f"time it took\nevaluation: {one.episodes:,} episodes of each run, early in training; "
        f"better play lasts longer\nwhole: {RUNS} runs × {STEPS:,} steps with {EVALUATIONS} "
        f"evaluations of {EPISODES:,} episodes, extrapolated"
    )
