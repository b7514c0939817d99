"""Freeway: a chicken crosses eight lanes of traffic as often as it can in 2501 steps.

The chicken stays in column 4 and moves at most every third step. Reaching the top is worth 1, sends
it back to the bottom and gives all cars new speeds; a car sends it back too. Cars drive around.

Draws at reset and in a step: two words of four base-5 digits each are the cars' speeds, the third
word's low eight bits their directions.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from qduet.core.xla import computed_once
from qduet.minatar import random_words
from qduet.minatar.bitboard import SIZE, cell, middle_rows, one_cell
from qduet.minatar.environment import ALL_ACTIONS, DOWN, NOOP, UP, Environment, StepResult

CHANNELS = ("chicken", "car", "speed1", "speed2", "speed3", "speed4", "speed5")
MINIMAL_ACTIONS = (NOOP, UP, DOWN)

NUM_CARS = 8
NUM_SPEEDS = 5
CHICKEN_X = 4
BOTTOM = SIZE - 1
MOVE_INTERVAL = 3
TIME_LIMIT = 2500


class FreewayState(NamedTuple):
    """Everything that decides the rest of the game; car i of an [8] array drives in row i + 1."""

    chicken_y: jax.Array
    """int32[]"""
    move_timer: jax.Array
    """int32[]: steps until the chicken may move again."""
    terminate_timer: jax.Array
    """int32[]: the game is over when it falls below 0."""
    car_x: jax.Array
    """int32[8]"""
    car_timer: jax.Array
    """int32[8]: steps until the car moves."""
    car_speed: jax.Array
    """int32[8] in 1..5: how long a car waits between moves, so 1 is the fastest."""
    moves_right: jax.Array
    """bool[8]"""


def draw_speeds(draws: jax.Array) -> jax.Array:
    """Uniform in 1..5 for each car."""
    digits = [
        *random_words.digits(draws[0], NUM_SPEEDS, 4),
        *random_words.digits(draws[1], NUM_SPEEDS, 4),
    ]
    return 1 + jnp.stack(digits)


def draw_directions(draws: jax.Array) -> jax.Array:
    """Whether each car drives to the right."""
    return (draws[2] >> jnp.arange(NUM_CARS, dtype=jnp.uint32)) & 1 == 1


def move_chicken(state: FreewayState, action: jax.Array) -> FreewayState:
    """Up or down, if the last move is long enough ago."""
    moves = (state.move_timer == 0) & ((action == UP) | (action == DOWN))
    y = jnp.clip(state.chicken_y + jnp.where(action == UP, -1, 1), 0, BOTTOM)
    return state._replace(
        chicken_y=jnp.where(moves, y, state.chicken_y),
        move_timer=jnp.where(moves, MOVE_INTERVAL, state.move_timer),
    )


def arrive(state: FreewayState, draws: jax.Array) -> tuple[FreewayState, jax.Array]:
    """At the top: back to the bottom, new speeds and directions; and whether that happened."""
    arrived = state.chicken_y == 0
    speed = jnp.where(arrived, draw_speeds(draws), state.car_speed)
    after = state._replace(
        chicken_y=jnp.where(arrived, BOTTOM, state.chicken_y),
        car_timer=jnp.where(arrived, speed, state.car_timer),
        car_speed=speed,
        moves_right=jnp.where(arrived, draw_directions(draws), state.moves_right),
    )
    return after, arrived


def drive(state: FreewayState) -> FreewayState:
    """Cars whose timer is out move; one on the chicken, before or after, sends it back."""
    due = state.car_timer == 0
    ahead = state.car_x + jnp.where(state.moves_right, 1, -1)
    ahead = jnp.where(ahead < 0, SIZE - 1, jnp.where(ahead == SIZE, 0, ahead))
    x = jnp.where(due, ahead, state.car_x)
    in_lane = jnp.arange(1, NUM_CARS + 1) == state.chicken_y
    hit = jnp.any(in_lane & ((state.car_x == CHICKEN_X) | (x == CHICKEN_X)))
    return state._replace(
        chicken_y=jnp.where(hit, BOTTOM, state.chicken_y),
        car_x=x,
        car_timer=jnp.where(due, state.car_speed, state.car_timer - 1),
    )


def reset(draws: jax.Array) -> FreewayState:
    """All cars start at the left edge, whichever way they drive."""
    speed = draw_speeds(draws)
    return FreewayState(
        chicken_y=jnp.int32(BOTTOM),
        move_timer=jnp.int32(MOVE_INTERVAL),
        terminate_timer=jnp.int32(TIME_LIMIT),
        car_x=jnp.zeros(NUM_CARS, jnp.int32),
        car_timer=speed,
        car_speed=speed,
        moves_right=draw_directions(draws),
    )


def step(state: FreewayState, action: jax.Array, draws: jax.Array) -> StepResult:
    """One frame."""
    state, arrived = arrive(move_chicken(state, action), draws)
    state = drive(state)
    state = state._replace(
        move_timer=jnp.maximum(state.move_timer - 1, 0),
        terminate_timer=state.terminate_timer - 1,
    )
    return StepResult(state, arrived.astype(jnp.float32), state.terminate_timer < 0)


def rows(state: FreewayState) -> jax.Array:
    """The picture, uint32[7, 10]; a car's trail is in the channel of its speed."""
    behind = jnp.where(state.moves_right, state.car_x - 1, state.car_x + 1)
    behind = jnp.where(behind < 0, SIZE - 1, jnp.where(behind == SIZE, 0, behind))
    cars, trails = computed_once(cell(state.car_x)), computed_once(cell(behind))
    speed = computed_once(state.car_speed.astype(jnp.uint32))
    trails_by_speed = [
        middle_rows(jnp.where(speed == one_speed, trails, jnp.uint32(0)))
        for one_speed in range(1, NUM_SPEEDS + 1)
    ]
    chicken = one_cell(state.chicken_y, jnp.int32(CHICKEN_X))
    return jnp.stack([chicken, middle_rows(cars), *trails_by_speed])


def game(*, difficulty_ramping: bool = True) -> Environment:
    """The game alone; Freeway has no difficulty to ramp."""
    return Environment("Freeway", CHANNELS, ALL_ACTIONS, 3, reset, step, rows, small_rewards=True)
