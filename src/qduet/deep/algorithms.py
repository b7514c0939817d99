"""Algorithms: how Q(s, ·) is read off a network's outputs, and the loss of one transition.

**AV-learning** (`AV`) learns V and advantages, from one TD error (eq. 8, 11, 12, 16):

    Q = w V + A − c mean(A),      loss = ½ δ² + (β/2) (V² + Σ_a A²)
    δ = R + γ max_a' Q(S', a'; θ⁻) − Q(S, A; θ)

**QV-learning** (`QV`) learns V and Q, each from an error of its own (sec. 3):

    Q = w V + A, with w = 0: the second output is Q itself
    loss = ½ (R + γ V(S'; θ⁻) − Q(S, A))² + ½ (y − V(S))² + (β/2) (V² + Σ_a A²)
    y = bootstrap · (R + γ V(S'; θ⁻)) + maximum · (R + γ max_a' Q(S', a'; θ⁻))
        + correction · max_a Q(S, a)

The *double* form of either, where an agent asks for it, chooses a' (or a) by the online network
and values it by the target network. What depends on a run is in its *numbers*, a NamedTuple of
floats; runs of one algorithm therefore share one compiled program.

An algorithm of one's own is such a NamedTuple and two functions:

    class Numbers(NamedTuple):
        tau: float = 0.03

    def loss(numbers, t):                                # t: Transition
        q = t.online.adv
        error = jax.lax.stop_gradient(t.reward + t.discount * value(t.next_target)) - q[t.action]
        return Loss(total=0.5 * error**2, td_error=error, q=q[t.action])

    q = lambda numbers, outputs: outputs.adv
    register_algorithm(Algorithm("mine", Numbers, q, loss))
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from qduet.agents import AV, FAMILIES, QV, Family
from qduet.core.digests import digest
from qduet.core.errors import InputError, unknown_name
from qduet.deep.layers import Outputs

Numbers = Any
"""A NamedTuple of floats; as arrays float32[] inside of a program."""


class Transition(NamedTuple):
    """One transition from S to S', with the outputs of both networks at both.

    What a loss does not read is not computed.
    """

    online: Outputs
    """θ at S; the only one that has a gradient."""
    target: Outputs
    """θ⁻ at S"""
    next_online: Outputs
    """θ at S'"""
    next_target: Outputs
    """θ⁻ at S'"""
    action: jax.Array
    """int32[]"""
    reward: jax.Array
    """float32[]: R, or the discounted sum of n rewards"""
    discount: jax.Array
    """float32[]: γ or γⁿ; 0 if the episode ended"""


class Loss(NamedTuple):
    """The loss of one transition and what is reported of it; scalars."""

    total: jax.Array
    """What the gradient is taken of."""
    td_error: jax.Array
    """δ, of Q"""
    q: jax.Array
    """Q(S, A)"""


class Losses(NamedTuple):
    """What is reported of a batch; scalars."""

    total: jax.Array
    """The mean loss, which the update descends."""
    td: jax.Array
    """½ E[δ²]"""
    q: jax.Array
    """E[Q(S, A)]"""


class Algorithm(NamedTuple):
    """An algorithm as functions of one state and of one transition."""

    name: str
    """What agents and files call it."""
    numbers: Any
    """The NamedTuple type of its numbers; each has a default."""
    q: Callable[[Numbers, Outputs], jax.Array]
    """numbers, outputs at s -> Q(s, ·) ``[|A|]``"""
    loss: Callable[[Numbers, Transition], Loss]
    """numbers, transition -> its loss"""
    double_loss: Callable[[Numbers, Transition], Loss] | None = None
    """The loss of the double form, if there is one."""
    uses_v: Callable[[Numbers], Any] = lambda numbers: True
    """numbers -> bool[]: whether the loss depends on V; if not, V's stream is never trained."""
    ranks_by_adv: bool = False
    """Whether the best action by Q is always the best by `adv`: acting then leaves out V."""
    equations: str = ""
    """What it computes, in one line for `qduet agents`."""


# --- AV-learning ---------------------------------------------------------------------------------


def _av_q(numbers: AV, outputs: Outputs) -> jax.Array:
    return numbers.w * outputs.v + outputs.adv - numbers.c * outputs.adv.mean()


def _av_loss(numbers: AV, t: Transition, *, double: bool = False) -> Loss:
    q, next_q = _av_q(numbers, t.online), _av_q(numbers, t.next_target)
    best = _best(next_q, _av_q(numbers, t.next_online) if double else None)
    chosen = _pick(q, t.action)
    error = _error(_bootstrapped(t, best), chosen)
    return Loss(0.5 * error**2 + numbers.beta * _penalty(t.online), error, chosen)


# --- QV-learning ---------------------------------------------------------------------------------


def _qv_q(numbers: QV, outputs: Outputs) -> jax.Array:
    return numbers.w * outputs.v + outputs.adv


def _qv_loss(numbers: QV, t: Transition, *, double: bool = False, by_target: bool = False) -> Loss:
    """`by_target`: max_a Q(S, a) is the target network's, else the online network's."""
    q = _qv_q(numbers, t.online)
    selected = lambda outputs: _qv_q(numbers, outputs) if double else None
    next_best = _best(_qv_q(numbers, t.next_target), selected(t.next_online))
    at_s = _best(_qv_q(numbers, t.target), selected(t.online)) if by_target else q.max()
    chosen, from_v = _pick(q, t.action), _bootstrapped(t, t.next_target.v)
    y = (
        numbers.bootstrap * from_v
        + numbers.maximum * _bootstrapped(t, next_best)
        + numbers.correction * at_s
    )
    error, v_error = _error(from_v, chosen), _error(y, t.online.v)
    total = 0.5 * error**2 + 0.5 * v_error**2 + numbers.beta * _penalty(t.online)
    return Loss(total, error, chosen)


