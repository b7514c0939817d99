"""Our states as views and back, many at once: what is compared with the original."""

# States are annotated with JAX arrays; here they hold NumPy ones.
# mypy: disable-error-code="arg-type"

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from parity.seaquest_conversion import seaquest_state, seaquest_view
from parity.views import (
    NOTHING,
    AsterixView,
    BreakoutView,
    FreewayView,
    SpaceInvadersView,
)
from qduet.minatar.asterix import AsterixState
from qduet.minatar.breakout import BreakoutState
from qduet.minatar.freeway import FreewayState
from qduet.minatar.space_invaders import SpaceInvadersState


class Conversion(NamedTuple):
    """Between a game's states (arrays with a leading axis) and its view."""

    to_state: Callable[[Any], Any]
    to_view: Callable[[Any], Any]


def masks(cells: np.ndarray) -> np.ndarray:
    """[..., 10] cells -> [...] row masks."""
    return (cells.astype(np.uint32) << np.arange(10, dtype=np.uint32)).sum(-1, dtype=np.uint32)


def cells(rows: np.ndarray, width: int = 10) -> np.ndarray:
    """[...] row masks -> [..., width] cells."""
    return (np.asarray(rows)[..., None] >> np.arange(width, dtype=np.uint32)) & 1


def int32(array: np.ndarray) -> np.ndarray:
    """As the states store numbers."""
    return np.asarray(array).astype(np.int32)


def asterix_state(view: AsterixView) -> AsterixState:
    """The state that a view shows."""
    numbers = {name: int32(getattr(view, name)) for name in view._fields[:-1]}
    x, moves_right, gold = np.moveaxis(view.entities, -1, 0)
    present = x != NOTHING
    flag = lambda values: present & (values == 1)
    return AsterixState(
        **numbers,
        present=present,
        x=int32(np.where(present, x, 0)),
        moves_right=flag(moves_right),
        gold=flag(gold),
    )


def asterix_view(state: AsterixState) -> AsterixView:
    """What a state shows."""
    numbers = {name: getattr(state, name) for name in AsterixView._fields[:-1]}
    entities = np.stack([state.x, state.moves_right, state.gold], -1)
    return AsterixView(
        **numbers, entities=np.where(np.asarray(state.present)[..., None], entities, NOTHING)
    )


def breakout_state(view: BreakoutView) -> BreakoutState:
    """The state that a view shows."""
    wall = masks(view.brick_map[:, 1:4])
    return BreakoutState(
        paddle=int32(view.pos),
        ball_y=int32(view.ball_y),
        ball_x=int32(view.ball_x),
        moves_down=np.isin(view.ball_dir, (2, 3)),
        moves_right=np.isin(view.ball_dir, (1, 2)),
        last_y=int32(view.last_y),
        last_x=int32(view.last_x),
        bricks=wall[:, 0] | wall[:, 1] << 10 | wall[:, 2] << 20,
        strike=view.strike == 1,
    )


def breakout_view(state: BreakoutState) -> BreakoutView:
    """What a state shows."""
    wall = cells(state.bricks, 30).reshape(-1, 3, 10)
    return BreakoutView(
        ball_x=state.ball_x,
        ball_y=state.ball_y,
        ball_dir=np.select(
            [~state.moves_down & ~state.moves_right, ~state.moves_down, state.moves_right],
            [0, 1, 2],
            3,
        ),
        pos=state.paddle,
        strike=state.strike,
        last_x=state.last_x,
        last_y=state.last_y,
        brick_map=np.pad(wall, ((0, 0), (1, 6), (0, 0))),
    )


def freeway_state(view: FreewayView) -> FreewayState:
    """The state that a view shows."""
    x, timer, speed = (int32(part) for part in np.moveaxis(view.cars, -1, 0))
    return FreewayState(
        chicken_y=int32(view.pos),
        move_timer=int32(view.move_timer),
        terminate_timer=int32(view.terminate_timer),
        car_x=x,
        car_timer=timer,
        car_speed=abs(speed),
        moves_right=speed > 0,
    )


def freeway_view(state: FreewayState) -> FreewayView:
    """What a state shows."""
    speed = np.where(state.moves_right, state.car_speed, -state.car_speed)
    return FreewayView(
        pos=state.chicken_y,
        move_timer=state.move_timer,
        terminate_timer=state.terminate_timer,
        cars=np.stack([state.car_x, state.car_timer, speed], -1),
    )


def space_invaders_state(view: SpaceInvadersView) -> SpaceInvadersState:
    """The state that a view shows."""
    return SpaceInvadersState(
        cannon=int32(view.pos),
        aliens=masks(view.alien_map),
        friendly_bullets=masks(view.f_bullet_map),
        enemy_bullets=masks(view.e_bullet_map),
        moves_right=view.alien_dir == 1,
        march_interval=int32(view.enemy_move_interval),
        march_timer=int32(view.alien_move_timer),
        enemy_shot_timer=int32(view.alien_shot_timer),
        shot_timer=int32(view.shot_timer),
        ramp_index=int32(view.ramp_index),
    )


def space_invaders_view(state: SpaceInvadersState) -> SpaceInvadersView:
    """What a state shows."""
    return SpaceInvadersView(
        pos=state.cannon,
        alien_dir=np.where(state.moves_right, 1, -1),
        enemy_move_interval=state.march_interval,
        alien_move_timer=state.march_timer,
        alien_shot_timer=state.enemy_shot_timer,
        ramp_index=state.ramp_index,
        shot_timer=state.shot_timer,
        f_bullet_map=cells(state.friendly_bullets),
        e_bullet_map=cells(state.enemy_bullets),
        alien_map=cells(state.aliens),
    )


CONVERSIONS = {
    "Asterix": Conversion(asterix_state, asterix_view),
    "Breakout": Conversion(breakout_state, breakout_view),
    "Freeway": Conversion(freeway_state, freeway_view),
    "Seaquest": Conversion(seaquest_state, seaquest_view),
    "SpaceInvaders": Conversion(space_invaders_state, space_invaders_view),
}
