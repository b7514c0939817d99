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

`sweep` checks its arguments, `trials` computes the errors, and `sweep` makes curves of them.
"""

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import ArrayLike

from qduet.core.digests import describe
from qduet.core.errors import InputError, as_setting, unknown_name
from qduet.tabular.experience import Draws, World
from qduet.tabular.mdp import MDP, QVTables, check_policy, uniform_policy
from qduet.tabular.rules import GOALS, Rule, Transition
from qduet.tabular.trials import Task, run_trials
from qduet.tabular.values import evaluate, optimum

DIVERGED_PERCENT = 1e9
"""A run whose error exceeds this percentage of its initial error has diverged."""


class EpsilonGreedy(NamedTuple):
    """Behaviour that is greedy on the rule's own Q, and uniformly random with probability ε."""

    epsilon: float
    """ε, in [0, 1]."""


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
    targets: Mapping[str, QVTables] | None = None,
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
      targets: by `Rule.goal`, the values that errors are measured against; by default
        `error_targets` of the fixed behaviour.
      init_std: V_0 and A_0 are drawn from N(0, init_std²).
      joint_initial_error: whether 100 % is the error of V_0 + A_0 for every rule, rather than of
        the rule's own Q_0.
      dtype: float32 or float64.
      workers: threads on CPU; all cores by default.
      on_progress: called from any thread with the number of updates done since its last call.
    """
    if not isinstance(mdp, MDP):
        raise InputError(f"mdp must be an MDP, such as four_state(…) makes; it is {mdp!r:.60}")
    steps = as_setting(int, "steps", steps)
    record_every = as_setting(int, "record_every", record_every)
    check_rules(rules, mdp, targets)
    alphas = check_step_sizes(step_sizes)
    _check_numbers(seeds, steps, record_every, init_std)
    epsilon, policy = None, uniform_policy(mdp)
    if isinstance(behaviour, EpsilonGreedy):
        epsilon = behaviour.epsilon
        _check_epsilon_greedy(epsilon, rules, targets)
    elif behaviour is not None:
        policy = check_policy(mdp, behaviour)
    targets = targets or error_targets(mdp, policy, {rule.goal for rule in rules.values()})
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise InputError(f"dtype must be float32 or float64; it is {np.dtype(dtype)}")
    with jax.enable_x64(np.dtype(dtype) == np.float64):
        world = World.of(mdp, policy, dtype)
        on_device = lambda x: jax.device_put(np.asarray(x, dtype))
        tasks = {
            name: Task(
                rule=rule,
                world=world,
                target=on_device(getattr(targets[rule.goal], "q" if rule.q else "v")),
                step_sizes=on_device(alphas),
                record_every=record_every,
                epsilon=epsilon,
                alive=np.flatnonzero(~mdp.terminal),
                joint_initial_error=joint_initial_error,
            )
            for name, rule in rules.items()
        }
        draws_of = functools.partial(Draws, mdp=mdp, init_std=init_std, dtype=dtype)
        errors = run_trials(tasks, draws_of, seeds, steps, workers, on_progress)
    return {name: _curves(*errors[name], record_every) for name in rules}


def error_targets(
    mdp: MDP, behaviour: ArrayLike, goals: Collection[str] = GOALS
) -> dict[str, QVTables]:
    """The exact values that rules with one of the `goals` are measured against."""
    exact = {"behaviour": lambda: evaluate(mdp, behaviour), "optimal": lambda: optimum(mdp)}
    return {goal: exact[goal]() for goal in goals}


def _curves(errors: np.ndarray, initial: np.ndarray, record_every: int) -> Curves:
    """Curves from errors ``[seeds, points, K]`` and the initial errors ``[seeds]``."""
    with np.errstate(over="ignore", invalid="ignore"):
        percent = np.ascontiguousarray((100 * errors / initial[:, None, None]).transpose(0, 2, 1))
    bad = ~(percent <= DIVERGED_PERCENT)
    percent[np.maximum.accumulate(bad, axis=-1)] = np.inf
    diverged_at = np.where(bad.any(axis=-1), bad.argmax(axis=-1) * record_every, -1)
    return Curves(percent, initial, diverged_at.astype(np.int32))


def check_rules(
    rules: Mapping[str, Rule], mdp: MDP, targets: Mapping[str, Any] | None = None
) -> None:
    """Raises unless `rules` are rules that can be run on `mdp` and measured."""
    if not isinstance(rules, Mapping) or not rules:
        raise InputError("rules must be a dict of one or more rules by name")
    for name, rule in rules.items():
        if not isinstance(rule, Rule):
            raise InputError(
                f"'{name}' must be a Rule, such as q_learning(); it is a {type(rule).__name__}"
            )
        if rule.goal not in (targets or GOALS):
            raise unknown_name(f"goal of {name},", rule.goal, targets or GOALS)
        wanted = (mdp.num_states, mdp.num_actions)
        tables = jax.eval_shape(rule.init, np.zeros(wanted[0]), np.zeros(wanted))
        if rule.q is None and not hasattr(tables, "v"):
            raise InputError(
                f"{name} has q=None, so its tables need a field v, the state values [S] it is "
                "measured by (a NamedTuple, for one); or give it q(tables) -> [S, A]"
            )
        what, shape = ("tables.v", wanted[:1]) if rule.q is None else ("q(tables)", wanted)
        values = jax.eval_shape(rule.read_out, tables)
        if getattr(values, "shape", None) != shape:
            raise InputError(
                f"{what} of {name} must be an array of shape {shape}; it is "
                f"{getattr(values, 'shape', type(values).__name__)}"
            )
        after = jax.eval_shape(rule.update, tables, Transition(0, 0, 0.0, 0.0, 0), 0.0)
        if describe(after) != describe(tables):
            raise InputError(
                f"update of {name} must give tables like those of init, {describe(tables)}; it "
                f"gives {describe(after)}"
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


def _check_numbers(seeds: Sequence[int], steps: int, record_every: int, init_std: float) -> None:
    if not isinstance(seeds, Sequence | np.ndarray):
        raise InputError(f"seeds must be a sequence such as range(30); it is {seeds}")
    if not len(seeds) or len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise InputError("seeds must be one or more different integers that are not negative")
    if record_every < 1 or steps < 1 or steps % record_every:
        raise InputError(
            f"steps must be a positive multiple of record_every, {record_every}; it is {steps}"
        )
    if not 0 <= init_std < np.inf:
        raise InputError(f"init_std must be finite and ≥ 0; it is {init_std}")


def _check_epsilon_greedy(epsilon: float, rules: Mapping[str, Rule], targets: Any) -> None:
    """Raises unless every rule has a Q to act on, and values that it can be measured against."""
    if not 0 <= epsilon <= 1:
        raise InputError(f"epsilon must be in [0, 1]; it is {epsilon}")
    for name, rule in rules.items():
        if rule.q is None:
            raise InputError(f"{name} learns no action values to act ε-greedily on")
        if rule.goal == "behaviour" and targets is None:
            raise InputError(
                f"{name} estimates a fixed policy's values, which an ε-greedy behaviour does "
                "not have: leave the behaviour fixed, or pass targets"
            )
