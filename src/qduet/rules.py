"""Tabular update rules, written for one transition (S_t, A_t, R_{t+1}, S_{t+1}).

A `Rule` is three pure functions. `init` makes its tables from a shared draw of (V_0, A_0), `update`
learns from one transition, `q` reads off the action values. Everything else (many step sizes, many
seeds, many steps) is ``vmap`` and ``scan`` outside.

    >>> rule = hard_rdq()
    >>> tables = rule.init(jnp.zeros(4), jnp.zeros((4, 2)))
    >>> tables = rule.update(tables, Transition(0, 1, 1.0, 0.99, 3), 0.25)
    >>> rule.q(tables)[0]
    Array([0.25, 0.5 ], dtype=float32)

The rules fall into three families, each written once:

* One table: Q moves toward R + γ (E Q)(S'), and E decides which algorithm it is: `expected_sarsa`
  for a policy, `q_learning` for the max. `td0` does the same for V.
* QV-learning: Q moves toward R + γ V(S'), *then* V moves toward a target that decides which
  algorithm it is: `qv_learning`, `qvmax`, `bc_qvmax`.
* AV-learning: V and A follow the semi-gradient of ½ δ² through the read-out Q = V + A (minus the
  mean of A), with δ = R + γ max_a' Q(S', a') − Q(S, A): `dueling_q`, `soft_rdq`, `hard_rdq`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from qduet.errors import InputError, unknown_name

Tables = Any
"""The values a rule learns: a pytree of arrays."""

Scalar = Any
"""A number or an array of rank 0."""


class Transition(NamedTuple):
    """One step of experience. All fields are scalars."""

    state: Scalar
    action: Scalar
    reward: Scalar
    discount: Scalar
    """γ, or 0 if `next_state` ends the episode."""
    next_state: Scalar


class Rule(NamedTuple):
    """A tabular TD algorithm."""

    init: Callable[[jax.Array, jax.Array], Tables]
    """``(v[S], adv[S, A]) -> tables``: the tables that start at V_0 = v and Q_0 = v + adv."""
    update: Callable[[Any, Transition, Scalar], Tables]
    """``(tables, transition, step_size) -> tables``."""
    q: Callable[[Any], jax.Array] | None
    """``tables -> [S, A]``; None for a rule that learns state values alone."""
    goal: str = "optimal"
    """What it estimates: ``"optimal"`` (q_*) or ``"behaviour"`` (q_b, or v_b where `q` is None)."""


def step_toward(table: jax.Array, index: Any, target: Scalar, step_size: Scalar) -> jax.Array:
    """table[index] ← table[index] + α (target − table[index])."""
    return table.at[index].add(step_size * (target - table[index]))


# --- One table -----------------------------------------------------------------------------------

Expectation = Callable[[jax.Array, Scalar], jax.Array]
"""``(q[S, A], s) -> (E q)(s)``: a target policy, given as the value it expects in a state."""


def under(policy: ArrayLike) -> Expectation:
    """The expectation under a fixed policy ``π[s, a]``: Σ_a π(a|s) q(s, a)."""
    pi = jnp.asarray(policy)
    return lambda q, s: pi[s].astype(q.dtype) @ q[s]


def greedy(q: jax.Array, s: Scalar) -> jax.Array:
    """The expectation under the greedy policy: max_a q(s, a)."""
    return q[s].max()


def epsilon_greedy(epsilon: float) -> Expectation:
    """The expectation under the ε-greedy policy: (1 − ε) max_a q(s, a) + ε mean_a q(s, a)."""
    return lambda q, s: (1 - epsilon) * q[s].max() + epsilon * q[s].mean()


class QTable(NamedTuple):
    """Action values alone."""

    q: jax.Array
    """``[S, A]``"""


def expected_sarsa(expect: Expectation, goal: str = "behaviour") -> Rule:
    """Expected Sarsa (eq. 2): Q(S,A) moves toward R + γ Σ_a' π(a'|S') Q(S',a')."""

    def update(tables: QTable, t: Transition, step_size: Scalar) -> QTable:
        target = t.reward + t.discount * expect(tables.q, t.next_state)
        return QTable(step_toward(tables.q, (t.state, t.action), target, step_size))

    return Rule(lambda v, adv: QTable(v[:, None] + adv), update, lambda tables: tables.q, goal)


def q_learning() -> Rule:
    """Q-learning (eq. 3): Expected Sarsa with a greedy target policy."""
    return expected_sarsa(greedy, goal="optimal")


class VTable(NamedTuple):
    """State values alone."""

    v: jax.Array
    """``[S]``"""


def td0() -> Rule:
    """TD(0): V(S) moves toward R + γ V(S')."""

    def update(tables: VTable, t: Transition, step_size: Scalar) -> VTable:
        target = t.reward + t.discount * tables.v[t.next_state]
        return VTable(step_toward(tables.v, t.state, target, step_size))

    return Rule(lambda v, adv: VTable(v), update, None, "behaviour")


# --- QV-learning ---------------------------------------------------------------------------------


class QVTables(NamedTuple):
    """Action values and state values."""

    q: jax.Array
    """``[S, A]``"""
    v: jax.Array
    """``[S]``"""


