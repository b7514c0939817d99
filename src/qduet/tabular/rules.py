"""Tabular update rules, written for one transition (S_t, A_t, R_{t+1}, S_{t+1}).

A `Rule` is three pure functions. `init` makes its tables from a shared draw of (V_0, A_0), `update`
learns from one transition, `q` reads off the action values. Everything else (many step sizes, many
seeds, many steps) is added outside.

Tables are indexed by state, then action. The built-in rules let further axes follow: a table
``[S, A, K]`` with step sizes ``[K]`` learns K times at once (`trailing_axes`), several times faster
than under ``vmap``. A rule that is written for ``[S, A]`` alone will do; sweeps ``vmap`` it.

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

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from qduet.core.errors import InputError, unknown_name
from qduet.core.xla import max_over_actions, native_function, sum_over_actions
from qduet.tabular.mdp import AVTables, QTable, QVTables, VTable

Tables = Any
"""The values a rule learns: a pytree of arrays."""

Scalar = Any
"""A number or an array of rank 0."""

Function = TypeVar("Function", bound=Callable[..., Any])


class Transition(NamedTuple):
    """One step of experience. All fields are scalars."""

    state: Scalar
    """S_t"""
    action: Scalar
    """A_t"""
    reward: Scalar
    """R_{t+1}"""
    discount: Scalar
    """γ, or 0 if `next_state` ends the episode."""
    next_state: Scalar
    """S_{t+1}"""


GOALS = ("behaviour", "optimal")
"""What a rule may estimate: the values of the behaviour policy, or the optimal ones."""


class Rule(NamedTuple):
    """A tabular TD algorithm.

    Its functions are pure, and no random numbers are passed to them. A rule that needs some (Double
    Q-learning) can keep a `jax.random.key` among its tables and replace it at each update by
    ``jax.random.fold_in(key, t.next_state)``. Its random numbers then follow from the states that
    the seed visits.
    """

    init: Callable[[jax.Array, jax.Array], Tables]
    """``(v[S], adv[S, A]) -> tables``: a rule with advantages starts at V_0 = v and A_0 = adv, one
    with action values at Q_0 = v + adv."""
    update: Callable[[Any, Transition, Scalar], Tables]
    """``(tables, transition, step_size) -> tables``."""
    q: Callable[[Any], jax.Array] | None
    """``tables -> [S, A]``; None for a rule that learns state values alone."""
    goal: str = "optimal"
    """What it estimates: ``"optimal"`` (q_*) or ``"behaviour"`` (q_b, or v_b where `q` is None)."""

    def read_out(self, tables: Any) -> jax.Array:
        """What its error is measured by: Q, or the field v of its tables where `q` is None."""
        return tables.v if self.q is None else self.q(tables)

    @property
    def trailing_axes(self) -> bool:
        """Whether `update` is marked by `trailing_axes`."""
        return getattr(self.update, "trailing_axes", False)


def trailing_axes(update: Function) -> Function:
    """Marks an update, or an `Expectation`, that takes tables with axes behind state and action.

    Such a function indexes state and action only, and treats further axes element by element:
    ``q[s]`` is then ``[A, K]``, and its maximum over actions is ``.max(axis=0)``.
    """
    update.trailing_axes = True  # type: ignore[attr-defined]
    return update


def step_toward(table: jax.Array, index: Any, target: Scalar, step_size: Scalar) -> jax.Array:
    """table[index] ← table[index] + α (target − table[index])."""
    return table.at[index].add(step_size * (target - table[index]))


def _checked(start: Callable[..., Tables], update: Any, q: Any, goal: str) -> Rule:
    """A rule that refuses v and adv in the wrong order, and states and actions out of range.

    Where jax is given an index out of range, it takes the nearest one, or writes nothing. A traced
    state or action has no value yet and is not checked.
    """

    def init(v: jax.Array, adv: jax.Array) -> Tables:
        shapes = np.shape(v), np.shape(adv)
        if len(shapes[1]) < 2 or shapes[0] != (shapes[1][0], *shapes[1][2:]):
            raise InputError(f"init takes v[S] and then adv[S, A]; their shapes are {shapes}")
        return start(v, adv)

    @functools.wraps(update)
    def checked_update(tables: Any, t: Transition, step_size: Scalar) -> Tables:
        shape = np.shape(max(tables, key=np.ndim))  # [S, A], or [S] of a rule without actions
        sizes = {"state": shape[0], "next_state": shape[0]}
        if q is not None:
            sizes["action"] = shape[1]
        for name, size in sizes.items():
            index = getattr(t, name)
            if not isinstance(index, jax.core.Tracer) and not 0 <= index < size:
                raise InputError(f"{name} must be one of 0 to {size - 1}; it is {index}")
        return update(tables, t, step_size)

    return Rule(init, checked_update, q, goal)


# --- One table -----------------------------------------------------------------------------------

Expectation = Callable[[jax.Array, Scalar], jax.Array]
"""``(q[S, A], s) -> (E q)(s)``: a target policy, given as the value it expects in a state.

