"""Trials: a trial is one seed of one rule, with all its step sizes side by side.

Tables carry the step size as their *last* axis, which keeps the inner loop contiguous. The error is
the root mean square over the state-action pairs of states that are not terminal.

`run_trials` runs several rules on many seeds. On CPU each seed is a call of its own, and threads
share the seeds; on another device one call runs all seeds. A long trial is cut into chunks of
steps, so that its memory is that of its tables: one program makes the tables and runs the first
chunk, another one runs each further chunk and updates the tables in place.
"""

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qduet.core.errors import InputError
from qduet.core.machine import cores
from qduet.core.xla import jit_loops, native_function
from qduet.tabular.experience import (
    Draws,
    SeedDraws,
    StepDraws,
    World,
    first_states,
    pick,
    take,
    walk,
    with_first_states,
)
from qduet.tabular.mdp import DIRECT_STATES
from qduet.tabular.rules import Rule, Tables, Transition

CHUNK_STEPS = 2**20
"""The most steps that one call of a program runs, unless `record_every` is larger."""


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
    alive: np.ndarray
    """The states that are not terminal."""
    joint_initial_error: bool
    """Whether 100 % is the error of V_0 + A_0 for every rule, rather than of the rule's own Q_0."""


def _rms(task: Task, difference: jax.Array) -> jax.Array:
    """Root mean square over the states that are not terminal; further axes remain."""
    terminal = task.world.terminal
    axes = tuple(range(task.target.ndim))
    if terminal.size <= DIRECT_STATES:
        return jnp.sqrt((difference[task.alive] ** 2).mean(axis=axes))
    # A sum for each state first: no copy of the table is made.
    squares = (difference**2).sum(axis=axes[1:])
    alive = jnp.where(terminal.reshape(-1, *[1] * (squares.ndim - 1)), 0.0, squares)
    return jnp.sqrt(alive.sum(axis=0) / (task.alive.size * task.target[0].size))


def _error(task: Task, tables: Tables) -> jax.Array:
    """``[K]``: the error of each step size's tables."""
    values = jax.vmap(task.rule.read_out, in_axes=-1, out_axes=-1)(tables)
    return _rms(task, values - task.target[..., None])


def learn(
    rule: Rule, step_sizes: jax.Array, native: bool, tables: Tables, experience: Transition
) -> Tables:
    """The tables after each transition of `experience` (fields ``[n]``) in turn."""
    update = rule.update
    if not rule.trailing_axes:
        update = jax.vmap(update, in_axes=(-1, None, 0), out_axes=-1)

    def block(tables: Tables, experience: Transition, step_sizes: jax.Array) -> Tables:
        step = lambda tables, t: (update(tables, t, step_sizes), None)
        return jax.lax.scan(step, tables, experience)[0]

    return (native_function(block) if native else block)(tables, experience, step_sizes)


def _act_and_learn(task: Task, states: jax.Array, tables: Tables, draws: StepDraws) -> Any:
    """States ``[K]`` and tables after `draws` (fields ``[n]``), acting ε-greedily on the tables."""

    def one(state: jax.Array, tables: Tables, step_size: jax.Array, draws: StepDraws) -> Any:
        q = task.rule.q(tables)[state]  # type: ignore[misc]
        eligible = (q == q.max()) | (draws.explore < task.epsilon)  # ties are broken at random
        action = pick(eligible.cumsum(dtype=q.dtype) / eligible.sum(dtype=q.dtype), draws.action)
        next_state, t = take(task.world, state, action, draws)
        return next_state, task.rule.update(tables, t, step_size)

    draws = with_first_states(task.world, draws)
    if task.world.terminal.size <= DIRECT_STATES:
        every = jax.vmap(one, in_axes=(0, -1, 0, None), out_axes=(0, -1))
        step = lambda carry, draws: (every(carry[0], carry[1], task.step_sizes, draws), None)
        return jax.lax.scan(step, (states, tables), draws)[0]

    # Each step size is at a state of its own, and a batch of such updates would go through whole
    # tables. So large tables learn one after the other.
    def alone(own: Any) -> Any:
        state, tables, step_size = own
        step = lambda carry, draws: (one(carry[0], carry[1], step_size, draws), None)
        return jax.lax.scan(step, (state, tables), draws)[0]

    move = lambda x, source, to: jax.tree.map(lambda leaf: jnp.moveaxis(leaf, source, to), x)
    states, tables = jax.lax.map(alone, (states, move(tables, -1, 0), task.step_sizes))
    return states, move(tables, 0, -1)


