"""Every step the original could make from a state, whatever its random draws are.

`OriginalModel` runs the original once for each path through its draws, and for the chosen and the
last action. For that the original's random source is replaced by one that can take every path.
"""

import copy
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
    """The attributes of the game object that a step may change."""
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

    def paths(self) -> Iterator[None]:
        """Yields once for every path; in between the original is run."""
        self.path = []
        while True:
            self.taken = []
            yield
            while self.taken and self.taken[-1][0] + 1 == self.taken[-1][1]:
                self.taken.pop()
            if not self.taken:
                return
            *before, last = (answer for answer, _ in self.taken)
            self.path = [*before, last + 1]


class OriginalModel:
    """The original as a function: from a state and an action to everything that could follow."""

    def __init__(self, game: str):
        from minatar import Environment

        # Nothing sticks by itself: here both the chosen and the last action are executed.
        self.env = Environment(ORIGINAL_NAMES[game], sticky_action_prob=0.0)
        self.actions: tuple[int, ...] = GAMES[game].MINIMAL_ACTIONS
        self.is_freeway = game == "Freeway"
        self.draws = self.env.env.random = AllPaths()

    def _paths(self, seen: np.ndarray) -> Iterator[None]:
        """Once for every path through the game's draws; `seen` shows Freeway's cars."""
        if self.is_freeway:
            self.draws.cars = read_cars(seen)
        if not self.is_freeway or self.draws.cars is not None:
            yield from self.draws.paths()

    def starts(self, seen: np.ndarray) -> list[PossibleStep]:
        """Every way in which an episode can begin, with noop as the last action."""
        starts = []
        for _ in self._paths(seen):
            self.env.reset()
            starts.append(PossibleStep(self._state(0), Shown(self.env.state(), 0.0, False)))
        return starts

    def steps(self, state: PossibleState, action: int, seen: np.ndarray) -> Iterator[PossibleStep]:
        """Everything that can follow the action, an index into the minimal set."""
        for executed in dict.fromkeys((self.actions[action], state.last_action)):
            for _ in self._paths(seen):
                self.restore(state)
                reward, terminated = self.env.act(executed)
                shown = Shown(self.env.state(), float(reward), bool(terminated))
                yield PossibleStep(self._state(executed), shown, state.cleared)

    def _state(self, last_action: int) -> PossibleState:
        """The state that the original is in now."""
        attributes = vars(self.env.env).items()
        changing = {name: value for name, value in attributes if name not in CONSTANT}
        return PossibleState(copy.deepcopy(changing), last_action)

    def restore(self, state: PossibleState) -> None:
        """Puts the original into this state."""
        vars(self.env.env).update(copy.deepcopy(state.game))

    def survives(
        self, state: PossibleState, action: int, depth: int, *, whatever_sticks: bool
    ) -> bool:
        """Whether the game can go on for `depth` steps after this one."""
        executable = {self.actions[action]}
        if whatever_sticks:
            executable.add(state.last_action)
        for executed in executable:
            self.draws.path, self.draws.taken = [], []
            self.restore(state)
            if self.env.act(executed)[1]:
                return False
            after = self._state(executed)
            if depth and not any(
                self.survives(after, further, depth - 1, whatever_sticks=whatever_sticks)
                for further in self._preferred(after)
            ):
                return False
        return True

    def _preferred(self, state: PossibleState) -> list[int]:
        """All actions, the last one first: it cannot be changed by sticking."""
        return sorted(range(len(self.actions)), key=lambda a: self.actions[a] != state.last_action)


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
