"""The expected update of each of the nine rules, written with the operators.

One transition is drawn: S from d, A from b(·|S), S' from p(·|S,A). Averaged over it, a rule with
step size α moves its tables by

    TD(0)                        ΔV = α d (T_b V − V)
    Expected Sarsa, Q-learning   ΔQ = α d b (T_b Q − Q),   α d b (T Q − Q)
    QV family                    (ΔQ, ΔV) = α (d b (H_q − Q), d (H_v − V)),   H its joint operator
    AV family                    (ΔV, ΔA) = α d (H − (V, A)),                 H its operator

exactly, but for two rules, whose V learns from the Q that the same transition has just changed.
`interleaving` is what that adds; it is of second order in α, and 0 for a rule that updates both at
once. QVMAX sees the new Q only where S' = S. BC-QVMAX always does, and the mean of a max is not the
max of the mean: its V is pushed up wherever the target of a greedy action is random.
"""

from typing import Any

import numpy as np

from qduet.core.errors import unknown_name
from qduet.tabular import operators as ops
from qduet.tabular.operators import E, Expectation
from qduet.tabular.tables import AVTables, Floats, QTable, QVTables, VTable
from qduet.theory.problems import Problem

TABLES: dict[str, type[Any]] = {
    "td0": VTable,
    "expected_sarsa": QTable,
    "q_learning": QTable,
    "qv_learning": QVTables,
    "qvmax": QVTables,
    "bc_qvmax": QVTables,
    "dueling_q": AVTables,
    "soft_rdq": AVTables,
    "hard_rdq": AVTables,
}
"""What each rule learns; here as NumPy arrays."""

_JOINT: dict[str, Any] = {
    "qv_learning": ops.qv_learning,
    "qvmax": ops.qvmax,
    "bc_qvmax": ops.bc_qvmax,
    "dueling_q": ops.dueling_q,
    "hard_rdq": ops.hard_rdq,
}


def expected_update(
    name: str,
    problem: Problem,
    tables: Any,
    step_size: float,
    *,
    beta: float = 0.0,
    expect: Expectation = E,
) -> Any:
    """E[Δ tables] of the rule `name`, to first order in α (exactly so for seven of the nine)."""
    if name not in TABLES:
        raise unknown_name("rule", name, TABLES)
    mdp, b = problem.mdp, problem.behaviour
    rate = step_size * problem.visits
    if TABLES[name] is VTable:
        return VTable(rate * (ops.T_pi(mdp, b, tables.v) - tables.v))
    if TABLES[name] is QTable:
        on_policy = name == "expected_sarsa"
        target = ops.T_pi(mdp, b, tables.q) if on_policy else ops.T(mdp, tables.q, expect)
        return QTable(rate[:, None] * b * (target - tables.q))
    if name == "soft_rdq":
        new: Any = ops.soft_rdq(mdp, b, tables, expect, ratio=beta / step_size)
    else:
        new = _JOINT[name](mdp, b, tables, expect)
    if TABLES[name] is AVTables:
        return AVTables(v=rate * (new.v - tables.v), adv=rate[:, None] * (new.adv - tables.adv))
    return QVTables(q=rate[:, None] * b * (new.q - tables.q), v=rate * (new.v - tables.v))


def interleaving(name: str, problem: Problem, tables: Any, step_size: float) -> Floats:
    """``[S]``: what E[ΔV] gains because V's target is read after Q's update (eq. 5 before 7, 10).

    With Q' the table after the transition (s, a, s'), this is α d(s) times the mean of
    γ 1{s'=s} (max Q'(s,·) − max Q(s,·)) for QVMAX, of max Q'(s,·) − max Q(s,·) for BC-QVMAX.
    """
    mdp, q, v = problem.mdp, tables[0], tables[-1]
    if name not in ("qvmax", "bc_qvmax"):
        return np.zeros(mdp.num_states)
    target = mdp.reward + mdp.discount * v
    moved = (1 - step_size) * q[:, :, None] + step_size * target
    others = np.where(np.eye(mdp.num_actions, dtype=bool), -np.inf, q[:, None, :]).max(axis=2)
    gain = np.maximum(moved, others[:, :, None]) - q.max(axis=1)[:, None, None]
    weight = problem.behaviour[:, :, None] * mdp.p
    if name == "qvmax":
        weight = mdp.discount * weight * np.eye(mdp.num_states)[:, None, :]
    return step_size * problem.visits * (weight * gain).sum(axis=(1, 2))


def read_out(name: str, tables: Any) -> Floats:
    """What the rule `name` is judged by: Q, or V for TD(0). Any axes may stand in front."""
    if TABLES[name] is AVTables:
        return ops.read_out(AVTables(*tables), centred=name == "dueling_q")
    return np.asarray(tables[0])


def random_tables(name: str, problem: Problem, rng: np.random.Generator, scale: float = 3.0) -> Any:
    """Tables of the rule `name` with entries from N(0, scale²), 0 in terminal states."""
    alive = ~problem.mdp.terminal
    v = scale * rng.normal(size=problem.mdp.num_states) * alive
    pairs = scale * rng.normal(size=problem.mdp.r.shape) * alive[:, None]
    kind = TABLES[name]
    return kind(**{field: v if field == "v" else pairs for field in kind._fields})
