"""The expected update of each of the nine rules, and how fast it learns.

One transition is drawn: S from d, A from b(·|S), S' from p(·|S,A). Averaged over it, a rule with
step size α moves its tables by

    TD(0)                        ΔV = α d (T_b V − V)
    Expected Sarsa, Q-learning   ΔQ = α d b (T_b Q − Q),   α d b (T Q − Q)
    QV family                    (ΔQ, ΔV) = α (d b (H_q − Q), d (H_v − V)),   H its joint operator
    AV family                    (ΔV, ΔA) = α d (H − (V, A)),                 H its operator

exactly, except for QVMAX and BC-QVMAX: their V learns from the Q that the same transition has just
changed. `interleaving` computes what that adds, which is of second order in α. QVMAX sees the new Q
only where S' = S. BC-QVMAX always does, and the mean of a max is not the max of the mean: its V is
pushed up wherever the target of a greedy action is random.

Near its fixed point the greedy policy no longer changes and the expected update is affine,
y ← y + α (c − G y), so errors shrink by I − α G. `generator` gives G, on the values that are
visited; `rate` its slowest mode. On the paper's 4-state MDP with n actions (d = 1/4, b = 1/n) the
slowest mode of G is, in closed form,

    Expected Sarsa, Q-learning   (1−γ) / 4n
    QV-learning                  min(1−γ, 1/n) / 4
    Dueling Q-learning           min(1−γ, 1/n) / 4
    Hard RDQ                     min((1−γ)(n+1)/n, 1/n) / 4
    BC-QVMAX, QVMAX              λ/4 with (λ − 1/n)(λ − 1) = γ/n, γ²/n

The error common to all values is the slow one, because bootstrapping undoes all but 1−γ of each
correction. One table corrects each of n entries once in n visits. A learned V corrects it at every
visit, so QV-learning and AV-learning are n times faster (n+1 for Hard RDQ) while 1/n > 1−γ.
BC-QVMAX has to pass the error through V *and* through Q: its rate is about n/(n+1) of Q-learning's.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from qduet.core.errors import unknown_name
from qduet.tabular import operators as ops
from qduet.tabular.mdp import AVTables, Floats, QTable, QVTables, VTable
from qduet.tabular.operators import E, Expectation
from qduet.tabular.values import evaluate, optimum
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
    step = step_size * problem.visits
    if TABLES[name] is VTable:
        return VTable(step * (ops.T_pi(mdp, b, tables.v) - tables.v))
    if TABLES[name] is QTable:
        on_policy = name == "expected_sarsa"
        target = ops.T_pi(mdp, b, tables.q) if on_policy else ops.T(mdp, tables.q, expect)
        return QTable(step[:, None] * b * (target - tables.q))
    options = {"ratio": beta / step_size} if name == "soft_rdq" else {}
    new = getattr(ops, name)(mdp, b, tables, expect, **options)
    if TABLES[name] is AVTables:
        return AVTables(v=step * (new.v - tables.v), adv=step[:, None] * (new.adv - tables.adv))
    return QVTables(q=step[:, None] * b * (new.q - tables.q), v=step * (new.v - tables.v))


def interleaving(name: str, problem: Problem, tables: Any, step_size: float) -> Floats:
    """``[S]``: what E[ΔV] gains because V's target is read after Q's update (eq. 5 before 7, 10).

    With Q' the table after the transition (s, a, s'), this is α d(s) times the mean of
    γ 1{s'=s} (max Q'(s,·) − max Q(s,·)) for QVMAX, of max Q'(s,·) − max Q(s,·) for BC-QVMAX.
    """
    mdp, q, v = problem.mdp, tables[0], tables[-1]
    target = mdp.reward + mdp.discount * v
    moved = (1 - step_size) * q[:, :, None] + step_size * target
    others = np.where(np.eye(mdp.num_actions, dtype=bool), -np.inf, q[:, None, :]).max(axis=2)
    gain = np.maximum(moved, others[:, :, None]) - q.max(axis=1)[:, None, None]
    weight = problem.behaviour[:, :, None] * mdp.p
    if name == "qvmax":
        weight = mdp.discount * weight * np.eye(mdp.num_states)[:, None, :]
    return step_size * problem.visits * (weight * gain).sum(axis=(1, 2))


def read_out(name: str, tables: Any) -> Floats:
    """What the rule `name` is judged by: Q, or V for TD(0). Leading axes are allowed."""
    if TABLES[name] is AVTables:
        return ops.read_out(AVTables(*tables), centred=name == "dueling_q")
    return np.asarray(tables[0])


def zero_tables(name: str, problem: Problem) -> Any:
    """Tables of the rule `name`, all 0."""
    kind, mdp = TABLES[name], problem.mdp
    shapes = (mdp.num_states if field == "v" else mdp.r.shape for field in kind._fields)
    return kind(*map(np.zeros, shapes))


def random_tables(name: str, problem: Problem, rng: np.random.Generator) -> Any:
    """Tables of the rule `name` with entries from N(0, 3²), 0 in terminal states."""
    alive = ~problem.mdp.terminal
    v = 3.0 * rng.normal(size=problem.mdp.num_states) * alive
    pairs = 3.0 * rng.normal(size=problem.mdp.r.shape) * alive[:, None]
    kind = TABLES[name]
    return kind(**{field: v if field == "v" else pairs for field in kind._fields})


# --- Rates ---------------------------------------------------------------------------------------

CENTRED = {"dueling_q": True, "hard_rdq": False}
"""The AV rules whose expected update of Q depends on Q alone: whether they subtract mean(A)."""


class Rate(NamedTuple):
    """How an expected update behaves near its fixed point."""

    slowest: float
    """The smallest real part of an eigenvalue of G; unstable for every step size if negative."""
    radius: float
    """The spectral radius of I − α G: the factor by which errors shrink per step, in the end."""

    @property
    def steps_per_fold(self) -> float:
        """Steps in which the slowest error shrinks by a factor e; ∞ if it does not."""
        return float(-1 / np.log(self.radius)) if 0 < self.radius < 1 else np.inf


def fixed_point(name: str, problem: Problem, *, ratio: float = 0.0) -> QVTables:
    """Where the expected update of the rule `name` rests; `ratio` is β/α of Soft RDQ."""
    mdp, b = problem.mdp, problem.behaviour
    if name in ("td0", "expected_sarsa", "qv_learning"):
        return evaluate(mdp, b)
    if name == "qvmax":
        return ops.solve_qvmax(mdp, b).values
    if name == "soft_rdq" and ratio > 0:
        return ops.solve_soft_rdq(mdp, b, ratio=ratio).values
    return optimum(mdp)


def generator(name: str, problem: Problem, *, ratio: float = 0.0) -> Floats:
    """G ``[N, N]`` of the rule `name`, restricted to the values that are ever updated.

    The values are (Q, V) for the QV family, (V, A) for Soft RDQ, V for TD(0), Q for the rest.
    Among equally good actions the greedy policy takes the first. Without a penalty Soft RDQ is Hard
    RDQ.
    """
    name = "hard_rdq" if name == "soft_rdq" and ratio == 0 else name
    greedy = fixed_point(name, problem, ratio=ratio).q.argmax(axis=1)
    expect = functools.partial(ops.E_pi, np.eye(problem.mdp.num_actions)[greedy])
    visited = _visited(name, problem)
    update = functools.partial(_flat_update, name, problem, expect=expect, ratio=ratio)
    zero = update(np.zeros(visited.size))
    columns = [update(unit) - zero for unit in np.eye(visited.size)]
    kept = np.flatnonzero(visited)
    return -np.array(columns).T[np.ix_(kept, kept)]


def rate(name: str, problem: Problem, step_size: float, *, beta: float = 0.0) -> Rate:
    """The slowest mode and the spectral radius of the rule `name` at a step size."""
    eigenvalues = np.linalg.eigvals(generator(name, problem, ratio=beta / step_size))
    radius = np.abs(1 - step_size * eigenvalues).max()
    return Rate(slowest=float(eigenvalues.real.min()), radius=float(radius))


def _flat_update(
    name: str, problem: Problem, vector: Floats, *, expect: Expectation, ratio: float
) -> Floats:
    """The expected update per unit of α, flattened, at tables given flattened as `vector`."""
    if name in CENTRED:
        q = vector.reshape(problem.mdp.r.shape)
        start = ops.dueling_q_limit(q)  # any decomposition of q will do
        change = expected_update(name, problem, start, 1.0, expect=expect)
        return ops.read_out(change, CENTRED[name]).ravel()
    zeros = zero_tables(name, problem)
    parts = np.split(vector, np.cumsum([zero.size for zero in zeros])[:-1])
    shaped = (part.reshape(zero.shape) for part, zero in zip(parts, zeros, strict=True))
    tables = TABLES[name](*shaped)
    change = expected_update(name, problem, tables, 1.0, beta=ratio, expect=expect)
    return np.concatenate([part.ravel() for part in change])


def _visited(name: str, problem: Problem) -> np.ndarray:
    """Which flattened values are ever updated."""
    states = problem.visits > 0
    pairs = (problem.visits[:, None] * problem.behaviour > 0).ravel()
    if name in CENTRED or name == "soft_rdq":  # a visit to s updates every action's value
        pairs = np.repeat(states, problem.mdp.num_actions)
    fields = ("q",) if name in CENTRED else TABLES[name]._fields
    return np.concatenate([states if field == "v" else pairs for field in fields])


def expected_curve(
    name: str,
    problem: Problem,
    step_size: float,
    *,
    steps: int,
    record_every: int,
    tables: Any = None,
) -> Floats:
    """Q (or V) ``[points, ...]`` of the expected update, iterated from `tables` (zero if None)."""
    tables = zero_tables(name, problem) if tables is None else tables
    points = [read_out(name, tables)]
    for step in range(1, steps + 1):
        change = expected_update(name, problem, tables, step_size)
        tables = type(tables)(*(x + dx for x, dx in zip(tables, change, strict=True)))
        if step % record_every == 0:
            points.append(read_out(name, tables))
    return np.array(points)
