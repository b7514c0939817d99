"""The rules of `rules.py` run on every transition of an MDP at once, or along one trajectory.

JAX compiles a program for each shape, so problems are padded to a common one: with states that no
transition touches, and with actions that b never takes, whose values are far below all others.
Dueling reads the number of actions, so its actions are not padded. Everything is in double
precision.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qduet.core.xla import native_function
from qduet.tabular.experience import World, draw_seed, trajectory
from qduet.tabular.mdp import Floats
from qduet.tabular.rules import Rule, Transition, make_rule
from qduet.theory.expected import TABLES
from qduet.theory.problems import MAX_ACTIONS, MAX_STATES, Problem

BETA = 0.1
"""The penalty of Soft RDQ in checks."""

CHUNK = 256
"""Transitions per call of a compiled program."""

_FAR_BELOW = -1e30


def standard(name: str, behaviour: Any) -> Rule:
    """The rule `name` of `rules.py`; Soft RDQ with β = `BETA`."""
    return make_rule(name, behaviour, **({"beta": BETA} if name == "soft_rdq" else {}))


class Updated(NamedTuple):
    """Tables after each of C possible transitions: one update each, from the same tables."""

    weights: Floats
    """``[C]``: d(s) b(a|s) p(s'|s,a)."""
    experience: Transition
    """The transitions with their mean rewards: fields ``[C]``."""
    tables: Any
    """The rule's tables, each ``[C, ...]``."""


def update_on_each(
    name: str, problem: Problem, tables: Any, step_size: float, *, at_most: int | None = None
) -> Updated:
    """The rule `name`, run once from `tables` on each transition that can happen.

    If there are more than `at_most`, that many are taken, evenly spread.
    """
    weight = problem.visits[:, None, None] * problem.behaviour[:, :, None] * problem.mdp.p
    state, action, next_state = np.nonzero(weight)
    if at_most is not None and state.size > at_most:
        some = np.linspace(0, state.size - 1, at_most).astype(np.intp)
        state, action, next_state = state[some], action[some], next_state[some]
    experience = _transitions(problem, state, action, next_state)
    padded, behaviour = _pad(name, problem, tables)
    chunks = []
    for start in range(0, state.size, CHUNK):
        # Repeats the transitions to fill the chunk; the surplus is cut off again.
        chunk = Transition(*(np.resize(x[start : start + CHUNK], CHUNK) for x in experience))
        with jax.enable_x64(True):
            new = _updated(False, name, standard, behaviour, padded, chunk, step_size)
        chunks.append([np.asarray(table)[: state.size - start] for table in new])
    joined = [np.concatenate(parts) for parts in zip(*chunks, strict=True)]
    weights = weight[state, action, next_state]
    return Updated(weights, experience, _unpad(name, problem, joined))


def mean_update(name: str, problem: Problem, tables: Any, step_size: float) -> Any:
    """E[Δ tables]: the average of the sampled rule's change over all transitions."""
    updated = update_on_each(name, problem, tables, step_size)
    change = [
        np.tensordot(updated.weights, after - before, 1)
        for after, before in zip(updated.tables, tables, strict=True)
    ]
    return TABLES[name](*change)


def replay(
    name: str, problem: Problem, tables: Any, experience: Transition, step_size: float
) -> Any:
    """The tables after each transition of a trajectory: every table ``[steps, ...]``."""
    padded, behaviour = _pad(name, problem, tables)
    with jax.enable_x64(True):
        new = _updated(True, name, standard, behaviour, padded, experience, step_size)
    return _unpad(name, problem, [np.asarray(table) for table in new])


def walk(problem: Problem, rng: np.random.Generator, steps: int) -> Transition:
    """A trajectory under b from a start state, with restarts: fields ``[steps]``."""
    mdp = problem.mdp
    behaviour, nexts = problem.behaviour.cumsum(axis=1), mdp.p.cumsum(axis=2)
    draw = lambda cdf: min(int(np.searchsorted(cdf, rng.random(), "right")), cdf.size - 1)
    state, rows = draw(mdp.start.cumsum()), []
    for _ in range(steps):
        action = draw(behaviour[state])
        next_state = draw(nexts[state, action])
        rows.append((state, action, next_state))
        state = draw(mdp.start.cumsum()) if mdp.terminal[next_state] else next_state
    return _transitions(problem, *np.array(rows).T)


def simulated_curve(
    rule: Rule, problem: Problem, step_size: float, *, steps: int, record_every: int, seeds: int
) -> Floats:
    """The mean of Q (or V) over seeds, ``[points, ...]``, of the sampled rule from zero."""
    mdp = problem.mdp
    world = World.of(mdp, problem.behaviour, np.float32)

    @native_function
    def learn(tables: Any, experience: Any) -> Any:
        step = lambda tables, t: (rule.update(tables, t, np.float32(step_size)), None)
        return jax.lax.scan(step, tables, experience)[0]

    def block(tables: Any, experience: Any) -> tuple[Any, jax.Array]:
        tables = learn(tables, experience)
        return tables, rule.read_out(tables)

    @jax.jit
    def run(draws: Any) -> jax.Array:
        experience = trajectory(world, draws)
        blocks = jax.tree.map(lambda x: x.reshape(-1, record_every), experience)
        tables = rule.init(draws.v, draws.adv)
        points = jax.lax.scan(block, tables, blocks)[1]
        return jnp.concatenate([rule.read_out(tables)[None], points])

    draws = (draw_seed(seed, mdp, steps, 0.0, np.float32) for seed in range(seeds))
    return np.mean([np.asarray(run(each), np.float64) for each in draws], axis=0)


# --- Compiled programs and padding ---------------------------------------------------------------


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _updated(
    along: bool, name: str, make: Any, behaviour: Any, tables: Any, experience: Any, step_size: Any
) -> Any:
    """The tables after each transition: one after the other if `along`, else all from `tables`."""
    update = make(name, behaviour).update
    if not along:
        return jax.vmap(lambda t: update(tables, t, step_size))(experience)

    def step(tables: Any, t: Transition) -> tuple[Any, Any]:
        tables = update(tables, t, step_size)
        return tables, tables

    return jax.lax.scan(step, tables, experience)[1]


def _transitions(problem: Problem, *indices: np.ndarray) -> Transition:
    """The transitions of the `indices` S, A and S', with their mean rewards."""
    mdp = problem.mdp
    state, action, next_state = (np.asarray(x, np.int64) for x in indices)
    discount = np.where(mdp.terminal[next_state], 0.0, mdp.discount)
    return Transition(state, action, mdp.reward[indices], discount, next_state)


def _pad(name: str, problem: Problem, tables: Any) -> tuple[Any, Floats]:
    """The tables and the behaviour, padded to a common shape."""
    num_states, num_actions = problem.mdp.r.shape
    more_actions = 0 if name == "dueling_q" else max(MAX_ACTIONS - num_actions, 0)
    extra = [(0, max(MAX_STATES - num_states, 0)), (0, more_actions)]
    pad = lambda table, fill: np.pad(table, extra[: table.ndim], constant_values=fill)
    padded = (pad(table, 0.0 if table.ndim == 1 else _FAR_BELOW) for table in tables)
    return TABLES[name](*padded), pad(problem.behaviour, 0.0)


def _unpad(name: str, problem: Problem, tables: list[np.ndarray]) -> Any:
    num_states, num_actions = problem.mdp.r.shape
    cut = [table[:, :num_states] for table in tables]
    return TABLES[name](*(table[..., :num_actions] if table.ndim == 3 else table for table in cut))
