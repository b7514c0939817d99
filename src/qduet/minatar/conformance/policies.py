"""Ways of playing that reach every rule. Each reads the original's game object."""

from collections.abc import Callable
from typing import Any

import numpy as np

from qduet.minatar.environment import DOWN, FIRE, LEFT, NOOP, RIGHT, UP

Policy = Callable[[Any, np.random.Generator], int]
"""The original's game object, a generator -> an action, an index into `ACTION_NAMES`."""


def uniform(game: Any, rng: np.random.Generator) -> int:
    """Any action."""
    return int(rng.integers(6))


def noop(game: Any, rng: np.random.Generator) -> int:
    """Do nothing."""
    return NOOP


def always_up(game: Any, rng: np.random.Generator) -> int:
    """Go up."""
    return UP


def towards(here: int, there: int, less: int, more: int, otherwise: int) -> int:
    """The action that brings `here` nearer to `there`."""
    return less if there < here else more if there > here else otherwise


def ball_tracker(game: Any, rng: np.random.Generator) -> int:
    """Keep the paddle under the ball, now and then one column ahead of it."""
    ahead = game.ball_x + (1 if game.ball_dir in (1, 2) else -1)
    # Above the last row there is time; there, choose the column the ball leaves or enters.
    target = game.ball_x if game.ball_y < 8 or rng.random() < 0.5 else int(np.clip(ahead, 0, 9))
    return towards(game.pos, target, LEFT, RIGHT, NOOP)


def gold_chaser(game: Any, rng: np.random.Generator) -> int:
    """Go to the nearest gold."""
    gold = [(e[0], e[1]) for e in game.entities if e is not None and e[3]]
    if not gold:
        return NOOP
    x, y = min(gold, key=lambda cell: abs(cell[0] - game.player_x) + abs(cell[1] - game.player_y))
    vertical = towards(game.player_y, y, UP, DOWN, NOOP)
    return vertical or towards(game.player_x, x, LEFT, RIGHT, NOOP)


def alien_shooter(game: Any, rng: np.random.Generator) -> int:
    """Go under the nearest alien and fire."""
    columns = np.flatnonzero(game.alien_map.any(0))
    if not len(columns) or rng.random() < 0.3:
        return FIRE
    nearest = int(columns[np.argmin(abs(columns - game.pos))])
    return towards(game.pos, nearest, LEFT, RIGHT, FIRE)


def diver_seeker(full_at: int) -> Policy:
    """Fetch divers, shoot what is in the row, surface with `full_at` of them or little oxygen."""

    def policy(game: Any, rng: np.random.Generator) -> int:
        if game.diver_count >= full_at or (game.oxygen < 20 and game.diver_count != 0):
            return UP
        if any(enemy[1] == game.sub_y for enemy in game.e_fish + game.e_subs):
            return int(rng.choice((FIRE, LEFT, RIGHT, UP, DOWN)))
        if not game.divers:
            return towards(game.sub_y, 4, UP, DOWN, FIRE)
        x, y = game.divers[0][:2]
        vertical = towards(game.sub_y, y, UP, DOWN, NOOP)
        return vertical or towards(game.sub_x, x, LEFT, RIGHT, NOOP)

    return policy


def bobber(game: Any, rng: np.random.Generator) -> int:
    """Dive and surface again at once: the fastest way to make Seaquest hard."""
    if rng.random() < 0.1:
        return uniform(game, rng)
    return DOWN if game.sub_y == 0 else UP
