"""How fast the tabular sweep is, and the NumPy restatement of the rules beside it.

For each rule and |A| a sweep of the paper's size is timed: 61 step sizes × 20,000 steps × some
seeds, through `qduet.tabular.sweep` as the figures are made, random numbers and trajectories
included. Beside it the restatement is timed on the first seed's trajectory, in two forms:

* *one run*: a table ``[S, A]`` and one step size, an update at a time;
* *side by side*: a table ``[S, A, 61]``, all step sizes in each NumPy operation.

Costs are compared in CPU time, which other work on the machine disturbs little, and whole-job times
assume that every core is free and busy with it. The tables that NumPy ends with are compared with
the sweep's, so that the two are known to compute the same.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from qduet.bench import restatement
from qduet.core import machine
from qduet.core.errors import InputError, unknown_name
from qduet.core.tables import Table
from qduet.paper.figures import FIGURES
from qduet.tabular.experience import World, draw_seed, trajectory
from qduet.tabular.mdp import MDP, four_state, uniform_policy
from qduet.tabular.rules import RULES, make_rule
from qduet.tabular.sweeps import error_targets, sweep

DESCRIPTION = "updates per second of the tabular rules, against NumPy (default)"

STEPS = 20_000
"""Environment steps of a timed run."""
STEP_SIZES = np.array(FIGURES["figure5"].step_sizes)
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


def add_arguments(parser: Any) -> None:
    """The options of this section."""
    parser.add_argument("--rules", nargs="+", metavar="RULE", help="default: all nine")
    parser.add_argument("--trials", type=int, default=100, help="seeds per reading (default 100)")


def measure(args: argparse.Namespace) -> Iterator[Reading]:
    """Every rule at |A| = 2 and 18."""
    names = args.rules or list(RULES)
    for name in names:
        if name not in RULES:
            raise unknown_name("rule", name, RULES)
    if jax.default_backend() != "cpu":
        raise InputError("--tabular times the CPU; set JAX_PLATFORMS=cpu")
    for name in names:
        for num_actions in (2, 18):
            yield reading(name, num_actions, seeds=args.trials, cores=machine.cores())


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
    percent = 100 * error[STABLE] / curves.initial_error[0]
    return Reading(
        rule=name,
        num_actions=num_actions,
        updates_per_second=updates / (last_wall - first_wall),
        sweep_ns=1e9 * (last_cpu - first_cpu) / updates,
        numpy_side_by_side_ns=side_by_side,
        numpy_one_run_ns=one_run,
        compile_seconds=first_cpu - began,
        largest_difference=float(np.abs(percent - curves.percent[0, STABLE, -1]).max()),
    )


def _numpy(mdp: MDP, name: str, alphas: np.ndarray, steps: int) -> tuple[float, np.ndarray]:
    """Nanoseconds per update of the restatement on seed 0, and its final errors ``[K]``."""
    behaviour = uniform_policy(mdp)
    draws = draw_seed(0, mdp, STEPS, 2.0, np.float32)
    walk = jax.jit(trajectory)(World.of(mdp, behaviour, np.float32), draws)
    transitions = list(zip(*(np.asarray(field).tolist() for field in walk), strict=True))[:steps]
    v, adv = draws.v.astype(np.float64), draws.adv.astype(np.float64)
    step_size: Any = alphas[0]
    if alphas.size > 1:
        v, adv = (np.repeat(x[..., None], alphas.size, axis=-1) for x in (v, adv))
        step_size = alphas
    tables = restatement.first_tables(name, v, adv)
    update = restatement.update_of(name, behaviour)
    with np.errstate(over="ignore", invalid="ignore"):
        began = time.process_time()
        for t in transitions:
            update(tables, *t, step_size)
        seconds = time.process_time() - began
        goal = error_targets(mdp, behaviour)[make_rule(name, behaviour).goal]
        target = goal.v if name == "td0" else goal.q
        values = restatement.read_out(name, tables).reshape(*target.shape, -1)
        squares = (values - target[..., None]) ** 2
    errors = np.sqrt(squares.mean(axis=tuple(range(target.ndim))))
    return 1e9 * seconds / (alphas.size * steps), errors


def summary(readings: Sequence[Reading]) -> dict[str, Any]:
    """Figures 1, 3 and 5 at the full protocol, in seconds, if each of their rules was timed.

    Extrapolated from readings at two or more |A|, linearly in |A| between them.
    """
    figures = [FIGURES[name] for name in ("figure1", "figure3", "figure5")]
    if not {r.rule for r in readings} >= {spec.rule for figure in figures for spec in figure.rules}:
        return {}
    cores = machine.cores()
    job = {"updates": sum(figure.updates for figure in figures), "cores": cores}
    per_update = ("sweep", "numpy_side_by_side", "numpy_one_run")
    total = dict.fromkeys(("sweep", "compilation", *per_update[1:]), 0.0)
    for figure in figures:
        each = figure.updates // len(figure.rules) // len(figure.actions)
        for spec in figure.rules:
            at = sorted((r for r in readings if r.rule == spec.rule), key=lambda r: r.num_actions)
            sizes = [r.num_actions for r in at]
            sum_of = lambda values: float(np.interp(figure.actions, sizes, values).sum())  # noqa: B023
            total["compilation"] += sum_of([r.compile_seconds for r in at])
            for key in per_update:
                total[key] += 1e-9 * each * sum_of([getattr(r, f"{key}_ns") for r in at])
    seconds = {key: value / cores for key, value in total.items()}
    return {"whole_job_seconds": {**job, **seconds}}


def show(readings: Sequence[Reading]) -> None:
    """Prints the readings as a table, and the whole job."""
    headings = ("rule", "|A|", "updates/s (wall)", "sweep, ns", "NumPy ×61, ns", "ratio",
                "NumPy ×1, ns", "ratio")  # fmt: skip
    rows = []
    for r in readings:
        numbers = [f"{r.num_actions}", f"{r.updates_per_second:,.0f}", f"{r.sweep_ns:.2f}"]
        for ns in (r.numpy_side_by_side_ns, r.numpy_one_run_ns):
            numbers += [f"{ns:,.0f}", f"{ns / r.sweep_ns:,.0f}"]
        rows.append((r.rule, *numbers))
    setting = f"61 step sizes × {STEPS:,} steps on {machine.cores()} cores"
    Table(f"{setting}; ns are CPU time of one update", headings, rows).show()
    worst = max(r.largest_difference for r in readings)
    print("NumPy ×61: all step sizes in each operation; ×1: one run, an update at a time.")
    print(f"Its final errors differ from the sweep's by at most {worst:.4f} points.")
    if job := summary(readings).get("whole_job_seconds"):
        print(
            f"Figures 1, 3 and 5 ({job['updates']:,} updates) on {job['cores']} free cores, "
            f"extrapolated:\n"
            f"  sweep      {job['sweep']:,.0f} s, and {job['compilation']:,.0f} s of compilation\n"
            f"  NumPy ×61  {job['numpy_side_by_side'] / 60:,.0f} min\n"
            f"  NumPy ×1   {job['numpy_one_run'] / 3600:,.1f} h"
        )
