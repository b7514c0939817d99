"""The claims about Dueling Q-learning, Hard RDQ and Soft RDQ (section 4 of the paper).

With X the matrix of ∂Q(s,·)/∂(V, A)(s), [1 | I] for RDQ and [1 | I − 11ᵀ/|A|] for Dueling, an AV
rule moves Q by X Xᵀ times what Q-learning would move it by: X Xᵀ = I + κ 11ᵀ, κ = 1 for RDQ and
1 − 1/|A| for Dueling. That mixes the actions of a state. It is why these rules are fast, and why
they need not converge.
"""

from typing import Any

import numpy as np

from qduet.tabular import operators as ops
from qduet.tabular.mdp import AVTables, Floats, four_state
from qduet.tabular.values import optimum
from qduet.theory.check import TOLERANCE, Check, Evidence, at_most, conclude, equal, exceeds
from qduet.theory.expected import expected_curve, rate
from qduet.theory.problems import Problem, problem_of, ring


def minimum_norm(problem: Problem) -> Check:
    """Hard RDQ ends nearest to its start: V = (Σ_a q_* + c)/(|A|+1) with c = V_0 − Σ_a A_0.

    From zero that is the decomposition of q_* of minimum norm, with V = Σ_a A (eq. 15). It is
    checked against the pseudo-inverse of X. Dueling ends at the nearest point too, of *its* set of
    solutions: V = mean_a q_* (not v_*), and from zero its squared norm is V²/(|A|+1) larger. Both
    need b(a|s) > 0 everywhere, and both assume that Q → q_*.
    """
    mdp, b = problem.mdp, problem.behaviour
    q = optimum(mdp).q
    rng = np.random.default_rng([problem.seed, 6])
    scale = float(np.abs(q).max())
    start = AVTables(3 * rng.normal(size=mdp.num_states), 3 * rng.normal(size=q.shape))
    zero = AVTables(np.zeros(mdp.num_states), np.zeros(q.shape))
    evidence = []
    for name, limit, operator in (
        ("hard", ops.hard_rdq_limit, ops.hard_rdq),
        ("dueling", ops.dueling_q_limit, ops.dueling_q),
    ):
        end, from_zero = limit(q, start), limit(q, zero)
        evidence += [
            equal(f"{name}: fixed", _flat(operator(mdp, b, end)), _flat(end), scale),
            equal(f"{name}: nearest", _flat(end), _flat(_nearest(name, q, start)), scale),
            equal(f"{name}: norm", _flat(from_zero), _flat(_nearest(name, q, zero)), scale),
        ]
    small, large = ops.hard_rdq_limit(q, zero), ops.dueling_q_limit(q, zero)
    gain = large.v**2 / (mdp.num_actions + 1)
    evidence += [
        equal("hard: V = Σ A", small.v, small.adv.sum(axis=1), scale),
        equal("dueling: V = mean q_*", large.v, q.mean(axis=1), scale),
        equal("norms differ by V²/(|A|+1)", _norm(large) - _norm(small), gain, scale**2),
    ]
    return conclude("minimum_norm", *evidence)


def soft_rdq_fixed_point(problem: Problem) -> Check:
    """Soft RDQ has one fixed point for each ρ = β/α; its bias; stationarity of the penalised loss.

    It satisfies V = Σ_a A. It is a stationary point of ½ Σ_a b(a) (target − V − A)² plus ρ times
    the penalty (eq. 12), with the target held. With w = ρ/(ρ+b) and c < 1 the modulus,

        ‖q − q_*‖ ≤ ‖w (q_* − Σ_a q_*/(|A|+1))‖ / (1 − c) → 0   as ρ → 0.

    Since ρ = β/α, annealing α with β held drives every value to 0, not to q_*.
    """
    mdp, b = problem.mdp, problem.behaviour
    q_best = optimum(mdp).q
    scale = max(1.0, float(np.abs(q_best).max()))
    shrunk = q_best - ops.hard_rdq_limit(q_best).v[:, None]
    evidence = []
    for ratio in (1e-3, 0.1):
        solution = ops.solve_soft_rdq(mdp, b, ratio=ratio)
        q, v = solution.values
        y = AVTables(v, q - v[:, None])
        modulus = ops.soft_rdq_modulus(mdp, b, ratio=ratio)
        bound = np.abs(ratio / (ratio + b) * shrunk).max() / (1 - modulus)
        bias = np.abs(q - q_best).max()
        moved = ops.soft_rdq(mdp, b, y, ratio=ratio)
        evidence += [
            equal("certified error", solution.error_bound, 0.0, scale / (1 - modulus)),
            equal("(V, A) is fixed", _flat(moved), _flat(y), scale),
            equal("V = Σ A", y.v, y.adv.sum(axis=1), scale),
            _stationary(problem, y, ratio, scale),
            at_most("bias within its bound", bias, bound, scale / (1 - modulus)),
        ]
    vanished = np.abs(ops.solve_soft_rdq(mdp, b, ratio=1e9).values.q).max()
    evidence.append(Evidence("β/α → ∞: Q → 0", float(vanished), 1e-6 * scale))
    return conclude("soft_rdq_fixed_point", *evidence)


