"""The paper's operators on exact values, and the fixed points of every algorithm.

Three fundamental operators (Table "Fundamental operators for MDPs"), on ``v[S]`` and ``q[S, A]``:

    (P v)(s,a)  = Σ_s' p(s'|s,a) v(s')          `P`     R^S  → R^SA
    (E_π q)(s)  = Σ_a π(a|s) q(s,a)             `E_pi`  R^SA → R^S
    (E q)(s)    = max_a q(s,a)                  `E`     R^SA → R^S

give the Bellman operators T_π q = r + γ P E_π q, T_π v = E_π (r + γ P v), and T with E for E_π.

The joint operators of the QV family act on y = (q, v). Behaviour is b throughout:

    QV-learning   q ← r + γ P v      v ← E_b (r + γ P v)          affine: y ← **b** + **A** y
    QVMAX         q ← r + γ P v      v ← E_b (r + γ P E q)
    BC-QVMAX      q ← r + γ P v      v ← E q

Those of the AV family act on (V, A): one expected step of size 1 at every state, along the
semi-gradient of ½ δ² through the read-out Q, with the mean TD error D = T Q − Q:

    Hard RDQ      V ← V + E_b D            A ← A + b ∘ D                      Q = V + A
    Dueling       V ← V + E_b D            A ← A + b ∘ D − (1/|A|) E_b D      Q = V + A − mean(A)
    Soft RDQ      V ← V + E_b D − ρ V      A ← A + b ∘ D − ρ A                Q = V + A

with ρ = β/α: eq. 13 and 14 shrink by β, not by αβ, so their fixed point depends on the *ratio* of
penalty and step size. A terminal state is absorbing and pays nothing; its values must be 0.

Fixed points are solved linearly where the operator is affine, and otherwise by policy iteration:
linear solves, one per greedy policy. Each comes with a bound ‖y − y_∞‖ ≤ ‖H y − y‖ / (1 − c) on its
distance to the true one, c being the modulus of contraction.

    >>> mdp = four_state("qvmax", num_actions=18)
    >>> solve_qvmax(mdp, uniform_policy(mdp)).values.v.round(3)  # v_* is 100
    array([52.541, 52.541, 52.541, 52.541])
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qduet.tabular.mdp import MDP, AVTables, Floats, QVTables
from qduet.tabular.values import FixedPoint, expected_next, policy_iteration

Expectation = Callable[[Floats], Floats]
"""``q[S, A] -> [S]``: E, or E_π of a fixed policy, which makes the operators affine."""


# --- Fundamental and Bellman operators -----------------------------------------------------------


def P(mdp: MDP, v: Floats) -> Floats:
    """(P v)(s,a) = Σ_s' p(s'|s,a) v(s'), ``[S, A]``."""
    return expected_next(mdp, v)


def E_pi(policy: Floats, q: Floats) -> Floats:
    """(E_π q)(s) = Σ_a π(a|s) q(s,a), ``[S]``."""
    return np.einsum("ij,ij->i", policy, q)


def E(q: Floats) -> Floats:
    """(E q)(s) = max_a q(s,a), ``[S]``."""
    return q.max(axis=1)


def T_pi(mdp: MDP, policy: Floats, values: Floats) -> Floats:
    """T_π q = r + γ P E_π q for ``[S, A]``, T_π v = E_π (r + γ P v) for ``[S]`` (eq. 1, 4)."""
    return T(mdp, values, functools.partial(E_pi, policy))


def T(mdp: MDP, values: Floats, expect: Expectation = E) -> Floats:
    """T q = r + γ P E q for ``[S, A]``, T v = E (r + γ P v) for ``[S]``."""
    if values.ndim == 2:
        return mdp.r + mdp.discount * P(mdp, expect(values))
    return expect(mdp.r + mdp.discount * P(mdp, values))


# --- QV-learning: joint operators on (q, v) ------------------------------------------------------


def qv_learning(mdp: MDP, behaviour: Floats, y: QVTables, expect: Expectation = E) -> QVTables:
    """H of QV-learning (eq. 5, 6): q ← r + γ P v, v ← E_b (r + γ P v)."""
    backup = mdp.r + mdp.discount * P(mdp, y.v)
    return QVTables(q=backup, v=E_pi(behaviour, backup))


def qvmax(mdp: MDP, behaviour: Floats, y: QVTables, expect: Expectation = E) -> QVTables:
    """H of QVMAX (eq. 5, 7): q ← r + γ P v, v ← E_b (r + γ P E q)."""
    backup = mdp.r + mdp.discount * P(mdp, y.v)
    return QVTables(q=backup, v=E_pi(behaviour, T(mdp, y.q, expect)))


def bc_qvmax(mdp: MDP, behaviour: Floats, y: QVTables, expect: Expectation = E) -> QVTables:
    """H of BC-QVMAX (eq. 5, 10): q ← r + γ P v, v ← E q."""
    return QVTables(q=mdp.r + mdp.discount * P(mdp, y.v), v=expect(y.q))


class Affine(NamedTuple):
    """The map y ↦ b + A y on y = (q, v) as one vector, q first, in row-major order."""

    b: Floats
    """``[SA + S]``"""
    A: Floats
    """``[SA + S, SA + S]``"""


def qv_learning_affine(mdp: MDP, behaviour: Floats) -> Affine:
    """Theorem 1's **b** = (r, E_b r) and **A** = γ [[0, P], [0, E_b P]], as explicit arrays."""
    pairs = mdp.num_states * mdp.num_actions
    p = mdp.p.reshape(pairs, -1)
    matrix = np.zeros((pairs + mdp.num_states,) * 2)
    matrix[:pairs, pairs:] = mdp.discount * p
    matrix[pairs:, pairs:] = mdp.discount * np.einsum("ij,ijk->ik", behaviour, mdp.p)
    return Affine(b=np.concatenate([mdp.r.ravel(), E_pi(behaviour, mdp.r)]), A=matrix)


def joint(y: QVTables) -> Floats:
    """(q, v) as one vector ``[SA + S]``."""
    return np.concatenate([y.q.ravel(), y.v])


def split(mdp: MDP, vector: Floats) -> QVTables:
    """The inverse of `joint`."""
    pairs = mdp.num_states * mdp.num_actions
    return QVTables(q=vector[:pairs].reshape(mdp.num_states, mdp.num_actions), v=vector[pairs:])


# --- AV-learning: operators on (V, A) ------------------------------------------------------------


def read_out(y: AVTables, centred: bool = False) -> Floats:
    """Q = V + A (eq. 11), or V + A − mean(A) when centred (eq. 8); any axes may stand in front."""
    mean = y.adv.mean(axis=-1) if centred else 0.0
    return np.asarray((y.v - mean)[..., None] + y.adv)


def hard_rdq(mdp: MDP, behaviour: Floats, y: AVTables, expect: Expectation = E) -> AVTables:
    """Hard RDQ: V ← V + E_b D, A ← A + b ∘ D, with D = T Q − Q and Q = V + A."""
    q = read_out(y)
    error = behaviour * (T(mdp, q, expect) - q)
    return AVTables(v=y.v + error.sum(axis=1), adv=y.adv + error)


def dueling_q(mdp: MDP, behaviour: Floats, y: AVTables, expect: Expectation = E) -> AVTables:
    """Dueling: V ← V + E_b D, A ← A + b ∘ D − (1/|A|) E_b D, with Q = V + A − mean(A)."""
    q = read_out(y, centred=True)
    error = behaviour * (T(mdp, q, expect) - q)
    return AVTables(
        v=y.v + error.sum(axis=1), adv=y.adv + error - error.mean(axis=1, keepdims=True)
    )


def soft_rdq(
    mdp: MDP, behaviour: Floats, y: AVTables, expect: Expectation = E, *, ratio: float = 0.0
) -> AVTables:
    """Soft RDQ (eq. 13, 14): Hard RDQ, minus ρ (V, A) with ρ = β/α the `ratio`."""
    step = hard_rdq(mdp, behaviour, y, expect)
    return AVTables(v=step.v - ratio * y.v, adv=step.adv - ratio * y.adv)


# --- Fixed points --------------------------------------------------------------------------------


def distance(x: QVTables, y: QVTables) -> float:
    """‖x − y‖_max over both value functions."""
    return float(max(np.abs(x.q - y.q).max(), np.abs(x.v - y.v).max()))


def solve_qvmax(mdp: MDP, behaviour: Floats) -> FixedPoint:
    """QVMAX: v = E_b (r + γ P E (r + γ P v)), q = r + γ P v. Its operator contracts by γ.

    So v is the best value that can be had when b chooses every other action, beginning now.
    """
    first = np.einsum("ij,ijk->ik", behaviour, mdp.p)
    rows = np.arange(mdp.num_states)

    def solve(greedy: NDArray[np.intp]) -> Floats:
        two_steps = first @ mdp.p[rows, greedy]
        reward = E_pi(behaviour, mdp.r + mdp.discount * P(mdp, mdp.r[rows, greedy]))
        v = np.linalg.solve(np.eye(rows.size) - mdp.discount**2 * two_steps, reward)
        return mdp.r + mdp.discount * P(mdp, v)

    q = policy_iteration(solve, mdp.r)
    y = QVTables(q=q, v=E_pi(behaviour, T(mdp, q)))
    return _certify(y, qvmax(mdp, behaviour, y), mdp.discount)


def solve_bc_qvmax(mdp: MDP) -> FixedPoint:
    """BC-QVMAX: q = T q, v = E q, whatever b; Proposition 2 says that it is (q_*, v_*)."""
    rows = np.arange(mdp.num_states)

    def solve(greedy: NDArray[np.intp]) -> Floats:
        system = np.eye(rows.size) - mdp.discount * mdp.p[rows, greedy]
        return mdp.r + mdp.discount * (mdp.p @ np.linalg.solve(system, mdp.r[rows, greedy]))

    q = policy_iteration(solve, mdp.r)
    return _certify(QVTables(q, E(q)), QVTables(T(mdp, q), E(q)), mdp.discount)


def soft_rdq_map(mdp: MDP, behaviour: Floats, q: Floats, *, ratio: float) -> Floats:
    """Maps q to (1 − w) T q + w Σq/(|A|+1), w = ρ/(ρ + b): same fixed point as Soft RDQ.

    (V, A) is fixed under eq. 13 and 14 iff ρ V = E_b D and ρ A = b ∘ D, that is, iff V = Σ_a A and
    q = V + A satisfies this. A max-norm contraction: w mixes γ with |A|/(|A|+1) < 1.
    """
    weight = ratio / (ratio + behaviour)
    v = q.sum(axis=1, keepdims=True) / (mdp.num_actions + 1)
    return (1 - weight) * T(mdp, q) + weight * v


def soft_rdq_modulus(mdp: MDP, behaviour: Floats, *, ratio: float) -> float:
    """How `soft_rdq_map` contracts: the largest (1 − w) γ + w |A|/(|A|+1) of any (s,a)."""
    weight = ratio / (ratio + behaviour)
    share = mdp.num_actions / (mdp.num_actions + 1)
    return float(((1 - weight) * mdp.discount + weight * share).max())


def solve_soft_rdq(mdp: MDP, behaviour: Floats, *, ratio: float) -> FixedPoint:
    """Soft RDQ for ρ = β/α > 0: V = Σ_a A = Σ_a q/(|A|+1), with q of `soft_rdq_map`."""
    num_states, num_actions = mdp.r.shape
    rows = np.arange(num_states)
    weight = ratio / (ratio + behaviour)
    # q = (1 − w)(r + γ P u) + w V is known once u(s) = q(s, greedy) and V = Σ_a q/(|A|+1) are.
    given = (1 - weight) * mdp.r
    through_u = ((1 - weight) * mdp.discount)[:, :, None] * mdp.p
    through_v = weight[:, :, None] * np.eye(num_states)[:, None, :]
    by_unknown = np.concatenate([through_u, through_v], axis=2)

    def solve(greedy: NDArray[np.intp]) -> Floats:
        share = 1 / (num_actions + 1)
        matrix = np.concatenate([by_unknown[rows, greedy], share * by_unknown.sum(axis=1)])
        right = np.concatenate([given[rows, greedy], share * given.sum(axis=1)])
        return given + by_unknown @ np.linalg.solve(np.eye(2 * num_states) - matrix, right)

    q = policy_iteration(solve, mdp.r)
    v = q.sum(axis=1) / (num_actions + 1)
    image = soft_rdq_map(mdp, behaviour, q, ratio=ratio)
    return _certify(
        QVTables(q, v), QVTables(image, v), soft_rdq_modulus(mdp, behaviour, ratio=ratio)
    )


def hard_rdq_limit(q: Floats, start: AVTables | None = None) -> AVTables:
    """Where Hard RDQ's (V, A) ends if Q ends at `q`: the decomposition of q nearest to its start.

    Σ_a q = V + Σ_a A + (|A| − 1) V and the invariant c = V − Σ_a A (eq. 15) leave one solution:
    V = (Σ_a q + c) / (|A| + 1), A = q − V. From zero c = 0, and it is the one of minimum norm.
    """
    offset = 0.0 if start is None else start.v - start.adv.sum(axis=1)
    v = (q.sum(axis=1) + offset) / (q.shape[1] + 1)
    return AVTables(v=v, adv=q - v[:, None])


def dueling_q_limit(q: Floats, start: AVTables | None = None) -> AVTables:
    """Where Dueling's (V, A) ends if Q ends at `q`: V = mean_a q, A = q − V + mean(A_0)."""
    v = q.mean(axis=1)
    mean = 0.0 if start is None else start.adv.mean(axis=1, keepdims=True)
    return AVTables(v=v, adv=q - v[:, None] + mean)


def _certify(y: QVTables, image: QVTables, modulus: float) -> FixedPoint:
    return FixedPoint(values=y, error_bound=distance(y, image) / (1 - modulus))
