"""Tabular sweeps: rules × step sizes × seeds on one MDP, as error curves.

    >>> mdp = four_state("qvmax", num_actions=18)
    >>> rules = {"q_learning": q_learning(), "bc_qvmax": bc_qvmax()}
    >>> curves = sweep(mdp, rules, [0.1, 1.0], seeds=range(100), steps=20_000)
    >>> curves["q_learning"].percent.shape  # [seeds, step sizes, points]
    (100, 2, 201)

A curve is the root-mean-square error of Q over the state-action pairs of states that are not
terminal, at steps 0, k, 2k, …, as a percentage of the error at step 0. A run has **diverged** at
the first recorded step where that is not finite or exceeds `DIVERGED_PERCENT`; from there on its
curve is +∞, so that no average hides it.

With a fixed behaviour policy the experience does not depend on what is learned, so each seed has
one trajectory that all rules and step sizes share. With `EpsilonGreedy` behaviour every rule and
step size follows its own Q, on random numbers that are common to the seed.

Axes: tables carry the step size as their *last* axis, which keeps the inner loop contiguous.
"""

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from qduet.errors import InputError
from qduet.experience import (
    Chance,
    Luck,
    World,
    act,
    draw,
    draw_chance,
    first_state,
    proceed,
    trajectory,
)
from qduet.loops import unit
from qduet.mdp import MDP, Values, check_policy, evaluate, optimum, uniform_policy
from qduet.rules import Rule, Tables, Transition

DIVERGED_PERCENT = 1e9
"""A run whose error exceeds this percentage of its initial error has diverged."""


class EpsilonGreedy(NamedTuple):
    """Behaviour that follows the learner's own Q, with a uniform action at probability ε."""

    epsilon: float


class Curves(NamedTuple):
    """The error curves of one rule."""

    percent: np.ndarray
    """``[seeds, step_sizes, points]``: error as a percentage of the initial error."""
    initial_error: np.ndarray
    """``[seeds]``: the root-mean-square error that counts as 100 %."""
    diverged_at: np.ndarray
    """``[seeds, step_sizes]`` int32: the recorded step at which the run diverged, or −1."""


# --- One seed of one rule ------------------------------------------------------------------------


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


def _run(
    task: Task, as_unit: bool, chance: Chance, experience: Transition | None
) -> tuple[jax.Array, jax.Array]:
    """One seed: errors ``[points, K]``, and the error that counts as 100 %."""
    num_step_sizes = task.step_sizes.size
    repeat = lambda x: jnp.repeat(x[..., None], num_step_sizes, axis=-1)
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


# --- All of them ---------------------------------------------------------------------------------


