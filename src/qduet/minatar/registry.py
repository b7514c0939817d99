"""Environments by name: `make("MinAtar/Breakout-v1")`, and `register` for a game of one's own.

MinAtar's games have more spellings: `Breakout`, `Breakout-MinAtar`, `minatar-breakout`. Version 0
has all six actions; version 1, and a name without a version, has the game's minimal set.

    register("Catch-v0", game)      # from then on make("Catch-v0"), Job("Catch-v0", …)
"""

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qduet.core.digests import describe, digest
from qduet.core.errors import InputError, unknown_name
from qduet.env_ids import ENV_IDS, game_of, minatar_game, minatar_id
from qduet.minatar import asterix, breakout, freeway, seaquest, space_invaders
from qduet.minatar.bitboard import SIZE
from qduet.minatar.environment import ACTION_NAMES, Environment, State, StepResult
from qduet.minatar.wrappers import StickyState, separate_draws, wrap

GAMES = {
    "Asterix": asterix,
    "Breakout": breakout,
    "Freeway": freeway,
    "Seaquest": seaquest,
    "SpaceInvaders": space_invaders,
}
"""The module of each of MinAtar's games, by the game's name."""

STATE_DTYPES = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "float32")
"""What a state may be made of; checkpoints can keep all of these."""

_ALLOWED_ID = r"[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9_.-]+)*"


class _RegisteredGame(NamedTuple):
    game: Environment
    sticky_probability: float


_registered: dict[str, _RegisteredGame] = {}
_fingerprints: dict[str, str] = {}
"""Of each id that is taken, here or by `qduet.deep.environments`."""


def register(env_id: str, game: Environment, *, sticky_probability: float = 0.0) -> None:
    """Makes a game of one's own known to `make`, hence to training, evaluation and watching.

    `game` has no wrappers: `make` adds auto-reset and sticky actions. Its shapes and types are
    checked here. Within a process an id means one game; registering the same game again, as a
    notebook does, changes nothing.
    """
    check_new_id(env_id)
    game = check_game(env_id, game)
    wrap(game, actions=game.actions, sticky_probability=sticky_probability)
    settings = game.channels, game.actions, game.small_rewards
    claim_id(env_id, f"{fingerprint(settings, game, game.rows)}-{sticky_probability:g}")
    _registered.setdefault(env_id, _RegisteredGame(game, sticky_probability))


def check_new_id(env_id: str) -> None:
    """Raises if an environment of one's own must not be called so."""
    if not re.fullmatch(_ALLOWED_ID, env_id) or len(env_id) > 100:
        raise InputError(
            f"environment id '{env_id}' must be of letters, digits and _ . - /, such as Catch-v0"
        )
    if minatar_id(env_id) or minatar_game(game_of(env_id)):
        raise InputError(f"'{env_id}' is a name of MinAtar's; choose another one for yours")
    if env_id.lower().startswith("gymnax/"):
        raise InputError(f"'{env_id}' is a name of gymnax's; choose another one for yours")


def claim_id(env_id: str, fingerprint: str) -> None:
    """Takes an id for what has this fingerprint; raises if something else has taken it."""
    if _fingerprints.setdefault(env_id, fingerprint) != fingerprint:
        raise InputError(
            f"'{env_id}' is registered already, as another game: choose another id, such as the "
            "next version, or start Python anew"
        )


def fingerprint(settings: Any, env: Any, *views: Callable[[State], jax.Array]) -> str:
    """A digest of what an environment computes: its `reset`, its `step`, and views of its state."""
    draws, action = jnp.zeros(env.num_draws, jnp.uint32), jnp.int32(0)
    state = jax.eval_shape(env.reset, draws)
    return digest(
        repr(settings),
        (env.reset, (draws,)),
        (env.step, (state, action, draws)),
        *((view, (state,)) for view in views),
    )


def fingerprint_of(env_id: str) -> str | None:
    """Tells a registered game from others of the same id; None for MinAtar's games."""
    return _fingerprints.get(env_id)


def canonical_id(env_id: str) -> str:
    """The full id of an environment, from any of its spellings; `InputError` if unknown.

    Case, and the underscore in `space_invaders`, do not matter. A registered game has one spelling.
    """
    full_id = known_id(env_id)
    if full_id is None:
        raise unknown_environment(env_id)
    return full_id


def known_id(env_id: str) -> str | None:
    """The full id of an environment, from any of its spellings; None if unknown."""
    return env_id if env_id in _registered else minatar_id(env_id)


def unknown_environment(env_id: str, others: Iterable[str] = ()) -> InputError:
    """The error for an id that is neither known here nor one of `others`."""
    return unknown_name("environment", env_id, (*ENV_IDS, *_registered, *others), importable=True)


@functools.cache
def make(
    env_id: str,
    *,
    sticky_probability: float | None = None,
    difficulty_ramping: bool = True,
    auto_reset: bool = True,
) -> Environment:
    """The environment of this id.

    `sticky_probability` is by default 0.1 in MinAtar's games, as in the original, and what
    `register` was given in others. A step that ends an episode returns the next one's first state.
    With `auto_reset=False` the caller resets; stepping a finished game is then undefined.
    """
    full_id = canonical_id(env_id)
    if full_id in _registered:
        if not difficulty_ramping:
            raise InputError(f"difficulty_ramping is MinAtar's; {full_id} does not have it")
        own, default_sticky = _registered[full_id]
        game, actions = separate_draws(own), own.actions
    else:
        name, version = full_id.removeprefix("MinAtar/").rsplit("-v", 1)
        game, default_sticky = GAMES[name].game(difficulty_ramping=difficulty_ramping), 0.1
        actions = GAMES[name].MINIMAL_ACTIONS if version == "1" else game.actions
    return wrap(
        game._replace(name=full_id),
        actions=actions,
        sticky_probability=default_sticky if sticky_probability is None else sticky_probability,
        reset_when_over=auto_reset,
    )


# --- What `register` checks ----------------------------------------------------------------------
#
# Shapes and types of a user's functions, which are only traced; nothing is compiled or played.
# `qduet.deep.environments` checks its environments with the same functions.


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
