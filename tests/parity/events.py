"""The rules of each game as events that can be counted in recordings of the original.

An event is a predicate on transitions. Counting them shows that a comparison has met every rule;
they are read off the original's states alone, so they say nothing of our code.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from parity import seaquest_events
from parity.recording import Recording
from parity.views import NOTHING
from qduet.minatar.environment import DOWN, FIRE, LEFT, RIGHT, UP


class Play(NamedTuple):
    """Transitions of one game, for predicates: arrays with a leading axis."""

    before: Any
    after: Any
    action: np.ndarray
    """Executed, in the full action set."""
    chosen: np.ndarray
    words: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray


Event = Callable[[Play], np.ndarray]


def play_of(recording: Recording) -> Play:
    """A recording's transitions."""
    return Play(
        recording.view_before(),
        recording.view_after(),
        recording.last_actions[recording.after],
        recording.actions,
        recording.words,
        recording.rewards,
        recording.terminated,
    )


def count_events(recording: Recording) -> dict[str, int]:
    """How often each event of the game happens in the recording."""
    play = play_of(recording)
    return {name: int(event(play).sum()) for name, event in EVENTS[recording.game].items()}


def sticky(play: Play) -> np.ndarray:
    """The action was repeated, and another had been chosen."""
    return play.action != play.chosen


COMMON: dict[str, Event] = {
    "sticky action": sticky,
    "chosen action": lambda p: p.words[:, 0] >= 429_496_730,
    "end": lambda p: p.terminated,
    "reward": lambda p: p.reward > 0,
}


def present(entries: np.ndarray) -> np.ndarray:
    """How many entries a list has."""
    return (entries[..., 0] != NOTHING).sum(-1)


def spawned(p: Play) -> np.ndarray:
    """Something came in this step: the timer was out."""
    return p.before.spawn_timer == 0


def touched_after_moving(p: Play) -> np.ndarray:
    """Touched an entity that was beside the player and moved onto it."""
    slot = (p.after.player_y - 1)[:, None, None]
    entity = np.take_along_axis(p.before.entities, slot, 1)[:, 0]
    moved_to = entity[:, 0] + np.where(entity[:, 1] == 1, 1, -1)
    there = (entity[:, 0] != NOTHING) & (moved_to == p.after.player_x)
    return (p.before.move_timer == 0) & there


def left_field(p: Play) -> np.ndarray:
    """Something was at the edge it moves towards, and all moved."""
    x, moves_right = p.before.entities[..., 0], p.before.entities[..., 1]
    at_edge = ((x == 9) & (moves_right == 1)) | ((x == 0) & (moves_right == 0))
    return (p.before.move_timer == 0) & at_edge.any(1)


ASTERIX: dict[str, Event] = COMMON | {
    "spawn": lambda p: spawned(p) & (present(p.before.entities) < 8),
    "spawn in the last free row": lambda p: spawned(p) & (present(p.before.entities) == 7),
    "spawn with all rows full": lambda p: spawned(p) & (present(p.before.entities) == 8),
    "gold taken by moving onto it": lambda p: (p.reward > 0) & (p.before.move_timer != 0),
    "gold runs into the player": lambda p: touched_after_moving(p) & (p.reward > 0),
    "enemy met by moving onto it": lambda p: p.terminated & (p.before.move_timer != 0),
    "enemy runs into the player": lambda p: touched_after_moving(p) & p.terminated,
    "thing leaves": left_field,
    "player at the left wall": lambda p: (p.before.player_x == 0) & (p.action == LEFT),
    "player at the right wall": lambda p: (p.before.player_x == 9) & (p.action == RIGHT),
    "player at the top": lambda p: (p.before.player_y == 1) & (p.action == UP),
    "player at the bottom": lambda p: (p.before.player_y == 8) & (p.action == DOWN),
    "ramp of spawning": lambda p: p.after.spawn_speed < p.before.spawn_speed,
    "ramp of moving": lambda p: p.after.move_speed < p.before.move_speed,
    "ramp of moving alone": lambda p: (
        (p.after.move_speed < p.before.move_speed) & (p.before.spawn_speed == 1)
    ),
    "ramp timer starts again": lambda p: p.after.ramp_timer > p.before.ramp_timer,
    "no ramping": lambda p: (
        (p.before.spawn_speed > 1) & (p.after.ramp_timer == p.before.ramp_timer)
    ),
    "fastest": lambda p: (p.before.spawn_speed == 1) & (p.before.move_speed == 1),
}


