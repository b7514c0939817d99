"""Finite Markov decision processes as arrays.

An `MDP` holds the probabilities of next states, the mean reward of each transition, a discount
γ ∈ [0, 1) and a start distribution. Next states have two forms, which serve the same functions:

* dense: ``p[s, a, s']``, for problems of up to some thousand states;
* lists of `Successors`: ``state[s, a, i]`` and ``probability[s, a, i]`` for i < k, whose memory
  grows with |S| and not with |S|². A grid world of a million cells takes 10 to 200 MB.

Each form gives the other: `MDP.successors` always, `MDP.p` where the dense form fits in memory.

Tables of values are indexed by state, then action. Each set of tables has one type; rules keep JAX
arrays in it, exact values and operators NumPy arrays.

    >>> four_state("on-policy", num_actions=18).p.shape
    (4, 18, 4)
"""

import dataclasses
import functools
import hashlib
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import ArrayLike, NDArray

from qduet.core.errors import InputError, as_setting, unknown_name

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


class Successors(NamedTuple):
    """The next states of each state and action, as lists of k entries."""

    state: Any
    """``[S, A, k]``: s', an integer from 0 to S − 1. The same state may be listed twice."""
    probability: Any
    """``[S, A, k]``: its probability; 0 fills up a list with fewer than k next states."""


DENSE_ENTRIES = 2**25
"""The most entries that ``p[s, a, s']`` has when it is made from `Successors`: 256 MB."""