class Progress(NamedTuple):
    """What a chunk of a trial leaves to the next one."""

    states: jax.Array
    """``[K]``: where an ε-greedy behaviour is, which each step size's Q decides."""
    tables: Tables
    """With the step sizes as their last axis."""


def _continue(
    task: Task, native: bool, progress: Progress, steps: Transition | StepDraws
) -> tuple[Progress, jax.Array]:
    """The next `steps` of a trial, and the errors ``[points, K]``.

    `steps` are transitions under the fixed behaviour policy, or the random numbers from which an
    ε-greedy behaviour makes its own.
    """

    def record(progress: Progress, block: Any) -> tuple[Progress, jax.Array]:
        states, tables = progress
        if task.epsilon is None:
            tables = learn(task.rule, task.step_sizes, native, tables, block)
        else:
            states, tables = _act_and_learn(task, states, tables, block)
        return Progress(states, tables), _error(task, tables)

    blocks = jax.tree.map(lambda x: x.reshape(-1, task.record_every), steps)
    return jax.lax.scan(record, progress, blocks)


def _begin(
    task: Task, native: bool, draws: SeedDraws, steps: Transition | StepDraws
) -> tuple[Progress, jax.Array, jax.Array]:
    """The first `steps` of a trial, its errors ``[1 + points, K]``, and the one that is 100 %."""
    num_step_sizes = task.step_sizes.size
    repeat = lambda x: jnp.repeat(jnp.asarray(x)[..., None], num_step_sizes, axis=-1)
    tables = jax.tree.map(repeat, task.rule.init(draws.v, draws.adv))
    states = jnp.full(num_step_sizes, first_states(task.world, draws.start))
    progress, curve = _continue(task, native, Progress(states, tables), steps)
    first = _error(task, tables)
    initial_error = first[0]
    if task.joint_initial_error and task.rule.q is not None:
        initial_error = _rms(task, draws.v[:, None] + draws.adv - task.target)
    return progress, jnp.concatenate([first[None], curve]), initial_error


class Programs(NamedTuple):
    """The compiled programs of one task. Their first argument is its `World` and its target."""

    begin: Callable[..., tuple[Progress, jax.Array, jax.Array]]
    """`_begin`."""
    proceed: Callable[..., tuple[Progress, jax.Array]] | None
    """`_continue`, in place; None where a trial is a single chunk."""


def _over_seeds(function: Callable[..., Any]) -> Callable[..., Any]:
    """On CPU `function(arrays, x, y)`, of one seed; elsewhere of all seeds, an axis of x and y."""
    return function if _on_cpu() else jax.vmap(function, in_axes=(None, 0, 0))


def _on_cpu() -> bool:
    return jax.default_backend() == "cpu"


def _compile(task: Task, draws: Any, steps: Any, chunks: int) -> Programs:
    """The programs of one task; as a native loop where that is known to work.

    XLA refuses some operations in a native loop with an error, after which an ordinary loop is
    compiled. With a single state it aborts the process, so that is never tried.
    """
    arrays = task.world, task.target
    with_arrays = lambda f, native: _over_seeds(
        lambda arrays, *rest: f(task._replace(world=arrays[0], target=arrays[1]), native, *rest)
    )

    def compiled(native: bool) -> Programs:
        begin = with_arrays(_begin, native)
        if chunks == 1:  # nobody needs the tables
            whole = lambda *args: (None, *begin(*args)[1:])
            return Programs(jit_loops(whole).lower(arrays, draws, steps).compile(), None)
        lowered = jit_loops(begin).lower(arrays, draws, steps)
        progress = lowered.out_info[0]
        proceed = jit_loops(with_arrays(_continue, native), donate_argnums=1)
        return Programs(lowered.compile(), proceed.lower(arrays, progress, steps).compile())

    if task.rule.trailing_axes and task.world.terminal.size > 1:
        with contextlib.suppress(jax.errors.JaxRuntimeError):
            return compiled(True)
    return compiled(False)


