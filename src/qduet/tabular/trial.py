"""A trial: one seed of one rule, with all its step sizes side by side.

Tables carry the step size as their *last* axis, which keeps the inner loop contiguous. The error is
the root mean square over the state-action pairs of states that are not terminal.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qduet.core.xla import unit
from qduet.tabular.experience import Chance, Luck, World, act, draw, first_state, proceed
from qduet.tabular.rules import Rule, Tables, Transition


class Task(NamedTuple):
    """What one rule is to do with each seed."""

    rule: Rule
    world: World
    target: jax.Array
    """``[S, A]``, or ``[S]`` for a rule without Q: the values its error is measured against."""
    step_sizes: jax.Array
    """``[K]``"""
    record_every: int
    epsilon: float | None
    """ε of a behaviour that follows the learner; None for the world's fixed behaviour policy."""
    joint_initial_error: bool
    """Whether 100 % is the error of V_0 + A_0 for every rule, rather than of the rule's own Q_0."""


def _rms(task: Task, difference: jax.Array) -> jax.Array:
    """Root mean square over the states that are not terminal; further axes remain."""
    squares = difference[np.flatnonzero(~np.asarray(task.world.terminal))] ** 2
    return jnp.sqrt(squares.mean(axis=tuple(range(task.target.ndim))))


def _error(task: Task, tables: Tables) -> jax.Array:
    """``[K]``: the error of each step size's tables."""
    read_out = task.rule.q or (lambda tables: tables.v)
    values = jax.vmap(read_out, in_axes=-1, out_axes=-1)(tables)
    return _rms(task, values - task.target[..., None])


def _learn(task: Task, as_unit: bool, tables: Tables, experience: Transition) -> Tables:
    """The tables after each transition of `experience` (fields ``[n]``) in turn."""
    update = task.rule.update
    if not task.rule.trailing_axes:
        update = jax.vmap(update, in_axes=(-1, None, 0), out_axes=-1)

    def block(tables: Tables, experience: Transition, step_sizes: jax.Array) -> Tables:
        step = lambda tables, t: (update(tables, t, step_sizes), None)
        return jax.lax.scan(step, tables, experience)[0]

    return (unit(block) if as_unit else block)(tables, experience, task.step_sizes)


def _act_and_learn(task: Task, states: jax.Array, tables: Tables, luck: Luck) -> Any:
    """States ``[K]`` and tables after `luck` (fields ``[n]``), acting ε-greedily on the tables."""

    def one(state: jax.Array, tables: Tables, step_size: jax.Array, luck: Luck) -> Any:
        q = task.rule.q(tables)[state]  # type: ignore[misc]
        eligible = (q == q.max()) | (luck.explore < task.epsilon)  # ties are broken at random
        action = draw(eligible.cumsum(dtype=q.dtype) / eligible.sum(dtype=q.dtype), luck.action)
        t = act(task.world, state, action, luck)
        return proceed(task.world, t, luck), task.rule.update(tables, t, step_size)

    every = jax.vmap(one, in_axes=(0, -1, 0, None), out_axes=(0, -1))
    step = lambda carry, luck: (every(carry[0], carry[1], task.step_sizes, luck), None)
    return jax.lax.scan(step, (states, tables), luck)[0]


def run_trial(
    task: Task, as_unit: bool, chance: Chance, experience: Transition | None
) -> tuple[jax.Array, jax.Array]:
    """One seed: errors ``[points, K]``, and the error that counts as 100 %."""
    num_step_sizes = task.step_sizes.size
    repeat = lambda x: jnp.repeat(jnp.asarray(x)[..., None], num_step_sizes, axis=-1)
    tables = jax.tree.map(repeat, task.rule.init(chance.v, chance.adv))
    states = jnp.full(num_step_sizes, first_state(task.world, chance))
    in_blocks = functools.partial(
        jax.tree.map, lambda x: x.reshape(-1, task.record_every, *x.shape[1:])
    )

    def record(carry: Any, block: Any) -> tuple[Any, jax.Array]:
        states, tables = carry
        if task.epsilon is None:
            tables = _learn(task, as_unit, tables, block)
        else:
            states, tables = _act_and_learn(task, states, tables, block)
        return (states, tables), _error(task, tables)

    blocks = in_blocks(chance.luck if experience is None else experience)
    curve = jax.lax.scan(record, (states, tables), blocks)[1]
    first = _error(task, tables)
    hundred = first[0]
    if task.joint_initial_error and task.rule.q is not None:
        hundred = _rms(task, chance.v[:, None] + chance.adv - task.target)
    return jnp.concatenate([first[None], curve]), hundred
