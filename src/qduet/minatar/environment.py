"""`Environment`: one game as pure functions; `jax.vmap` makes a batch of games.

All randomness comes in as `draws`: `num_draws` uniform 32-bit words. So a training loop makes one
random call for everything, and a test can feed the same draws to the original game.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from qduet.minatar import bitboard

ACTION_NAMES = ("noop", "left", "up", "right", "down", "fire")
"""The full action set; an environment's `actions` are indices into it."""

NOOP = 0
"""Action 0: nothing."""
LEFT = 1
"""Action 1: one column to the left."""
UP = 2
"""Action 2: one row up."""
RIGHT = 3
"""Action 3: one column to the right."""
DOWN = 4
"""Action 4: one row down."""
FIRE = 5
"""Action 5: what the game makes of the fire button."""

ALL_ACTIONS = NOOP, LEFT, UP, RIGHT, DOWN, FIRE

State = Any
"""A NamedTuple of small arrays; each game documents its own."""


class StepResult(NamedTuple):
    """What one step gives."""

    state: State
    """The next state; with auto-reset, the next episode's first one if this episode has ended."""
    reward: jax.Array
    """float32[]; see `Environment.small_rewards`."""
    terminated: jax.Array
    """bool[]: the game is over. There is no time limit, so nothing is ever truncated."""


class Environment(NamedTuple):
    """A game on a board of 10 × 10, alone or inside `qduet.minatar.wrappers`."""

    name: str
    """Its id, such as `MinAtar/Breakout-v1`; a game alone has any name."""
    channels: tuple[str, ...]
    """What each channel of the observation shows."""
    actions: tuple[int, ...]
    """The actions an agent may choose from, as indices into `ACTION_NAMES`."""
    num_draws: int
    """Random words that each call of `reset` or `step` is given; it may ignore them."""
    reset: Callable[[jax.Array], State]
    """draws uint32[num_draws] -> the first state of an episode"""
    step: Callable[[State, jax.Array, jax.Array], StepResult]
    """state, action int[], draws uint32[num_draws] -> the step's result

    What `make` returns takes the agent's choice, in [0, num_actions). A game alone takes an index
    into `ACTION_NAMES`: one of its `actions`, or the noop that sticky actions start from.
    """
    rows: Callable[[State], jax.Array]
    """state -> uint32[num_channels, 10]: the picture, each row a mask with bit x for column x"""
    small_rewards: bool = False
    """Every reward is a whole number in [−128, 127], so one byte can keep it. Not checked."""

    @property
    def num_actions(self) -> int:
        """How many actions an agent may choose from."""
        return len(self.actions)

    @property
    def num_channels(self) -> int:
        """How many channels an observation has."""
        return len(self.channels)

    @property
    def reward_dtype(self) -> np.dtype:
        """The dtype in which the replay memory and recordings keep a reward."""
        return np.dtype(np.int8 if self.small_rewards else np.float32)

    @property
    def packed_size(self) -> int:
        """Bytes of a packed observation."""
        return bitboard.packed_size(self.num_channels)

    def observe(self, state: State) -> jax.Array:
        """The observation, bool[10, 10, num_channels], as the original gives it."""
        return bitboard.dense(self.rows(state))

    def pack(self, state: State) -> jax.Array:
        """The observation in 100 bits a channel, uint8[packed_size]; `unpack` undoes it."""
        return bitboard.pack(self.rows(state))
