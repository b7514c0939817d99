"""The games on their real random path: frequencies of draws, and random play, as the original's.

Every test is at significance 1e-4 (two-sided) with a fixed seed; there are about twenty of them.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from qduet.minatar import asterix, freeway, make, seaquest

SIGNIFICANCE = 1e-4
SAMPLES = 20_000

# Uniform over the minimal action set, by the original: return, its standard error, length, its s.e.
RANDOM_PLAY = {
    "Asterix": (0.486, 0.019, 64.6, 0.9),
    "Breakout": (0.386, 0.012, 9.94, 0.12),
    "Freeway": (0.465, 0.048, 2501.0, 0.0),
    "Seaquest": (0.103, 0.008, 31.1, 0.8),
    "SpaceInvaders": (4.09, 0.11, 58.8, 1.5),
}
GAMES_AND_STEPS = {  # each game is played once to its end; the steps are more than any needs
    "Asterix": (4096, 700),
    "Breakout": (8192, 300),
    "Freeway": (512, 2501),
    "Seaquest": (8192, 500),
    "SpaceInvaders": (2048, 1500),
}


def bits(seed, *shape):
    return jax.random.bits(jax.random.key(seed), shape)


def assert_frequencies(observed, probabilities):
    expected = np.asarray(probabilities) * np.sum(observed)
    assert stats.chisquare(observed, expected).pvalue > SIGNIFICANCE


def first_episodes(name):
    """Returns and lengths of each game's first episode."""
    env = make(f"MinAtar/{name}-v1")
    num_games, num_steps = GAMES_AND_STEPS[name]

    def step(carry, key):
        states, over, total, length = carry
        key_act, key_draws = jax.random.split(key)
        draws = jax.random.bits(key_draws, (num_games, env.num_draws))
        actions = jax.random.randint(key_act, (num_games,), 0, env.num_actions)
        states, reward, terminated = jax.vmap(env.step)(states, actions, draws)
        total, length = total + jnp.where(over, 0, reward), length + ~over
        return (states, over | terminated, total, length), None

    states = jax.vmap(env.reset)(bits(1, num_games, env.num_draws))
    zeros = jnp.zeros(num_games)
    carry = (states, zeros > 0, zeros, jnp.zeros(num_games, jnp.int32))
    keys = jax.random.split(jax.random.key(2), num_steps)
    (_, over, total, length), _ = jax.jit(lambda c, k: jax.lax.scan(step, c, k))(carry, keys)
    assert bool(over.all())
    return np.asarray(total), np.asarray(length)


@pytest.mark.parametrize("game", RANDOM_PLAY)
def test_random_play_is_as_long_and_as_good_as_in_the_original(game):
    expected_return, return_error, expected_length, length_error = RANDOM_PLAY[game]
    returns, lengths = first_episodes(game)
    for sample, expected, error in (
        (returns, expected_return, return_error),
        (lengths, expected_length, length_error),
    ):
        ours = sample.std(ddof=1) / np.sqrt(len(sample))
        limit = stats.norm.isf(SIGNIFICANCE / 2) * np.hypot(ours, error)
        assert abs(sample.mean() - expected) <= limit


def test_sticky_actions_are_a_tenth():
    env = make("MinAtar/Breakout-v1")
    state = env.reset(bits(0, env.num_draws))
    step = jax.vmap(lambda draws: env.step(state, 1, draws).state.last_action)
    moved = int(np.sum(step(bits(3, SAMPLES, env.num_draws)) == 1))
    assert_frequencies([SAMPLES - moved, moved], [0.1, 0.9])


def test_breakout_starts_from_either_side():
    env = make("MinAtar/Breakout-v1")
    starts = jax.vmap(env.reset)(bits(4, SAMPLES, env.num_draws)).game.ball_x
    assert_frequencies([np.sum(starts == 0), np.sum(starts == 9)], [0.5, 0.5])


def test_asterix_newcomers():
    start = asterix.reset(bits(0, 2))._replace(spawn_timer=jnp.int32(0))
    taken = jnp.array([False, True, False, False, True, True, False, False])
    start = start._replace(present=taken)
    after = jax.vmap(lambda draws: asterix.spawn(start, draws))(bits(5, SAMPLES, 2))
    new = np.asarray(after.present) & ~np.asarray(taken)
    assert (new.sum(1) == 1).all()
    assert_frequencies(new.sum(0)[~np.asarray(taken)], [0.2] * 5)
    gold = np.asarray(after.gold)[new].sum()
    right = np.asarray(after.moves_right)[new]
    assert_frequencies([gold, SAMPLES - gold], [1 / 3, 2 / 3])
    assert_frequencies([right.sum(), SAMPLES - right.sum()], [0.5, 0.5])
    # Row and direction come from one word: they must not go together.
    slot = new.argmax(1)
    table = [[np.sum(right & (slot == i)), np.sum(~right & (slot == i))] for i in (0, 2, 3, 6, 7)]
    assert stats.chi2_contingency(table).pvalue > SIGNIFICANCE


def test_freeway_cars():
    cars = jax.vmap(freeway.reset)(bits(6, SAMPLES, 3))
    for car in range(8):
        speeds = np.bincount(cars.car_speed[:, car], minlength=6)
        assert speeds[0] == 0
        assert_frequencies(speeds[1:], [0.2] * 5)
        right = int(np.sum(cars.moves_right[:, car]))
        assert_frequencies([right, SAMPLES - right], [0.5, 0.5])
    pairs = np.asarray(cars.car_speed[:, 0] * 5 + cars.car_speed[:, 1]) - 6
    assert_frequencies(np.bincount(pairs, minlength=25), [1 / 25] * 25)


def test_seaquest_newcomers():
    start = seaquest.reset(bits(0, 2))._replace(spawn_timer=jnp.int32(0), diver_timer=jnp.int32(0))

    def spawn(draws):
        after = seaquest.spawn_diver(seaquest.spawn_enemy(start, draws), draws)
        enemies = after.enemies
        row = sum((plane & 1) << j for j, plane in enumerate(enemies.y))
        return enemies.subs & 1, enemies.moves_right & 1, row, after.newer_diver

    sub, right, row, diver = jax.vmap(spawn)(bits(7, SAMPLES, 2))
    assert_frequencies(np.bincount(sub), [2 / 3, 1 / 3])
    assert_frequencies(np.bincount(right), [0.5, 0.5])
    assert_frequencies(np.bincount(row, minlength=9)[1:], [1 / 8] * 8)
    assert_frequencies(np.bincount(diver.y, minlength=9)[1:], [1 / 8] * 8)
    assert_frequencies(np.bincount(diver.moves_right.astype(int)), [0.5, 0.5])
