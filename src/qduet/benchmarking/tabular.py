"""How fast the tabular sweep is, and plain NumPy beside it in the same run.

For each rule and |A| one cell of the paper's size is timed: 61 step sizes × 20,000 steps × some
seeds, through `qduet.sweep.sweep` as the figures are made, random numbers and trajectories
included. Beside it stand two NumPy restatements of the same rule on the first seed's trajectory:

* *one run*: a table ``[S, A]`` and one step size, an update at a time, which is how the authors'
  released code works;
* *side by side*: a table ``[S, A, 61]``, all step sizes in each NumPy operation.

Costs are compared in CPU time, which other work on the machine disturbs little, and whole-job times
assume that every core is free and busy with it. The tables that NumPy ends with are compared with
the sweep's, so that the two are known to compute the same.
"""

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from qduet.benchmarking import plain
from qduet.experience import World, draw_chance, trajectory
from qduet.experiments import FIGURES
from qduet.mdp import MDP, four_state, uniform_policy
from qduet.rules import RULES, make_rule
from qduet.sweep import error_targets, sweep

STEPS = 20_000
STEP_SIZES = FIGURES["figure5"].step_sizes
STABLE = STEP_SIZES < 0.4
"""Where no rule diverges, so that end results can be compared."""


class Reading(NamedTuple):
    """One rule at one |A|."""

    rule: str
    num_actions: int
    updates_per_second: float
    """Of the sweep on all cores, once compiled, by the clock on the wall."""
    sweep_ns: float
    """CPU time of one update in the sweep, in nanoseconds; so are the next two."""
    numpy_side_by_side_ns: float
    """The same in NumPy, 61 step sizes in each operation."""
    numpy_one_run_ns: float
    """The same in NumPy, one step size."""
    compile_seconds: float
    """CPU time until each thread has its first result; nearly all of it is compilation."""
    largest_difference: float
    """Between NumPy's final errors and the sweep's, in percentage points, α < 0.4."""


class WholeJob(NamedTuple):
    """Figures 2, 3 and 5 at the full protocol, extrapolated from the readings; in seconds."""

    updates: int
    cores: int
    sweep: float
    compilation: float
    numpy_side_by_side: float
    numpy_one_run: float


class Measured(NamedTuple):
    """The section's results."""

    seeds: int
    readings: tuple[Reading, ...]
    whole_job: WholeJob


def measure(*, quick: bool = False, tell: Callable[[str], None] = lambda what: None) -> Measured:
    """Every rule at |A| = 2 and 18; `quick` takes a tenth of the seeds."""
    cores = len(os.sched_getaffinity(0))
    seeds = 10 if quick else 100
    readings = []
    for name in RULES:
        for num_actions in (2, 18):
            tell(f"{name}, |A| = {num_actions}")
            readings.append(reading(name, num_actions, seeds=seeds, cores=cores))
    return Measured(seeds, tuple(readings), whole_job(readings, cores))


