"""The ids of MinAtar's environments, in all their spellings; nothing here needs jax.

minatar_id("space_invaders-minatar")        # "MinAtar/SpaceInvaders-v1"
"""

import re

GAMES = ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")
"""MinAtar's games."""

ENV_IDS = tuple(f"MinAtar/{name}-v{version}" for name in GAMES for version in (0, 1))
"""The full ids of MinAtar's environments."""

_SPELLINGS = (
    r"minatar[/-](?P<game>[a-z_]+?)(-v(?P<version>[01]))?",
    r"(?P<game>[a-z_]+)(-minatar)?",
)


def game_of(env_id: str) -> str:
    """The game's name: ``Breakout`` of ``MinAtar/Breakout-v1``, ``Catch`` of ``Catch-v0``."""
    return re.sub(r"-v[0-9]+$", "", env_id.removeprefix("MinAtar/"))


def minatar_game(name: str) -> str | None:
    """MinAtar's game of this name: ``SpaceInvaders`` for ``space_invaders``; or None."""
    return {game.lower(): game for game in GAMES}.get(name.replace("_", "").lower())


def minatar_id(env_id: str) -> str | None:
    """The full id, from any spelling; None if it is none of MinAtar's."""
    for spelling in _SPELLINGS:
        match = re.fullmatch(spelling, str(env_id).strip().lower())
        game = minatar_game(match["game"]) if match else None
        if match and game:
            version = match.groupdict().get("version") or "1"
            return f"MinAtar/{game}-v{version}"
    return None