def kappas(num_actions: int) -> dict[str, float]:
    """κ in X Xᵀ = I + κ 11ᵀ, by rule."""
    return {"dueling_q": 1 - 1 / num_actions, "hard_rdq": 1.0}


def av_on_policy_stable(problem: Problem, *, target: Floats | None = None) -> Check:
    """On-policy, the expected AV update is stable: G = X Xᵀ W (I − γ P E_b) damps all errors.

    That needs the target policy to be b, and states to be updated as often as b visits them:
    γ d P_b ≤ d, as for a stationary d, or here for the discounted d of uniform restarts. Then
    errors shrink in the norm of (X Xᵀ)⁻¹, at a rate of at least (1 − √γ) min d b. Q-learning's
    greedy `target` is not b, and the update need not be stable: see `av_off_policy_unstable`.
    """
    mdp, b = problem.mdp, problem.behaviour
    policy = b if target is None else target
    chain = np.einsum("ij,ijk->ik", b, mdp.p)
    system = np.eye(mdp.num_states) - mdp.discount * chain.T
    visits = np.linalg.solve(system, np.full(mdp.num_states, (1 - mdp.discount) / mdp.num_states))
    weight = (visits[:, None] * b).ravel()
    backup = np.einsum("ijk,kl->ijkl", mdp.p, policy).reshape(mdp.r.size, mdp.r.size)
    bellman = weight[:, None] * (np.eye(mdp.r.size) - mdp.discount * backup)
    bound = (1 - np.sqrt(mdp.discount)) * weight.min()
    within = np.kron(np.eye(mdp.num_states), np.ones((mdp.num_actions,) * 2))
    evidence = []
    for name, kappa in kappas(mdp.num_actions).items():
        # (I + κ 11ᵀ)^½ turns X Xᵀ N into the similar matrix R N R, whose symmetric part decides.
        root = (np.sqrt(1 + kappa * mdp.num_actions) - 1) / mdp.num_actions
        similar = np.eye(mdp.r.size) + root * within
        similar = similar @ bellman @ similar
        smallest = np.linalg.eigvalsh(similar + similar.T).min() / 2
        evidence.append(exceeds(f"{name}: damping", smallest + 1e-15, bound))
    return conclude("av_on_policy_stable", *evidence)


def ring_slowest(num_states: int, num_actions: int, discount: float, kappa: float) -> float:
    """The slowest mode on the ring, from one 2 × 2 matrix per Fourier mode ω.

    An error (e₀, e₁) ω^s of the forward and the backward actions has the TD errors
    δ₀ = (γω − 1) e₀ and δ₁ = γ ω⁻¹ e₀ − e₁, and each entry moves by its own, plus κ times their sum
    over the n actions, all times 1/n and d = 1/S.
    """
    slowest = np.inf
    for k in range(num_states):
        omega = np.exp(2j * np.pi * k / num_states)
        errors = np.array([[discount * omega - 1, 0], [discount / omega, -1]])
        total = errors[0] + (num_actions - 1) * errors[1]
        eigenvalues = np.linalg.eigvals(-(errors + kappa * total) / num_actions / num_states)
        slowest = min(slowest, eigenvalues.real.min())
    return float(min(slowest, 1 / num_actions / num_states))


