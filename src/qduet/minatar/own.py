"""What a game of one's own must be, examined by tracing alone.

    checked("Catch-v0", game)       # InputError says what is not as `types.Environment` tells
    fingerprint(game)               # of what it computes, "5f0c…"

Nothing is compiled or played.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from qduet.core.digests import digest
from qduet.core.errors import InputError
from qduet.minatar.layers import StickyState
from qduet.minatar.packing import SIZE
from qduet.minatar.types import ACTION_NAMES, Environment, Outcome, State

KINDS = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "float32")
"""Types that a state may be made of; checkpoints know them all."""


def checked(env_id: str, game: Environment) -> Environment:
    """The game, its names in tuples; `InputError` unless it is one, without layers."""
    if not isinstance(game, Environment):
        raise InputError(f"{env_id}: register a qduet.minatar.Environment, not {type(game)}")
    game = game._replace(channels=tuple(game.channels), actions=tuple(game.actions))
    fits = lambda names, allowed: names and len({*names}) == len(names) and {*names} <= allowed
    texts = {name for name in game.channels if isinstance(name, str) and name.strip()}
    if not fits(game.channels, texts):
        raise InputError(f"{env_id}: channels must be different names; they are {game.channels}")
    whole = all(isinstance(a, int | np.integer) for a in game.actions)
    if not whole or not fits(game.actions, set(range(len(ACTION_NAMES)))):
        raise InputError(
            f"{env_id}: actions must be different indices into ACTION_NAMES, 0 to "
            f"{len(ACTION_NAMES) - 1}; they are {game.actions}"
        )
    state, outcome, rows = _shapes(game)
    if isinstance(state, StickyState):
        raise InputError(f"{env_id}: register the game alone; make adds the layers around it")
    if not isinstance(outcome, Outcome):
        raise InputError(f"{env_id}: step must give an Outcome; it gives {_told(outcome)}")
    odd = [x for x in jax.tree.leaves(state) if str(x.dtype) not in KINDS]
    if odd:
        raise InputError(
            f"{env_id}: the state may hold {', '.join(KINDS)}; it holds {_told(odd[0])} "
            "(all randomness comes in as draws)"
        )
    if _structure(outcome.state) != _structure(state):
        raise InputError(
            f"{env_id}: step must give a state like that of reset: {_told(state)}; it gives "
            f"{_told(outcome.state)}"
        )
    expected = {
        "step must give a reward of": (outcome.reward, "float32[]"),
        "step must give terminated as": (outcome.terminated, "bool[]"),
        "rows must give": (rows, f"uint32[{game.num_channels}, {SIZE}]"),
    }
    for what, (found, wanted) in expected.items():
        if _told(found) != wanted:
            raise InputError(f"{env_id}: {what} {wanted}; it gives {_told(found)}")
    return game._replace(actions=tuple(map(int, game.actions)))


def _shapes(game: Environment) -> tuple[State, Any, Any]:
    """What `reset`, `step` and `rows` give."""
    draws = jax.ShapeDtypeStruct((game.num_draws,), jnp.uint32)
    state = jax.eval_shape(game.reset, draws)
    action = jax.ShapeDtypeStruct((), jnp.int32)
    outcome = jax.eval_shape(game.step, state, action, draws)
    return state, outcome, jax.eval_shape(game.rows, state)


def _structure(state: State) -> Any:
    return jax.tree.structure(state), [_told(x) for x in jax.tree.leaves(state)]


def _told(tree: Any) -> str:
    """Shapes and types in words: ``uint32[4, 10]``, ``Ball(x=int32[], y=int32[])``."""
    named = jax.tree.map(lambda x: _Words(f"{x.dtype}{list(x.shape)}"), tree)
    return str(named)


class _Words(str):
    """A text that is shown without quotes inside a structure."""

    __repr__ = str.__str__


def fingerprint(game: Environment) -> str:
    """A digest of what the game computes, so that another one of the same name is told apart."""
    draws, action = jnp.zeros(game.num_draws, jnp.uint32), jnp.int32(0)
    state = jax.eval_shape(game.reset, draws)
    return digest(
        repr((game.channels, game.actions, game.small_rewards)),
        (game.reset, (draws,)),
        (game.step, (state, action, draws)),
        (game.rows, (state,)),
    )


def with_own_draws(game: Environment) -> Environment:
    """The game with draws for `reset` that `step` does not see, so that no rule ties the two.

    (`layers.auto_reset` begins an episode from the draws of the step that has ended one.)
    """
    half = game.num_draws
    as_arrays = functools.partial(jax.tree.map, jnp.asarray)  # it may give numbers of Python
    return game._replace(
        num_draws=2 * half,
        reset=lambda draws: as_arrays(game.reset(draws[half:])),
        step=lambda state, action, draws: as_arrays(game.step(state, action, draws[:half])),
    )