@functools.cache
def _walks(backend: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Programs that walk the first steps, and further ones, of a call on this backend."""

    def start(world: World, uniform: Any, steps: StepDraws) -> Any:
        return walk(world, first_states(world, uniform), steps)

    return jit_loops(_over_seeds(start)), jit_loops(_over_seeds(walk))


def _refuse_exact_start(name: str, initial_error: np.ndarray) -> None:
    """Raises where the initial error is 0: the rule then has nothing to learn."""
    if not initial_error.all():
        raise InputError(
            f"the initial values of {name} are already exact, so no error can be a percentage of "
            "theirs: choose init_std > 0 or another problem"
        )


def default_workers() -> int:
    """Threads that trials use: one per core on CPU, a single one on another device."""
    return cores() if _on_cpu() else 1


def chunks_of(steps: int, record_every: int) -> int:
    """How many chunks a trial is cut into: equal ones, each of a whole number of points."""
    points = steps // record_every
    fewest = min(points, -(-steps // CHUNK_STEPS))
    return next(n for n in range(fewest, points + 1) if points % n == 0)


def _chunks(
    draws: Sequence[Draws], walks: Any, world: World, size: int
) -> Iterator[tuple[SeedDraws, Any]]:
    """For each chunk of `size` steps of a call (a seed, or all): its start, and its experience.

    That is its transitions; or, without `walks`, the random numbers to make them from.
    """
    joined = lambda drawn: drawn[0] if _on_cpu() else jax.tree.map(lambda *x: np.stack(x), *drawn)
    start = joined([seed.first(size) for seed in draws])
    start, steps, state, program = start._replace(steps=None), start.steps, start.start, 0
    while True:
        if walks is not None:
            state, steps = walks[program](world, state, steps)
        yield start, steps
        program, steps = 1, joined([seed.next(size) for seed in draws])


def run_trials(
    tasks: Mapping[str, Task],
    draws_of: Callable[[int], Draws],
    seeds: Sequence[int],
    steps: int,
    workers: int | None,
    on_progress: Callable[[int], None] | None,
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Each task's errors ``[seeds, points, K]`` and initial errors ``[seeds]``, by its name.

    `draws_of` gives the random numbers of a seed. `on_progress` is called from any thread with the
    number of updates done since its last call. Raises `InputError` if an initial error is 0.
    """
    calls: Sequence[Sequence[int]] = [[seed] for seed in seeds] if _on_cpu() else [seeds]
    double = bool(jax.config.jax_enable_x64)  # type: ignore[attr-defined]
    task = next(iter(tasks.values()))
    chunks = chunks_of(steps, task.record_every)
    size = steps // chunks
    walks = _walks(jax.default_backend()) if task.epsilon is None else None
    chunks_of_call = lambda call: _chunks(
        [draws_of(seed) for seed in call], walks, task.world, size
    )

    def compile_task(task: Task, draws: Any, experience: Any) -> Programs:
        with jax.enable_x64(double):  # which threads do not inherit
            return _compile(task, draws, experience, chunks)

    def run_call(call: Sequence[int]) -> dict[str, list[np.ndarray]]:
        progress: dict[str, Progress] = {}
        errors: dict[str, list[np.ndarray]] = {name: [] for name in tasks}
        initial: dict[str, np.ndarray] = {}
        with jax.enable_x64(double):
            for chunk, (draws, now) in enumerate(itertools.islice(chunks_of_call(call), chunks)):
                for name, task in tasks.items():
                    programs, arrays = compiled[name].result(), (task.world, task.target)
                    if programs.proceed and chunk:
                        progress[name], curve = programs.proceed(arrays, progress[name], now)
                    else:
                        progress[name], curve, first = programs.begin(arrays, draws, now)
                        initial[name] = np.asarray(first)
                        _refuse_exact_start(name, initial[name])
                    errors[name].append(np.asarray(curve))
                    if on_progress is not None:
                        on_progress(task.step_sizes.size * size * len(call))
        return {name: [np.concatenate(errors[name], axis=-2), initial[name]] for name in tasks}

    pool = ThreadPoolExecutor(workers or default_workers())
    try:
        example = next(chunks_of_call(calls[0]))
        compiled = {name: pool.submit(compile_task, task, *example) for name, task in tasks.items()}
        done = list(pool.map(run_call, calls))
    finally:
        pool.shutdown(cancel_futures=True)

    join = np.stack if _on_cpu() else np.concatenate
    return {
        name: (join([r[name][0] for r in done]), join([r[name][1] for r in done])) for name in tasks
    }
