"""The complete state of each game in a neutral form, to compare implementations by.

A view is a NamedTuple of integer arrays with a leading axis of states, its fields named after the
original's attributes. Lists are in the original's order (oldest first), filled up with `NOTHING`.
`read` takes row i of a view from an original game, `write` puts it into one.
"""

from typing import Any, NamedTuple

import numpy as np

NOTHING = -9
"""Stands for an absent entry of a list."""

MAX_ENEMIES = 32


class AsterixView(NamedTuple):
    """Asterix; `entities` is [n, 8, 3]: x, moves right, is gold, for rows 1 to 8."""

    player_x: np.ndarray
    player_y: np.ndarray
    spawn_speed: np.ndarray
    spawn_timer: np.ndarray
    move_speed: np.ndarray
    move_timer: np.ndarray
    ramp_timer: np.ndarray
    ramp_index: np.ndarray
    entities: np.ndarray


class BreakoutView(NamedTuple):
    """Breakout; `brick_map` is [n, 10, 10]; directions 0 up-left, clockwise to 3 down-left."""

    ball_x: np.ndarray
    ball_y: np.ndarray
    ball_dir: np.ndarray
    pos: np.ndarray
    strike: np.ndarray
    last_x: np.ndarray
    last_y: np.ndarray
    brick_map: np.ndarray


class FreewayView(NamedTuple):
    """Freeway; `cars` is [n, 8, 3]: x, timer, signed speed, for rows 1 to 8."""

    pos: np.ndarray
    move_timer: np.ndarray
    terminate_timer: np.ndarray
    cars: np.ndarray


class SeaquestView(NamedTuple):
    """Seaquest; bullets are x, y, moves right, and others also their timers.

    `f_bullets` [n, 2, 3], `divers` [n, 2, 4], `e_fish` [n, 32, 4], `e_subs` [n, 32, 5]; `e_bullets`
    [n, 2, 10, 10] says whether there is one that moves left (0) or right (1) in a cell: of two in
    one cell with one direction, neither can ever be told from the other.
    """

    oxygen: np.ndarray
    diver_count: np.ndarray
    sub_x: np.ndarray
    sub_y: np.ndarray
    sub_or: np.ndarray
    e_spawn_speed: np.ndarray
    e_spawn_timer: np.ndarray
    d_spawn_timer: np.ndarray
    move_speed: np.ndarray
    ramp_index: np.ndarray
    shot_timer: np.ndarray
    surface: np.ndarray
    f_bullets: np.ndarray
    divers: np.ndarray
    e_fish: np.ndarray
    e_subs: np.ndarray
    e_bullets: np.ndarray


class SpaceInvadersView(NamedTuple):
    """Space Invaders; maps are [n, 10, 10]."""

    pos: np.ndarray
    alien_dir: np.ndarray
    enemy_move_interval: np.ndarray
    alien_move_timer: np.ndarray
    alien_shot_timer: np.ndarray
    ramp_index: np.ndarray
    shot_timer: np.ndarray
    f_bullet_map: np.ndarray
    e_bullet_map: np.ndarray
    alien_map: np.ndarray


View = AsterixView | BreakoutView | FreewayView | SeaquestView | SpaceInvadersView

VIEWS: dict[str, Any] = {
    "Asterix": AsterixView,
    "Breakout": BreakoutView,
    "Freeway": FreewayView,
    "Seaquest": SeaquestView,
    "SpaceInvaders": SpaceInvadersView,
}

SHAPES = {
    "entities": (8, 3),
    "brick_map": (10, 10),
    "cars": (8, 3),
    "f_bullets": (2, 3),
    "divers": (2, 4),
    "e_fish": (MAX_ENEMIES, 4),
    "e_subs": (MAX_ENEMIES, 5),
    "e_bullets": (2, 10, 10),
    "f_bullet_map": (10, 10),
    "e_bullet_map": (10, 10),
    "alien_map": (10, 10),
}
"""Of the fields that are not one number; the names are unique across games."""

LISTS = ("f_bullets", "divers", "e_fish", "e_subs")
FLAGS = ("strike", "sub_or", "surface")


def empty(game: str, count: int) -> Any:
    """A view of `count` states, to be filled by `read`."""
    view = VIEWS[game]
    return view(*(np.zeros((count, *SHAPES.get(name, ())), np.int16) for name in view._fields))


def read(view: Any, index: int, original: Any) -> None:
    """Row `index` of the view becomes the state of an original game."""
    for name, array in zip(view._fields, view, strict=True):
        value = getattr(original, name)
        if name in LISTS:
            array[index] = NOTHING
            if value:
                array[index, : len(value)] = value
        elif name == "e_bullets":
            array[index] = 0
            for x, y, moves_right in value:
                array[index, int(moves_right), y, x] = 1
        elif name == "entities":
            array[index] = [NO_ENTITY if e is None else (e[0], e[2], e[3]) for e in value]
        elif name == "cars":
            array[index] = [(car[0], car[2], car[3]) for car in value]
        else:
            array[index] = value


NO_ENTITY = (NOTHING, NOTHING, NOTHING)


def write(view: Any, index: int, original: Any) -> None:
    """The original game takes the state in row `index` of the view."""
    for name, array in zip(view._fields, view, strict=True):
        setattr(original, name, original_value(name, array[index]))


def original_value(name: str, value: np.ndarray) -> Any:
    """A field's value in the types that the original uses."""
    if name in LISTS:
        present = value[value[:, 0] != NOTHING].tolist()
        return [[x, y, bool(moves_right), *timers] for x, y, moves_right, *timers in present]
    if name == "e_bullets":
        return [[int(x), int(y), bool(right)] for right, y, x in np.argwhere(value)]
    if name == "entities":
        return [
            None if x == NOTHING else [x, row, bool(moves_right), bool(gold)]
            for row, (x, moves_right, gold) in enumerate(value.tolist(), start=1)
        ]
    if name == "cars":
        return [[x, row, *rest] for row, (x, *rest) in enumerate(value.tolist(), start=1)]
    if name in SHAPES:
        return value.astype(float)
    return bool(value) if name in FLAGS else int(value)
