"""Environments by name: `make("MinAtar/Breakout-v1")`, and `register` for a game of one's own.

MinAtar's games have more spellings: `Breakout-MinAtar`, `minatar-breakout`. Version 0 has all six
actions; version 1, and a name without a version, has the game's minimal set.

    register("Catch-v0", game)      # from then on make("Catch-v0"), Job("Catch-v0", …)
"""

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from qduet.core.digests import digest
from qduet.core.errors import InputError, unknown_name
from qduet.env_ids import ENV_IDS, game_of, minatar_game, minatar_id
from qduet.minatar import asterix, breakout, freeway, seaquest, space_invaders
from qduet.minatar.environment import Environment, State
from qduet.minatar.validation import check_game
from qduet.minatar.wrappers import separate_draws, wrap

GAMES = {
    "Asterix": asterix,
    "Breakout": breakout,
    "Freeway": freeway,
    "Seaquest": seaquest,
    "SpaceInvaders": space_invaders,
}
"""The module of each of MinAtar's games, by the game's name."""

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
