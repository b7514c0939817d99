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
"""

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import FunctionType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from qduet.core.errors import InputError, unknown_name
from qduet.core.machine import cores
from qduet.tabular.experience import Chance, World, draw_chance, trajectory
from qduet.tabular.mdp import MDP, Values, check_policy, evaluate, optimum, uniform_policy
from qduet.tabular.rules import GOALS, Rule
from qduet.tabular.trial import Task, run_trial

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
      targets: what a rule with that `Rule.goal` is measured against; by default `error_targets`
        of the fixed behaviour.
      init_std: V_0 and A_0 are drawn from N(0, init_std²).
      joint_initial_error: 100 % is the error of V_0 + A_0 for all rules, not of their own Q_0.
      dtype: float32 or float64.
      workers: threads on CPU; all cores by default.
      on_progress: called from any thread with the number of updates done since its last call.
    """
    check_rules(rules, mdp, targets)
    alphas = _check(rules, step_sizes, seeds, steps, record_every, init_std, behaviour, targets)
    epsilon = behaviour.epsilon if isinstance(behaviour, EpsilonGreedy) else None
    if behaviour is None or isinstance(behaviour, EpsilonGreedy):
        policy = uniform_policy(mdp)
    else:
        policy = check_policy(mdp, behaviour)
    targets = targets or error_targets(mdp, policy)
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise InputError(f"dtype must be float32 or float64; it is {np.dtype(dtype)}")
    with jax.enable_x64(np.dtype(dtype) == np.float64):
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
        chance = functools.partial(
            draw_chance, mdp=mdp, steps=steps, init_std=init_std, dtype=dtype
        )
        for name, task in tasks.items():
            _check_start(name, task, chance(seeds[0]))
        errors = _execute(tasks, chance, seeds, workers, on_progress)
    return {name: _curves(name, *errors[name], record_every) for name in rules}


def default_workers() -> int:
    """Threads that a sweep uses: all cores on CPU; on another device, one."""
    return cores() if jax.default_backend() == "cpu" else 1