def sweep(
    mdp: MDP,
    rules: Mapping[str, Rule],
    step_sizes: ArrayLike,
    *,
    seeds: Sequence[int],
    steps: int,
    record_every: int = 100,
    behaviour: ArrayLike | EpsilonGreedy | None = None,
    targets: Mapping[str, Values] | None = None,
    init_std: float = 0.0,
    joint_initial_error: bool = False,
    dtype: Any = np.float32,
    workers: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> dict[str, Curves]:
    """Runs every rule with every step size and seed, and returns each rule's error curves.

    Args:
      mdp: the problem.
      rules: the rules by name; any `Rule`, not only the built-in ones.
      step_sizes: ``[K]``, positive and finite.
      seeds: one independent trial each.
      steps: environment steps per trial, a multiple of `record_every`.
      record_every: steps between two points of a curve.
      behaviour: action probabilities ``[S, A]`` (uniform by default), or `EpsilonGreedy`.
      targets: what a rule with that `Rule.goal` is measured against; by default `error_targets`.
      init_std: V_0 and A_0 are drawn from N(0, init_std²).
      joint_initial_error: 100 % is the error of V_0 + A_0 for all rules, not of their own Q_0.
      dtype: float32, or float64 within ``jax.enable_x64(True)``.
      workers: threads on CPU; all cores by default.
      on_progress: called from any thread with the number of updates done since its last call.
    """
    alphas = _check(rules, step_sizes, seeds, steps, record_every, init_std, behaviour)
    epsilon = behaviour.epsilon if isinstance(behaviour, EpsilonGreedy) else None
    fixed = behaviour is not None and epsilon is None
    policy = check_policy(mdp, behaviour) if fixed else uniform_policy(mdp)  # type: ignore[arg-type]
    targets = targets or error_targets(mdp, policy)
    world = World.of(mdp, policy, dtype)
    tasks = {
        name: Task(
            rule=rule,
            world=world,
            target=jnp.asarray(getattr(targets[rule.goal], "q" if rule.q else "v"), dtype),
            step_sizes=jnp.asarray(alphas, dtype),
            record_every=record_every,
            epsilon=epsilon,
            joint_initial_error=joint_initial_error,
        )
        for name, rule in rules.items()
    }
    on_cpu = jax.default_backend() == "cpu"
    chances = [draw_chance(seed, mdp, steps, init_std, dtype) for seed in seeds]
    if not on_cpu:  # one program over all seeds, rather than one per seed
        chances = [jax.tree.map(lambda *x: np.stack(x), *chances)]
    batch = (lambda f: f) if on_cpu else jax.vmap
    threads = workers or (len(os.sched_getaffinity(0)) if on_cpu else 1)

    pool = ThreadPoolExecutor(threads)
    try:
        runners = {
            name: pool.submit(_compile, batch, task, chances[0]) for name, task in tasks.items()
        }
        walk = None
        if epsilon is None:
            walk = jax.jit(batch(functools.partial(trajectory, world))).lower(chances[0]).compile()

        def learn(chance: Chance) -> dict[str, list[np.ndarray]]:
            experience = walk(chance) if walk else None
            results = {}
            for name, runner in runners.items():
                results[name] = [np.asarray(x) for x in runner.result()(chance, experience)]
                if on_progress is not None:
                    on_progress(alphas.size * steps * (1 if on_cpu else len(seeds)))
            return results

        done = list(pool.map(learn, chances))
    finally:
        pool.shutdown(cancel_futures=True)

    join = np.stack if on_cpu else np.concatenate
    gather = lambda name, i: join([results[name][i] for results in done])
    return {name: _curves(gather(name, 0), gather(name, 1), record_every) for name in rules}


def error_targets(mdp: MDP, behaviour: ArrayLike) -> dict[str, Values]:
    """The exact values that rules are measured against, by `Rule.goal`."""
    return {"behaviour": evaluate(mdp, behaviour), "optimal": optimum(mdp)}


def _compile(batch: Callable[..., Any], task: Task, chance: Chance) -> Callable[..., Any]:
    """`_run` for one task, compiled; on CPU as a native loop, unless the rule defies that."""
    experience = None
    if task.epsilon is None:
        experience = jax.eval_shape(batch(functools.partial(trajectory, task.world)), chance)
    compiled = lambda as_unit: (
        jax.jit(batch(functools.partial(_run, task, as_unit))).lower(chance, experience).compile()
    )
    try:
        return compiled(True)
    except jax.errors.JaxRuntimeError:
        return compiled(False)


def _curves(errors: np.ndarray, hundred: np.ndarray, record_every: int) -> Curves:
    """Curves from errors ``[seeds, points, K]`` and the errors that count as 100 %, ``[seeds]``."""
    if (hundred == 0).any():
        raise InputError(
            "the initial values are already exact, so no error can be a percentage of theirs: "
            "choose init_std > 0 or another problem"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        percent = np.ascontiguousarray((100 * errors / hundred[:, None, None]).transpose(0, 2, 1))
    bad = ~(percent <= DIVERGED_PERCENT)
    percent[np.maximum.accumulate(bad, axis=-1)] = np.inf
    diverged_at = np.where(bad.any(axis=-1), bad.argmax(axis=-1) * record_every, -1)
    return Curves(percent, hundred, diverged_at.astype(np.int32))


def _check(
    rules: Mapping[str, Rule],
    step_sizes: ArrayLike,
    seeds: Sequence[int],
    steps: int,
    record_every: int,
    init_std: float,
    behaviour: Any,
) -> np.ndarray:
    """The step sizes as an array; raises if anything cannot be run."""
    alphas = np.asarray(step_sizes, np.float64)
    if alphas.ndim != 1 or not alphas.size or not (np.isfinite(alphas) & (alphas > 0)).all():
        raise InputError(f"step sizes must be positive and finite; they are {step_sizes}")
    if not len(seeds) or len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise InputError("seeds must be one or more different integers that are not negative")
    if record_every < 1 or steps < 1 or steps % record_every:
        raise InputError(
            f"steps must be a positive multiple of record_every; they are {steps}, {record_every}"
        )
    if not 0 <= init_std < np.inf:
        raise InputError(f"init_std must be finite and ≥ 0; it is {init_std}")
    if isinstance(behaviour, EpsilonGreedy):
        if not 0 <= behaviour.epsilon <= 1:
            raise InputError(f"epsilon must be in [0, 1]; it is {behaviour.epsilon}")
        for name, rule in rules.items():
            if rule.q is None:
                raise InputError(f"{name} learns no action values to act ε-greedily on")
    return alphas
