"""Trials: a trial is one seed of one rule, with all its step sizes side by side.

Tables carry the step size as their *last* axis, which keeps the inner loop contiguous. The error is
the root mean square over the state-action pairs of states that are not terminal.

`run_trials` runs several rules on many seeds. On CPU each seed is a call of its own, and threads
share the seeds; on another device one call runs all seeds.
"""

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qduet.core.machine import cores
from qduet.core.xla import native_function
from qduet.tabular.experience import SeedDraws, StepDraws, World, pick, take, trajectory
from qduet.tabular.rules import Rule, Tables, Transition


class Task(NamedTuple):
    """One rule with all that its trials have in common: the same for each seed."""

    rule: Rule
    world: World
    target: jax.Array
    """``[S, A]``, or ``[S]`` for a rule without Q: the values its error is measured against."""
    step_sizes: jax.Array
    """``[K]``"""
    record_every: int
    """Steps between two recorded errors."""
    epsilon: float | None
    """ε of a behaviour that is ε-greedy on the rule's own Q; None for the world's fixed policy."""
    joint_initial_error: bool
    """Whether 100 % is the error of V_0 + A_0 for every rule, rather than of the rule's own Q_0."""


def _rms(task: Task, difference: jax.Array) -> jax.Array:
    """Root mean square over the states that are not terminal; further axes remain."""
    squares = difference[np.flatnonzero(~np.asarray(task.world.terminal))] ** 2
    return jnp.sqrt(squares.mean(axis=tuple(range(task.target.ndim))))


def _error(task: Task, tables: Tables) -> jax.Array:
    """``[K]``: the error of each step size's tables."""
    values = jax.vmap(task.rule.read_out, in_axes=-1, out_axes=-1)(tables)
    return _rms(task, values - task.target[..., None])


def _learn(task: Task, native: bool, tables: Tables, experience: Transition) -> Tables:
    """The tables after each transition of `experience` (fields ``[n]``) in turn."""
    update = task.rule.update
    if not task.rule.trailing_axes:
        update = jax.vmap(update, in_axes=(-1, None, 0), out_axes=-1)

    def block(tables: Tables, experience: Transition, step_sizes: jax.Array) -> Tables:
        step = lambda tables, t: (update(tables, t, step_sizes), None)
        return jax.lax.scan(step, tables, experience)[0]

    return (native_function(block) if native else block)(tables, experience, task.step_sizes)


def _act_and_learn(task: Task, states: jax.Array, tables: Tables, draws: StepDraws) -> Any:
    """States ``[K]`` and tables after `draws` (fields ``[n]``), acting ε-greedily on the tables."""

    def one(state: jax.Array, tables: Tables, step_size: jax.Array, draws: StepDraws) -> Any:
        q = task.rule.q(tables)[state]  # type: ignore[misc]
        eligible = (q == q.max()) | (draws.explore < task.epsilon)  # ties are broken at random
        action = pick(eligible.cumsum(dtype=q.dtype) / eligible.sum(dtype=q.dtype), draws.action)
        next_state, t = take(task.world, state, action, draws)
        return next_state, task.rule.update(tables, t, step_size)

    every = jax.vmap(one, in_axes=(0, -1, 0, None), out_axes=(0, -1))
    step = lambda carry, draws: (every(carry[0], carry[1], task.step_sizes, draws), None)
    return jax.lax.scan(step, (states, tables), draws)[0]


