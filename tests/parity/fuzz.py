"""Random states of each game, far from those that play visits, but within what the rules allow."""

from collections.abc import Callable
from typing import Any

import numpy as np

from parity import views
from parity.original import Original
from parity.views import NOTHING

Fuzz = Callable[[np.random.Generator], Any]
"""A generator -> a view of one random state."""


def set_numbers(view: Any, rng: np.random.Generator, **bounds: tuple[int, int]) -> None:
    """Each named field of the view's one state uniform within its bounds, inclusive."""
    for name, (low, high) in bounds.items():
        getattr(view, name)[0] = rng.integers(low, high + 1)


def mostly_small(rng: np.random.Generator, high: int) -> int:
    """In 0 .. high, and 0 or 1 half of the time: timers that are about to run out."""
    return int(rng.integers(2) if rng.random() < 0.5 else rng.integers(high + 1))


def asterix(rng: np.random.Generator) -> Any:
    """Any field, any timers."""
    view = views.empty("Asterix", 1)
    set_numbers(view, rng, player_x=(0, 9), player_y=(1, 8), ramp_index=(0, 9), ramp_timer=(-1, 2))
    set_numbers(view, rng, spawn_speed=(1, 10), move_speed=(1, 5))
    view.spawn_timer[0] = mostly_small(rng, int(view.spawn_speed[0]))
    view.move_timer[0] = mostly_small(rng, int(view.move_speed[0]))
    crowd = rng.choice((0.3, 0.8, 1.0))
    for slot in range(8):
        near = view.player_x[0] + rng.integers(-1, 2)
        x = int(np.clip(near, 0, 9)) if rng.random() < 0.5 else rng.integers(10)
        thing = (x, rng.integers(2), rng.integers(2))
        view.entities[0, slot] = thing if rng.random() < crowd else NOTHING
    return view


def breakout(rng: np.random.Generator) -> Any:
    """Any ball, any wall."""
    view = views.empty("Breakout", 1)
    set_numbers(view, rng, ball_x=(0, 9), ball_y=(0, 8), ball_dir=(0, 3), pos=(0, 9))
    set_numbers(view, rng, last_x=(0, 9), last_y=(0, 9), strike=(0, 1))
    if rng.random() < 0.3:
        view.ball_y[0], view.ball_dir[0] = 8, rng.integers(2, 4)
        view.pos[0] = np.clip(view.ball_x[0] + rng.integers(-2, 3), 0, 9)
    view.brick_map[0, 1:4] = rng.random((3, 10)) < rng.choice((0.0, 0.1, 0.5, 1.0))
    return view


def freeway(rng: np.random.Generator) -> Any:
    """Any traffic, often about to end or to reach the top."""
    view = views.empty("Freeway", 1)
    set_numbers(view, rng, pos=(1, 9), move_timer=(0, 3))
    if rng.random() < 0.3:
        view.pos[0], view.move_timer[0] = 1, 0
    view.terminate_timer[0] = mostly_small(rng, 2500)
    speed = rng.integers(1, 6, 8)
    x = np.where(rng.random(8) < 0.5, rng.integers(3, 6, 8), rng.integers(0, 10, 8))
    timer = np.where(rng.random(8) < 0.5, 0, rng.integers(0, speed + 1))
    view.cars[0] = np.stack([x, timer, speed * rng.choice((-1, 1), 8)], -1)
    return view


def space_invaders(rng: np.random.Generator) -> Any:
    """Any maps, with one alien at least."""
    view = views.empty("SpaceInvaders", 1)
    set_numbers(view, rng, pos=(0, 9), enemy_move_interval=(6, 12), ramp_index=(0, 6))
    view.alien_dir[0] = rng.choice((-1, 1))
    view.shot_timer[0] = mostly_small(rng, 5)
    view.alien_move_timer[0] = mostly_small(rng, 12)
    view.alien_shot_timer[0] = mostly_small(rng, 10)
    view.alien_map[0] = rng.random((10, 10)) < rng.choice((0.0, 0.03, 0.3))
    view.alien_map[0, rng.integers(10), rng.integers(10)] = 1
    view.f_bullet_map[0] = rng.random((10, 10)) < rng.choice((0.02, 0.3))
    view.e_bullet_map[0] = rng.random((10, 10)) < rng.choice((0.02, 0.3))
    return view