def ball_target(p: Play) -> tuple[np.ndarray, np.ndarray]:
    """Where the ball flies before anything stops it: y, x."""
    y = p.before.ball_y + np.where(p.before.ball_dir >= 2, 1, -1)
    x = p.before.ball_x + np.where((p.before.ball_dir == 1) | (p.before.ball_dir == 2), 1, -1)
    return y, x


def brick_there(p: Play) -> np.ndarray:
    """There is a brick where the ball flies."""
    y, x = ball_target(p)
    y, x = np.clip(y, 0, 9), np.clip(x, 0, 9)
    return p.before.brick_map[np.arange(len(y)), y, x] == 1


def at_floor(p: Play) -> np.ndarray:
    """The ball comes to the paddle's row."""
    return ball_target(p)[0] == 9


def at_side(p: Play) -> np.ndarray:
    """The ball meets a side wall."""
    return (ball_target(p)[1] < 0) | (ball_target(p)[1] > 9)


def no_bricks(view: Any) -> np.ndarray:
    """No brick is left."""
    return ~view.brick_map.any((1, 2))


BREAKOUT: dict[str, Event] = COMMON | {
    "side wall": at_side,
    "ceiling": lambda p: ball_target(p)[0] < 0,
    "corner": lambda p: (ball_target(p)[0] < 0) & at_side(p),
    "brick broken": lambda p: p.reward > 0,
    "brick broken at a side wall": lambda p: (p.reward > 0) & at_side(p),
    "brick passed after a strike": lambda p: brick_there(p) & (p.reward == 0),
    "strike over": lambda p: (p.before.strike == 1) & (p.after.strike == 0),
    "paddle met from above": lambda p: at_floor(p) & (p.before.ball_x == p.after.pos),
    "paddle met at its edge": lambda p: (
        at_floor(p) & (p.before.ball_x != p.after.pos) & ~p.terminated
    ),
    "last brick broken": lambda p: no_bricks(p.after) & ~no_bricks(p.before),
    "wall rebuilt": lambda p: no_bricks(p.before) & ~no_bricks(p.after) & ~p.terminated,
    "wall rebuilt by a lost ball": lambda p: no_bricks(p.before) & p.terminated,
    "empty wall, ball still up": lambda p: no_bricks(p.before) & ~at_floor(p),
    "paddle at the left wall": lambda p: (p.before.pos == 0) & (p.action == LEFT),
    "paddle at the right wall": lambda p: (p.before.pos == 9) & (p.action == RIGHT),
}


def car_moves_to(p: Play) -> np.ndarray:
    """Where each car is after the step."""
    return p.after.cars[..., 0]


def chicken_lane(p: Play) -> np.ndarray:
    """bool[n, 8]: the lane the chicken is in when the cars move, if it did not reach the top."""
    vertical = np.where(p.action == UP, -1, np.where(p.action == DOWN, 1, 0))
    y = np.clip(p.before.pos + np.where(p.before.move_timer == 0, vertical, 0), 0, 9)
    return np.arange(1, 9) == y[:, None]


FREEWAY: dict[str, Event] = COMMON | {
    "reaches the top": lambda p: p.reward > 0,
    "speeds drawn anew": lambda p: (p.after.cars[..., 2] != p.before.cars[..., 2]).any(1),
    "may not move yet": lambda p: (p.before.move_timer > 0) & np.isin(p.action, (UP, DOWN)),
    "moves down": lambda p: p.after.pos == p.before.pos + 1,
    "at the bottom": lambda p: (
        (p.before.pos == 9) & (p.action == DOWN) & (p.before.move_timer == 0)
    ),
    "walks into a car": lambda p: (
        (chicken_lane(p) & (p.before.cars[..., 0] == 4)).any(1) & (p.after.pos == 9)
    ),
    "a car drives into it": lambda p: (
        (chicken_lane(p) & (car_moves_to(p) == 4) & (p.before.cars[..., 0] != 4)).any(1)
        & (p.after.pos == 9)
    ),
    "car drives off the right": lambda p: (
        (p.before.cars[..., 0] == 9) & (car_moves_to(p) == 0)
    ).any(1),
    "car drives off the left": lambda p: (
        (p.before.cars[..., 0] == 0) & (car_moves_to(p) == 9)
    ).any(1),
    "reward in the last step": lambda p: p.terminated & (p.reward > 0),
}