def _qv(v_target: Callable[[QVTables, Transition], jax.Array], goal: str) -> Rule:
    """Q(S,A) moves toward R + γ V(S') (eq. 5); then V(S) toward `v_target` of the new Q, old V."""

    def update(tables: QVTables, t: Transition, step_size: Scalar) -> QVTables:
        q_target = t.reward + t.discount * tables.v[t.next_state]
        q = step_toward(tables.q, (t.state, t.action), q_target, step_size)
        target = v_target(QVTables(q, tables.v), t)
        return QVTables(q, step_toward(tables.v, t.state, target, step_size))

    return Rule(lambda v, adv: QVTables(v[:, None] + adv, v), update, lambda tables: tables.q, goal)


def qv_learning() -> Rule:
    """QV-learning (eq. 5, 6): V learns by TD(0), toward R + γ V(S')."""
    return _qv(lambda new, t: t.reward + t.discount * new.v[t.next_state], "behaviour")


def qvmax() -> Rule:
    """QVMAX (eq. 5, 7): QV-learning with V moving toward R + γ max_a' Q(S',a'); biased."""
    return _qv(lambda new, t: t.reward + t.discount * new.q[t.next_state].max(), "optimal")


def bc_qvmax() -> Rule:
    """BC-QVMAX (eq. 5, 10): QV-learning with V moving toward max_a Q(S,a); unbiased."""
    return _qv(lambda new, t: new.q[t.state].max(), "optimal")


# --- AV-learning ---------------------------------------------------------------------------------


class AVTables(NamedTuple):
    """State values and advantages."""

    v: jax.Array
    """``[S]``"""
    adv: jax.Array
    """``[S, A]``"""


def _av(
    centred: bool,
    decay: Callable[[Scalar, int], tuple[Scalar, Scalar]] | None = None,
    descend_mean: bool = True,
) -> Rule:
    """V and A follow −∇ ½ δ² of Q = V + A − [centred] mean(A), after shrinking by `decay`.

    `decay(step_size, num_actions)` gives the shares that V and A lose at each update of a state.
    `descend_mean=False` is the released code's slip (item 4 of docs/differences.md).
    """

    def q_row(tables: AVTables, s: Scalar) -> jax.Array:
        row = tables.v[s] + tables.adv[s]
        return row - tables.adv[s].mean() if centred else row

    def update(tables: AVTables, t: Transition, step_size: Scalar) -> AVTables:
        v, adv = tables.v[t.state], tables.adv[t.state]
        num_actions = adv.shape[0]
        bootstrap = q_row(tables, t.next_state).max()
        delta = t.reward + t.discount * bootstrap - q_row(tables, t.state)[t.action]
        if decay is not None:
            v_decay, adv_decay = decay(step_size, num_actions)
            v, adv = (1 - v_decay) * v, (1 - adv_decay) * adv
        if centred:
            adv = adv - step_size * (delta if descend_mean else 1.0) / num_actions
        return AVTables(
            tables.v.at[t.state].set(v + step_size * delta),
            tables.adv.at[t.state].set(adv.at[t.action].add(step_size * delta)),
        )

    def q(tables: AVTables) -> jax.Array:
        mean = tables.adv.mean(axis=1, keepdims=True) if centred else 0.0
        return tables.v[:, None] + tables.adv - mean

    return Rule(AVTables, update, q, "optimal")


def dueling_q(descend_mean: bool = True) -> Rule:
    """Dueling Q-learning (sec. 4.1): Q = V + A − mean(A); A(S,a) += α (1{a=A} − 1/|A|) δ."""
    return _av(centred=True, descend_mean=descend_mean)


def hard_rdq() -> Rule:
    """Hard RDQ (sec. 4.2): Q = V + A; V(S) and A(S,A) both move by α δ."""
    return _av(centred=False)


def soft_rdq(beta: float = 1e-3, penalty: str = "paper") -> Rule:
    """Soft RDQ (eq. 13, 14): Hard RDQ whose V(S) and A(S,·) first shrink by the factor 1 − β.

    ``penalty="reference"`` shrinks V by αβ and A by αβ/|A| instead, as the released code does.
    """
    if not 0.0 <= beta < 1.0:
        raise InputError(f"beta must be in [0, 1); it is {beta}")
    shares: dict[str, Callable[[Scalar, int], tuple[Scalar, Scalar]]] = {
        "paper": lambda step_size, num_actions: (beta, beta),
        "reference": lambda step_size, num_actions: (
            step_size * beta,
            step_size * beta / num_actions,
        ),
    }
    if penalty not in shares:
        raise unknown_name("penalty", penalty, shares)
    return _av(centred=False, decay=shares[penalty])


# --- By name -------------------------------------------------------------------------------------

RULES: dict[str, Callable[..., Rule]] = {
    "td0": td0,
    "expected_sarsa": expected_sarsa,
    "q_learning": q_learning,
    "qv_learning": qv_learning,
    "qvmax": qvmax,
    "bc_qvmax": bc_qvmax,
    "dueling_q": dueling_q,
    "soft_rdq": soft_rdq,
    "hard_rdq": hard_rdq,
}
"""Every rule's factory by its id."""


def make_rule(name: str, behaviour: ArrayLike, **options: Any) -> Rule:
    """The rule `name`; Expected Sarsa's target policy is `behaviour` (on-policy prediction)."""
    if name not in RULES:
        raise unknown_name("rule", name, RULES)
    if name == "expected_sarsa":
        options.setdefault("expect", under(behaviour))
    return RULES[name](**options)