def _run_trial(
    task: Task, native: bool, draws: SeedDraws, experience: Transition | None
) -> tuple[jax.Array, jax.Array]:
    """One seed: the errors ``[points, K]``, and the initial error, which counts as 100 %.

    `experience` holds the seed's transitions under the fixed behaviour policy. It is None with an
    ε-greedy behaviour, which makes its own.
    """
    num_step_sizes = task.step_sizes.size
    repeat = lambda x: jnp.repeat(jnp.asarray(x)[..., None], num_step_sizes, axis=-1)
    tables = jax.tree.map(repeat, task.rule.init(draws.v, draws.adv))
    states = jnp.full(num_step_sizes, pick(task.world.start_cdf, draws.start))

    def record(carry: Any, block: Any) -> tuple[Any, jax.Array]:
        states, tables = carry
        if task.epsilon is None:
            tables = _learn(task, native, tables, block)
        else:
            states, tables = _act_and_learn(task, states, tables, block)
        return (states, tables), _error(task, tables)

    steps = draws.steps if experience is None else experience
    blocks = jax.tree.map(lambda x: x.reshape(-1, task.record_every), steps)
    curve = jax.lax.scan(record, (states, tables), blocks)[1]
    first = _error(task, tables)
    initial_error = first[0]
    if task.joint_initial_error and task.rule.q is not None:
        initial_error = _rms(task, draws.v[:, None] + draws.adv - task.target)
    return jnp.concatenate([first[None], curve]), initial_error


def _compile(over_seeds: Callable[..., Any], task: Task, draws: SeedDraws) -> Callable[..., Any]:
    """`_run_trial` for one task, compiled; as a native loop where that is known to work.

    XLA refuses some operations in a native loop with an error, after which an ordinary loop is
    compiled. With a single state it aborts the process, so that is never tried.
    """
    experience = None
    if task.epsilon is None:
        experience = jax.eval_shape(over_seeds(functools.partial(trajectory, task.world)), draws)
    compiled = lambda native: (
        jax.jit(over_seeds(functools.partial(_run_trial, task, native)))
        .lower(draws, experience)
        .compile()
    )
    if task.rule.trailing_axes and task.world.terminal.size > 1:
        with contextlib.suppress(jax.errors.JaxRuntimeError):
            return compiled(True)
    return compiled(False)


def default_workers() -> int:
    """Threads that trials use: one per core on CPU, a single one on another device."""
    return cores() if jax.default_backend() == "cpu" else 1


def run_trials(
    tasks: Mapping[str, Task],
    draws_of: Callable[[int], SeedDraws],
    seeds: Sequence[int],
    workers: int | None,
    on_progress: Callable[[int], None] | None,
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Each task's errors ``[seeds, points, K]`` and initial errors ``[seeds]``, by its name.

    `draws_of` gives the random numbers of a seed. `on_progress` is called from any thread with the
    number of updates done since its last call.
    """
    on_cpu = jax.default_backend() == "cpu"
    over_seeds = (lambda f: f) if on_cpu else jax.vmap
    draws_of_all = lambda seeds: jax.tree.map(lambda *x: np.stack(x), *map(draws_of, seeds))
    draw: Callable[[Any], SeedDraws] = draws_of if on_cpu else draws_of_all
    calls: Sequence[Any] = seeds if on_cpu else [seeds]
    double = bool(jax.config.jax_enable_x64)  # type: ignore[attr-defined]

    def compile_task(task: Task) -> Callable[..., Any]:
        with jax.enable_x64(double):  # which threads do not inherit
            return _compile(over_seeds, task, draw(calls[0]))

    pool = ThreadPoolExecutor(workers or default_workers())
    try:
        compiled = {name: pool.submit(compile_task, task) for name, task in tasks.items()}
        task = next(iter(tasks.values()))
        walk: Any = None
        if task.epsilon is None:
            walk = jax.jit(over_seeds(functools.partial(trajectory, task.world)))
            walk = walk.lower(draw(calls[0])).compile()

        def learn(call: Any) -> dict[str, list[np.ndarray]]:
            with jax.enable_x64(double):
                draws = draw(call)
                experience = walk(draws) if walk else None
                updates = task.step_sizes.size * draws.steps.action.size
                results = {}
                for name, trial in compiled.items():
                    results[name] = [np.asarray(x) for x in trial.result()(draws, experience)]
                    if on_progress is not None:
                        on_progress(updates)
                return results

        done = list(pool.map(learn, calls))
    finally:
        pool.shutdown(cancel_futures=True)

    join = np.stack if on_cpu else np.concatenate
    return {
        name: (join([r[name][0] for r in done]), join([r[name][1] for r in done])) for name in tasks
    }