def _execute(
    tasks: Mapping[str, Task],
    chance_of: Callable[[int], Chance],
    seeds: Sequence[int],
    workers: int | None,
    on_progress: Callable[[int], None] | None,
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Errors ``[seeds, points, K]`` and the errors that count as 100 %, ``[seeds]``, of each task.

    On CPU each seed is a program of its own, and threads share the seeds; elsewhere all seeds are
    one program.
    """
    on_cpu = jax.default_backend() == "cpu"
    threads = workers or default_workers()
    batch = (lambda f: f) if on_cpu else jax.vmap
    groups: list[Sequence[int]] = [[seed] for seed in seeds] if on_cpu else [seeds]
    double = bool(jax.config.jax_enable_x64)  # type: ignore[attr-defined]

    def chances(group: Sequence[int]) -> Chance:
        if on_cpu:
            return chance_of(group[0])
        return jax.tree.map(lambda *x: np.stack(x), *map(chance_of, group))

    def compile_task(task: Task) -> Callable[..., Any]:
        with jax.enable_x64(double):  # which threads do not inherit
            return _compile(batch, task, chances(groups[0]))

    pool = ThreadPoolExecutor(threads)
    try:
        runners = {name: pool.submit(compile_task, task) for name, task in tasks.items()}
        task = next(iter(tasks.values()))
        walk = jax.jit(batch(functools.partial(trajectory, task.world)))
        walk_compiled = walk.lower(chances(groups[0])).compile() if task.epsilon is None else None

        def learn(group: Sequence[int]) -> dict[str, list[np.ndarray]]:
            with jax.enable_x64(double):
                chance = chances(group)
                experience = walk_compiled(chance) if walk_compiled else None
                results = {}
                for name, runner in runners.items():
                    results[name] = [np.asarray(x) for x in runner.result()(chance, experience)]
                    if on_progress is not None:
                        on_progress(
                            len(group) * task.step_sizes.size * chance.luck.action.shape[-1]
                        )
                return results

        done = list(pool.map(learn, groups))
    finally:
        pool.shutdown(cancel_futures=True)

    join = np.stack if on_cpu else np.concatenate
    return {
        name: (join([r[name][0] for r in done]), join([r[name][1] for r in done])) for name in tasks
    }


def error_targets(mdp: MDP, behaviour: ArrayLike) -> dict[str, Values]:
    """The exact values that rules are measured against, by `Rule.goal`."""
    return {"behaviour": evaluate(mdp, behaviour), "optimal": optimum(mdp)}


def _compile(batch: Callable[..., Any], task: Task, chance: Chance) -> Callable[..., Any]:
    """`run_trial` for one task, compiled; as a native loop where that is known to work.

    XLA refuses some operations in a native loop, which can be seen and undone; with a single state
    it aborts, which cannot.
    """
    experience = None
    if task.epsilon is None:
        experience = jax.eval_shape(batch(functools.partial(trajectory, task.world)), chance)
    compiled = lambda as_unit: (
        jax.jit(batch(functools.partial(run_trial, task, as_unit)))
        .lower(chance, experience)
        .compile()
    )
    if task.rule.trailing_axes and task.world.terminal.size > 1:
        with contextlib.suppress(jax.errors.JaxRuntimeError):
            return compiled(True)
    return compiled(False)


def _check_start(name: str, task: Task, chance: Chance) -> None:
    """Raises, before anything is run, if a rule has nothing to learn."""
    tables = task.rule.init(jnp.asarray(chance.v), jnp.asarray(chance.adv))
    values = task.rule.q(tables) if task.rule.q else tables.v
    if not np.asarray(values - task.target)[~np.asarray(task.world.terminal)].any():
        raise _exact(name)


def _exact(name: str) -> InputError:
    return InputError(
        f"the initial values of {name} are already exact, so no error can be a percentage of "
        "theirs: choose init_std > 0 or another problem"
    )


def _curves(name: str, errors: np.ndarray, hundred: np.ndarray, record_every: int) -> Curves:
    """Curves from errors ``[seeds, points, K]`` and the errors that count as 100 %, ``[seeds]``."""
    if (hundred == 0).any():
        raise _exact(name)
    with np.errstate(over="ignore", invalid="ignore"):
        percent = np.ascontiguousarray((100 * errors / hundred[:, None, None]).transpose(0, 2, 1))
    bad = ~(percent <= DIVERGED_PERCENT)
    percent[np.maximum.accumulate(bad, axis=-1)] = np.inf
    diverged_at = np.where(bad.any(axis=-1), bad.argmax(axis=-1) * record_every, -1)
    return Curves(percent, hundred, diverged_at.astype(np.int32))


def check_rules(
    rules: Mapping[str, Rule], mdp: MDP, targets: Mapping[str, Any] | None = None
) -> None:
    """Raises unless `rules` are rules that can be run on `mdp` and measured."""
    if not isinstance(rules, Mapping) or not rules:
        raise InputError("rules must be a dict of one or more rules by name")
    for name, rule in rules.items():
        if isinstance(rule, FunctionType):
            raise InputError(f"'{name}' is a function, not a rule: call it, {rule.__name__}()")
        if not isinstance(rule, Rule):
            raise InputError(f"'{name}' must be a Rule; it is a {type(rule).__name__}")
        functions = [rule.init, rule.update, *([] if rule.q is None else [rule.q])]
        if not all(map(callable, functions)) or not isinstance(rule.goal, str):
            raise InputError(
                f"'{name}' must be Rule(init, update, q, goal): three functions, of which q may be "
                "None, and a text"
            )
        if rule.goal not in (targets or GOALS):
            raise unknown_name(f"goal of {name},", rule.goal, targets or GOALS)
        _check_read_out(name, rule, mdp)


def _check_read_out(name: str, rule: Rule, mdp: MDP) -> None:
    """Raises unless a rule's values have the shape of what they are measured against."""
    shape = mdp.num_states, mdp.num_actions
    tables = jax.eval_shape(rule.init, np.zeros(shape[0]), np.zeros(shape))
    if rule.q is None and not hasattr(tables, "v"):
        raise InputError(
            f"{name} has q=None, so its tables need a field v, the state values [S] it is "
            "measured by (a NamedTuple, for one); or give it q(tables) -> [S, A]"
        )
    what, wanted = ("tables.v", shape[:1]) if rule.q is None else ("q(tables)", shape)
    found = tables.v if rule.q is None else jax.eval_shape(rule.q, tables)
    if getattr(found, "shape", None) != wanted:
        raise InputError(
            f"{what} of {name} must be an array of shape {wanted}; it is "
            f"{getattr(found, 'shape', type(found).__name__)}"
        )


def check_step_sizes(step_sizes: ArrayLike) -> np.ndarray:
    """``[K]``, in double precision; raises unless they are step sizes."""
    try:
        alphas = np.asarray(step_sizes, np.float64)
    except (TypeError, ValueError):
        alphas = np.empty(0)
    if alphas.ndim != 1 or not alphas.size or not (np.isfinite(alphas) & (alphas > 0)).all():
        raise InputError(f"step_sizes must be a list, positive and finite; it is {step_sizes!r}")
    return alphas


def _check(
    rules: Mapping[str, Rule],
    step_sizes: ArrayLike,
    seeds: Sequence[int],
    steps: int,
    record_every: int,
    init_std: float,
    behaviour: Any,
    targets: Any,
) -> np.ndarray:
    """The step sizes as an array; raises if anything cannot be run."""
    if not isinstance(seeds, Sequence | np.ndarray):
        raise InputError(f"seeds must be a sequence such as range(30); it is {seeds}")
    alphas = check_step_sizes(step_sizes)
    if not len(seeds) or len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise InputError("seeds must be one or more different integers that are not negative")
    if record_every < 1 or steps < 1 or steps % record_every:
        raise InputError(
            "steps must be a positive multiple of record_every (--record-every); "
            f"they are {steps}, {record_every}"
        )
    if not 0 <= init_std < np.inf:
        raise InputError(f"init_std must be finite and ≥ 0; it is {init_std}")
    if isinstance(behaviour, EpsilonGreedy):
        if not 0 <= behaviour.epsilon <= 1:
            raise InputError(f"epsilon must be in [0, 1]; it is {behaviour.epsilon}")
        for name, rule in rules.items():
            if rule.q is None:
                raise InputError(f"{name} learns no action values to act ε-greedily on")
            if rule.goal == "behaviour" and targets is None:
                raise InputError(
                    f"{name} estimates a fixed policy's values, which an ε-greedy behaviour does "
                    "not have: leave the behaviour fixed, or pass targets"
                )
    return alphas
