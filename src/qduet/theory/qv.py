"""The claims about QV-learning, QVMAX and BC-QVMAX (section 3 of the paper)."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from qduet.tabular import operators as ops
from qduet.tabular.mdp import MDP, Floats, QVTables
from qduet.tabular.operators import E_pi, P
from qduet.tabular.values import evaluate, optimum
from qduet.theory.check import TOLERANCE, Check, Evidence, at_most, conclude, equal, exceeds
from qduet.theory.problems import Problem


def qv_contraction(problem: Problem) -> Check:
    """Theorem 1: H y = b + A y, ‖A‖_max = γ, H contracts by γ, its fixed point is (q_b, v_b).

    ‖·‖_max is the norm that the max norm induces on matrices, the largest absolute row sum. Each
    row of A is γ times a distribution, because terminal states are absorbing.
    """
    mdp, b = problem.mdp, problem.behaviour
    values, matrix = evaluate(mdp, b), ops.qv_learning_affine(mdp, b)
    scale = _scale(values)
    pairs = mdp.r.size
    y = next(_random_tables(problem))
    image = matrix.b + matrix.A @ ops.joint(y)
    solution = np.linalg.solve(np.eye(matrix.b.size) - matrix.A, matrix.b)
    radius = np.abs(np.linalg.eigvals(matrix.A[pairs:, pairs:])).max()
    return conclude(
        "qv_contraction",
        equal("H y = b + A y", ops.joint(ops.qv_learning(mdp, b, y)), image),
        equal("rows of A sum to γ", matrix.A.sum(axis=1), mdp.discount),
        equal("‖A‖_max = γ", np.abs(matrix.A).sum(axis=1).max(), mdp.discount),
        equal("nothing bootstraps from Q", matrix.A[:, :pairs], 0.0),
        _contracts(problem, "H contracts by γ", ops.qv_learning, mdp.discount),
        equal("spectral radius γ < 1", radius, mdp.discount),
        equal("(q_b, v_b) is fixed", *_both(ops.qv_learning(mdp, b, values), values), scale),
        equal("(I − A)⁻¹ b = (q_b, v_b)", solution, ops.joint(values), scale),
    )


def qvmax_fixed_point(problem: Problem) -> Check:
    """Proposition 1: (q_*, v_*) is fixed under QVMAX iff E_b (r + γ P v_*) = v_* in every state.

    The paper shows "only if". "If" holds as well, and both follow from an equality that is checked
    here: the distance by which H moves (q_*, v_*) is the largest shortfall v_* − E_b q_*. So b must
    be greedy in every state, visited or not.
    """
    mdp = problem.mdp
    best = optimum(mdp)
    scale = _scale(best)
    greedy = best.q >= best.v[:, None] - TOLERANCE * scale
    rng = np.random.default_rng([problem.seed, 1])
    satisfying = greedy * rng.uniform(0.1, 1.0, size=greedy.shape)
    satisfying /= satisfying.sum(axis=1, keepdims=True)
    worst = np.eye(mdp.num_actions)[best.q.argmin(axis=1)]
    moved = lambda b: ops.distance(ops.qvmax(mdp, b, best), best)
    evidence = [equal("satisfied: (q_*, v_*) is fixed", moved(satisfying), 0.0, scale)]
    for b in (problem.behaviour, 0.9 * satisfying + 0.1 * problem.behaviour, worst):
        shortfall = (best.v - E_pi(b, best.q)).max()
        evidence.append(equal("moved by the shortfall", moved(b), shortfall, scale))
        if shortfall > 1e-6 * scale:
            evidence.append(exceeds("violated: it is moved", moved(b), TOLERANCE * scale))
    return conclude("qvmax_fixed_point", *evidence)


class Bias(NamedTuple):
    """Where QVMAX ends up under a behaviour, and how far off that is."""

    epsilon: float
    """The weight of b in the behaviour; the rest is greedy."""
    shortfall: float
    """max_s v_*(s) − (E_b q_*)(s): how far b is from greedy, in value."""
    bias: float
    """‖q_QVMAX − q_*‖_max."""


def qvmax_biases(
    problem: Problem, epsilons: tuple[float, ...] = (1.0, 0.3, 0.1, 0.03)
) -> list[Bias]:
    """QVMAX's bias under b_ε = (1 − ε) π_* + ε b, for each ε."""
    best = optimum(problem.mdp)
    biases = []
    for epsilon, b in _mixtures(problem, epsilons):
        q = ops.solve_qvmax(problem.mdp, b).values.q
        shortfall = (best.v - E_pi(b, best.q)).max()
        biases.append(Bias(epsilon, float(shortfall), float(np.abs(q - best.q).max())))
    return biases


