"""The claims that link the rules of `rules.py` to the theory, by running the rules themselves."""

from typing import Any

import numpy as np

from qduet.tabular import operators as ops
from qduet.tabular.mdp import QVTables
from qduet.tabular.operators import E
from qduet.theory.check import Check, at_most, conclude, equal
from qduet.theory.expected import TABLES, expected_update, interleaving, random_tables, read_out
from qduet.theory.problems import Problem
from qduet.theory.sampled import (
    BETA,
    CHUNK,
    Updated,
    mean_update,
    replay,
    update_on_each,
    walk,
)


def mean_updates(problem: Problem, *, names: tuple[str, ...] = tuple(TABLES)) -> Check:
    """The sampled update of each rule, averaged exactly over all transitions, is its operator's.

    Exactly: `expected_update` plus `interleaving`. And the latter, which only QVMAX and BC-QVMAX
    have, is at most α² d(s) times the largest TD error of Q in that state, so that both follow
    their operators as α → 0.
    """
    mdp, rng = problem.mdp, np.random.default_rng([problem.seed, 4])
    evidence = []
    for name in names:
        tables = random_tables(name, problem, rng)
        step_size = float(rng.uniform(0.01, 1.0))
        change = mean_update(name, problem, tables, step_size)
        stated = expected_update(name, problem, tables, step_size, beta=BETA)
        if name in ("qvmax", "bc_qvmax"):
            extra = interleaving(name, problem, tables, step_size)
            stated = stated._replace(v=stated.v + extra)
            errors = np.abs(mdp.reward + mdp.discount * tables.v - tables.q[:, :, None])
            largest = np.where(mdp.p > 0, errors, 0.0).max(axis=(1, 2))
            bound = step_size**2 * problem.visits * largest
            what = f"{name}: interleaving is O(α²)"
            evidence.append(at_most(what, np.abs(extra), bound, _largest(tables)))
        for field, computed, expected in zip(stated._fields, change, stated, strict=True):
            evidence.append(equal(f"{name}: {field}", computed, expected, _largest(tables)))
    return conclude("mean_updates", *evidence)


def bc_qvmax_unit_step(problem: Problem) -> Check:
    """BC-QVMAX at α = 1 *is* Q-learning; at α < 1 it bootstraps from an average of past maxima.

    Q(s,·) changes only when s is visited, and V(s) ← max_a Q(s,a) is made right after. So at α = 1
    V(s) = max_a Q(s,a) at all times from the first visit on (from the start, if V_0 = E Q_0), and
    there is no delay, though the paper speaks of one. At α < 1 the value is the exponential average
    Σ_k α (1−α)^k max_a Q of k visits ago: a delay of (1−α)/α visits in the mean.
    """
    rng = np.random.default_rng([problem.seed, 2])
    experience = walk(problem, rng, 128)
    q = 3.0 * rng.normal(size=problem.mdp.r.shape) * ~problem.mdp.terminal[:, None]
    run = lambda name, tables, alpha: replay(name, problem, tables, experience, alpha)
    scale = max(1.0, float(np.abs(q).max()))
    one_table = run("q_learning", (q,), 1.0).q
    aligned = run("bc_qvmax", QVTables(q, E(q)), 1.0)
    apart = run("bc_qvmax", QVTables(q, E(q) + 1.0), 1.0)
    smooth = run("bc_qvmax", QVTables(q, E(q) + 1.0), 0.3)
    visited = (np.arange(q.shape[0]) == experience.state[:, None]).cumsum(axis=0) > 0
    average, averages = E(q) + 1.0, []
    for s, now in zip(experience.state, smooth.q, strict=True):
        average = average.copy()
        average[s] += 0.3 * (now[s].max() - average[s])
        averages.append(average)
    return conclude(
        "bc_qvmax_unit_step",
        equal("α = 1: same Q as Q-learning", aligned.q, one_table, scale),
        equal("α = 1: V = E Q once visited", (apart.v - apart.q.max(axis=2))[visited], 0.0, scale),
        equal("α < 1: V averages past maxima", smooth.v, np.array(averages), scale),
    )


