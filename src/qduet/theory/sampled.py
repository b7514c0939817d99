"""The rules of `rules.py` run on every transition of an MDP at once, or along one trajectory.

JAX compiles a program for each shape, so problems are padded to a common one: with states that no
transition touches, and with actions that b never takes, whose values are far below all others.
Dueling reads the number of actions, so its actions are not padded. Everything is in double
precision.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from qduet.tabular.rules import Rule, Transition, make_rule
from qduet.tabular.tables import Floats
from qduet.theory.expected import TABLES
from qduet.theory.problems import MAX_ACTIONS, MAX_STATES, Problem

Factory = Callable[[str, Any], Rule]
"""``(name, behaviour) -> rule``; `standard` by default."""

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
    state: np.ndarray
    """``[C]``: S."""
    action: np.ndarray
    """``[C]``: A."""
    reward: Floats
    """``[C]``: the mean reward of the transition."""
    next_state: np.ndarray
    """``[C]``: S'."""
    tables: Any
    """The rule's tables, each ``[C, ...]``."""


def update_on_each(
    name: str,
    problem: Problem,
    tables: Any,
    step_size: float,
    *,
    rules: Factory = standard,
    at_most: int | None = None,
) -> Updated:
    """The rule `name`, run once from `tables` on each transition that can happen.

    If there are more than `at_most`, that many are taken, evenly spread.
    """
    weight = problem.visits[:, None, None] * problem.behaviour[:, :, None] * problem.mdp.p
    state, action, next_state = np.nonzero(weight)
    if at_most is not None and state.size > at_most:
        some = np.linspace(0, state.size - 1, at_most).astype(np.intp)
        state, action, next_state = state[some], action[some], next_state[some]
    reward = problem.mdp.reward[state, action, next_state]
    experience = _transitions(problem, state, action, reward, next_state)
    padded, behaviour = _pad(name, problem, tables), _pad_behaviour(name, problem)
    chunks = []
    for start in range(0, state.size, CHUNK):
        chunk = Transition(*(_extend(field[start : start + CHUNK]) for field in experience))
        with jax.enable_x64(True):
            new = _update_each(name, rules, behaviour, padded, chunk, step_size)
        chunks.append([np.asarray(table)[: state.size - start] for table in new])
    joined = [np.concatenate(parts) for parts in zip(*chunks, strict=True)]
    return Updated(
        weight[state, action, next_state],
        state,
        action,
        reward,
        next_state,
        _unpad(name, problem, joined),
    )


def mean_update(
    name: str, problem: Problem, tables: Any, step_size: float, *, rules: Factory = standard
) -> Any:
    """E[Δ tables]: the average of the sampled rule's change over all transitions."""
    updated = update_on_each(name, problem, tables, step_size, rules=rules)
    change = [
        np.tensordot(updated.weights, after - before, 1)
        for after, before in zip(updated.tables, tables, strict=True)
    ]
    return TABLES[name](*change)


def replay(
    name: str,
    problem: Problem,
    tables: Any,
    experience: Transition,
    step_size: float,
    *,
    rules: Factory = standard,
) -> Any:
    """The tables after each transition of a trajectory: every table ``[steps, ...]``."""
    padded, behaviour = _pad(name, problem, tables), _pad_behaviour(name, problem)
    with jax.enable_x64(True):
        new = _update_along(name, rules, behaviour, padded, experience, step_size)
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
    states, actions, next_states = np.array(rows).T
    reward = mdp.reward[states, actions, next_states]
    return _transitions(problem, states, actions, reward, next_states)


# --- Compiled programs and padding ---------------------------------------------------------------


@functools.partial(jax.jit, static_argnums=(0, 1))
def _update_each(
    name: str, rules: Factory, behaviour: Any, tables: Any, experience: Transition, step_size: Any
) -> Any:
    rule = rules(name, behaviour)
    return jax.vmap(lambda t: rule.update(tables, t, step_size))(experience)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _update_along(
    name: str, rules: Factory, behaviour: Any, tables: Any, experience: Transition, step_size: Any
) -> Any:
    rule = rules(name, behaviour)

    def step(tables: Any, t: Transition) -> tuple[Any, Any]:
        tables = rule.update(tables, t, step_size)
        return tables, tables

    return jax.lax.scan(step, tables, experience)[1]


def _transitions(
    problem: Problem, state: Any, action: Any, reward: Any, next_state: Any
) -> Transition:
    discount = np.where(problem.mdp.terminal[next_state], 0.0, problem.mdp.discount)
    whole = lambda x: np.asarray(x, np.int64)
    return Transition(whole(state), whole(action), reward, discount, whole(next_state))


def _extend(field: np.ndarray) -> np.ndarray:
    return np.resize(field, CHUNK)  # repeats the transitions; the surplus is cut off again


def _shape(name: str, problem: Problem) -> tuple[int, int]:
    num_states, num_actions = problem.mdp.r.shape
    pad_actions = name != "dueling_q" and num_actions <= MAX_ACTIONS
    return max(MAX_STATES, num_states), MAX_ACTIONS if pad_actions else num_actions


def _pad(name: str, problem: Problem, tables: Any) -> Any:
    num_states, num_actions = _shape(name, problem)
    padded = []
    for table in tables:
        extra = [(0, num_states - table.shape[0])]
        if table.ndim == 2:
            extra.append((0, num_actions - table.shape[1]))
        fill = 0.0 if table.ndim == 1 else _FAR_BELOW
        padded.append(np.pad(table, extra, constant_values=fill))
    return TABLES[name](*padded)


def _pad_behaviour(name: str, problem: Problem) -> Floats:
    shape = _shape(name, problem)
    extra = [(0, full - size) for full, size in zip(shape, problem.mdp.r.shape, strict=True)]
    return np.pad(problem.behaviour, extra)


def _unpad(name: str, problem: Problem, tables: list[np.ndarray]) -> Any:
    num_states, num_actions = problem.mdp.r.shape
    cut = [table[:, :num_states] for table in tables]
    return TABLES[name](*(table[..., :num_actions] if table.ndim == 3 else table for table in cut))
