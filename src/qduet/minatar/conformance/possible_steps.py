"""Every step the original could make from a state, whatever its random draws are.

The original's random source is replaced by one that can take every path: `OriginalModel` runs the
original once for each path, the sticky draw included.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from qduet.minatar.conformance.ports import ORIGINAL_NAMES
from qduet.minatar.registry import GAMES

CONSTANT = ("channels", "action_map", "random", "ramping")
"""Attributes of the original's game objects that a step does not change."""


class PossibleState(NamedTuple):
    """One state the original could be in."""

    game: dict[str, Any]
    """The attributes of the game object."""
    last_action: int
    """Index into the full action set."""
    cleared: bool = False
    """In an episode's first step: supposes that the last action was forgotten at its start."""


class Shown(NamedTuple):
    """What a step shows an agent, in the original or in a port."""

    observation: np.ndarray
    """bool[10, 10, channels]"""
    reward: float
    terminated: bool

    def equals(self, other: "Shown") -> bool:
        """Whether all three are the same."""
        same_end = self.reward == other.reward and self.terminated == other.terminated
        return same_end and np.array_equal(self.observation, other.observation)


class PossibleStep(NamedTuple):
    """One thing the original could do in a step."""

    after: PossibleState
    shown: Shown
    sticky: bool = False
    """The chosen action was replaced by the last one."""
    was_cleared: bool = False
    """`cleared` of the state before."""


class AllPaths:
    """A random source that can give each answer: one path through its answers, then the next."""

    def __init__(self) -> None:
        self.path: list[int] = []
        """The answers to give first; after them, the first answer of each call."""
        self.taken: list[tuple[int, int]] = []
        """For each call so far: the answer, and how many answers there are."""
        self.cars: tuple[np.ndarray, np.ndarray] | None = None
        """Freeway's speeds and directions: too many to try, but the picture shows them."""

    def _choose(self, count: int) -> int:
        call = len(self.taken)
        answer = self.path[call] if call < len(self.path) else 0
        self.taken.append((answer, count))
        return answer

    def rand(self, *shape: int) -> Any:
        """One number on either side of 1/2 and of 1/3, or the cars' directions."""
        if shape:
            assert self.cars is not None
            return np.where(self.cars[1], 0.75, 0.25)
        return (0.2, 0.9)[self._choose(2)]

    def randint(self, low: int, high: int | None = None, size: int | None = None) -> Any:
        """Any integer of the range, or the cars' speeds."""
        if size is not None:
            assert self.cars is not None
            return self.cars[0].astype(np.int64)
        low, high = (0, low) if high is None else (low, high)
        return low + self._choose(high - low)

    def next_path(self) -> bool:
        """Goes on to the next path; False when there is none."""
        taken = self.taken
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        self.path = [answer for answer, _ in taken[:-1]] + [taken[-1][0] + 1] if taken else []
        self.taken = []
        return bool(self.path)


class OriginalModel:
    """The original as a function: from a state and an action to everything that could follow."""

    def __init__(self, game: str):
        from minatar import Environment

        self.env = Environment(ORIGINAL_NAMES[game])
        self.actions: tuple[int, ...] = GAMES[game].MINIMAL_ACTIONS
        self.is_freeway = game == "Freeway"
        self.draws = AllPaths()
        self.sticky = _Fixed()
        self.env.random, self.env.env.random = self.sticky, self.draws

    def _paths(self, seen: np.ndarray | None) -> Iterator[None]:
        """Once for every path through the game's draws; `seen` shows Freeway's cars."""
        self.draws.path, self.draws.taken = [], []
        if self.is_freeway:
            self.draws.cars = read_cars(seen)
            if self.draws.cars is None:
                return
        yield
        while self.draws.next_path():
            yield

    def starts(self, seen: np.ndarray) -> list[PossibleStep]:
        """Every way in which an episode can begin, with noop as the last action."""
        starts = []
        for _ in self._paths(seen):
            self.env.reset()
            state = PossibleState(_copied(_snapshot(self.env.env)), 0)
            starts.append(PossibleStep(state, Shown(self.env.state(), 0.0, False)))
        return starts

    def restore(self, state: PossibleState) -> None:
        """Puts the original into this state."""
        self.env.env.__dict__.update(_copied(state.game))
        self.env.last_action = state.last_action

    def steps(self, state: PossibleState, action: int, seen: np.ndarray) -> Iterator[PossibleStep]:
        """Everything that can follow the action, an index into the minimal set."""
        chosen = self.actions[action]
        for sticky in (False, True) if state.last_action != chosen else (False,):
            for _ in self._paths(seen):
                self.restore(state)
                self.sticky.value = 0.0 if sticky else 0.99
                reward, terminated = self.env.act(chosen)
                after = PossibleState(_snapshot(self.env.env), int(self.env.last_action))
                shown = Shown(self.env.state(), float(reward), bool(terminated))
                yield PossibleStep(after, shown, sticky, state.cleared)

    def survives(
        self, state: PossibleState, action: int, depth: int, *, whatever_sticks: bool
    ) -> bool:
        """Whether the game can go on for `depth` steps after this one."""
        chosen_or_last = {self.actions[action]}
        if whatever_sticks:
            chosen_or_last.add(state.last_action)
        for executed in chosen_or_last:
            self.draws.path, self.draws.taken = [], []
            self.restore(state)
            self.sticky.value = 0.99
            if self.env.act(executed)[1]:
                return False
            after = PossibleState(_snapshot(self.env.env), int(self.env.last_action))
            if depth and not any(
                self.survives(after, further, depth - 1, whatever_sticks=whatever_sticks)
                for further in self.preferred(after)
            ):
                return False
        return True

    def preferred(self, state: PossibleState) -> list[int]:
        """All actions, the last one first: it cannot be changed by sticking."""
        return sorted(range(len(self.actions)), key=lambda a: self.actions[a] != state.last_action)


class _Fixed:
    """A random source for the sticky draw alone."""

    value = 0.99

    def rand(self) -> float:
        """The number that decides between the chosen and the last action."""
        return self.value


def read_cars(seen: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
    """Speeds [8] and whether cars drive right [8], read off the picture; None if it has no cars."""
    if seen is None or seen.shape != (10, 10, 7):
        return None
    speeds, rightwards = np.zeros(8, int), np.zeros(8, bool)
    for row in range(8):
        (cars,) = np.nonzero(seen[row + 1, :, 1])
        trails, channels = np.nonzero(seen[row + 1, :, 2:])
        if len(cars) != 1 or len(trails) != 1:
            return None
        speeds[row] = channels[0] + 1
        rightwards[row] = trails[0] == (cars[0] - 1) % 10
    return speeds, rightwards


def _copied(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes, with arrays and lists (of lists) of their own."""

    def copy(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.copy()
        if isinstance(value, list):
            return [copy(one) for one in value]
        return value

    return {name: copy(value) for name, value in attributes.items()}


def _snapshot(game: Any) -> dict[str, Any]:
    """Everything about the game that a step may change; not copied, for `restore` copies."""
    return {name: value for name, value in vars(game).items() if name not in CONSTANT}


def state_key(state: PossibleState) -> tuple:
    """A key for dictionaries: equal for equal states."""

    def hashable(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.tobytes()
        return tuple(hashable(one) for one in value) if isinstance(value, list) else value

    game = tuple((name, hashable(value)) for name, value in sorted(state.game.items()))
    return game, state.last_action, state.cleared
