"""What an update costs as problems grow: against |S| from 10 to a million, and against |A|.

A sweep of 8 step sizes does three things at each step: it draws random numbers, walks (samples the
transition), and lets each rule update 8 tables at one state. Each is timed alone, on one core, in
CPU time. Two kinds of problem bracket what a cache can do:

* *maze*: the next state is a neighbour, so most of what a step needs is still in a cache;
* *random*: the next state is any state, so that with large tables each line is fetched anew.

The floor beside the rules is the same loop with an update that only copies one row of 8 numbers,
Q(S', 0) to Q(S, A).
"""

import functools
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qduet.core.xla import jit_loops
from qduet.tabular.experience import Draws, World, first_states, walk
from qduet.tabular.grid_worlds import maze
from qduet.tabular.mdp import MDP, QTable, Successors, uniform_policy
from qduet.tabular.rules import Rule, bc_qvmax, hard_rdq, q_learning, trailing_axes
from qduet.tabular.trials import learn

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
FLOOR, WALK = "floor", "walk"
"""What readings call the update that copies a row, and drawing and walking."""


class Reading(NamedTuple):
    """The cost of an update on one problem."""

    problem: str
    """``maze`` or ``random``."""
    num_states: int
    num_actions: int
    what: str
    """A rule, `FLOOR` or `WALK`: an eighth of a step, since 8 updates share it."""
    ns: float
    """CPU time."""


def readings(most_states: int) -> Iterator[Reading]:
    """Each rule on each problem of at most so many states."""
    for mdp, problem in _problems(most_states):
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
    reading = functools.partial(Reading, problem, mdp.num_states, mdp.num_actions)
    world = World.of(mdp, uniform_policy(mdp), np.float32)
    stream = Draws(0, mdp, 1.0, np.float32)
    draws = stream.first(STEPS)
    draw_ns = _fastest(lambda _: stream.next(STEPS)) / STEPS
    state, steps = first_states(world, draws.start), jax.tree.map(jnp.asarray, draws.steps)
    walked = jit_loops(walk).lower(world, state, steps).compile()
    walk_ns = _fastest(lambda _: walked(world, state, steps)) / STEPS
    yield reading(WALK, (draw_ns + walk_ns) / STEP_SIZES.size)
    experience = walked(world, state, steps)[1]
    for name in (*RULES, FLOOR):
        rule = touch() if name == FLOOR else RULES[name]()
        repeat = lambda x: jnp.repeat(jnp.asarray(x)[..., None], STEP_SIZES.size, axis=-1)
        tables = jax.tree.map(repeat, rule.init(draws.v, draws.adv))
        step_sizes = jnp.asarray(STEP_SIZES, np.float32)
        in_place = jit_loops(functools.partial(learn, rule, step_sizes, True), donate_argnums=0)
        compiled = in_place.lower(tables, experience).compile()
        nanoseconds = _fastest(functools.partial(_after, compiled, experience), tables)
        yield reading(name, nanoseconds / (STEPS * STEP_SIZES.size))


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
