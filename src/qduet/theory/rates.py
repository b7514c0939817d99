"""How fast each rule learns in expectation: the spectrum of its expected update.

Near its fixed point the greedy policy no longer changes and the expected update of `expected.py` is
affine, y ← y + α (c − G y), so errors shrink by I − α G. `generator` is G, on the values that are
visited; `rate` its slowest mode. On the paper's 4-state MDP with n actions (d = 1/4, b = 1/n) the
slowest mode of G is, in closed form,

    Expected Sarsa, Q-learning   (1−γ) / 4n
    QV-learning                  min(1−γ, 1/n) / 4
    Dueling Q-learning           min(1−γ, 1/n) / 4
    Hard RDQ                     min((1−γ)(n+1)/n, 1/n) / 4
    BC-QVMAX, QVMAX              λ/4 with (λ − 1/n)(λ − 1) = γ/n, γ²/n

The error common to all values is the slow one, because bootstrapping undoes all but 1−γ of each
correction. One table corrects each of n entries once in n visits. A learned V corrects it at every
visit, so QV-learning and AV-learning are n times faster (n+1 for Hard RDQ) until 1/n is slower than
1−γ. BC-QVMAX has to pass the error through V *and* through Q, and ends up slower than Q-learning,
by about n/(n+1).
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qduet.core.xla import native_function
from qduet.tabular import operators as ops
from qduet.tabular.experience import World, draw_seed, trajectory
from qduet.tabular.mdp import evaluate, optimum
from qduet.tabular.rules import Rule
from qduet.tabular.tables import AVTables, Floats, QVTables
from qduet.theory.expected import TABLES, expected_update, read_out
from qduet.theory.problems import Problem, check_is_problem

CENTRED = {"dueling_q": True, "hard_rdq": False}
"""The AV rules whose expected update is a map of Q alone; (V, A) adds only what never changes."""


class Rate(NamedTuple):
    """How an expected update behaves near its fixed point."""

    slowest: float
    """The smallest real part of an eigenvalue of G; unstable for every step size if negative."""
    radius: float
    """The spectral radius of I − α G: what the error shrinks by in one step, in the end."""

    @property
    def steps_per_fold(self) -> float:
        """Steps in which the slowest error shrinks by e; ∞ if it does not."""
        return float(-1 / np.log(self.radius)) if 0 < self.radius < 1 else np.inf


def fixed_point(name: str, problem: Problem, *, ratio: float = 0.0) -> QVTables:
    """Where the expected update of the rule `name` rests; `ratio` is β/α of Soft RDQ."""
    check_is_problem(problem)
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

    N counts Q for Q-learning, Dueling and Hard RDQ, (Q, V) for the QV family, (V, A) for Soft RDQ.
    Among equally good actions the greedy policy takes the first. Without a penalty Soft RDQ is Hard
    RDQ.
    """
    name = "hard_rdq" if name == "soft_rdq" and ratio == 0 else name
    greedy = fixed_point(name, problem, ratio=ratio).q.argmax(axis=1)
    expect = functools.partial(ops.E_pi, np.eye(problem.mdp.num_actions)[greedy])
    zero = _flat(name, problem, None, expect, ratio)
    columns = [_flat(name, problem, basis, expect, ratio) - zero for basis in np.eye(zero.size)]
    kept = np.flatnonzero(_visited(name, problem))
    return -np.array(columns).T[np.ix_(kept, kept)]


def rate(name: str, problem: Problem, step_size: float, *, beta: float = 0.0) -> Rate:
    """The slowest mode and the spectral radius of the rule `name` at a step size."""
    eigenvalues = np.linalg.eigvals(generator(name, problem, ratio=beta / step_size))
    radius = np.abs(1 - step_size * eigenvalues).max()
    return Rate(slowest=float(eigenvalues.real.min()), radius=float(radius))