def qvmax_bias(problem: Problem) -> Check:
    """QVMAX contracts by γ; its fixed point and bias (beyond Proposition 1).

    With g = v_* − E_b q_* ≥ 0 the shortfall of b, the fixed point satisfies

        γ P g ≤ q_* − q ≤ γ ‖g‖ / (1 − γ²)    and    v_b ≤ v ≤ v_*

    and v is the optimal value of the problem in which b takes every other action. So q is unbiased
    iff γ P g = 0. That can hold with g ≠ 0: if γ = 0, or if b errs only in states that nothing
    leads to.
    """
    mdp = problem.mdp
    best = optimum(mdp)
    scale = _scale(best)
    evidence = [_contracts(problem, "H contracts by γ", ops.qvmax, mdp.discount)]
    for _, b in _mixtures(problem, (1.0, 0.1)):
        solution = ops.solve_qvmax(mdp, b)
        y, gap = solution.values, best.v - E_pi(b, best.q)
        below = mdp.discount * P(mdp, gap)
        above = mdp.discount * gap.max() / (1 - mdp.discount**2)
        evidence += [
            equal("certified error", solution.error_bound, 0.0, scale / (1 - mdp.discount)),
            equal("H y = y", *_both(ops.qvmax(mdp, b, y), y), scale),
            at_most("γ P g ≤ q_* − q", below, best.q - y.q, scale),
            at_most("q_* − q ≤ γ‖g‖/(1−γ²)", best.q - y.q, above, scale),
            at_most("v ≤ v_*", y.v, best.v, scale),
            at_most("v_b ≤ v", evaluate(mdp, b).v, y.v, scale),
            equal("v of the alternating problem", _alternating(mdp, b), y.v, scale),
        ]
    return conclude("qvmax_bias", *evidence)


def bc_qvmax_fixed_point(problem: Problem) -> Check:
    """Proposition 2: (q_*, v_*) is the unique fixed point of BC-QVMAX, and iterates reach it.

    The joint operator itself does *not* contract in the max norm: raising q by a constant raises
    v ← E q by as much. Two applications contract by γ, which the paper's unrolling uses. (One
    contracts by √γ in the norm max(‖q‖, √γ ‖v‖).)
    """
    mdp, b = problem.mdp, problem.behaviour
    best = optimum(mdp)
    scale = _scale(best)
    operator = ops.bc_qvmax
    twice = lambda mdp, b, y: operator(mdp, b, operator(mdp, b, y))
    y = next(_random_tables(problem))
    raised = ops.distance(operator(mdp, b, QVTables(y.q + 1, y.v)), operator(mdp, b, y))
    start = ops.distance(y, best)
    for _ in range(10):
        y = twice(mdp, b, y)
    return conclude(
        "bc_qvmax_fixed_point",
        equal("(q_*, v_*) is fixed", *_both(operator(mdp, b, best), best), scale),
        _contracts(problem, "H never expands", operator, 1.0),
        equal("H alone does not contract", raised, 1.0),
        _contracts(problem, "H² contracts by γ", twice, mdp.discount),
        at_most("20 iterates", ops.distance(y, best), mdp.discount**10 * start, scale),
        equal("solved independently", *_both(ops.solve_bc_qvmax(mdp).values, best), scale),
    )


