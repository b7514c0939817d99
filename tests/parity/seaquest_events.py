"""The rules of Seaquest as events (see `events`)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from parity.views import NOTHING
from qduet.minatar.environment import DOWN, FIRE, LEFT, RIGHT, UP

Event = Callable[[Any], Any]


def present(entries: np.ndarray) -> np.ndarray:
    """bool[n, k]: which entries of a list there are."""
    return entries[..., 0] != NOTHING


def count(entries: np.ndarray) -> np.ndarray:
    """How many entries a list has."""
    return present(entries).sum(1)


def ahead(entries: np.ndarray) -> np.ndarray:
    """The next column of each entry."""
    return entries[..., 0] + np.where(entries[..., 2] == 1, 1, -1)


def leaving(entries: np.ndarray) -> np.ndarray:
    """Entries whose next column is off the grid."""
    return present(entries) & ((ahead(entries) < 0) | (ahead(entries) > 9))


def at_player(entries: np.ndarray, x: np.ndarray, p: Any) -> Any:
    """Entries that are where the player is, taking `x` as their columns."""
    here = (x == p.after.sub_x[:, None]) & (entries[..., 1] == p.after.sub_y[:, None])
    return present(entries) & here


def moving(entries: np.ndarray) -> np.ndarray:
    """Enemies and divers whose timer is out."""
    return present(entries) & (entries[..., 3] == 0)


def shot_in_flight(entries: np.ndarray, p: Any) -> Any:
    """bool[n, k]: which entries are in a cell that a bullet of the player's flies into."""
    bullets = p.before.f_bullets
    same_x = ahead(bullets)[:, :, None] == entries[:, None, :, 0]
    same_y = bullets[:, :, None, 1] == entries[:, None, :, 1]
    return (same_x & same_y & present(bullets)[:, :, None]).any(1) & present(entries)


def runs_into_bullet(entries: np.ndarray, p: Any) -> np.ndarray:
    """bool[n, k]: which moving enemies enter a cell that a bullet is in after its flight."""
    bullets = p.before.f_bullets
    same_x = ahead(bullets)[:, :, None] == ahead(entries)[:, None]
    same_y = bullets[:, :, None, 1] == entries[:, None, :, 1]
    met = (same_x & same_y & present(bullets)[:, :, None] & ~leaving(bullets)[:, :, None]).any(1)
    return met & moving(entries) & ~leaving(entries)


def firing(p: Any) -> Any:
    """bool[n, k]: enemy subs that fire, if they are not shot first."""
    return present(p.before.e_subs) & (p.before.e_subs[..., 4] == 0)


def dead_sub_fires(p: Any) -> np.ndarray:
    """A sub runs into a bullet, is removed, and yet its own bullet flies on ahead."""
    subs = p.before.e_subs
    killed = runs_into_bullet(subs, p) & ~shot_in_flight(subs, p) & firing(p)
    beyond = subs[..., 0] + np.where(subs[..., 2] == 1, 2, -2)
    inside = (beyond >= 0) & (beyond <= 9)
    rows = np.arange(len(subs))[:, None]
    there = p.after.e_bullets[rows, subs[..., 2].clip(0, 1), subs[..., 1], beyond.clip(0, 9)] == 1
    return (killed & inside & there & (p.reward > 0)[:, None]).any(1)


def spawn_blocked(p: Any) -> np.ndarray:
    """An enemy was due, but one in its row moves the other way."""
    due = p.before.e_spawn_timer == 0
    y, moves_right = 1 + (p.words[:, 2] & 7), p.words[:, 2] < 2**31
    both = np.concatenate([p.before.e_fish[..., :4], p.before.e_subs[..., :4]], 1)
    opposed = (both[..., 1] == y[:, None]) & (both[..., 2] != moves_right[:, None]) & present(both)
    return due & opposed.any(1)


def spawn(p: Any, is_sub: bool) -> Any:
    """A fish or a sub comes."""
    due = (p.before.e_spawn_timer == 0) & ~spawn_blocked(p)
    return due & ((p.words[:, 1] < 2**32 / 3) == is_sub)


