"""What `register` checks of a user's game: the shapes and types of its functions.

The functions are only traced; nothing is compiled or played.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

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
    draws = jax.ShapeDtypeStruct((game.num_draws,), jnp.uint32)
    state = jax.eval_shape(game.reset, draws)
    result = jax.eval_shape(game.step, state, jax.ShapeDtypeStruct((), jnp.int32), draws)
    rows = jax.eval_shape(game.rows, state)
    if isinstance(state, StickyState):
        raise InputError(f"{env_id}: register the game alone; make adds the wrappers around it")
    if not isinstance(result, StepResult):
        raise InputError(f"{env_id}: step must give a StepResult; it gives {_describe(result)}")
    unknown = [x for x in jax.tree.leaves(state) if str(x.dtype) not in STATE_DTYPES]
    if unknown:
        raise InputError(
            f"{env_id}: the state may hold {', '.join(STATE_DTYPES)}; it holds "
            f"{_describe(unknown[0])} (all randomness comes in as draws)"
        )
    if _structure(result.state) != _structure(state):
        raise InputError(
            f"{env_id}: step must give a state like that of reset: {_describe(state)}; it gives "
            f"{_describe(result.state)}"
        )
    required = {
        "step must give a reward of": (result.reward, "float32[]"),
        "step must give terminated as": (result.terminated, "bool[]"),
        "rows must give": (rows, f"uint32[{game.num_channels}, {SIZE}]"),
    }
    for what, (given, wanted) in required.items():
        if _describe(given) != wanted:
            raise InputError(f"{env_id}: {what} {wanted}; it gives {_describe(given)}")
    return game._replace(actions=tuple(map(int, game.actions)))


def _structure(state: State) -> Any:
    return jax.tree.structure(state), [_describe(x) for x in jax.tree.leaves(state)]


def _describe(tree: Any) -> str:
    """Shapes and types in words: ``uint32[4, 10]``, ``Ball(x=int32[], y=int32[])``."""
    return str(jax.tree.map(lambda x: f"{x.dtype}{list(x.shape)}", tree)).replace("'", "")
