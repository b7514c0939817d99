"""What an update costs as problems grow: against |S| from 10 to a million, and against |A|.

A sweep of 8 step sizes does three things at each step: it draws random numbers, walks (samples the
transition), and lets each rule update 8 tables at one state. Each is timed alone, on one core, in
CPU time. Two kinds of problem bracket what a cache can do:

* *maze*: the next state is a neighbour, so most of what a step needs is still in a cache;
* *random*: the next state is any state, so that with large tables each line is fetched anew.

The floor beside the rules is the same loop with an update that only copies one row of 8 numbers,
Q(S', 0) to Q(S, A).
"""

import argparse
import functools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qduet.core.errors import InputError
from qduet.core.tables import Table
from qduet.core.xla import jit_loops
from qduet.show.chart import Axis, Chart, Panel, Series
from qduet.show.names import Style, rule_styles
from qduet.tabular.experience import Draws, World, first_states, walk
from qduet.tabular.grid_worlds import maze
from qduet.tabular.mdp import MDP, QTable, Successors, uniform_policy
from qduet.tabular.rules import Rule, bc_qvmax, hard_rdq, q_learning, trailing_axes
from qduet.tabular.trials import learn

DESCRIPTION = "cost of a tabular update against |S| and |A|"

STEPS = 2**20
"""Environment steps of a timing."""
REPEATS = 5
"""The least of so many timings is the reading."""
STEP_SIZES = np.geomspace(0.01, 0.5, 8)
RULES = {"q_learning": q_learning, "bc_qvmax": bc_qvmax, "hard_rdq": hard_rdq}
MAZES = ((2, 5), (10, 10), (25, 40), (100, 100), (250, 400), (1000, 1000))
"""Rows and columns: 10 to a million states."""
ACTIONS = (2, 4, 8, 16, 32, 64)
"""|A| of the random problem with `STATES` states."""
STATES = 1000
"""One of the sizes of `MAZES`."""
FLOOR = "floor"
"""What readings call the update that copies a row."""


class Reading(NamedTuple):
    """One rule on one problem; times are CPU time in nanoseconds."""

    problem: str
    """``maze`` or ``random``."""
    num_states: int
    num_actions: int
    rule: str
    update_ns: float
    """Of one update of one table."""
    draw_ns: float
    """Random numbers of one step, which all rules and step sizes share."""
    walk_ns: float
    """Sampling one step, likewise shared."""


def add_arguments(parser: Any) -> None:
    """The options of this section."""
    parser.add_argument(
        "--states", type=int, default=10**6, help="the largest |S| (default 1,000,000)"
    )


def measure(args: argparse.Namespace) -> Iterator[Reading]:
    """Each rule on each problem."""
    if jax.default_backend() != "cpu":
        raise InputError("--scaling times the CPU; set JAX_PLATFORMS=cpu")
    if args.states < math.prod(MAZES[0]):
        raise InputError(f"--states must be {math.prod(MAZES[0])} or more; it is {args.states}")
    for mdp, problem in _problems(args.states):
        yield from readings_of(problem, mdp)


def _problems(most_states: int) -> Iterator[tuple[MDP, str]]:
    sizes = [(height, width) for height, width in MAZES if height * width <= most_states]
    for height, width in sizes:
        yield maze(height, width), "maze"
    for height, width in sizes:
        yield random_mdp(height * width, 4), "random"
    for num_actions in ACTIONS:
        if num_actions != 4 and most_states >= STATES:  # with 4 it is there already
            yield random_mdp(STATES, num_actions), "random"


def random_mdp(num_states: int, num_actions: int) -> MDP:
    """Each action leads to one random state and pays a standard normal; episodes never end."""
    rng = np.random.default_rng(0)
    pairs = num_states, num_actions
    successors = Successors(rng.integers(num_states, size=(*pairs, 1)), np.ones((*pairs, 1)))
    return MDP(successors, rng.normal(size=pairs), 0.99, name="random")


def touch() -> Rule:
    """The floor: Q(S, A) ← Q(S', 0)."""

    @trailing_axes
    def update(tables: QTable, t: Any, step_size: Any) -> QTable:
        return QTable(tables.q.at[t.state, t.action].set(tables.q[t.next_state, 0]))

    return q_learning()._replace(update=update)