def two_targets(entries: np.ndarray, p: Any) -> Any:
    """A bullet flies into a cell with two of these enemies."""
    return shot_in_flight(entries, p).sum(1) >= 2


def two_bullets_for_one(p: Any) -> np.ndarray:
    """Both bullets fly into one cell, and hit one enemy there."""
    first, second = p.before.f_bullets[:, 0], p.before.f_bullets[:, 1]
    same_cell = (ahead(first) == ahead(second)) & (first[:, 1] == second[:, 1])
    targets = shot_in_flight(p.before.e_fish, p).sum(1) + shot_in_flight(p.before.e_subs, p).sum(1)
    return present(p.before.f_bullets).all(1) & same_cell & (targets == 1)


def surfaced(p: Any) -> np.ndarray:
    """Came up with divers aboard (or below zero of them)."""
    return (p.after.surface == 1) & (p.before.surface == 0)


def bullet_touches(p: Any, moved: int) -> np.ndarray:
    """An enemy bullet is where the player is, before (0) or after (1) its move."""
    rows, y, x = np.arange(len(p.action)), p.after.sub_y, p.after.sub_x
    from_left, from_right = np.clip(x - moved, 0, 9), np.clip(x + moved, 0, 9)
    e_bullets = p.before.e_bullets
    return (e_bullets[rows, 1, y, from_left] == 1) | (e_bullets[rows, 0, y, from_right] == 1)


def last_place_contested(p: Any) -> Any:
    """Two divers are at the player and there is one place left."""
    both = at_player(p.before.divers, p.before.divers[..., 0], p).sum(1) == 2
    return both & (p.before.diver_count == 5)


def diver_met(p: Any) -> Any:
    """A diver is at the player before its move."""
    return at_player(p.before.divers, p.before.divers[..., 0], p).any(1)


def diver_comes(p: Any) -> np.ndarray:
    """A diver moves onto the player."""
    divers = p.before.divers
    return (at_player(divers, ahead(divers), p) & moving(divers)).any(1)


def room(p: Any) -> np.ndarray:
    """There is a place for a diver."""
    return p.before.diver_count < 6


def enemy_met(entries: np.ndarray, p: Any) -> np.ndarray:
    """An enemy that no bullet takes is where the player is."""
    here = at_player(entries, entries[..., 0], p) & ~shot_in_flight(entries, p)
    return here.any(1) & p.terminated


def enemy_comes(entries: np.ndarray, p: Any) -> np.ndarray:
    """An enemy that no bullet takes moves onto the player."""
    comes = at_player(entries, ahead(entries), p) & moving(entries) & ~shot_in_flight(entries, p)
    return comes.any(1) & p.terminated


