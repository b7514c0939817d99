"""Read-outs, TD errors and losses of one transition (S, A, R, S'), for training code of your own.

    from qduet.losses import rdq_loss

    def batch_loss(params, target_params, batch):
        v_tm1, adv_tm1 = jax.vmap(network, (None, 0))(params, batch.observations)  # [n], [n, |A|]
        v_t, adv_t = jax.vmap(network, (None, 0))(target_params, batch.next_observations)
        out = jax.vmap(rdq_loss)(
            v_tm1, adv_tm1, batch.actions, batch.rewards, batch.discounts, v_t, adv_t
        )
        return out.loss.mean()

Every function is pure and takes one transition; ``jax.vmap`` makes a batch of it. Arguments have
rlax's names and order. The name tells the shape:

    v_tm1, v_t        V(S), V(S')                           []
    q_tm1, q_t        Q(S, ·), Q(S', ·)                     [|A|]
    adv_tm1, adv_t    A(S, ·), A(S', ·)                     [|A|]
    a_tm1             A, an integer from 0 to |A| − 1       []
    r_t               R                                     []
    discount_t        γ, or 0 if S' ends the episode        []

Values at S' may come from a target network; no gradient flows into a target. For n steps, `r_t` is
R_1 + γ R_2 + … + γⁿ⁻¹ R_n, `discount_t` is γⁿ, and S' is the state n steps later.

A loss returns its TD error beside it. What else you need is one line:

    another β, Huber      jax.vmap(functools.partial(rdq_loss, beta=1e-2, loss_fn=huber))(...)
    importance weights    (weights * out.loss).mean()
    priorities            jnp.abs(out.td_error)
    Double DQN and RDQ    squared(double_q_learning_error(...)) + beta * rdq_penalty(v_tm1, adv_tm1)
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax.lax import stop_gradient
from jax.typing import ArrayLike

from qduet.core.errors import InputError

__all__ = [
    "QVLoss",
    "TDLoss",
    "additive_readout",
    "bc_qvmax_loss",
    "double_q_learning_error",
    "dueling_loss",
    "dueling_readout",
    "expected_sarsa_error",
    "huber",
    "max_dueling_readout",
    "q_learning_error",
    "qv_loss",
    "qvmax_loss",
    "rdq_loss",
    "rdq_penalty",
    "squared",
]

Scalar = Any
"""A number or an array of rank 0."""

LossFunction = Callable[[jax.Array], jax.Array]
"""``δ -> loss``, both ``[]``: `squared`, `huber`, or one of your own."""

Function = TypeVar("Function", bound=Callable[..., Any])


class TDLoss(NamedTuple):
    """The loss of one transition. Both fields are scalars."""

    loss: jax.Array
    """What to minimise."""
    td_error: jax.Array
    """δ = target − Q(S, A)"""


class QVLoss(NamedTuple):
    """The loss of one transition for Q and V together. All fields are scalars."""

    loss: jax.Array
    """What to minimise: the loss of δ_Q plus the loss of δ_V."""
    td_error: jax.Array
    """δ_Q = target − Q(S, A)"""
    v_error: jax.Array
    """δ_V = target − V(S)"""


_SCALARS = {"v", "v_tm1", "v_t", "a_tm1", "r_t", "discount_t", "beta"}
"""Arguments of rank 0. `loss_fn` is a function; all others are ``[|A|]``."""


def _one_transition(function: Function) -> Function:
    """`function`, refusing arguments whose shapes are not what their names tell.

    Without this, a batch would broadcast and mix transitions, and an action out of range would
    select nothing. A traced action has no value yet and is not checked.
    """
    signature = inspect.signature(function)
    defaults = {name: each.default for name, each in signature.parameters.items()}

    def error(name: str, wanted: str, given: Any) -> InputError:
        return InputError(f"{function.__name__}: {name} must {wanted}; it is {given}")

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        arrays = {
            name: jnp.asarray(value)
            for name, value in given.arguments.items()
            if name != "loss_fn" and value is not defaults[name]
        }
        vectors = [x.shape for name, x in arrays.items() if name not in _SCALARS and x.ndim == 1]
        per_action = str(list(vectors[0])) if vectors else "[|A|]"
        for name, array in arrays.items():
            shape, wanted = str(list(array.shape)), "[]" if name in _SCALARS else per_action
            if shape != wanted:
                raise error(name, f"have the shape {wanted} (vmap a batch)", shape)
        if "discount_t" in arrays and arrays["discount_t"].dtype == bool:
            raise error("discount_t", "be γ, or 0 where S' is an end, not True or False", "bool")
        if "a_tm1" in arrays:
            action, num_actions = given.arguments["a_tm1"], vectors[0][0]
            if not jnp.issubdtype(arrays["a_tm1"].dtype, jnp.integer):
                raise error("a_tm1", "be an integer", arrays["a_tm1"].dtype)
            if not isinstance(action, jax.core.Tracer) and not 0 <= action < num_actions:
                raise error("a_tm1", f"be from 0 to {num_actions - 1}", action)
        given.arguments.update(arrays)
        return function(*given.args, **given.kwargs)

    return checked  # type: ignore[return-value]


# --- Read-outs: Q(s, ·) of V(s) and A(s, ·) ------------------------------------------------------


@_one_transition
def additive_readout(v: Scalar, adv: ArrayLike) -> jax.Array:
    """Q = V + A (eq. 11), as in RDQ. ``[], [|A|] -> [|A|]``."""
    return jnp.add(v, adv)


@_one_transition
def dueling_readout(v: Scalar, adv: ArrayLike) -> jax.Array:
    """Q = V + A − mean_a A (eq. 8), as in Dueling DQN. ``[], [|A|] -> [|A|]``."""
    return v + adv - jnp.mean(adv)


@_one_transition
def max_dueling_readout(v: Scalar, adv: ArrayLike) -> jax.Array:
    """Q = V + A − max_a A, so that max_a Q = V (Wang et al., 2016). ``[], [|A|] -> [|A|]``."""
    return v + adv - jnp.max(adv)


# --- Losses of an error --------------------------------------------------------------------------


def squared(error: ArrayLike) -> jax.Array:
    """½ δ²; its gradient is δ."""
    return 0.5 * jnp.square(error)


def huber(error: ArrayLike, delta: float = 1.0) -> jax.Array:
    """½ δ² if |δ| ≤ `delta`, else `delta` (|δ| − ½ `delta`): its gradient is δ, clipped."""
    clipped = jnp.clip(error, -delta, delta)
    return clipped * (error - 0.5 * clipped)


# --- TD errors of Q ------------------------------------------------------------------------------


def _error(q_tm1: ArrayLike, a_tm1: Scalar, target: jax.Array) -> jax.Array:
    """δ = target − Q(S, A)."""
    taken = jnp.arange(jnp.size(q_tm1)) == a_tm1  # the gradient of q_tm1[a_tm1] would be a scatter
    return stop_gradient(target) - jnp.where(taken, q_tm1, 0.0).sum()


@_one_transition
def q_learning_error(
    q_tm1: ArrayLike, a_tm1: Scalar, r_t: Scalar, discount_t: Scalar, q_t: ArrayLike
) -> jax.Array:
    """Q-learning, DQN (eq. 3, 16).

    δ = R + γ max_a Q(S', a) − Q(S, A)
    """
    return _error(q_tm1, a_tm1, r_t + discount_t * jnp.max(q_t))


@_one_transition
def double_q_learning_error(
    q_tm1: ArrayLike,
    a_tm1: Scalar,
    r_t: Scalar,
    discount_t: Scalar,
    q_t_value: ArrayLike,
    q_t_selector: ArrayLike,
) -> jax.Array:
    """Double DQN: Q-learning where one Q selects the action and another gives its value.

    δ = R + γ Q_value(S', argmax_a Q_selector(S', a)) − Q(S, A)
    """
    selected = jnp.asarray(q_t_value)[jnp.argmax(q_t_selector)]
    return _error(q_tm1, a_tm1, r_t + discount_t * selected)


@_one_transition
def expected_sarsa_error(
    q_tm1: ArrayLike,
    a_tm1: Scalar,
    r_t: Scalar,
    discount_t: Scalar,
    q_t: ArrayLike,
    probs_a_t: ArrayLike,
) -> jax.Array:
    """Expected Sarsa for the policy π(·|S') = `probs_a_t` (eq. 2).

    δ = R + γ Σ_a π(a|S') Q(S', a) − Q(S, A)
    """
    return _error(q_tm1, a_tm1, r_t + discount_t * jnp.sum(jnp.multiply(probs_a_t, q_t)))


# --- AV-learning: Q-learning through a read-out --------------------------------------------------


@_one_transition
def rdq_penalty(v: Scalar, adv: ArrayLike) -> jax.Array:
    """½ V² + ½ Σ_a A² (eq. 12). ``[], [|A|] -> []``."""
    return 0.5 * (jnp.square(v) + jnp.sum(jnp.square(adv)))


@_one_transition
def rdq_loss(
    v_tm1: Scalar,
    adv_tm1: ArrayLike,
    a_tm1: Scalar,
    r_t: Scalar,
    discount_t: Scalar,
    v_t: Scalar,
    adv_t: ArrayLike,
    *,
    beta: Scalar = 1e-3,
    loss_fn: LossFunction = squared,
) -> TDLoss:
    """RDQ: Q-learning with Q = V + A and a penalty (eq. 11, 12, 16; sec. 4.3).

    loss = ½ δ² + (β/2) (V(S)² + Σ_a A(S, a)²),    δ = R + γ max_a Q(S', a) − Q(S, A)
    """
    q_tm1, q_t = additive_readout(v_tm1, adv_tm1), additive_readout(v_t, adv_t)
    error = q_learning_error(q_tm1, a_tm1, r_t, discount_t, q_t)
    return TDLoss(loss_fn(error) + beta * rdq_penalty(v_tm1, adv_tm1), error)


@_one_transition
def dueling_loss(
    v_tm1: Scalar,
    adv_tm1: ArrayLike,
    a_tm1: Scalar,
    r_t: Scalar,
    discount_t: Scalar,
    v_t: Scalar,
    adv_t: ArrayLike,
    *,
    loss_fn: LossFunction = squared,
) -> TDLoss:
    """Dueling DQN: Q-learning with Q = V + A − mean_a A (eq. 8, 16).

    loss = ½ δ²,    δ = R + γ max_a Q(S', a) − Q(S, A)
    """
    q_tm1, q_t = dueling_readout(v_tm1, adv_tm1), dueling_readout(v_t, adv_t)
    error = q_learning_error(q_tm1, a_tm1, r_t, discount_t, q_t)
    return TDLoss(loss_fn(error), error)


# --- QV-learning: Q moves toward R + γ V(S'), and V toward a target that names the algorithm -----


def _qv(
    v_tm1: Scalar,
    q_tm1: ArrayLike,
    a_tm1: Scalar,
    q_target: jax.Array,
    v_target: jax.Array,
    loss_fn: LossFunction,
) -> QVLoss:
    """The loss ½ δ_Q² + ½ δ_V² of Q(S, A) and V(S)."""
    q_error = _error(q_tm1, a_tm1, q_target)
    v_error = stop_gradient(v_target) - v_tm1
    return QVLoss(loss_fn(q_error) + loss_fn(v_error), q_error, v_error)


@_one_transition
def qv_loss(
    v_tm1: Scalar,
    q_tm1: ArrayLike,
    a_tm1: Scalar,
    r_t: Scalar,
    discount_t: Scalar,
    v_t: Scalar,
    *,
    loss_fn: LossFunction = squared,
) -> QVLoss:
    """QV-learning: both Q and V move toward R + γ V(S') (eq. 5, 6).

    loss = ½ δ_Q² + ½ δ_V²,    δ_Q = R + γ V(S') − Q(S, A),    δ_V = R + γ V(S') − V(S)
    """
    target = r_t + discount_t * v_t
    return _qv(v_tm1, q_tm1, a_tm1, target, target, loss_fn)


@_one_transition
def qvmax_loss(
    v_tm1: Scalar,
    q_tm1: ArrayLike,
    a_tm1: Scalar,
    r_t: Scalar,
    discount_t: Scalar,
    v_t: Scalar,
    q_t: ArrayLike,
    *,
    loss_fn: LossFunction = squared,
) -> QVLoss:
    """QVMAX: QV-learning with V moving toward R + γ max_a Q(S', a) (eq. 5, 7); biased.

    δ_Q = R + γ V(S') − Q(S, A),    δ_V = R + γ max_a Q(S', a) − V(S)
    """
    v_target = r_t + discount_t * jnp.max(q_t)
    return _qv(v_tm1, q_tm1, a_tm1, r_t + discount_t * v_t, v_target, loss_fn)


@_one_transition
def bc_qvmax_loss(
    v_tm1: Scalar,
    q_tm1: ArrayLike,
    a_tm1: Scalar,
    r_t: Scalar,
    discount_t: Scalar,
    v_t: Scalar,
    *,
    q_tm1_target: ArrayLike | None = None,
    loss_fn: LossFunction = squared,
) -> QVLoss:
    """BC-QVMAX: QV-learning with V moving toward max_a Q(S, a) (eq. 5, 10); unbiased.

    δ_Q = R + γ V(S') − Q(S, A),    δ_V = max_a Q(S, a) − V(S)

    The Q of δ_V is `q_tm1_target`, such as the target network's Q(S, ·); by default it is `q_tm1`.
    The paper updates Q first, and δ_V sees the new Q. Here both errors are of one moment.
    """
    v_target = jnp.max(q_tm1 if q_tm1_target is None else q_tm1_target)
    return _qv(v_tm1, q_tm1, a_tm1, r_t + discount_t * v_t, v_target, loss_fn)