def av_off_policy_unstable() -> Check:
    """Off-policy, AV rules can diverge: on a ring, with uniform behaviour, from |Q| ≤ 0.01.

    The expected update of Dueling and of Hard RDQ is unstable at q_* for *every* step size: their
    generators have an eigenvalue with negative real part, equal to the closed form `ring_slowest`.
    Q-learning and BC-QVMAX are stable on the same problem. Not in the paper.
    """
    mdp = ring()
    num_states, num_actions = mdp.r.shape
    problem = problem_of(mdp)
    q = np.where(np.arange(num_actions) == 0, 0.0, -1.0) * np.ones((num_states, 1))
    wave = 0.01 * np.sin(2 * np.pi * np.arange(num_states) / num_states)
    evidence = [equal("q_* of the ring", optimum(mdp).q, q)]
    for name, kappa in kappas(num_actions).items():
        slowest = rate(name, problem, 0.1).slowest
        closed = ring_slowest(num_states, num_actions, mdp.discount, kappa)
        curve = expected_curve(
            name, problem, 0.5, steps=10_000, record_every=10_000, tables=AVTables(wave, 0.0 * q)
        )
        evidence += [
            equal(f"{name}: closed form", slowest, closed),
            exceeds(f"{name}: unstable", -slowest, 1e-4),
            exceeds(f"{name}: error grew ×100", np.abs(curve[-1] - q).max(), 100.0),
        ]
    for name in ("q_learning", "bc_qvmax"):
        evidence.append(exceeds(f"{name}: stable", rate(name, problem, 0.1).slowest, 1e-9))
    return conclude("av_off_policy_unstable", *evidence)


def closed_form_modes(n: int, discount: float) -> dict[str, float]:
    """The slowest mode of each rule on the 4-state MDP with n actions (see `expected`)."""
    lag = 1 - discount
    through = lambda product: (1 + 1 / n - np.sqrt((1 - 1 / n) ** 2 + 4 * product)) / 2
    modes = {
        "expected_sarsa": lag / n,
        "q_learning": lag / n,
        "qv_learning": min(lag, 1 / n),
        "qvmax": through(discount**2 / n),
        "bc_qvmax": through(discount / n),
        "dueling_q": min(lag, 1 / n),
        "hard_rdq": min(lag * (n + 1) / n, 1 / n),
    }
    return {name: float(mode) / 4 for name, mode in modes.items()}


def slowest_modes() -> Check:
    """The slowest mode of each rule on the 4-state MDP is the closed form, for 2–18 actions.

    So QV-learning is |A| times faster than Expected Sarsa, Dueling |A| and Hard RDQ |A|+1 times
    faster than Q-learning, while 1/|A| > 1 − γ; BC-QVMAX is slower than Q-learning.
    """
    evidence = []
    for n in (2, 6, 10, 14, 18):
        for name, stated in closed_form_modes(n, 0.99).items():
            kind = "on-policy" if name in ("expected_sarsa", "qv_learning") else "qvmax"
            computed = rate(name, problem_of(four_state(kind, n)), 0.1)
            evidence.append(equal(f"{name}, {n} actions", computed.slowest, stated))
            evidence.append(equal(f"{name}, {n}: radius", computed.radius, 1 - 0.1 * stated))
    return conclude("slowest_modes", *evidence)


# --- Shared --------------------------------------------------------------------------------------


def _flat(y: AVTables) -> Floats:
    return np.concatenate([y.v[:, None], y.adv], axis=1)


def _norm(y: AVTables) -> Floats:
    return np.asarray((_flat(y) ** 2).sum(axis=1))


def _nearest(name: str, q: Floats, start: AVTables) -> AVTables:
    """The (V, A) nearest to `start` that reads out as q, by the pseudo-inverse of X."""
    n = q.shape[1]
    centring = np.eye(n) - (1 / n if name == "dueling" else 0.0)
    features = np.concatenate([np.ones((n, 1)), centring], axis=1)
    origin = _flat(start)
    end = origin + (q - origin @ features.T) @ np.linalg.pinv(features).T
    return AVTables(end[:, 0], end[:, 1:])


def _stationary(problem: Problem, y: AVTables, ratio: float, scale: float) -> Evidence:
    """The penalised loss does not change to first order along random directions from y.

    It is quadratic with the target held, so its central difference is exact at any width.
    """
    mdp, b = problem.mdp, problem.behaviour
    target = ops.T(mdp, ops.read_out(y))

    def loss(y: Any) -> float:
        fit = (b * (target - y[:, :1] - y[:, 1:]) ** 2).sum()
        return float(fit + ratio * (y**2).sum()) / 2

    rng = np.random.default_rng([problem.seed, 7])
    at, slopes = _flat(y), []
    for _ in range(4):
        direction = rng.normal(size=at.shape)
        slopes.append(loss(at + direction) - loss(at - direction))
    return Evidence("stationary", max(map(abs, slopes)), TOLERANCE * max(1.0, loss(at)) * scale)