SEAQUEST: dict[str, Event] = {
    "fish comes": lambda p: spawn(p, False),
    "enemy sub comes": lambda p: spawn(p, True),
    "enemy blocked by one the other way": spawn_blocked,
    "diver comes": lambda p: p.before.d_spawn_timer == 0,
    "fires": lambda p: (p.action == FIRE) & (p.before.shot_timer == 0),
    "may not fire yet": lambda p: (p.action == FIRE) & (p.before.shot_timer > 0),
    "sub at the left wall": lambda p: (p.before.sub_x == 0) & (p.action == LEFT),
    "sub at the right wall": lambda p: (p.before.sub_x == 9) & (p.action == RIGHT),
    "sub at the surface goes up": lambda p: (p.before.sub_y == 0) & (p.action == UP),
    "sub at the bottom goes down": lambda p: (p.before.sub_y == 8) & (p.action == DOWN),
    "bullet leaves": lambda p: leaving(p.before.f_bullets).any(1),
    "bullet hits a fish": lambda p: shot_in_flight(p.before.e_fish, p).any(1) & (p.reward > 0),
    "bullet hits an enemy sub": lambda p: (
        shot_in_flight(p.before.e_subs, p).any(1)
        & ~shot_in_flight(p.before.e_fish, p).any(1)
        & (p.reward > 0)
    ),
    "bullet hits the oldest of two fish": lambda p: two_targets(p.before.e_fish, p),
    "bullet hits the oldest of two enemy subs": lambda p: two_targets(p.before.e_subs, p),
    "two bullets for one enemy": two_bullets_for_one,
    "two rewards in one step": lambda p: p.reward == 2,
    "fish runs into a bullet": lambda p: (
        runs_into_bullet(p.before.e_fish, p).any(1) & (p.reward > 0)
    ),
    "enemy sub runs into a bullet": lambda p: (
        runs_into_bullet(p.before.e_subs, p).any(1) & (p.reward > 0)
    ),
    "enemy sub fires": lambda p: firing(p).any(1),
    "dead enemy sub fires": dead_sub_fires,
    "enemy sub leaves and fires": lambda p: (
        leaving(p.before.e_subs) & moving(p.before.e_subs) & firing(p)
    ).any(1),
    "diver met": lambda p: diver_met(p) & room(p),
    "diver comes to the player": lambda p: diver_comes(p) & room(p),
    "diver left behind, six aboard": lambda p: diver_met(p) & ~room(p),
    "two divers for the last place": last_place_contested,
    "diver leaves": lambda p: (leaving(p.before.divers) & moving(p.before.divers)).any(1),
    "fish leaves": lambda p: (leaving(p.before.e_fish) & moving(p.before.e_fish)).any(1),
    "enemy sub leaves": lambda p: (leaving(p.before.e_subs) & moving(p.before.e_subs)).any(1),
    "fish met": lambda p: enemy_met(p.before.e_fish, p),
    "fish comes to the player": lambda p: enemy_comes(p.before.e_fish, p),
    "enemy sub met": lambda p: enemy_met(p.before.e_subs, p),
    "enemy sub comes to the player": lambda p: enemy_comes(p.before.e_subs, p),
    "enemy bullet met": lambda p: bullet_touches(p, 0) & p.terminated,
    "enemy bullet comes to the player": lambda p: bullet_touches(p, 1) & p.terminated,
    "enemy bullet leaves": lambda p: (
        p.before.e_bullets[:, 1, :, 9].any(1) | p.before.e_bullets[:, 0, :, 0].any(1)
    ),
    "out of oxygen": lambda p: (p.before.oxygen <= 0) & p.terminated,
    "oxygen below zero": lambda p: p.after.oxygen < 0,
    "surfaces without a diver": lambda p: (
        (p.after.sub_y == 0) & (p.after.surface == 0) & (p.after.diver_count == 0) & p.terminated
    ),
    "surfaces with one to five": lambda p: surfaced(p) & (p.after.diver_count >= 0),
    "surfaces with six for a bonus": lambda p: (
        surfaced(p) & (p.before.diver_count == 6) & (p.reward > 0)
    ),
    "surfaces with fewer than none": lambda p: surfaced(p) & (p.before.diver_count < 0),
    "stays at the surface": lambda p: (p.before.surface == 1) & (p.after.surface == 1),
    "ramp of spawning": lambda p: p.after.e_spawn_speed < p.before.e_spawn_speed,
    "ramp of moving": lambda p: p.after.move_speed < p.before.move_speed,
    "surfaces at the fastest": lambda p: (
        surfaced(p) & (p.before.e_spawn_speed == 1) & (p.before.move_speed == 2)
    ),
    "surfaces without ramping": lambda p: (
        surfaced(p) & (p.before.e_spawn_speed > 1) & (p.after.ramp_index == p.before.ramp_index)
    ),
    "reward in the last step": lambda p: p.terminated & (p.reward > 0),
    "29 fish, the most there can be": lambda p: count(p.after.e_fish) == 29,
    "29 enemy subs": lambda p: count(p.after.e_subs) == 29,
    "8 enemy bullets, the most there can be": lambda p: p.after.e_bullets.sum((1, 2, 3)) == 8,
}
