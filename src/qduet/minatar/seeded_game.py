"""A game that makes its draws itself, from a seed: for Gymnasium and `qduet play`.

Draw number n of a seed is `bits(fold_in(key, n))`. It depends on nothing else, so a game in a batch
is bit for bit the game that the same seed plays alone. A training loop makes its own draws and does
not use this module.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qduet.minatar.environment import Environment, StepResult
from qduet.minatar.wrappers import StickyState


class SeededGame(NamedTuple):
    """The state of a game, and how far it is in its seed's stream of draws."""

    key: jax.Array
    """uint32[2]: the data of the seed's key."""
    draws_used: jax.Array
    """uint32[]: how often it has drawn; each time it gets `num_draws` words."""
    state: StickyState
    """The game's state, with the action that was executed last."""
    over: jax.Array
    """bool[]: the episode has ended and no new one has begun."""


def key_data(seed: int | None) -> np.ndarray:
    """The key of a seed, uint32[2]. Any non-negative integer is a seed; None is a random one."""
    return np.random.SeedSequence(seed).generate_state(2)


def draw(env: Environment, key: jax.Array, number: jax.Array) -> jax.Array:
    """Draw number `number` of the key, uint32[num_draws]."""
    at = jax.random.fold_in(jax.random.wrap_key_data(key, impl="threefry2x32"), number)
    return jax.random.bits(at, (env.num_draws,))


def first_episode(env: Environment, key: jax.Array) -> SeededGame:
    """The start of a seed's first episode; the last action is noop."""
    state = env.reset(draw(env, key, jnp.uint32(0)))
    return SeededGame(key, jnp.uint32(1), state, jnp.bool_(False))


def next_episode(env: Environment, game: SeededGame) -> SeededGame:
    """The start of another episode: the draws go on, and the last action survives."""
    state = env.reset(draw(env, game.key, game.draws_used))
    state = state._replace(last_action=game.state.last_action)
    return SeededGame(game.key, game.draws_used + 1, state, jnp.bool_(False))


def step(env: Environment, game: SeededGame, action: jax.Array) -> StepResult:
    """One step. A game that is over stays as it is: reward 0, and `terminated` again.

    The result's state is a `SeededGame`. `env` must come from `make(..., auto_reset=False)`.
    """
    after = env.step(game.state, action, draw(env, game.key, game.draws_used))
    # As in the original, a finished game still notes the action it was given.
    kept = game.state._replace(last_action=after.state.last_action)
    frozen = game._replace(draws_used=game.draws_used + 1, state=kept)
    moved = frozen._replace(state=after.state, over=after.terminated)
    choose = lambda old, new: jnp.where(game.over, old, new)
    return StepResult(
        jax.tree.map(choose, frozen, moved),
        jnp.where(game.over, jnp.float32(0), after.reward),
        game.over | after.terminated,
    )
