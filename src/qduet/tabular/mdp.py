"""Finite Markov decision processes as arrays, and their exact values.

An `MDP` holds ``p[s, a, s']``, the mean reward of each transition ``reward[s, a, s']``, a discount
γ ∈ [0, 1) and a start distribution. Terminal states are absorbing and pay nothing, so that

    q_π = r + γ P E_π q_π,      v_π = E_π q_π,
    q_* = r + γ P E q_*,        v_* = E q_*          (E_π q = Σ_a π(a|·) q(·, a),  E q = max_a q)

have one solution each, found by a linear solve (`evaluate`) and by policy iteration (`optimum`), in
float64.

Tables of values are indexed by state, then action. Each set of tables has one type; rules keep JAX
arrays in it, exact values and operators NumPy arrays.

    >>> mdp = four_state("on-policy", num_actions=18)
    >>> evaluate(mdp, uniform_policy(mdp)).v.round(6)
    array([5.555556, 5.555556, 5.555556, 5.555556])
"""

import dataclasses
import functools
import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import ArrayLike, NDArray

from qduet.core.errors import InputError, unknown_name

Floats = NDArray[np.float64]
"""An array in double precision."""


class VTable(NamedTuple):
    """State values alone."""

    v: Any
    """``[S]``"""


class QTable(NamedTuple):
    """Action values alone."""

    q: Any
    """``[S, A]``"""


class QVTables(NamedTuple):
    """Action values and state values."""

    q: Any
    """``[S, A]``"""
    v: Any
    """``[S]``"""


class AVTables(NamedTuple):
    """State values and advantages."""

    v: Any
    """``[S]``"""
    adv: Any
    """``[S, A]``"""


@dataclasses.dataclass(frozen=True, eq=False)
class MDP:
    """A finite MDP of S states and A actions.

    Args:
      p: ``[S, A, S]``: probability of next state s' after action a in state s.
      reward: ``[S, A, S]`` (or ``[S, A]``, the same for every s'): mean reward of the transition.
      discount: γ ∈ [0, 1).
      start: ``[S]``: distribution of the first state of an episode; state 0 by default.
      terminal: ``[S]``: whether a state ends the episode; none does by default. A terminal state
        leads to itself and pays nothing, whatever its rows of `p` (which must be probabilities)
        and `reward` are.
      reward_std: standard deviation of Gaussian noise added to each sampled reward.
      name: a short text that names its results.

    Lists will do; they become read-only float64 arrays, `reward` always ``[S, A, S]``. Here a
    corridor of three states with the actions left and right, which ends in its last state:

    >>> p = np.zeros((3, 2, 3))
    >>> p[[0, 1], 0, 0] = p[[0, 1], 1, [1, 2]] = p[2, :, 2] = 1
    >>> reward = [[-1, -1], [-1, -1], [0, 0]]
    >>> mdp = MDP(p, reward, discount=0.9, terminal=[False, False, True], name="corridor")
    >>> optimum(mdp).q
    array([[-2.71, -1.9 ],
           [-2.71, -1.  ],
           [ 0.  ,  0.  ]])
    """

    p: Floats
    reward: Floats
    discount: float
    start: Floats = dataclasses.field(default=None)  # type: ignore[arg-type]
    terminal: NDArray[np.bool_] = dataclasses.field(default=None)  # type: ignore[arg-type]
    reward_std: float = 0.0
    name: str = "mdp"

    def __post_init__(self) -> None:
        p = np.array(self.p, np.float64)
        if p.ndim != 3 or p.shape[0] != p.shape[2] or 0 in p.shape:
            raise InputError(f"p must have shape [S, A, S] with S, A ≥ 1; it has {p.shape}")
        num_states, num_actions, _ = p.shape
        reward = np.array(self.reward, np.float64)
        if reward.shape == (num_states, num_actions):
            reward = np.repeat(reward[:, :, None], num_states, axis=2)
        start = np.eye(num_states)[0] if self.start is None else np.array(self.start, np.float64)
        terminal = np.zeros(num_states, bool) if self.terminal is None else self.terminal
        terminal = np.array(terminal, bool)
        _check_shape("reward", reward, p.shape)
        _check_shape("start", start, (num_states,))
        _check_shape("terminal", terminal, (num_states,))
        check_distribution("p[s, a, :]", p)
        check_distribution("start", start)
        if not np.isfinite(reward).all():
            raise InputError("reward holds a value that is not finite")
        if not 0.0 <= self.discount < 1.0:
            raise InputError(f"discount must be in [0, 1); it is {self.discount}")
        if not 0.0 <= self.reward_std < np.inf:
            raise InputError(f"reward_std must be finite and ≥ 0; it is {self.reward_std}")
        if terminal.all() or start[terminal].any():
            raise InputError("an episode must start in a state that is not terminal")
        p[terminal] = np.eye(num_states)[terminal][:, None, :]
        reward[terminal] = 0.0
        arrays = {"p": p, "reward": reward, "start": start, "terminal": terminal}
        for field, value in arrays.items():
            value.setflags(write=False)
            object.__setattr__(self, field, value)
        object.__setattr__(self, "discount", float(self.discount))

    @property
    def num_states(self) -> int:
        """|S|, terminal states included."""
        return self.p.shape[0]

    @property
    def num_actions(self) -> int:
        """|A|."""
        return self.p.shape[1]

    @functools.cached_property
    def r(self) -> Floats:
        """Expected reward of action a in state s, ``[S, A]``."""
        return np.einsum("ijk,ijk->ij", self.p, self.reward)

    @functools.cached_property
    def digest(self) -> str:
        """Twelve hexadecimal digits of the whole problem except its name."""
        numbers = (self.discount, self.reward_std)
        content = hashlib.sha256(str(self.p.shape).encode())
        for array in (self.p, self.reward, self.start, self.terminal, numbers):
            content.update((np.asarray(array, "<f8") + 0.0).tobytes())  # −0 is 0
        return content.hexdigest()[:12]