def dueling_invariant(problem: Problem) -> Check:
    """Dueling (sec. 4.1): no update changes the mean advantage of any state."""
    tables, _, after = _one_update("dueling_q", problem)
    mean = lambda adv: adv.mean(axis=-1)
    new = ops.dueling_q(problem.mdp, problem.behaviour, tables)
    return conclude(
        "dueling_invariant",
        equal("sampled: mean A", mean(after.tables.adv), mean(tables.adv), _largest(tables)),
        equal("operator: mean A", mean(new.adv), mean(tables.adv), _largest(tables)),
    )


def rdq_invariant(problem: Problem) -> Check:
    """Equation 15: Hard RDQ never changes V(s) − Σ_a A(s,a); Soft RDQ shrinks it by 1 − β a visit.

    So Hard RDQ keeps V = Σ A from zero and keeps the offset it started with otherwise, for ever;
    Soft RDQ forgets that offset.
    """
    offset = lambda y: y.v - y.adv.sum(axis=-1)
    hard, _, after_hard = _one_update("hard_rdq", problem)
    soft, _, after_soft = _one_update("soft_rdq", problem)
    here = np.arange(problem.mdp.num_states) == after_soft.experience.state[:, None]
    shrunk = np.where(here, 1 - BETA, 1.0) * offset(soft)
    new = ops.hard_rdq(problem.mdp, problem.behaviour, hard)
    return conclude(
        "rdq_invariant",
        equal("sampled, hard: V − Σ A", offset(after_hard.tables), offset(hard), _largest(hard)),
        equal("operator, hard: V − Σ A", offset(new), offset(hard), _largest(hard)),
        equal("sampled, soft: (1−β)(V − Σ A)", offset(after_soft.tables), shrunk, _largest(soft)),
    )


def effective_step(problem: Problem) -> Check:
    """One update moves Q(S,A) by α ‖∇Q‖² δ: 2α δ for RDQ, (2 − 1/|A|) α δ for Dueling.

    And Q(S,a) of the other actions by α δ and (1 − 1/|A|) α δ, though nothing was seen of them; no
    other state's values move. So RDQ replaces Q(S,A) by its target at α = 1/2, where the paper's
    figure 5 has its spike; Dueling does so at α = |A|/(2|A| − 1), a little later.
    """
    num_actions = problem.mdp.num_actions
    spill = {"q_learning": 0.0, "dueling_q": 1 - 1 / num_actions, "hard_rdq": 1.0, "soft_rdq": 1.0}
    evidence = []
    for name, share in spill.items():
        tables, step_size, updated = _one_update(name, problem)
        before, after = read_out(name, tables), read_out(name, updated.tables)
        state, action, reward, discount, next_state = updated.experience
        target = reward + discount * before.max(axis=1)[next_state]
        delta = target - before[state, action]
        rows = np.arange(state.size)
        expected = np.repeat(before[None], state.size, axis=0)
        expected[rows, state] *= 1 - BETA if name == "soft_rdq" else 1.0
        expected[rows, state] += share * step_size * delta[:, None]
        expected[rows, state, action] += step_size * delta
        evidence.append(equal(name, after, expected, _largest(tables)))
    return conclude("effective_step", *evidence)


# --- Shared --------------------------------------------------------------------------------------


def _one_update(name: str, problem: Problem) -> tuple[Any, float, Updated]:
    """Random tables, a random step size, and the tables after each of (up to 256) transitions."""
    rng = np.random.default_rng([problem.seed, 5])
    tables = random_tables(name, problem, rng)
    step_size = float(rng.uniform(0.01, 1.0))
    updated = update_on_each(name, problem, tables, step_size, at_most=CHUNK)
    return tables, step_size, updated


def _largest(tables: Any) -> float:
    return max(float(np.abs(table).max()) for table in tables)
