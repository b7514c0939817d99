"""What `register` checks of a user's game: the shapes and types of its functions.

The functions are only traced; nothing is compiled or played.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from qduet.core.digests import describe
from qduet.core.errors import InputError
from qduet.minatar.environment import ACTION_NAMES, Environment, State, StepResult
from qduet.minatar.packing import SIZE
from qduet.minatar.wrappers import StickyState

STATE_DTYPES = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "float32")
"""What a state may be made of; checkpoints can keep all of these."""


def check_game(env_id: str, game: Environment) -> Environment:
    """The game, with channels and actions as tuples; `InputError` says what is wrong with it."""
    if not isinstance(game, Environment):
        raise InputError(f"{env_id}: register a qduet.minatar.Environment, not {type(game)}")
    game = game._replace(channels=tuple(game.channels), actions=tuple(game.actions))
    named = all(isinstance(name, str) and name.strip() for name in game.channels)
    if not (named and 0 < len({*game.channels}) == len(game.channels)):
        raise InputError(f"{env_id}: channels must be different names; they are {game.channels}")
    last = len(ACTION_NAMES) - 1
    known = all(isinstance(a, int | np.integer) and 0 <= a <= last for a in game.actions)
    if not (known and 0 < len({*game.actions}) == len(game.actions)):
        raise InputError(
            f"{env_id}: actions must be different indices into ACTION_NAMES, 0 to {last}; they "
            f"are {game.actions}"
        )
    if not isinstance(game.num_draws, int | np.integer) or game.num_draws < 0:
        raise InputError(f"{env_id}: num_draws must be a number from 0; it is {game.num_draws!r}")
    draws = jax.ShapeDtypeStruct((game.num_draws,), jnp.uint32)
    state = jax.eval_shape(game.reset, draws)
    result = jax.eval_shape(game.step, state, jax.ShapeDtypeStruct((), jnp.int32), draws)
    rows = jax.eval_shape(game.rows, state)
    _check_draws(env_id, game, state)
    if isinstance(state, StickyState):
        raise InputError(f"{env_id}: register the game alone; make adds the wrappers around it")
    if not isinstance(result, StepResult):
        raise InputError(f"{env_id}: step must give a StepResult; it gives {describe(result)}")
    unknown = [x for x in jax.tree.leaves(state) if str(x.dtype) not in STATE_DTYPES]
    if unknown:
        raise InputError(
            f"{env_id}: the state may hold {', '.join(STATE_DTYPES)}; it holds "
            f"{describe(unknown[0])} (all randomness comes in as draws)"
        )
    if _structure(result.state) != _structure(state):
        raise InputError(
            f"{env_id}: step must give a state like that of reset: {describe(state)}; it gives "
            f"{describe(result.state)}"
        )
    required = {
        "step must give a reward of": (result.reward, "float32[]"),
        "step must give terminated as": (result.terminated, "bool[]"),
        "rows must give": (rows, f"uint32[{game.num_channels}, {SIZE}]"),
    }
    for what, (given, wanted) in required.items():
        if describe(given) != wanted:
            raise InputError(f"{env_id}: {what} {wanted}; it gives {describe(given)}")
    return game._replace(actions=tuple(map(int, game.actions)))


def _check_draws(env_id: str, game: Environment, state: Any) -> None:
    """Raises if the game reads a draw that it is not given; jax would take the last one instead.

    NumPy refuses such an index. Whatever else it refuses is no fault of the game's.
    """
    draws: Any = np.zeros(game.num_draws, np.uint32)
    try:
        jax.eval_shape(lambda: game.reset(draws))
        jax.eval_shape(lambda s, a: game.step(s, a, draws), state, np.int32(0))
    except IndexError as error:
        raise InputError(f"{env_id}: num_draws is too small, {game.num_draws}: {error}") from None
    except Exception:
        return


def _structure(state: State) -> Any:
    return jax.tree.structure(state), [describe(x) for x in jax.tree.leaves(state)]