def reading(name: str, num_actions: int, *, seeds: int, cores: int) -> Reading:
    """Times one rule on the problem of Figure 5."""
    mdp = four_state("dueling", num_actions)
    rule = make_rule(name, uniform_policy(mdp))
    finished: list[tuple[float, float]] = []
    began = time.process_time()
    curves = sweep(
        mdp,
        {name: rule},
        STEP_SIZES,
        seeds=range(seeds + cores),
        steps=STEPS,
        init_std=2.0,
        workers=cores,
        on_progress=lambda updates: finished.append((time.perf_counter(), time.process_time())),
    )[name]
    # Each thread's first seed waits for the compiler, so it does not count.
    (first_wall, first_cpu), (last_wall, last_cpu) = finished[cores - 1], finished[-1]
    updates = seeds * STEPS * len(STEP_SIZES)
    one_run, _ = _numpy(mdp, name, STEP_SIZES[[-30]], STEPS // 4)
    side_by_side, error = _numpy(mdp, name, STEP_SIZES, STEPS)
    difference = 100 * error / curves.initial_error[0] - np.where(
        STABLE, curves.percent[0, :, -1], 0.0
    )
    return Reading(
        rule=name,
        num_actions=num_actions,
        updates_per_second=updates / (last_wall - first_wall),
        sweep_ns=1e9 * (last_cpu - first_cpu) / updates,
        numpy_side_by_side_ns=side_by_side,
        numpy_one_run_ns=one_run,
        compile_seconds=first_cpu - began,
        largest_difference=float(np.abs(difference[STABLE]).max()),
    )


def _numpy(mdp: MDP, name: str, alphas: np.ndarray, steps: int) -> tuple[float, np.ndarray]:
    """Nanoseconds per update of plain NumPy on seed 0, and the errors it ends with, ``[K]``."""
    behaviour = uniform_policy(mdp)
    chance = draw_chance(0, mdp, STEPS, 2.0, np.float32)
    walk = jax.jit(trajectory)(World.of(mdp, behaviour, np.float32), chance)
    transitions = list(zip(*(np.asarray(field).tolist() for field in walk), strict=True))[:steps]
    v, adv = chance.v.astype(np.float64), chance.adv.astype(np.float64)
    step_size: Any = alphas[0]
    if alphas.size > 1:
        v, adv = (np.repeat(x[..., None], alphas.size, axis=-1) for x in (v, adv))
        step_size = alphas
    tables, update = plain.start(name, v, adv), plain.UPDATES[name]
    with np.errstate(over="ignore", invalid="ignore"):
        began = time.process_time()
        for t in transitions:
            update(tables, *t, step_size)
        seconds = time.process_time() - began
        goal = error_targets(mdp, behaviour)[make_rule(name, behaviour).goal]
        target = goal.v if name == "td0" else goal.q
        values = plain.values(name, tables).reshape(*target.shape, -1)
        squares = (values - target[..., None]) ** 2
    errors = np.sqrt(squares.mean(axis=tuple(range(target.ndim))))
    return 1e9 * seconds / (alphas.size * steps), errors


def whole_job(readings: Sequence[Reading], cores: int) -> WholeJob:
    """Extrapolates from readings at two or more |A|, linearly in |A| between them."""
    sizes = sorted({r.num_actions for r in readings})
    by_key = {(r.rule, r.num_actions): r for r in readings}
    total = dict.fromkeys(("sweep", "compilation", "numpy_side_by_side", "numpy_one_run"), 0.0)
    updates = 0
    for figure in (FIGURES[name] for name in ("figure2", "figure3", "figure5")):
        each = figure.updates // len(figure.rules) // len(figure.actions)
        for spec in figure.rules:
            at = [by_key[spec.rule, size] for size in sizes]
            for num_actions in figure.actions:
                between = lambda values: float(np.interp(num_actions, sizes, values))  # noqa: B023
                updates += each
                total["sweep"] += 1e-9 * each * between([r.sweep_ns for r in at])
                total["compilation"] += between([r.compile_seconds for r in at])
                for key in ("numpy_side_by_side", "numpy_one_run"):
                    total[key] += 1e-9 * each * between([getattr(r, f"{key}_ns") for r in at])
    return WholeJob(updates, cores, **{key: seconds / cores for key, seconds in total.items()})


def text(measured: Measured) -> str:
    """The readings as a table, and the whole job in words."""
    job = measured.whole_job
    lines = [
        f"Tabular: 61 step sizes × {STEPS:,} steps × {measured.seeds} seeds on {job.cores} cores",
        f"{'':16}{'':>4}{'updates/s':>16}{'CPU time of one update, ns':>34}{'speed-up over':>22}",
        f"{'rule':16}{'|A|':>4}{'(wall clock)':>16}{'sweep':>10}{'NumPy ×61':>12}{'NumPy ×1':>12}"
        f"{'NumPy ×61':>12}{'NumPy ×1':>10}",
    ]
    for r in measured.readings:
        lines.append(
            f"{r.rule:16}{r.num_actions:4}{r.updates_per_second:16,.0f}{r.sweep_ns:10.2f}"
            f"{r.numpy_side_by_side_ns:12,.0f}{r.numpy_one_run_ns:12,.0f}"
            f"{r.numpy_side_by_side_ns / r.sweep_ns:12,.0f}{r.numpy_one_run_ns / r.sweep_ns:10,.0f}"
        )
    worst = max(r.largest_difference for r in measured.readings)
    return "\n".join(
        [
            *lines,
            "NumPy ×61: all step sizes in each operation; ×1: one run, an update at a time.",
            f"Its final errors differ from the sweep's by at most {worst:.4f} points.",
            f"Figures 2, 3, 5 ({job.updates:,} updates) on {job.cores} free cores, extrapolated:",
            f"  sweep     {job.sweep:,.0f} s, and {job.compilation:,.0f} s of compilation",
            f"  NumPy ×61 {job.numpy_side_by_side / 60:,.0f} min",
            f"  NumPy ×1  {job.numpy_one_run / 3600:,.1f} h",
        ]
    )
