"""All states the original could be in, after what has been seen of a port.

Of every state the tracker knows, the original is run once for each outcome of its random draws (the
sticky one included), and the outcomes that show what the port showed, with the same reward and end,
are kept. None left: the port did something the original cannot do. Only the observation, the reward
and the end are compared, so nothing has to be known of the port's state or draws.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from qduet.minatar.conformance.ports import ORIGINAL_NAMES
from qduet.minatar.registry import GAMES

CONSTANT = ("channels", "action_map", "random", "ramping")
"""Attributes of the original's game objects that a step does not change."""


class World(NamedTuple):
    """One state the original could be in."""

    game: dict[str, Any]
    """The attributes of the game object."""
    last_action: int
    """Index into the full action set."""
    cleared: bool = False
    """In an episode's first step: supposes that the last action was forgotten at its start."""


class Outcome(NamedTuple):
    """One thing the original could do in a step."""

    world: World
    observation: np.ndarray
    reward: float
    terminated: bool
    sticky: bool
    """The chosen action was replaced by the last one."""
    was_cleared: bool


class Choices:
    """A random source that takes one path through all the answers it could give."""

    def __init__(self) -> None:
        self.path: list[int] = []
        self.taken: list[tuple[int, int]] = []
        """The answer of each call and how many there were."""
        self.cars: tuple[np.ndarray, np.ndarray] | None = None
        """Freeway: speeds and directions; there are too many to try, but they can be seen."""

    def _choose(self, count: int) -> int:
        place = len(self.taken)
        answer = self.path[place] if place < len(self.path) else 0
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


class Model:
    """The original as a function: from a world and an action to everything that could follow."""

    def __init__(self, game: str):
        from minatar import Environment

        self.env = Environment(ORIGINAL_NAMES[game])
        self.actions: tuple[int, ...] = GAMES[game].MINIMAL_ACTIONS
        self.is_freeway = game == "Freeway"
        self.choices = Choices()
        self.sticky = Fixed()
        self.env.random, self.env.env.random = self.sticky, self.choices

    def _paths(self, seen: np.ndarray | None) -> Iterator[None]:
        """Once for every path through the game's draws; `seen` shows Freeway's cars."""
        self.choices.path, self.choices.taken = [], []
        if self.is_freeway:
            self.choices.cars = read_cars(seen)
            if self.choices.cars is None:
                return
        yield
        while self.choices.next_path():
            yield

    def starts(self, seen: np.ndarray) -> list[Outcome]:
        """Every way in which an episode can begin, after noop."""
        outcomes = []
        for _ in self._paths(seen):
            self.env.reset()
            world = World(copied(snapshot(self.env.env)), 0)
            outcomes.append(Outcome(world, self.env.state(), 0.0, False, False, False))
        return outcomes

    def restore(self, world: World) -> None:
        """Puts the original into this state."""
        self.env.env.__dict__.update(copied(world.game))
        self.env.last_action = world.last_action

    def steps(self, world: World, action: int, seen: np.ndarray) -> Iterator[Outcome]:
        """Everything that can follow the action (an index into the minimal set)."""
        chosen = self.actions[action]
        for sticky in (False, True) if world.last_action != chosen else (False,):
            for _ in self._paths(seen):
                self.restore(world)
                self.sticky.value = 0.0 if sticky else 0.99
                reward, terminated = self.env.act(chosen)
                after = World(snapshot(self.env.env), int(self.env.last_action))
                yield Outcome(
                    after, self.env.state(), float(reward), bool(terminated), sticky, world.cleared
                )

    def survives(self, world: World, action: int, depth: int, *, whatever_sticks: bool) -> bool:
        """Whether the game can go on for `depth` steps after this one."""
        chosen_or_last = {self.actions[action]}
        if whatever_sticks:
            chosen_or_last.add(world.last_action)
        for executed in chosen_or_last:
            self.choices.path, self.choices.taken = [], []
            self.restore(world)
            self.sticky.value = 0.99
            if self.env.act(executed)[1]:
                return False
            after = World(snapshot(self.env.env), int(self.env.last_action))
            if depth and not any(
                self.survives(after, further, depth - 1, whatever_sticks=whatever_sticks)
                for further in self.preferred(after)
            ):
                return False
        return True

    def preferred(self, world: World) -> list[int]:
        """All actions, the last one first: it cannot be changed by sticking."""
        return sorted(range(len(self.actions)), key=lambda a: self.actions[a] != world.last_action)


class Fixed:
    """A random source for the sticky draw alone."""

    value = 0.99

    def rand(self) -> float:
        """The number that decides between the chosen and the last action."""
        return self.value


def read_cars(seen: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
    """Speeds [8] and whether cars drive right [8], as Freeway shows them; None if it does not."""
    if seen is None or seen.shape != (10, 10, 7):
        return None
    speeds, rightwards = np.zeros(8, int), np.zeros(8, bool)
    for row in range(8):
        (places,) = np.nonzero(seen[row + 1, :, 1])
        trails, kinds = np.nonzero(seen[row + 1, :, 2:])
        if len(places) != 1 or len(trails) != 1:
            return None
        speeds[row] = kinds[0] + 1
        rightwards[row] = trails[0] == (places[0] - 1) % 10
    return speeds, rightwards


def copied(values: dict[str, Any]) -> dict[str, Any]:
    """The attributes, with arrays and lists (of lists) of their own."""

    def copy(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.copy()
        if isinstance(value, list):
            return [copy(one) for one in value]
        return value

    return {name: copy(value) for name, value in values.items()}


def snapshot(game: Any) -> dict[str, Any]:
    """Everything about the game that a step may change; not copied, for `restore` copies."""
    return {name: value for name, value in vars(game).items() if name not in CONSTANT}


def fingerprint(world: World) -> tuple:
    """Equal for equal worlds."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.tobytes()
        return tuple(plain(one) for one in value) if isinstance(value, list) else value

    game = tuple((name, plain(value)) for name, value in sorted(world.game.items()))
    return game, world.last_action, world.cleared