# --- Shared parts --------------------------------------------------------------------------------
# `qduet.losses` states the same mathematics for one's own code; a test compares the two. Here it is
# written so that recorded results keep their bits.


def _pick(q: jax.Array, action: jax.Array) -> jax.Array:
    """Q(s, a); the gradient of an index would be a scatter."""
    return jnp.where(action == jnp.arange(q.shape[0]), q, 0.0).sum()


def _best(q: jax.Array, selector: jax.Array | None) -> jax.Array:
    """max_a Q(s, a), or Q(s, a) at the best action of `selector`."""
    return q.max() if selector is None else _pick(q, selector.argmax())


def _bootstrapped(t: Transition, value: jax.Array) -> jax.Array:
    """R + γ value, or R if the episode ended."""
    return t.reward + jnp.where(t.discount == 0, 0.0, t.discount * value)


def _error(target: jax.Array, prediction: jax.Array) -> jax.Array:
    return jax.lax.stop_gradient(target) - prediction


def _penalty(outputs: Outputs) -> jax.Array:
    return 0.5 * (outputs.v**2 + (outputs.adv**2).sum())


# --- By name -------------------------------------------------------------------------------------


def _qv(name: str, by_target: bool) -> Algorithm:
    return Algorithm(
        name,
        QV,
        _qv_q,
        loss=lambda numbers, t: _qv_loss(numbers, t, by_target=by_target),
        double_loss=lambda numbers, t: _qv_loss(numbers, t, double=True, by_target=by_target),
        ranks_by_adv=True,
        equations=(
            "Q = w V + A;  loss = ½ (R + γ V⁻(S′) − Q(S, A))² + ½ (y − V(S))² + β/2 (V² + Σ A²);  "
            "y = bootstrap (R + γ V⁻(S′)) + maximum (R + γ max Q⁻(S′, ·)) + correction max "
            + ("Q⁻(S, ·)" if by_target else "Q(S, ·)")
        ),
    )


BUILT_IN = (
    Algorithm(
        "av",
        AV,
        _av_q,
        _av_loss,
        double_loss=lambda numbers, t: _av_loss(numbers, t, double=True),
        uses_v=lambda numbers: (numbers.w != 0) | (numbers.beta != 0),
        ranks_by_adv=True,
        equations=(
            "Q = w V + A − c mean A;  loss = ½ (R + γ max Q⁻(S′, ·) − Q(S, A))² + β/2 (V² + Σ A²)"
        ),
    ),
    _qv("qv", by_target=False),
    _qv("qv_target", by_target=True),
)
ALGORITHMS: dict[str, Algorithm] = {algorithm.name: algorithm for algorithm in BUILT_IN}
"""The built-in algorithms, and those of `register_algorithm`."""


def register_algorithm(algorithm: Algorithm) -> None:
    """Makes an algorithm of one's own known by its name; `InputError` if it cannot work."""
    name = algorithm.name
    if any(name == known.name for known in BUILT_IN):
        raise InputError(f"algorithm '{name}' is a built-in one; choose another name")
    if not hasattr(algorithm.numbers, "_fields"):
        raise InputError(f"algorithm '{name}': numbers must be a NamedTuple of floats")
    try:
        numbers = algorithm.numbers()
    except TypeError:
        raise InputError(f"algorithm '{name}': each of its numbers needs a default") from None
    try:
        losses = [f for f in (algorithm.loss, algorithm.double_loss) if f is not None]
        given = [jax.eval_shape(loss, numbers, EXAMPLE) for loss in losses]
        q = jax.eval_shape(algorithm.q, numbers, EXAMPLE.online)
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"algorithm '{name}' does not work on a transition: {reason}") from None
    if any(not isinstance(x, Loss) or any(y.shape != () for y in x) for x in given):
        raise InputError(f"algorithm '{name}': loss must give a Loss of three scalars")
    if q.shape != EXAMPLE.online.adv.shape:
        raise InputError(
            f"algorithm '{name}': q must give {list(EXAMPLE.online.adv.shape)} for that many "
            f"actions; it gives {list(q.shape)}"
        )
    ALGORITHMS[name] = algorithm
    FAMILIES[name] = Family(algorithm.numbers, algorithm.double_loss is not None)


def algorithm_of(name: str) -> Algorithm:
    """The algorithm `name`, or `InputError`."""
    if name not in ALGORITHMS:
        raise unknown_name("algorithm", name, ALGORITHMS, importable=True)
    return ALGORITHMS[name]


def fingerprint(name: str) -> str | None:
    """Tells whether an algorithm of one's own has changed; None for the built-in ones."""
    own = algorithm_of(name)
    if own in BUILT_IN:
        return None
    numbers, losses = own.numbers(), filter(None, (own.loss, own.double_loss))
    return digest(
        f"{name} {own.ranks_by_adv}",
        *((loss, (numbers, EXAMPLE)) for loss in losses),
        (own.q, (numbers, EXAMPLE.online)),
        (lambda x: jnp.asarray(own.uses_v(x)), (numbers,)),
    )


_shape: Any = jax.ShapeDtypeStruct
_OUTPUTS = Outputs(_shape((), jnp.float32), _shape((3,), jnp.float32))
EXAMPLE = Transition(
    online=_OUTPUTS,
    target=_OUTPUTS,
    next_online=_OUTPUTS,
    next_target=_OUTPUTS,
    action=_shape((), jnp.int32),
    reward=_shape((), jnp.float32),
    discount=_shape((), jnp.float32),
)
"""The shapes of a transition with three actions."""
