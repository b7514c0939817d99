"""Our games against recordings of the original: the complete state, reward, end and observation."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from parity.conversion import CONVERSIONS
from parity.recording import Recording, select
from qduet.minatar import wrappers
from qduet.minatar.bitboard import unpack
from qduet.minatar.environment import Environment
from qduet.minatar.registry import GAMES

CHUNK = 2048
"""Transitions in one call, so that one compilation serves recordings of any length."""

LOCKSTEP_CHUNK = 256
"""Steps of a play in one call; what is left at a recording's end is not compared in lockstep."""


class Difference(NamedTuple):
    """One thing that came out otherwise than in the original."""

    game: str
    scenario: str
    transition: int
    """Which transition of the recording."""
    what: str
    """`reward`, `terminated`, `observation`, `packed`, `last_action`, or a field of the view."""
    expected: Any
    found: Any


class Stepper(NamedTuple):
    """A game's jitted functions on many states, to be made once per game."""

    one_step: Callable[..., Any]
    """states, actions, words -> outcome, observations, packed observations, all [CHUNK]"""
    lockstep: Callable[..., Any]
    """state, actions, words -> state, (rewards, ends, states, observations) after each step"""


def make_stepper(name: str, *, difficulty_ramping: bool = True) -> Stepper:
    """The functions of our game of this name, compiled when first used."""
    game = GAMES[name].game(difficulty_ramping=difficulty_ramping)
    sticky = partial(wrappers.wrap, game, actions=game.actions, sticky_probability=0.1)
    return Stepper(
        jax.jit(partial(one_step, sticky(reset_when_over=False))),
        jax.jit(partial(lockstep, sticky(reset_when_over=True))),
    )


def one_step(env: Environment, states: Any, actions: jax.Array, words: jax.Array) -> Any:
    """Every transition on its own."""
    outcome = jax.vmap(env.step)(states, actions, words)
    return outcome, jax.vmap(env.observe)(outcome.state), jax.vmap(env.pack)(outcome.state)


def lockstep(env: Environment, state: Any, actions: jax.Array, words: jax.Array) -> Any:
    """A whole play from one state, episodes after episodes."""

    def step(carry: Any, inputs: Any) -> Any:
        outcome = env.step(carry, *inputs)
        return outcome.state, (outcome, env.observe(outcome.state))

    return jax.lax.scan(step, state, (actions, words))


def compare(recording: Recording, stepper: Stepper) -> list[Difference]:
    """All differences, transition by transition and, where play is real, in lockstep."""
    differences = compare_one_step(recording, stepper)
    if recording.scenario.lockstep:
        differences += compare_lockstep(recording, stepper)
    return differences


def starts(recording: Recording, index: np.ndarray) -> wrappers.StickyState:
    """The recorded states of these indices, as ours."""
    view = select(recording.states, index)
    return wrappers.StickyState(
        CONVERSIONS[recording.game].to_state(view), recording.last_actions[index]
    )


def chunks(count: int) -> list[np.ndarray]:
    """Indices 0 .. count - 1 in pieces of CHUNK; the last one repeats its last index."""
    every = [np.arange(first, first + CHUNK) for first in range(0, count, CHUNK)]
    return [np.minimum(piece, count - 1) for piece in every]


def compare_one_step(recording: Recording, stepper: Stepper) -> list[Difference]:
    """Each transition from the original's own state."""
    result: list[Difference] = []
    for piece in chunks(len(recording.actions)):
        outcome, observations, packed = jax.device_get(
            stepper.one_step(
                starts(recording, recording.before[piece]),
                recording.actions[piece],
                recording.words[piece],
            )
        )
        unpacked = jax.vmap(partial(unpack, num_channels=observations.shape[-1]))(packed)
        after = recording.after[piece]
        found = {
            "reward": (recording.rewards[piece], outcome.reward),
            "terminated": (recording.terminated[piece], outcome.terminated),
            "observation": (recording.observations[after], observations),
            "packed": (recording.observations[after], np.asarray(unpacked)),
        }
        found |= state_pairs(recording, after, outcome.state)
        result += differences_in(recording, piece, found)
    return result


def compare_lockstep(recording: Recording, stepper: Stepper) -> list[Difference]:
    """From the first state on, with our own resets."""
    count = len(recording.actions) - 1
    first = starts(recording, recording.before[:1])
    state = jax.tree.map(lambda array: jnp.asarray(array[0]), first)
    result: list[Difference] = []
    for begin in range(0, count - count % LOCKSTEP_CHUNK, LOCKSTEP_CHUNK):
        piece = np.arange(begin, begin + LOCKSTEP_CHUNK)
        state, (outcome, observations) = stepper.lockstep(
            state, recording.actions[piece], recording.words[piece]
        )
        outcome, observations = jax.device_get((outcome, observations))
        following = recording.before[piece + 1]
        found = {
            "reward": (recording.rewards[piece], outcome.reward),
            "terminated": (recording.terminated[piece], outcome.terminated),
            "observation": (recording.observations[following], observations),
        }
        found |= state_pairs(recording, following, outcome.state)
        result += differences_in(recording, piece, found)
    return result


def state_pairs(recording: Recording, index: np.ndarray, states: Any) -> dict[str, Any]:
    """The recorded states and ours, field by field."""
    expected = select(recording.states, index)
    found = CONVERSIONS[recording.game].to_view(states.game)
    pairs = dict(zip(expected._fields, zip(expected, found, strict=True), strict=True))
    pairs["last_action"] = (recording.last_actions[index], states.last_action)
    return pairs


def differences_in(
    recording: Recording, piece: np.ndarray, found: dict[str, Any]
) -> list[Difference]:
    """A `Difference` for every unequal entry."""
    result = []
    for what, (expected, ours) in found.items():
        unequal = np.asarray(expected != np.asarray(ours)).reshape(len(piece), -1).any(1)
        for i in np.flatnonzero(unequal):
            result.append(
                Difference(
                    recording.game,
                    recording.scenario.name,
                    int(piece[i]),
                    what,
                    expected[i],
                    np.asarray(ours)[i],
                )
            )
    return result