def dependence(problem: Problem, operator: Callable[..., QVTables]) -> Floats:
    """Who bootstraps from whom ``[2, 2]``: how much the new (q, v) depends on the old (q, v).

    These are the induced max norms of the blocks of ∂H/∂(q, v), at random values. `operator` is a
    joint operator H, such as `operators.qvmax`.
    """
    mdp, pairs = problem.mdp, problem.mdp.r.size
    y = next(_random_tables(problem))
    policy = np.eye(mdp.num_actions)[y.q.argmax(axis=1)]
    image = lambda vector: ops.joint(
        operator(mdp, problem.behaviour, ops.split(mdp, vector), lambda q: E_pi(policy, q))
    )
    size = pairs + mdp.num_states
    zero = image(np.zeros(size))
    jacobian = np.abs([image(unit) - zero for unit in np.eye(size)]).T
    halves = (slice(None, pairs), slice(pairs, None))
    norm = lambda block: block.sum(axis=1).max()
    return np.array([[norm(jacobian[to, source]) for source in halves] for to in halves])


def bootstrapping(problem: Problem) -> Check:
    """Figure 2: V feeds V and Q in QV-learning; Q and V feed each other in QVMAX and BC-QVMAX."""
    gamma = problem.mdp.discount
    stated = {
        "qv_learning": [[0.0, gamma], [0.0, gamma]],
        "qvmax": [[0.0, gamma], [gamma, 0.0]],
        "bc_qvmax": [[0.0, gamma], [1.0, 0.0]],
    }
    norms = {name: dependence(problem, getattr(ops, name)) for name in stated}
    return conclude("bootstrapping", *(equal(name, norms[name], stated[name]) for name in stated))


# --- Shared --------------------------------------------------------------------------------------


def _both(x: QVTables, y: QVTables) -> tuple[Floats, Floats]:
    return ops.joint(x), ops.joint(y)


def _scale(values: QVTables) -> float:
    return float(max(1.0, np.abs(values.q).max()))


def _random_tables(problem: Problem) -> Iterator[QVTables]:
    rng = np.random.default_rng([problem.seed, 3])
    while True:
        yield QVTables(
            rng.normal(size=problem.mdp.r.shape), rng.normal(size=problem.mdp.num_states)
        )


def _contracts(
    problem: Problem, what: str, operator: Callable[..., QVTables], modulus: float
) -> Evidence:
    """‖H x − H y‖ ≤ modulus ‖x − y‖ on sampled pairs, and on pairs that differ by a constant."""
    mdp, b = problem.mdp, problem.behaviour
    tables = _random_tables(problem)
    ratios = []
    for _ in range(4):
        x, y = next(tables), next(tables)
        for other in (y, QVTables(x.q + 1.0, x.v + 1.0)):
            moved = ops.distance(operator(mdp, b, x), operator(mdp, b, other))
            ratios.append(moved / ops.distance(x, other))
    return at_most(what, max(ratios), modulus)


def _mixtures(problem: Problem, epsilons: tuple[float, ...]) -> Iterator[tuple[float, Floats]]:
    greedy = np.eye(problem.mdp.num_actions)[optimum(problem.mdp).q.argmax(axis=1)]
    for epsilon in epsilons:
        yield epsilon, (1 - epsilon) * greedy + epsilon * problem.behaviour


def _alternating(mdp: MDP, behaviour: Floats) -> Floats:
    """v_* of the problem on (s, whose turn) in which b and the learner take turns; b begins."""
    half, num_actions = mdp.num_states, mdp.num_actions
    p = np.zeros((2 * half, num_actions, 2 * half))
    p[:half, :, half:] = np.einsum("ij,ijk->ik", behaviour, mdp.p)[:, None, :]
    p[half:, :, :half] = mdp.p
    forced = np.repeat(E_pi(behaviour, mdp.r)[:, None], num_actions, axis=1)
    return optimum(MDP(p, np.concatenate([forced, mdp.r]), mdp.discount)).v[:half]