One that is marked by `trailing_axes` is given ``q[S, A, K]``, and gives K values.
"""


def under(policy: ArrayLike) -> Expectation:
    """The expectation under a fixed policy ``π[s, a]``: Σ_a π(a|s) q(s, a)."""
    # A NumPy array is kept as it is until the precision of q is known.
    pi = policy if isinstance(policy, jax.Array) else np.asarray(policy)

    @trailing_axes
    def expect(q: jax.Array, s: Scalar) -> jax.Array:
        if pi.shape != q.shape[:2]:
            raise InputError(f"the policy must be of shape {q.shape[:2]}; it is of {pi.shape}")
        probability = jnp.asarray(pi, q.dtype)
        return sum_over_actions(lambda a: probability[s, a] * q[s, a], q.shape[1])

    return expect


@trailing_axes
def greedy(q: jax.Array, s: Scalar) -> jax.Array:
    """The expectation under the greedy policy: max_a q(s, a)."""
    return max_over_actions(lambda a: q[s, a], q.shape[1])


@trailing_axes
def mean(q: jax.Array, s: Scalar) -> jax.Array:
    """The expectation under the uniform policy: (1/|A|) Σ_a q(s, a)."""
    return sum_over_actions(lambda a: q[s, a], q.shape[1]) / q.shape[1]


def expected_sarsa(expect: Expectation, goal: str = "behaviour") -> Rule:
    """Expected Sarsa (eq. 2): Q(S,A) moves toward R + γ Σ_a' π(a'|S') Q(S',a')."""
    if not callable(expect):
        raise InputError("expect must be a function (q, s) -> value; of a policy π[s, a], under(π)")

    def update(tables: QTable, t: Transition, step_size: Scalar) -> QTable:
        target = t.reward + t.discount * expect(tables.q, t.next_state)
        return QTable(step_toward(tables.q, (t.state, t.action), target, step_size))

    if getattr(expect, "trailing_axes", False):
        trailing_axes(update)
    return _checked(lambda v, adv: QTable(v[:, None] + adv), update, lambda tables: tables.q, goal)


def q_learning() -> Rule:
    """Q-learning (eq. 3): Expected Sarsa with a greedy target policy."""
    return expected_sarsa(greedy, goal="optimal")


def td0() -> Rule:
    """TD(0): V(S) moves toward R + γ V(S')."""

    @trailing_axes
    def update(tables: VTable, t: Transition, step_size: Scalar) -> VTable:
        target = t.reward + t.discount * tables.v[t.next_state]
        return VTable(step_toward(tables.v, t.state, target, step_size))

    return _checked(lambda v, adv: VTable(v), update, None, "behaviour")


# --- QV-learning ---------------------------------------------------------------------------------


def _qv(v_target: Callable[[QVTables, Transition], jax.Array], goal: str) -> Rule:
    """Q(S,A) moves toward R + γ V(S') (eq. 5); then V(S) toward `v_target` of the new Q, old V."""

    @trailing_axes
    def update(tables: QVTables, t: Transition, step_size: Scalar) -> QVTables:
        q_target = t.reward + t.discount * tables.v[t.next_state]
        q = step_toward(tables.q, (t.state, t.action), q_target, step_size)
        target = v_target(QVTables(q, tables.v), t)
        return QVTables(q, step_toward(tables.v, t.state, target, step_size))

    start = lambda v, adv: QVTables(v[:, None] + adv, v)
    return _checked(start, update, lambda tables: tables.q, goal)


def qv_learning() -> Rule:
    """QV-learning (eq. 5, 6): V learns by TD(0), toward R + γ V(S')."""
    return _qv(lambda new, t: t.reward + t.discount * new.v[t.next_state], "behaviour")


def qvmax() -> Rule:
    """QVMAX (eq. 5, 7): QV-learning with V moving toward R + γ max_a' Q(S',a'); biased."""
    return _qv(lambda new, t: t.reward + t.discount * greedy(new.q, t.next_state), "optimal")


def bc_qvmax() -> Rule:
    """BC-QVMAX (eq. 5, 10): QV-learning with V moving toward max_a Q(S,a); unbiased."""
    return _qv(lambda new, t: greedy(new.q, t.state), "optimal")


# --- AV-learning ---------------------------------------------------------------------------------


def _av(
    centred: bool,
    decay: Callable[[Scalar, int], tuple[Scalar, Scalar]] | None = None,
    descend_mean: bool = True,
) -> Rule:
    """V and A follow −∇ ½ δ² of Q = V + A − [centred] mean(A), after shrinking by `decay`.

    `decay(step_size, num_actions)` gives the shares that V and A lose at each update of a state.
    `descend_mean=False` is the released code's slip (item 4 of docs/differences.md).
    """

    def baseline(tables: AVTables, s: Scalar) -> jax.Array:
        return tables.v[s] - mean(tables.adv, s) if centred else tables.v[s]

    @native_function
    def td_error_and_shrunk(
        tables: AVTables, t: Transition, step_size: Scalar
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        bootstrap = baseline(tables, t.next_state) + greedy(tables.adv, t.next_state)
        v, adv = tables.v[t.state], tables.adv[t.state]
        delta = t.reward + t.discount * bootstrap - baseline(tables, t.state) - adv[t.action]
        if decay is not None:
            v_decay, adv_decay = decay(step_size, adv.shape[0])
            v, adv = (1 - v_decay) * v, (1 - adv_decay) * adv
        return delta, v, adv

    @trailing_axes
    def update(tables: AVTables, t: Transition, step_size: Scalar) -> AVTables:
        delta, v_shrunk, adv_shrunk = td_error_and_shrunk(tables, t, step_size)
        v, adv = tables.v, tables.adv
        if decay is not None:
            v, adv = v.at[t.state].set(v_shrunk), adv.at[t.state].set(adv_shrunk)
        if centred:
            share = (delta if descend_mean else 1.0) / adv.shape[1]
            adv = adv.at[t.state].add(-step_size * share)
        move = step_size * delta
        return AVTables(v.at[t.state].add(move), adv.at[t.state, t.action].add(move))

    def q(tables: AVTables) -> jax.Array:
        mean = tables.adv.mean(axis=1) if centred else 0.0
        return (tables.v - mean)[:, None] + tables.adv

    return _checked(AVTables, update, q, "optimal")


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
            jnp.expand_dims(step_size, 0) * beta / num_actions,  # the same for all actions
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