def seaquest(rng: np.random.Generator) -> Any:
    """A crowded sea near the player, within the rules' invariants.

    One direction in a row, no two enemies of a row with equal place and timer, timers no longer
    than the interval; a bullet or diver fewer when the next is due.
    """
    view = views.empty("Seaquest", 1)
    set_numbers(view, rng, oxygen=(1, 200), diver_count=(-2, 6), sub_or=(0, 1), surface=(0, 1))
    set_numbers(view, rng, e_spawn_speed=(1, 20), move_speed=(2, 5), ramp_index=(0, 30))
    if rng.random() < 0.2:
        view.diver_count[0] = 5
    if rng.random() < 0.2:
        view.oxygen[0] = rng.integers(-1, 2)
    view.sub_x[0] = rng.integers(0, 9) + view.sub_or[0]
    view.sub_y[0] = rng.integers(2) if rng.random() < 0.3 else rng.integers(9)
    view.surface[0] &= view.sub_y[0] == 0
    view.e_spawn_timer[0] = mostly_small(rng, int(view.e_spawn_speed[0]))
    view.d_spawn_timer[0] = mostly_small(rng, 30)
    view.shot_timer[0] = mostly_small(rng, 5)
    add_seaquest_enemies(view, rng)
    add_seaquest_things(view, rng)
    return view


def free_surfacing(rng: np.random.Generator) -> Any:
    """A new game of Seaquest as after surfacing with six: surfacing costs nothing any more."""
    original = Original("Seaquest")
    view = views.empty("Seaquest", 1)
    original.read(view, 0)
    view.diver_count[0] = -1
    return view


def near_player(view: Any, rng: np.random.Generator, reach: int) -> tuple[int, int]:
    """A cell of rows 1 to 8, often within `reach` columns and a row of the player."""
    if rng.random() < 0.5:
        return int(rng.integers(10)), int(rng.integers(1, 9))
    x = view.sub_x[0] + rng.integers(-reach, reach + 1)
    y = view.sub_y[0] + rng.integers(-1, 2)
    return int(np.clip(x, 0, 9)), int(np.clip(y, 1, 8))


def add_seaquest_enemies(view: Any, rng: np.random.Generator) -> None:
    """Fish and subs, up to 29."""
    directions = rng.integers(0, 2, 10)
    taken, fish, subs = set(), 0, 0
    for _ in range(rng.choice((2, 8, 29))):
        x, y = near_player(view, rng, 2)
        timer = min(mostly_small(rng, 5), int(view.move_speed[0]))
        if (x, y, timer) in taken:
            continue
        taken.add((x, y, timer))
        if rng.random() < 0.5:
            view.e_fish[0, fish] = x, y, directions[y], timer
            fish += 1
        else:
            view.e_subs[0, subs] = x, y, directions[y], timer, mostly_small(rng, 10)
            subs += 1
    view.e_fish[0, fish:] = NOTHING
    view.e_subs[0, subs:] = NOTHING


def aim_both_at_one_enemy(view: Any, rng: np.random.Generator) -> None:
    """Two bullets, from both sides, one step away from the first fish or sub."""
    x, y = (view.e_fish if view.e_fish[0, 0, 0] != NOTHING else view.e_subs)[0, 0, :2]
    if 1 <= x <= 8:
        view.f_bullets[0] = rng.permutation([(x - 1, y, 1), (x + 1, y, 0)])


def add_seaquest_things(view: Any, rng: np.random.Generator) -> None:
    """Bullets of both sides, and divers."""
    num_bullets = rng.integers(0, 2 if view.shot_timer[0] < 2 else 3)
    num_divers = rng.integers(0, 2 if view.d_spawn_timer[0] < 2 else 3)
    view.f_bullets[0], view.divers[0] = NOTHING, NOTHING
    for i in range(num_bullets):
        view.f_bullets[0, i] = *near_player(view, rng, 3), rng.integers(2)
    if num_bullets == 2 and rng.random() < 0.3:
        aim_both_at_one_enemy(view, rng)
    together = near_player(view, rng, 1)
    for i in range(num_divers):
        cell = together if rng.random() < 0.5 else near_player(view, rng, 1)
        view.divers[0, i] = *cell, rng.integers(2), mostly_small(rng, 5)
    for _ in range(rng.integers(4)):
        x, y = near_player(view, rng, 1)
        view.e_bullets[0, rng.integers(2), y, x] = 1
