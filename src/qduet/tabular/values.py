"""Exact values of a finite MDP: those of a policy, and the optimal ones.

    q_π = r + γ P E_π q_π,      v_π = E_π q_π,
    q_* = r + γ P E q_*,        v_* = E q_*          (E_π q = Σ_a π(a|·) q(·, a),  E q = max_a q)

have one solution each. Up to `DIRECT_STATES` states, `evaluate` solves a dense linear system, and
`optimum` one for each policy of policy iteration, in float64. Beyond that both iterate, and stop
when the error is known to be small: T contracts by γ in the maximum norm, so that

    ‖v − v_*‖ ≤ ‖T v − v‖ / (1 − γ)

for any v whatever, and the same with T_π and v_π. `certified_values` gives that bound, the rounding
of T v included, beside the values:

    >>> mdp = maze(1000, 1000)
    >>> q_star = certified_values(mdp)
    >>> q_star.values.q.shape, q_star.error_bound < 1e-6
    ((1000000, 4), True)

A policy's values are iterated by BiCGSTAB on (I − γ P_π) v = r_π, which takes some √(1/(1 − γ))
products with P_π. The optimal ones by Gauss–Seidel sweeps of v ← T v through the states, in the
order of their distance to a terminal one. They begin at a v ≤ T v, so that v never falls. In a
deterministic problem whose values fall with that distance, one sweep is enough. A problem without
an end needs more, so every few sweeps v is raised to the values of its greedy policy.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from qduet.core.errors import InputError
from qduet.core.xla import max_over_actions, native_function, sum_over_actions
from qduet.tabular.mdp import DIRECT_STATES, MDP, Floats, QVTables, check_policy


class FixedPoint(NamedTuple):
    """A solution y of H y = y."""

    values: QVTables
    """(q, v); for the AV family v is V, and A is q − v."""
    error_bound: float
    """‖y − y_∞‖_max is at most this."""


def evaluate(mdp: MDP, policy: ArrayLike) -> QVTables:
    """q_π and v_π of a policy ``π[s, a]``, by solving (I − γ E_π P) v = E_π r."""
    pi = check_policy(mdp, policy)
    if mdp.num_states > DIRECT_STATES:
        return certified_values(mdp, pi).values
    transition = np.einsum("ij,ijk->ik", pi, mdp.p)
    reward = (pi * mdp.r).sum(axis=1)
    alive = ~mdp.terminal
    v = np.zeros(mdp.num_states)
    system = np.eye(alive.sum()) - mdp.discount * transition[np.ix_(alive, alive)]
    v[alive] = np.linalg.solve(system, reward[alive])
    return QVTables(q=mdp.r + mdp.discount * mdp.p @ v, v=v)


def policy_iteration(solve: Callable[[NDArray[np.intp]], Floats], q: Floats) -> Floats:
    """The q of ``solve(greedy policy of q)``, from the greedy policy of `q` until none is better.

    `solve` takes the action of each state and returns the fixed point of a monotone operator whose
    E follows those actions. An action replaces the present one only if it is better by more than
    rounding, so that ties cannot make the iteration cycle.
    """
    rows = np.arange(q.shape[0])
    greedy = q.argmax(axis=1)
    while True:
        q = solve(greedy)
        slack = 1e-12 * max(1.0, np.abs(q).max())
        better = q.max(axis=1) > q[rows, greedy] + slack
        if not better.any():
            return q
        greedy = np.where(better, q.argmax(axis=1), greedy)


def optimum(mdp: MDP) -> QVTables:
    """q_* and v_*, by policy iteration from the greedy policy of the immediate rewards."""
    if mdp.num_states > DIRECT_STATES:
        return certified_values(mdp).values
    q = policy_iteration(lambda greedy: evaluate(mdp, np.eye(mdp.num_actions)[greedy]).q, mdp.r)
    return QVTables(q=q, v=q.max(axis=1))


# --- By iteration, with a bound on the error -----------------------------------------------------


def expected_next(mdp: MDP, v: Floats) -> Floats:
    """(P v)(s,a) = Σ_s' p(s'|s,a) v(s'), ``[S, A]``."""
    if mdp.num_states <= DIRECT_STATES:
        return mdp.p @ v
    nexts, probability = mdp.successors
    total = probability[:, :, 0] * v[nexts[:, :, 0]]
    for i in range(1, nexts.shape[2]):
        total += probability[:, :, i] * v[nexts[:, :, i]]
    return total


def certified_values(
    mdp: MDP, policy: ArrayLike | None = None, *, tolerance: float = 1e-6
) -> FixedPoint:
    """q_* and v_*, or q_π and v_π of a `policy`, with a bound of at most `tolerance` on the error.

    By iteration, for an MDP of any size. The bound holds for each entry of q and v.
    """
    residual = tolerance * (1 - mdp.discount)
    if policy is None:
        found = _iterate_optimum(mdp, tolerance)
    else:
        pi = check_policy(mdp, policy)
        v = _solve(mdp, pi, np.zeros(mdp.num_states), residual / 2, rounds=1000)
        found = _certify(mdp, v, lambda q: (pi * q).sum(axis=1))
    if found.error_bound > tolerance:
        raise InputError(
            f"the values of {mdp.name} could be certified to {found.error_bound:.2g}, not to "
            f"tolerance={tolerance:g}: ask for a larger tolerance or a smaller discount"
        )
    return found


CHECK_EVERY = 5
"""Sweeps between two looks at the error, after the first, which may be enough."""
SOLVE_EVERY = 50
"""Sweeps between two solves for the values of the greedy policy; a multiple of `CHECK_EVERY`."""


def _iterate_optimum(mdp: MDP, tolerance: float) -> FixedPoint:
    """v_* from below: every v here has v ≤ T v, and so has the maximum of two of them."""
    contraction = mdp.discount
    lowest = min(mdp.r.min(), 0.0 if mdp.terminal.any() else np.inf) / (1 - contraction)
    v = np.where(mdp.terminal, 0.0, lowest)
    sweep = _sweep(mdp)
    most = 100 + int(np.log(1e-9 * tolerance) / np.log(max(contraction, 0.1)))
    for count in range(1, most):
        v = sweep(v)
        if count > 1 and count % CHECK_EVERY:
            continue
        found = _certify(mdp, v, lambda q: q.max(axis=1))
        if found.error_bound <= tolerance:
            break
        if count % SOLVE_EVERY == 0:
            policy = _greedy(found.values.q)
            near = _solve(mdp, policy, v, 0.01 * found.error_bound * (1 - contraction), rounds=1)
            backup = (policy * (mdp.r + contraction * expected_next(mdp, near))).sum(axis=1)
            lower = near - np.abs(backup - near).max() / (1 - contraction)
            v = np.where(mdp.terminal, 0.0, np.maximum(v, lower))
    return found


def _certify(mdp: MDP, v: Floats, expect: Callable[[Floats], Floats]) -> FixedPoint:
    """The values T v with the bound (‖T v − v‖ + rounding) / (1 − γ)."""
    q = mdp.r + mdp.discount * expected_next(mdp, v)
    image = expect(q)
    terms = mdp.successors.state.shape[2] + mdp.num_actions + 4
    rounding = terms * np.finfo(float).eps * max(np.abs(q).max(), np.abs(v).max())
    residual = np.abs(image - v).max() + rounding
    return FixedPoint(QVTables(q, image), float(residual / (1 - mdp.discount)))


def _greedy(q: Floats) -> Floats:
    policy = np.zeros_like(q)
    policy[np.arange(len(q)), q.argmax(axis=1)] = 1.0
    return policy


def _solve(mdp: MDP, policy: Floats, v: Floats, residual: float, rounds: int) -> Floats:
    """v_π from the guess `v`, to a largest residual of `residual` or as far as `rounds` lead."""
    import scipy.sparse.linalg  # which takes longer to import than all of this room

    nexts, probability = mdp.successors
    weights = policy[:, :, None] * probability
    used = weights > 0
    rows = np.broadcast_to(np.arange(mdp.num_states, dtype=np.int32)[:, None, None], used.shape)
    entries = (weights[used], (rows[used], nexts[used]))
    transition = scipy.sparse.csr_array(entries, shape=(mdp.num_states, mdp.num_states))
    system = scipy.sparse.eye_array(mdp.num_states, format="csr") - mdp.discount * transition
    reward = (policy * mdp.r).sum(axis=1)
    error = reward - system @ v
    for _ in range(rounds):
        if np.abs(error).max() <= residual:
            break
        step = scipy.sparse.linalg.bicgstab(system, error, rtol=0.0, atol=residual, maxiter=50)[0]
        left = error - system @ step
        if not np.abs(left).max() < np.abs(error).max():  # BiCGSTAB can break down
            step, left = error, mdp.discount * (transition @ error)  # v ← T_π v
        v, error = v + step, left
    return v


def _sweep(mdp: MDP) -> Callable[[Floats], Floats]:
    """A function that takes v through one Gauss–Seidel sweep of v ← T v."""
    order = _from_the_end(mdp) if mdp.terminal.any() else np.arange(mdp.num_states)
    with jax.enable_x64(True):
        arrays = [jnp.asarray(x) for x in (order.astype(np.int32), mdp.r, *mdp.successors)]
        compiled = jax.jit(functools.partial(_one_sweep, mdp.discount))

    def sweep(v: Floats) -> Floats:
        with jax.enable_x64(True):
            return np.asarray(compiled(v, *arrays))

    return sweep


def _one_sweep(
    discount: float, v: Any, order: Any, r: Any, nexts: Any, probability: Any
) -> jax.Array:
    """v(s) ← max_a (r + γ P v)(s, a), for each state s of `order` in turn."""

    @native_function
    def loop(v: Any, order: Any, r: Any, nexts: Any, probability: Any) -> Any:
        def visit(i: Any, v: Any) -> Any:
            s = order[i]
            expected = lambda a: sum_over_actions(
                lambda i: probability[s, a, i] * v[nexts[s, a, i]], nexts.shape[2]
            )
            value = lambda a: r[s, a] + discount * expected(a)
            return v.at[s].set(max_over_actions(value, r.shape[1]))

        return jax.lax.fori_loop(0, order.size, visit, v)

    return loop(v, order, r, nexts, probability)


def _from_the_end(mdp: MDP) -> NDArray[np.int32]:
    """The states that are not terminal, in the order of the fewest steps to a terminal one."""
    import scipy.sparse.csgraph

    size = mdp.num_states
    nexts, probability = mdp.successors
    used = (probability > 0) & ~mdp.terminal[:, None, None]
    rows = np.broadcast_to(np.arange(size, dtype=np.int32)[:, None, None], used.shape)
    ends = np.flatnonzero(mdp.terminal)
    # The arrows are reversed, and one more node, the last, points to every terminal state.
    tails = np.concatenate([nexts[used], np.full(ends.size, size)])
    heads = np.concatenate([rows[used], ends])
    graph = scipy.sparse.csr_array(
        (np.ones(tails.size, np.int8), (tails, heads)), shape=(size + 1, size + 1)
    )
    order = scipy.sparse.csgraph.breadth_first_order(graph, size, return_predecessors=False)
    order = order[order < size]
    never = np.setdiff1d(np.arange(size), order, assume_unique=True)
    order = np.concatenate([order, never])
    return order[~mdp.terminal[order]]