def landed(p: Play) -> np.ndarray:
    """The aliens turn with one in the last row."""
    edge = np.where(
        p.before.alien_dir == 1,
        p.before.alien_map[:, :, 9].any(1),
        p.before.alien_map[:, :, 0].any(1),
    )
    return (p.before.alien_move_timer == 0) & edge & p.before.alien_map[:, 9].any(1)


def marched(p: Play) -> np.ndarray:
    """The aliens move in this step."""
    return p.before.alien_move_timer == 0


def turned(p: Play) -> np.ndarray:
    """They turn and come down."""
    return p.before.alien_dir != p.after.alien_dir


def few_aliens(p: Play) -> np.ndarray:
    """Fewer than the interval, so that they march faster."""
    return p.before.alien_map.sum((1, 2)) < p.before.enemy_move_interval


def tie(p: Play) -> np.ndarray:
    """They shoot with the two nearest columns at the same distance (before any march)."""
    columns = p.before.alien_map.any(1)
    distance = np.where(columns, abs(np.arange(10) - p.after.pos[:, None]), 99)
    two = (distance == distance.min(1, keepdims=True)).sum(1) == 2
    return (p.before.alien_shot_timer == 0) & ~marched(p) & two


def at_cannon(board: np.ndarray, p: Play) -> np.ndarray:
    """A map has something where the cannon is after its move."""
    return board[np.arange(len(p.action)), 9, p.after.pos] == 1


def refilled(p: Play) -> np.ndarray:
    """A new wave came: every alien was shot in this step."""
    return p.before.alien_map.sum((1, 2)) == p.reward


SPACE_INVADERS: dict[str, Event] = COMMON | {
    "fires": lambda p: (p.action == FIRE) & (p.before.shot_timer == 0),
    "may not fire yet": lambda p: (p.action == FIRE) & (p.before.shot_timer > 0),
    "cannon at the left wall": lambda p: (p.before.pos == 0) & (p.action == LEFT),
    "cannon at the right wall": lambda p: (p.before.pos == 9) & (p.action == RIGHT),
    "bullet leaves at the top": lambda p: p.before.f_bullet_map[:, 0].any(1),
    "bullet leaves at the bottom": lambda p: p.before.e_bullet_map[:, 9].any(1),
    "aliens march left": lambda p: marched(p) & ~turned(p) & (p.before.alien_dir == -1),
    "aliens march right": lambda p: marched(p) & ~turned(p) & (p.before.alien_dir == 1),
    "aliens turn at the left": lambda p: turned(p) & (p.before.alien_dir == -1),
    "aliens turn at the right": lambda p: turned(p) & (p.before.alien_dir == 1),
    "aliens turn in the last row": landed,
    "few aliens march faster": lambda p: marched(p) & few_aliens(p),
    "aliens shoot": lambda p: p.before.alien_shot_timer == 0,
    "aliens shoot, two columns are nearest": tie,
    "cannon shot": lambda p: at_cannon(np.roll(p.before.e_bullet_map, 1, 1), p) & p.terminated,
    "cannon rammed before the march": lambda p: at_cannon(p.before.alien_map, p),
    "cannon rammed by the march": lambda p: (
        marched(p) & ~at_cannon(p.before.alien_map, p) & at_cannon(p.after.alien_map, p)
    ),
    "one alien shot": lambda p: p.reward == 1,
    "two or more aliens shot": lambda p: p.reward >= 2,
    "new wave": refilled,
    "new wave with bullets in the air": lambda p: refilled(p) & p.after.e_bullet_map.any((1, 2)),
    "new wave that marches right": lambda p: refilled(p) & (p.after.alien_dir == 1),
    "ramp": lambda p: p.after.ramp_index > p.before.ramp_index,
    "reward in the last step": lambda p: p.terminated & (p.reward > 0),
    "new wave without ramping": lambda p: (
        refilled(p)
        & (p.before.enemy_move_interval > 6)
        & (p.after.ramp_index == p.before.ramp_index)
    ),
    "new wave at the fastest march": lambda p: refilled(p) & (p.before.enemy_move_interval == 6),
}


EVENTS: dict[str, dict[str, Event]] = {
    "Asterix": ASTERIX,
    "Breakout": BREAKOUT,
    "Freeway": FREEWAY,
    "Seaquest": COMMON | seaquest_events.SEAQUEST,
    "SpaceInvaders": SPACE_INVADERS,
}
"""Every rule of every game."""
