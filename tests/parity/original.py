"""The original game, driven with chosen draws.

The `minatar` package is used only from outside: its attributes are read and set, its random sources
replaced. It is needed for comparisons alone, and imported when one is made.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from parity import views
from qduet.minatar.conformance.ports import ORIGINAL_NAMES

NUM_WORDS = {"Asterix": 2, "Breakout": 1, "Freeway": 3, "Seaquest": 2, "SpaceInvaders": 0}
"""Draws of each game, without the sticky one."""

Answer = tuple[str, Callable[..., Any]]
"""Which method of the random source is to be called next, and what it returns."""


class Tape:
    """A random source that gives prepared answers, and insists on the calls they are for."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []

    def _next(self, method: str, *arguments: Any, **named: Any) -> Any:
        expected, answer = self.answers.pop(0)
        assert method == expected, f"the original called {method}, not {expected}"
        return answer(*arguments, **named)

    def rand(self, *shape: int) -> Any:
        """As numpy's."""
        return self._next("rand", *shape)

    def randint(self, *bounds: Any, **named: Any) -> Any:
        """As numpy's."""
        return self._next("randint", *bounds, **named)


def uniform(word: int) -> Answer:
    """A call of `rand()`."""
    return "rand", lambda: word / 2**32


def asterix_answers(game: Any, words: list[int]) -> list[Answer]:
    """Direction, kind, and which free slot if there is one."""
    if game.spawn_timer != 0:
        return []
    answers = [uniform(words[1]), uniform(words[0])]
    if None in game.entities:
        answers.append(("randint", lambda count: ((words[1] & 0xFFFFFF) * count) >> 24))
    return answers


def seaquest_answers(game: Any, words: list[int]) -> list[Answer]:
    """Direction, kind and row of an enemy, then direction and row of a diver."""
    is_sub, rest = words
    answers: list[Answer] = []
    if game.e_spawn_timer == 0:
        answers += [uniform(rest), uniform(is_sub), row_answer(rest & 7)]
    if game.d_spawn_timer == 0:
        from_left = (rest >> 6) & 1 == 0
        answers += [("rand", lambda: 0.25 if from_left else 0.75), row_answer((rest >> 3) & 7)]
    return answers


def row_answer(row: int) -> Answer:
    """A call of `randint(low=1, high=9)`."""

    def answer(low: int, high: int) -> int:
        assert (low, high) == (1, 9)
        return 1 + row

    return "randint", answer


def freeway_answers(words: list[int]) -> list[Answer]:
    """The eight cars' speeds and directions."""
    numbers = [(word * 5**4) >> 32 for word in words[:2]]
    speeds = [1 + number // 5**i % 5 for number in numbers for i in range(4)]
    directions = [0.75 if (words[2] >> car) & 1 else 0.25 for car in range(8)]

    def answer_speeds(low: int, high: int, count: int) -> np.ndarray:
        assert (low, high, count) == (1, 6, 8)
        return np.array(speeds, np.int64)

    return [("randint", answer_speeds), ("rand", lambda count: np.array(directions))]


def step_answers(name: str, game: Any, words: list[int]) -> list[Answer]:
    """What the original will ask for in this step, if anything."""
    if name == "Asterix":
        return asterix_answers(game, words)
    if name == "Seaquest":
        return seaquest_answers(game, words)
    return freeway_answers(words) if name == "Freeway" else []


def reset_answers(name: str, words: list[int]) -> list[Answer]:
    """What the original will ask for in a reset."""
    if name == "Breakout":
        return [("randint", lambda count: words[0] >> 31)]
    return freeway_answers(words) if name == "Freeway" else []


class Original:
    """One game of the original, fed by words that mean the same to our games."""

    def __init__(self, name: str, *, difficulty_ramping: bool = True) -> None:
        from minatar import Environment

        self.name = name
        self.env = Environment(
            ORIGINAL_NAMES[name], sticky_action_prob=0.1, difficulty_ramping=difficulty_ramping
        )
        self.sticky_tape, self.game_tape = Tape(), Tape()
        self.env.random = self.sticky_tape
        self.game.random = self.game_tape

    @property
    def game(self) -> Any:
        """The object that holds the state."""
        return self.env.env

    @property
    def last_action(self) -> int:
        """The action executed last, which may be repeated."""
        return int(self.env.last_action)

    def reset(self, words: list[int]) -> None:
        """Start an episode; `words` are the game's, without the sticky one."""
        self.game_tape.answers = reset_answers(self.name, words)
        self.env.reset()
        assert not self.game_tape.answers, "the original drew less than expected"

    def step(self, action: int, words: list[int]) -> tuple[float, bool]:
        """One step; the first word decides about stickiness."""
        self.sticky_tape.answers = [uniform(words[0])]
        self.game_tape.answers = step_answers(self.name, self.game, words[1:])
        planned = len(self.game_tape.answers)
        reward, terminated = self.env.act(action)
        left = len(self.game_tape.answers)
        may_be_unused = self.name == "Freeway" and left == planned
        assert left == 0 or may_be_unused, "the original drew less than expected"
        return float(reward), bool(terminated)

    def observe(self) -> np.ndarray:
        """The observation, bool[10, 10, channels]."""
        return self.env.state()

    def read(self, view: Any, index: int) -> None:
        """Store the state as row `index` of a view."""
        views.read(view, index, self.game)

    def write(self, view: Any, index: int) -> None:
        """Take the state from row `index` of a view; the game is not over then."""
        views.write(view, index, self.game)
        self.game.terminal = False
