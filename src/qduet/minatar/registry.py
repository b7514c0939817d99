"""Names of environments: `MinAtar/Breakout-v1`, `Breakout-MinAtar`, `minatar-breakout`.

Version 0 has all six actions, version 1 (and a name without a version) the game's minimal set.
"""

import functools
import re

from qduet.errors import unknown_name
from qduet.minatar import asterix, breakout, freeway, layers, seaquest, space_invaders
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


def canonical_id(env_id: str) -> str:
    """The full id of an environment known by any of its spellings; `InputError` if there is none.

    Case, and the underscore in `space_invaders`, do not matter.
    """
    games = {name.lower(): name for name in GAMES}
    for pattern in PATTERNS:
        match = re.fullmatch(pattern, env_id.strip().lower())
        game = games.get(match["game"].replace("_", "")) if match else None
        if match and game:
            version = match.groupdict().get("version") or "1"
            return f"MinAtar/{game}-v{version}"
    raise unknown_name("environment", env_id, ENV_IDS)


@functools.cache
def make(
    env_id: str,
    *,
    sticky_probability: float = 0.1,
    difficulty_ramping: bool = True,
    auto_reset: bool = True,
) -> Environment:
    """The environment of this id, with the original's defaults.

    A step after the end of an episode is the next episode's first. With `auto_reset=False` the
    caller resets; what a finished game does when stepped further is then not defined.
    """
    full_id = canonical_id(env_id)
    name, version = full_id.removeprefix("MinAtar/").rsplit("-v", 1)
    game = GAMES[name].game(difficulty_ramping=difficulty_ramping)._replace(name=full_id)
    return layers.play(
        game,
        actions=GAMES[name].MINIMAL_ACTIONS if version == "1" else game.actions,
        sticky_probability=sticky_probability,
        reset_when_over=auto_reset,
    )
