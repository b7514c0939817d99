"""Names of environments: `MinAtar/Breakout-v1`, `Breakout-MinAtar`, `minatar-breakout`, or yours.

Version 0 has all six actions, version 1 (and a name without a version) the game's minimal set.

    register("Catch-v0", game)      # a game of one's own: make("Catch-v0"), Job("Catch-v0", …)
"""

import functools
import re
from typing import NamedTuple

from qduet.core.errors import InputError, unknown_name
from qduet.minatar import asterix, breakout, freeway, layers, own, seaquest, space_invaders
from qduet.minatar.types import Environment

GAMES = {
    "Asterix": asterix,
    "Breakout": breakout,
    "Freeway": freeway,
    "Seaquest": seaquest,
    "SpaceInvaders": space_invaders,
}
"""Each game's module, by the game's name."""

ENV_IDS = tuple(f"MinAtar/{name}-v{version}" for name in GAMES for version in (0, 1))
"""Every environment, by its full id."""

PATTERNS = (r"minatar[/-](?P<game>[a-z_]+?)(-v(?P<version>[01]))?", r"(?P<game>[a-z_]+)-minatar")


OWN_ID = r"[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9_.-]+)*"


class Own(NamedTuple):
    """A game of one's own."""

    game: Environment
    sticky_probability: float
    program: str
    """Tells apart what is computed (`own.fingerprint`)."""


_registered: dict[str, Own] = {}


def register(env_id: str, game: Environment, *, sticky_probability: float = 0.0) -> None:
    """Makes a game of one's own known to `make`, hence to training, evaluation and watching.

    `game` stands alone (`types.Environment` says what it is): `make` adds auto-reset and sticky
    actions. Shapes and types are checked here. Within a process an id means one game; to register
    the same one again, as a notebook does, changes nothing.
    """
    if not re.fullmatch(OWN_ID, env_id) or len(env_id) > 100:
        raise InputError(
            f"environment id '{env_id}' must be of letters, digits and _ . - /, such as Catch-v0"
        )
    if _minatar_id(env_id) or game_of(env_id).replace("_", "").lower() in _by_lower():
        raise InputError(f"'{env_id}' is a name of MinAtar's; choose another one for yours")
    game = own.checked(env_id, game)
    layers.play(game, actions=game.actions, sticky_probability=sticky_probability)
    new = Own(game, sticky_probability, f"{own.fingerprint(game)}-{sticky_probability:g}")
    if _registered.setdefault(env_id, new).program != new.program:
        raise InputError(
            f"'{env_id}' is registered already, as another game: choose another id, such as the "
            "next version, or start Python anew"
        )


def program_of(env_id: str) -> str | None:
    """Tells a registered game from another one of the same id; None for MinAtar's."""
    return _registered[env_id].program if env_id in _registered else None


def game_of(env_id: str) -> str:
    """The game's name: ``Breakout`` of ``MinAtar/Breakout-v1``, ``Catch`` of ``Catch-v0``."""
    return re.sub(r"-v[0-9]+$", "", env_id.removeprefix("MinAtar/"))


def canonical_id(env_id: str) -> str:
    """The full id of an environment known by any of its spellings; `InputError` if there is none.

    Case, and the underscore in `space_invaders`, do not matter. A registered game has one spelling.
    """
    found = env_id if env_id in _registered else _minatar_id(env_id)
    if found is None:
        unknown = unknown_name("environment", env_id, (*ENV_IDS, *_registered))
        raise InputError(f"{unknown}; or a game of your own: qduet --import MODULE COMMAND …")
    return found


def _by_lower() -> dict[str, str]:
    return {name.lower(): name for name in GAMES}


def _minatar_id(env_id: str) -> str | None:
    games = _by_lower()
    for pattern in PATTERNS:
        match = re.fullmatch(pattern, env_id.strip().lower())
        game = games.get(match["game"].replace("_", "")) if match else None
        if match and game:
            version = match.groupdict().get("version") or "1"
            return f"MinAtar/{game}-v{version}"
    return None


@functools.cache
def make(
    env_id: str,
    *,
    sticky_probability: float | None = None,
    difficulty_ramping: bool = True,
    auto_reset: bool = True,
) -> Environment:
    """The environment of this id, with the original's defaults (0.1 sticky), or as registered.

    A step after the end of an episode is the next episode's first. With `auto_reset=False` the
    caller resets; what a finished game does when stepped further is then not defined.
    """
    full_id = canonical_id(env_id)
    if full_id in _registered:
        if not difficulty_ramping:
            raise InputError(f"difficulty_ramping is MinAtar's; {full_id} does not have it")
        return _own(full_id, sticky_probability, auto_reset)
    name, version = full_id.removeprefix("MinAtar/").rsplit("-v", 1)
    game = GAMES[name].game(difficulty_ramping=difficulty_ramping)._replace(name=full_id)
    return layers.play(
        game,
        actions=GAMES[name].MINIMAL_ACTIONS if version == "1" else game.actions,
        sticky_probability=0.1 if sticky_probability is None else sticky_probability,
        reset_when_over=auto_reset,
    )


def _own(env_id: str, sticky_probability: float | None, auto_reset: bool) -> Environment:
    game, sticky, _ = _registered[env_id]
    return layers.play(
        own.with_own_draws(game)._replace(name=env_id),
        actions=game.actions,
        sticky_probability=sticky if sticky_probability is None else sticky_probability,
        reset_when_over=auto_reset,
    )