def _check_shape(name: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise InputError(f"{name} must have shape {list(shape)}; it has {list(array.shape)}")


def check_distribution(name: str, array: Floats) -> None:
    """Raises unless the last axis of `array` holds probabilities that sum to 1."""
    if not np.isfinite(array).all() or (array < 0).any():
        raise InputError(f"{name} holds a value that is negative or not finite")
    worst = array.sum(axis=-1).flat[np.abs(array.sum(axis=-1) - 1).argmax()]
    if abs(worst - 1) > 1e-8:
        raise InputError(f"{name} must sum to 1; the worst sum is {worst:.9g}")


def check_policy(mdp: MDP, policy: ArrayLike) -> Floats:
    """`policy` as a float64 ``[S, A]`` array of action probabilities."""
    array = np.array(policy, np.float64)
    _check_shape("policy", array, (mdp.num_states, mdp.num_actions))
    check_distribution("policy[s, :]", array)
    return array


def uniform_policy(mdp: MDP) -> Floats:
    """The policy that takes every action with equal probability."""
    return np.full((mdp.num_states, mdp.num_actions), 1 / mdp.num_actions)


def evaluate(mdp: MDP, policy: ArrayLike) -> QVTables:
    """q_π and v_π of a policy ``π[s, a]``, by solving (I − γ E_π P) v = E_π r."""
    pi = check_policy(mdp, policy)
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
    q = policy_iteration(lambda greedy: evaluate(mdp, np.eye(mdp.num_actions)[greedy]).q, mdp.r)
    return QVTables(q=q, v=q.max(axis=1))


FOUR_STATE = {"on-policy": (0.0, 0.99), "qvmax": (0.0, 0.99), "dueling": (-1.0, 0.999)}
"""The paper's problems: what every action but a₀ pays, and γ."""


def four_state(problem: str, num_actions: int, discount: float | None = None) -> MDP:
    """The paper's 4-state MDP: every action leads to a uniformly random state.

    Action a₀ pays +1. Every other action pays 0 in the problems ``on-policy`` and ``qvmax``
    (γ = 0.99), and −1 in ``dueling`` (γ = 0.999). Episodes never end and start in state 0.
    """
    if problem not in FOUR_STATE:
        raise unknown_name("problem", problem, FOUR_STATE)
    if num_actions < 1:
        raise InputError(f"the number of actions must be at least 1; it is {num_actions}")
    other_reward, default_discount = FOUR_STATE[problem]
    reward = np.full((4, num_actions), other_reward)
    reward[:, 0] = 1.0
    return MDP(
        p=np.full((4, num_actions, 4), 1 / 4),
        reward=reward,
        discount=default_discount if discount is None else discount,
        name=f"{problem}-{num_actions}",
    )


def garnet(
    key: jax.Array, *, num_states: int, num_actions: int, branching: int, discount: float
) -> MDP:
    """A random MDP: each (s, a) leads to `branching` random states and pays a standard normal.

    The next states are drawn without replacement; their probabilities are the gaps between sorted
    uniform numbers. ``branching=1`` makes it deterministic. (Archibald, McKinnon and Thomas, 1995.)
    """
    if num_states < 1 or num_actions < 1 or not 1 <= branching <= num_states:
        raise InputError(
            "a random MDP needs num_states ≥ 1, num_actions ≥ 1 and 1 ≤ branching ≤ num_states; "
            f"they are {num_states}, {num_actions}, {branching}"
        )
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    pairs = (num_states, num_actions)
    next_states = rng.random((*pairs, num_states)).argsort(axis=-1)[..., :branching]
    cuts = np.sort(rng.random((*pairs, branching - 1)), axis=-1)
    gaps = np.diff(cuts, prepend=0.0, append=1.0, axis=-1)
    p = np.zeros((*pairs, num_states))
    np.put_along_axis(p, next_states, gaps, axis=-1)
    return MDP(p=p, reward=rng.normal(size=pairs), discount=discount, name="garnet")