def mean_square_radius(name: str, problem: Problem, step_size: float) -> float:
    """What E[e eᵀ] grows by in one step of sampled updates, e the error of Q near q_*.

    For Q-learning, Dueling and Hard RDQ on independent transitions, and for the values that are
    ever updated. One update makes e ← (I + α u xᵀ) e, with u what it spreads over Q(S,·) and x that
    transition's TD error as a function of e. The result is the largest eigenvalue of
    X ↦ E[(I + α u xᵀ) X (I + α u xᵀ)ᵀ]. Where it exceeds 1 the variance explodes, though the mean
    may be stable. Near 1 the next eigenvalues are so close that power iteration would need tens of
    thousands of steps; Arnoldi's method does not.
    """
    from scipy.sparse.linalg import LinearOperator, eigs  # slow to import

    mdp = problem.mdp
    num_actions = mdp.num_actions
    spill = {"q_learning": 0.0, "dueling_q": 1 - 1 / num_actions, "hard_rdq": 1.0}[name]
    weight = problem.visits[:, None, None] * problem.behaviour[:, :, None] * mdp.p
    state, action, after = np.nonzero(weight)
    greedy = optimum(mdp).q.argmax(axis=1)
    unit_of = lambda s, a: np.eye(mdp.r.size)[s * num_actions + a]
    within = np.kron(np.eye(mdp.num_states), np.ones(num_actions))[state]
    spread = unit_of(state, action) + spill * within
    error = mdp.discount * unit_of(after, greedy[after]) - unit_of(state, action)
    kept = np.flatnonzero(_visited(name, problem))  # what never changes would grow by 1
    spread, error, size = spread[:, kept], error[:, kept], kept.size
    spread_by = step_size * weight[state, action, after] * spread.T

    def after_a_step(flat: Floats) -> Floats:
        moments = flat.reshape(size, size)
        left, right = error @ moments, error @ moments.T
        twice = step_size * ((left * error).sum(axis=1) * spread_by) @ spread
        return (moments + spread_by @ left + (spread_by @ right).T + twice).ravel()

    start = np.eye(size).ravel()
    if size == 1:
        return float(after_a_step(start)[0])
    operator = LinearOperator((size**2, size**2), matvec=after_a_step, dtype=float)
    return float(abs(eigs(operator, k=1, v0=start, return_eigenvectors=False)[0]))


def _flat(
    name: str, problem: Problem, vector: Floats | None, expect: ops.Expectation, ratio: float
) -> Floats:
    """The expected update per unit of α, flattened, at the tables that `vector` flattens (or 0)."""
    mdp = problem.mdp
    if name in CENTRED:
        q = np.zeros(mdp.r.size) if vector is None else vector
        start = ops.dueling_q_limit(q.reshape(mdp.r.shape))  # any decomposition of q will do
        change = expected_update(name, problem, start, 1.0, expect=expect)
        return ops.read_out(AVTables(*change), CENTRED[name]).ravel()
    kind = TABLES[name]
    shapes = [(mdp.num_states,) if f == "v" else mdp.r.shape for f in kind._fields]
    sizes = [int(np.prod(shape)) for shape in shapes]
    vector = np.zeros(sum(sizes)) if vector is None else vector
    parts = np.split(vector, np.cumsum(sizes)[:-1])
    tables = kind(*(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)))
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


# --- Error curves: expected, and simulated -------------------------------------------------------


def expected_curve(
    name: str,
    problem: Problem,
    step_size: float,
    *,
    steps: int,
    record_every: int,
    tables: Any = None,
    beta: float = 0.0,
) -> Floats:
    """Q (or V) ``[points, ...]`` of the expected update, iterated from `tables` (zero if None)."""
    mdp = problem.mdp
    zeros = {"v": np.zeros(mdp.num_states)}
    if tables is None:
        kind = TABLES[name]
        tables = kind(*(zeros.get(field, np.zeros(mdp.r.shape)) for field in kind._fields))
    points = [read_out(name, tables)]
    for step in range(1, steps + 1):
        change = expected_update(name, problem, tables, step_size, beta=beta)
        tables = type(tables)(*(x + dx for x, dx in zip(tables, change, strict=True)))
        if step % record_every == 0:
            points.append(read_out(name, tables))
    return np.array(points)


def simulated_curve(
    rule: Rule, problem: Problem, step_size: float, *, steps: int, record_every: int, seeds: int
) -> Floats:
    """The mean of Q (or V) over seeds, ``[points, ...]``, of the sampled rule from zero."""
    mdp = problem.mdp
    world = World.of(mdp, problem.behaviour, np.float32)

    @native_function
    def learn(tables: Any, experience: Any) -> Any:
        step = lambda tables, t: (rule.update(tables, t, np.float32(step_size)), None)
        return jax.lax.scan(step, tables, experience)[0]

    def block(tables: Any, experience: Any) -> tuple[Any, jax.Array]:
        tables = learn(tables, experience)
        return tables, rule.read_out(tables)

    @jax.jit
    def run(draws: Any) -> jax.Array:
        experience = trajectory(world, draws)
        blocks = jax.tree.map(lambda x: x.reshape(-1, record_every), experience)
        tables = rule.init(draws.v, draws.adv)
        return jnp.concatenate(
            [rule.read_out(tables)[None], jax.lax.scan(block, tables, blocks)[1]]
        )

    total: Any = 0.0
    for seed in range(seeds):
        draws = draw_seed(seed, mdp, steps, 0.0, np.float32)
        total = total + np.asarray(run(jax.tree.map(jnp.asarray, draws)), np.float64)
    return np.asarray(total / seeds)