def readings_of(problem: str, mdp: MDP) -> Iterator[Reading]:
    """Times drawing, walking, and each rule and the floor, on one seed of `mdp`."""
    world = World.of(mdp, uniform_policy(mdp), np.float32)
    stream = Draws(0, mdp, 1.0, np.float32)
    draws = stream.first(STEPS)
    draw_ns = _fastest(lambda _: stream.next(STEPS)) / STEPS
    state, steps = first_states(world, draws.start), jax.tree.map(jnp.asarray, draws.steps)
    walked = jit_loops(walk).lower(world, state, steps).compile()
    walk_ns = _fastest(lambda _: walked(world, state, steps)) / STEPS
    experience = walked(world, state, steps)[1]
    for name in (*RULES, FLOOR):
        rule = touch() if name == FLOOR else RULES[name]()
        repeat = lambda x: jnp.repeat(jnp.asarray(x)[..., None], STEP_SIZES.size, axis=-1)
        tables = jax.tree.map(repeat, rule.init(draws.v, draws.adv))
        step_sizes = jnp.asarray(STEP_SIZES, np.float32)
        in_place = jit_loops(functools.partial(learn, rule, step_sizes, True), donate_argnums=0)
        compiled = in_place.lower(tables, experience).compile()
        updates = STEPS * STEP_SIZES.size
        update_ns = _fastest(functools.partial(_after, compiled, experience), tables) / updates
        yield Reading(problem, mdp.num_states, mdp.num_actions, name, update_ns, draw_ns, walk_ns)


def _after(compiled: Callable[..., Any], experience: Any, tables: Any) -> Any:
    return compiled(tables, experience)


def _fastest(function: Callable[[Any], Any], value: Any = None) -> float:
    """The least CPU time of a call in nanoseconds. Each is given what the last one returned."""
    times = []
    for _ in range(REPEATS):
        began = time.process_time_ns()
        value = jax.block_until_ready(function(value))
        times.append(time.process_time_ns() - began)
    return float(min(times))


def summary(readings: Sequence[Reading]) -> dict[str, Any]:
    """How much more an update costs at the largest |S| than at 100 states, by problem and rule."""
    ratios = {}
    for problem in ("maze", "random"):
        for rule in (*RULES, FLOOR):
            at = {
                r.num_states: r.update_ns
                for r in readings
                if (r.problem, r.rule, r.num_actions) == (problem, rule, 4)
            }
            if {100, max(at, default=0)} <= at.keys():
                ratios[f"{problem} {rule}"] = at[max(at)] / at[100]
    return {"steps": STEPS, "step_sizes": len(STEP_SIZES), "update_ratio_to_100_states": ratios}


def chart(readings: Sequence[Reading]) -> Chart:
    """Cost against |S| in both kinds of problem, and against |A|."""
    groups = {
        **rule_styles(tuple(RULES)),
        FLOOR: Style("floor: copy one row", "#000000", ":"),
        "steps": Style("drawing and walking, per update", "#999999", "-."),
    }
    by_states = lambda r: (r.num_states, r.num_actions == 4)
    by_actions = lambda r: (r.num_actions, r.num_states == STATES)
    panels = []
    for title, problem, at, label in (
        ("Maze", "maze", by_states, "States |S|"),
        ("Random next states", "random", by_states, "States |S|"),
        (f"Random, |S| = {STATES:,}", "random", by_actions, "Actions |A|"),
    ):
        chosen = sorted((r for r in readings if r.problem == problem and at(r)[1]), key=at)
        series = []
        for group in groups:
            own = [r for r in chosen if r.rule == (FLOOR if group == "steps" else group)]
            cost = [
                (r.draw_ns + r.walk_ns) / STEP_SIZES.size if group == "steps" else r.update_ns
                for r in own
            ]
            x = np.array([at(r)[0] for r in own], float)
            series.append(Series(group, x, np.array(cost), marker="o"))
        y = Axis("CPU time of an update, ns", log=True, min=0.5, max=200)
        panels.append(Panel(title, Axis(label, log=at is by_states), y, tuple(series)))
    return Chart("Cost of a tabular update, 8 step sizes side by side", groups, tuple(panels))


def show(readings: Sequence[Reading]) -> None:
    """Prints the readings as a table."""
    headings = ("problem", "|S|", "|A|", "rule", "update, ns", "draw + walk a step, ns")
    rows = [
        (r.problem, f"{r.num_states:,}", f"{r.num_actions}", r.rule, f"{r.update_ns:.2f}",
         f"{r.draw_ns + r.walk_ns:.0f}")
        for r in readings
    ]  # fmt: skip
    Table("CPU time; 8 step sizes share each step", headings, rows).show()
    for name, ratio in summary(readings)["update_ratio_to_100_states"].items():
        print(f"{name}: an update costs {ratio:.1f} times as much at the largest |S| as at 100.")
