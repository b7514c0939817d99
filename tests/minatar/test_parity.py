"""Every game equals the original, met every rule on the way, and a changed rule is noticed."""

import functools
from collections import Counter

import jax.numpy as jnp
import pytest
from parity import compare, make_stepper, record_all
from parity.events import EVENTS, count_events

from qduet.minatar import GAMES, asterix, breakout, freeway, seaquest, space_invaders
from qduet.minatar.seaquest_slots import first_from

STEPS = 26_000
SEED = 20_25


@functools.cache
def recordings(game):
    return record_all(game, STEPS, SEED)


def differences(game):
    steppers = {
        ramping: make_stepper(game, difficulty_ramping=ramping) for ramping in (True, False)
    }
    return [
        difference
        for recording in recordings(game)
        for difference in compare(recording, steppers[recording.scenario.difficulty_ramping])
    ]


@pytest.mark.parametrize("game", GAMES)
def test_every_step_equals_the_original(game):
    assert sum(len(recording.actions) for recording in recordings(game)) >= 20_000
    assert any(recording.scenario.lockstep for recording in recordings(game))
    assert differences(game) == []


@pytest.mark.parametrize("game", GAMES)
def test_every_rule_was_met(game):
    counts = sum((Counter(count_events(recording)) for recording in recordings(game)), Counter())
    assert {event for event in EVENTS[game] if counts[event] == 0} == set()


# Each mutant is a rule changed as a plausible slip would change it.


def spawn_in_first_free_row(monkeypatch):
    real = asterix.random_words.below
    first = lambda word, bound: jnp.zeros_like(real(word, bound))
    monkeypatch.setattr(asterix.random_words, "below", first)


def ramp_one_step_early(monkeypatch):
    monkeypatch.setattr(asterix, "RAMP_INTERVAL", 99)


def bricks_never_passed(monkeypatch):
    real = breakout.step
    without_strike = lambda state, action, draws: real(
        state._replace(strike=jnp.zeros_like(state.strike)), action, draws
    )
    monkeypatch.setattr(breakout, "step", without_strike)


def wall_rebuilt_at_once(monkeypatch):
    real = breakout.step

    def step(state, action, draws):
        result = real(state, action, draws)
        bricks = result.state.bricks
        rebuilt = jnp.where(bricks == 0, jnp.uint32(breakout.WALL), bricks)
        return result._replace(state=result.state._replace(bricks=rebuilt))

    monkeypatch.setattr(breakout, "step", step)


def cars_as_fast_as_documented(monkeypatch):
    real = freeway.drive

    def drive(state):
        return real(state._replace(car_timer=jnp.where(state.car_timer == 1, 0, state.car_timer)))

    monkeypatch.setattr(freeway, "drive", drive)


def one_step_shorter(monkeypatch):
    monkeypatch.setattr(freeway, "TIME_LIMIT", 2499)


def ties_to_the_right(monkeypatch):
    real = space_invaders.nearest_column

    def nearest(columns, x):
        left = real(columns, x)
        right = space_invaders.cell(2 * x - space_invaders.bit_index(left))
        return jnp.where(columns & right != 0, right, left)

    monkeypatch.setattr(space_invaders, "nearest_column", nearest)


def new_wave_marches_left(monkeypatch):
    real = space_invaders.next_wave

    def next_wave(state, difficulty_ramping):
        after = real(state, difficulty_ramping)
        cleared = jnp.all(state.aliens == 0)
        return after._replace(moves_right=after.moves_right & ~cleared)

    monkeypatch.setattr(space_invaders, "next_wave", next_wave)


def dead_subs_silent(monkeypatch):
    real = seaquest.fire_enemies
    alive_only = lambda state, subs: real(state, subs & state.enemies.alive)
    monkeypatch.setattr(seaquest, "fire_enemies", alive_only)


def divers_oldest_first(monkeypatch):
    def swim_divers(state):
        older, count = seaquest.swim_diver(state, state.older_diver)
        state = state._replace(older_diver=older, diver_count=count)
        newer, count = seaquest.swim_diver(state, state.newer_diver)
        return state._replace(newer_diver=newer, diver_count=count)

    monkeypatch.setattr(seaquest, "swim_divers", swim_divers)


def bullets_oldest_first(monkeypatch):
    def fly_bullets(state):
        older, enemies, older_hit = seaquest.fly_bullet(state.older_bullet, state.enemies)
        newer, enemies, newer_hit = seaquest.fly_bullet(state.newer_bullet, enemies)
        after = state._replace(newer_bullet=newer, older_bullet=older, enemies=enemies)
        return after, older_hit.astype(jnp.int32) + newer_hit

    monkeypatch.setattr(seaquest, "fly_bullets", fly_bullets)


def any_enemy_in_the_cell_is_hit(monkeypatch):
    lowest_slot = lambda slots, start: first_from(slots, jnp.zeros_like(start))
    monkeypatch.setattr(seaquest.slots, "first_from", lowest_slot)


def six_divers_leave_none_aboard(monkeypatch):
    real = seaquest.breathe

    def breathe(state, difficulty_ramping):
        after, bonus, ended = real(state, difficulty_ramping)
        return after._replace(diver_count=jnp.maximum(after.diver_count, 0)), bonus, ended

    monkeypatch.setattr(seaquest, "breathe", breathe)


MUTANTS = {
    "Asterix": (spawn_in_first_free_row, ramp_one_step_early),
    "Breakout": (bricks_never_passed, wall_rebuilt_at_once),
    "Freeway": (cars_as_fast_as_documented, one_step_shorter),
    "SpaceInvaders": (ties_to_the_right, new_wave_marches_left),
    "Seaquest": (
        dead_subs_silent,
        divers_oldest_first,
        bullets_oldest_first,
        any_enemy_in_the_cell_is_hit,
        six_divers_leave_none_aboard,
    ),
}


@pytest.mark.parametrize(
    ("game", "mutant"), [(game, mutant) for game in MUTANTS for mutant in MUTANTS[game]]
)
def test_a_changed_rule_is_noticed(game, mutant, monkeypatch):
    mutant(monkeypatch)
    stepper = make_stepper(game)
    ramping = [one for one in recordings(game) if one.scenario.difficulty_ramping]
    ramping.sort(key=lambda one: one.scenario.fuzz is None)  # fuzzed states find most the soonest
    assert any(compare(recording, stepper) for recording in ramping)