DIRECT_STATES = 500
"""Up to so many states, exact values and operators are computed from the dense form."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class MDP:
    """A finite MDP of S states and A actions.

    Args:
      p: ``[S, A, S]``: probability of next state s' after action a in state s; or `Successors`.
      reward: mean reward of the transition, ``[S, A, S]`` (with successors ``[S, A, k]``), or
        ``[S, A]``, the same for every next state.
      discount: γ ∈ [0, 1).
      start: ``[S]``: distribution of the first state of an episode; state 0 by default.
      terminal: ``[S]``: whether a state ends the episode; none does by default. A terminal state
        leads to itself and pays nothing, whatever its rows of `p` (which must be probabilities)
        and `reward` are.
      reward_std: standard deviation of Gaussian noise added to each sampled reward.
      name: a short text that names its results.

    Lists will do; they become read-only arrays. Whichever form was given, `p` and `reward` read as
    float64 ``[S, A, S]``. They are made when first asked for, and refused where they would have
    more than `DENSE_ENTRIES` entries. `successors` and `successor_reward` always exist.

    Here a corridor of three states with the actions left and right, which ends in its last state:

    >>> p = np.zeros((3, 2, 3))
    >>> p[[0, 1], 0, 0] = p[[0, 1], 1, [1, 2]] = p[2, :, 2] = 1
    >>> reward = [[-1, -1], [-1, -1], [0, 0]]
    >>> MDP(p, reward, discount=0.9, terminal=[False, False, True], name="corridor")
    MDP(corridor: 3 states, 2 actions, γ = 0.9)

    And one of a million states, each with a single successor per action:

    >>> here = np.arange(1_000_000)
    >>> moves = np.stack([np.maximum(here - 1, 0), np.minimum(here + 1, 999_999)], axis=1)
    >>> steps = Successors(moves[:, :, None], np.ones((1_000_000, 2, 1)))
    >>> MDP(steps, np.full((1_000_000, 2), -1.0), 0.99, terminal=here == 999_999)
    MDP(mdp: 1,000,000 states, 2 actions, γ = 0.99)
    """

    p: Any
    reward: Any
    discount: float
    start: Floats = dataclasses.field(default=None)  # type: ignore[arg-type]
    terminal: NDArray[np.bool_] = dataclasses.field(default=None)  # type: ignore[arg-type]
    reward_std: float = 0.0
    name: str = "mdp"

    def __post_init__(self) -> None:
        listed = isinstance(self.p, Successors)
        next_states = _checked_states(*self.p) if listed else None
        p = np.array(self.p.probability if listed else self.p, np.float64)
        if not listed and (p.ndim != 3 or p.shape[0] != p.shape[2] or 0 in p.shape):
            raise InputError(f"p must have shape [S, A, S] with S, A ≥ 1; it has {p.shape}")
        num_states, num_actions, width = p.shape
        reward = np.array(self.reward, np.float64)
        same_for_all = reward.shape == (num_states, num_actions)
        if same_for_all:
            reward = reward[:, :, None]
        else:
            if reward.ndim < 3:
                _check_shape("reward", reward, (num_states, num_actions))
            _check_shape("reward", reward, p.shape)
        start = _distribution_or_first(self.start, num_states)
        terminal = np.zeros(num_states, bool) if self.terminal is None else self.terminal
        terminal = np.array(terminal, bool)
        _check_shape("start", start, (num_states,))
        _check_shape("terminal", terminal, (num_states,))
        check_distribution("probability[s, a, :]" if listed else "p[s, a, :]", p)
        check_distribution("start", start)
        if not np.isfinite(reward).all():
            raise InputError("reward holds a value that is not finite")
        if not 0.0 <= self.discount < 1.0:
            raise InputError(f"discount must be in [0, 1); it is {self.discount}")
        if not 0.0 <= self.reward_std < np.inf:
            raise InputError(f"reward_std must be finite and ≥ 0; it is {self.reward_std}")
        if terminal.all() or start[terminal].any():
            raise InputError("an episode must start in a state that is not terminal")
        ends = np.flatnonzero(terminal)
        p[ends] = 0.0
        p[ends, :, 0 if listed else ends] = 1.0
        reward[ends] = 0.0
        fields: dict[str, Any] = {"start": start, "terminal": terminal}
        if next_states is None:
            fields |= {"p": p, "reward": reward.repeat(width, axis=2) if same_for_all else reward}
        else:
            next_states[ends] = ends[:, None, None]
            successors, reward = _in_order(Successors(next_states, p), reward)
            fields |= {"successors": successors, "successor_reward": reward}
            del self.__dict__["p"], self.__dict__["reward"]  # made by __getattr__ where needed
        for value in jax.tree.leaves(fields):
            value.setflags(write=False)
        self.__dict__.update(fields, discount=float(self.discount))

    def __repr__(self) -> str:
        sizes = f"{self.num_states:,} states, {self.num_actions} actions"
        return f"MDP({self.name}: {sizes}, γ = {self.discount:g})"

    def __getattr__(self, name: str) -> Any:
        """`p` and `reward` in the dense form of an MDP that was given by `Successors`."""
        if name not in ("p", "reward") or "successors" not in self.__dict__:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        self.__dict__.update(zip(("p", "reward"), self._dense(), strict=True))
        return self.__dict__[name]

    @property
    def fits_dense(self) -> bool:
        """Whether `p` and `reward` exist or can be made."""
        return "p" in self.__dict__ or self.num_states**2 * self.num_actions <= DENSE_ENTRIES

    def _dense(self) -> tuple[Floats, Floats]:
        """``p[s, a, s']``, and the mean reward of each transition, 0 where it never happens."""
        if not self.fits_dense:
            raise InputError(
                f"{self.name} has {self.num_states:,} states, too many for p[s, a, s'] and what is "
                "computed from it: use mdp.successors, or qduet.tabular.operators.P(mdp, v) for "
                "expected next values"
            )
        nexts, probability = self.successors
        p = np.zeros((self.num_states, self.num_actions, self.num_states))
        reward = np.zeros_like(p)
        rows, columns = np.ogrid[: self.num_states, : self.num_actions]
        entries = [(rows, columns, nexts[:, :, i]) for i in range(nexts.shape[2])]
        for i, index in enumerate(entries):
            p[index] += probability[:, :, i]
        for i, index in enumerate(entries):
            share = probability[:, :, i] / np.where(p[index] > 0, p[index], 1.0)
            reward[index] += share * self.successor_reward[:, :, i]
        for array in (p, reward):
            array.setflags(write=False)
        return p, reward

    @functools.cached_property
    def successors(self) -> Successors:
        """The next states in ascending order, so that a seed walks alike in either form."""
        width = int((self.p > 0).sum(axis=2).max())
        order = (self.p == 0).argsort(axis=2, kind="stable")[:, :, :width].astype(np.int32)
        return Successors(order, np.take_along_axis(self.p, order, axis=2))

    @functools.cached_property
    def successor_reward(self) -> Floats:
        """Mean reward of the transition to each of the `successors`, ``[S, A, k]``."""
        return np.take_along_axis(self.reward, self.successors.state, axis=2)

    @property
    def num_states(self) -> int:
        """|S|, terminal states included."""
        return self.terminal.size

    @functools.cached_property
    def num_actions(self) -> int:
        """|A|."""
        return (self.successors.state if "successors" in self.__dict__ else self.p).shape[1]

    @functools.cached_property
    def r(self) -> Floats:
        """Expected reward of action a in state s, ``[S, A]``."""
        if self.num_states <= DIRECT_STATES:
            return np.einsum("ijk,ijk->ij", self.p, self.reward)
        return np.einsum("ijk,ijk->ij", self.successors.probability, self.successor_reward)

    @functools.cached_property
    def digest(self) -> str:
        """Twelve hexadecimal digits of the whole problem except its name."""
        numbers = (self.discount, self.reward_std)
        transitions = (
            (self.p, self.reward) if self.fits_dense else (*self.successors, self.successor_reward)
        )
        content = hashlib.sha256(str(transitions[0].shape).encode())
        for array in (*transitions, self.start, self.terminal, numbers):
            content.update((np.asarray(array, "<f8") + 0.0).tobytes())  # −0 is 0
        return content.hexdigest()[:12]


def _checked_states(state: ArrayLike, probability: ArrayLike) -> NDArray[np.int32]:
    """The `state` of `Successors` as integers; raises unless each is a state."""
    given, shape = np.asarray(state), np.shape(probability)
    if given.ndim != 3 or 0 in given.shape or given.shape != shape:
        raise InputError(
            "the state and the probability of Successors must both have shape [S, A, k] with "
            f"S, A, k ≥ 1; they have {given.shape} and {shape}"
        )
    if given.dtype.kind not in "iu":
        raise InputError(f"the states of Successors must be integers; they are {given.dtype}")
    wrong = (given < 0) | (given >= len(given))
    if wrong.any():
        s, a, i = np.argwhere(wrong)[0]
        raise InputError(
            f"the states of Successors must be from 0 to {len(given) - 1}; state[{s}, {a}, {i}] is "
            f"{given[s, a, i]}"
        )
    return given.astype(np.int32)


def _in_order(successors: Successors, reward: Floats) -> tuple[Successors, Floats]:
    """Each list in ascending order of its states; a reward ``[S, A, 1]`` is that of each entry."""
    state, probability = successors
    if (np.diff(state, axis=2) < 0).any():
        order = state.argsort(axis=2, kind="stable")
        sort = lambda array: np.take_along_axis(array, order, axis=2)
        state, probability = sort(state), sort(probability)
        reward = sort(reward) if reward.shape == state.shape else reward
    return Successors(state, probability), np.broadcast_to(reward, state.shape)


def _distribution_or_first(start: ArrayLike | None, num_states: int) -> Floats:
    """`start` as an array; where it is None, all probability is on state 0."""
    if start is not None:
        return np.array(start, np.float64)
    first = np.zeros(num_states)
    first[0] = 1.0
    return first


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


FOUR_STATE = {"on-policy": (0.0, 0.99), "qvmax": (0.0, 0.99), "dueling": (-1.0, 0.999)}
"""The paper's problems: what every action but a₀ pays, and γ."""


def four_state(problem: str, num_actions: int, discount: float | None = None) -> MDP:
    """The paper's 4-state MDP: every action leads to a uniformly random state.

    Action a₀ pays +1. Every other action pays 0 in the problems ``on-policy`` and ``qvmax``
    (γ = 0.99), and −1 in ``dueling`` (γ = 0.999). Episodes never end and start in state 0.
    """
    if problem not in FOUR_STATE:
        raise unknown_name("problem", problem, FOUR_STATE)
    num_actions = as_setting(int, "num_actions", num_actions)
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
