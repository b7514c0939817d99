"""What `register` checks of a user's game: the shapes and types of its functions.

The functions are only traced; nothing is compiled or played. `qduet.deep.environments` checks its
environments with the same functions.
"""

from collections.abc import Mapping
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
    state, result = check_functions(env_id, game, StepResult)
    if isinstance(state, StickyState):
        raise InputError(f"{env_id}: register the game alone; make adds the wrappers around it")
    rows = jax.eval_shape(game.rows, state)
    required = {
        "step must give a reward of": (result.reward, "float32[]"),
        "step must give terminated as": (result.terminated, "bool[]"),
        "rows must give": (rows, f"uint32[{game.num_channels}, {SIZE}]"),
    }
    check_shapes(env_id, required)
    return game._replace(actions=tuple(map(int, game.actions)))


def check_functions(env_id: str, env: Any, step_type: type[Any]) -> tuple[State, Any]:
    """The shapes of the state and of a step's result, which must be a `step_type`.

    `env` has `num_draws`, `reset` and `step`.
    """
    if not isinstance(env.num_draws, int | np.integer) or env.num_draws < 0:
        raise InputError(f"{env_id}: num_draws must be a number from 0; it is {env.num_draws!r}")
    draws = jax.ShapeDtypeStruct((env.num_draws,), jnp.uint32)
    try:
        state = jax.eval_shape(env.reset, draws)
        result = jax.eval_shape(env.step, state, jax.ShapeDtypeStruct((), jnp.int32), draws)
        _read_draws(env, state)
    except IndexError as error:
        raise InputError(f"{env_id}: num_draws is too small, {env.num_draws}: {error}") from None
    if not isinstance(result, step_type):
        name = step_type.__name__
        raise InputError(f"{env_id}: step must give a {name}; it gives {describe(result)}")
    check_dtypes(env_id, "the state", state)
    if _structure(result.state) != _structure(state):
        raise InputError(
            f"{env_id}: step must give a state like that of reset: {describe(state)}; it gives "
            f"{describe(result.state)}"
        )
    return state, result


def check_dtypes(env_id: str, what: str, tree: Any) -> None:
    """Raises if an array is of a type that files and the replay memory cannot keep."""
    unknown = [x for x in jax.tree.leaves(tree) if str(x.dtype) not in STATE_DTYPES]
    if unknown:
        raise InputError(
            f"{env_id}: {what} may hold {', '.join(STATE_DTYPES)}; it holds "
            f"{describe(unknown[0])} (all randomness comes in as draws)"
        )


def check_shapes(env_id: str, required: Mapping[str, tuple[Any, str]]) -> None:
    """Raises if a value is not described as it must be: {what: (value, description)}."""
    for what, (given, wanted) in required.items():
        if describe(given) != wanted:
            raise InputError(f"{env_id}: {what} {wanted}; it gives {describe(given)}")


def _read_draws(env: Any, state: State) -> None:
    """IndexError if `env` reads a draw that it is not given; jax would take the last one instead.

    NumPy refuses such an index. Whatever else it refuses is no fault of `env`.
    """
    draws: Any = np.zeros(env.num_draws, np.uint32)
    try:
        jax.eval_shape(lambda: env.reset(draws))
        jax.eval_shape(lambda s, a: env.step(s, a, draws), state, np.int32(0))
    except IndexError:
        raise
    except Exception:
        return


def _structure(state: State) -> Any:
    return jax.tree.structure(state), [describe(x) for x in jax.tree.leaves(state)]
