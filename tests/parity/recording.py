"""Plays of the original, written down completely: states, actions, draws and what came of them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from parity import views
from parity.original import NUM_WORDS, Original
from qduet.minatar.conformance.policies import Policy

Words = Callable[[np.random.Generator, int], np.ndarray]
"""A generator, how many -> a step's words, uint32[how many], the sticky one first."""


class Scenario(NamedTuple):
    """A way of playing."""

    name: str
    policy: Policy
    words: Words
    immortal: bool = False
    """The game goes on after it has ended."""
    fuzz: Callable[[np.random.Generator], Any] | None = None
    """Makes a view of one state, which is put into the game every `fuzz_steps` steps."""
    fuzz_steps: int = 1
    difficulty_ramping: bool = True

    @property
    def lockstep(self) -> bool:
        """Whether states follow each other as in real play, episodes after episodes."""
        return not self.immortal and self.fuzz is None


class Recording(NamedTuple):
    """`n` transitions between `m` states of one game."""

    game: str
    scenario: Scenario
    states: Any
    """A view of the m states."""
    observations: np.ndarray
    """bool[m, 10, 10, channels]"""
    last_actions: np.ndarray
    """int32[m]: executed in the step before the state, in this episode or the last."""
    before: np.ndarray
    """int[n]: the state a transition starts from."""
    after: np.ndarray
    """int[n]: the state it leads to, before any reset."""
    actions: np.ndarray
    """int32[n]: chosen, in the full action set."""
    words: np.ndarray
    """uint32[n, draws], the sticky one first."""
    rewards: np.ndarray
    """float32[n]"""
    terminated: np.ndarray
    """bool[n]"""

    def view_before(self) -> Any:
        """The states the transitions start from."""
        return select(self.states, self.before)

    def view_after(self) -> Any:
        """The states they lead to."""
        return select(self.states, self.after)


def select(view: Any, index: Any) -> Any:
    """The rows `index` of a view."""
    return type(view)(*(array[index] for array in view))


class Recorder:
    """Steps the original and keeps what happens."""

    def __init__(self, game: str, scenario: Scenario, num_steps: int) -> None:
        self.original = Original(game, difficulty_ramping=scenario.difficulty_ramping)
        room = 2 * num_steps + 1
        self.view = views.empty(game, room)
        self.observations = np.zeros((room, *self.original.observe().shape), bool)
        self.last_actions = np.zeros(room, np.int32)
        self.num_states = 0

    def keep_state(self) -> int:
        """Write down the state as it is; returns its index."""
        index = self.num_states
        self.original.read(self.view, index)
        self.observations[index] = self.original.observe()
        self.last_actions[index] = self.original.last_action
        self.num_states += 1
        return index


def record(game: str, scenario: Scenario, num_steps: int, seed: int) -> Recording:
    """Play `num_steps` of the original in this scenario."""
    rng = np.random.default_rng(seed)
    recorder = Recorder(game, scenario, num_steps)
    original = recorder.original
    num_words = 1 + NUM_WORDS[game]
    before, after = np.zeros(num_steps, int), np.zeros(num_steps, int)
    actions, words = np.zeros(num_steps, np.int32), np.zeros((num_steps, num_words), np.uint32)
    rewards, terminated = np.zeros(num_steps, np.float32), np.zeros(num_steps, bool)

    words_now = scenario.words(rng, num_words)
    original.reset(words_now[1:].tolist())
    state = recorder.keep_state()
    for i in range(num_steps):
        if scenario.fuzz and i % scenario.fuzz_steps == 0:
            original.write(scenario.fuzz(rng), 0)
            state = recorder.keep_state()
        before[i] = state
        actions[i] = scenario.policy(original.game, rng)
        words[i] = words_now = scenario.words(rng, num_words)
        rewards[i], terminated[i] = original.step(int(actions[i]), words_now.tolist())
        after[i] = state = recorder.keep_state()
        if terminated[i] and scenario.immortal:
            original.game.terminal = False
        elif terminated[i]:
            original.reset(words_now[1:].tolist())
            state = recorder.keep_state()
    kept = slice(0, recorder.num_states)
    return Recording(
        game,
        scenario,
        select(recorder.view, kept),
        recorder.observations[kept],
        recorder.last_actions[kept],
        before,
        after,
        actions,
        words,
        rewards,
        terminated,
    )
