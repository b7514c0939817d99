"""Sticky actions, auto-reset, action sets and refused input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from parity.original import Original

from qduet.core.errors import InputError
from qduet.minatar import ENV_IDS, make

STICKS, DOES_NOT = 429_496_729, 429_496_730  # the words on both sides of 0.1 * 2^32 = 429496729.6


def words(env, first, rest=0):
    return np.array([first] + [rest] * (env.num_draws - 1), np.uint32)


def test_the_first_word_decides_whether_the_last_action_is_repeated():
    env = make("MinAtar/Breakout-v1")
    state = env.reset(words(env, 0))
    assert int(state.last_action) == 0
    state = env.step(state, 1, words(env, DOES_NOT)).state  # left
    assert (int(state.last_action), int(state.game.paddle)) == (1, 3)
    state = env.step(state, 2, words(env, STICKS)).state  # right, but left is repeated
    assert (int(state.last_action), int(state.game.paddle)) == (1, 2)
    state = env.step(state, 2, words(env, DOES_NOT)).state  # right: index 3 of the full set
    assert (int(state.last_action), int(state.game.paddle)) == (3, 3)


@pytest.mark.parametrize(("probability", "sticks"), [(0.0, False), (1.0, True)])
def test_extreme_stickiness(probability, sticks):
    env = make("MinAtar/Breakout-v1", sticky_probability=probability)
    state = env.reset(words(env, 0))
    for word in (0, 2**32 - 1):
        assert int(env.step(state, 1, words(env, word)).state.game.paddle) == (4 if sticks else 3)


def test_the_last_action_survives_a_reset_as_in_the_original():
    env, original = make("MinAtar/Breakout-v0"), Original("Breakout")
    state = env.reset(words(env, 0))
    original.reset([0])
    terminated = False
    while not terminated:  # the paddle stays in the left corner, and misses the ball
        result = env.step(state, 1, words(env, DOES_NOT, 2**31))
        expected = original.step(1, [DOES_NOT, 2**31])
        state, terminated = result.state, bool(result.terminated)
        assert (float(result.reward), terminated) == expected
    original.reset([2**31])
    assert int(state.game.ball_x) == original.game.ball_x == 9
    assert int(state.game.paddle) == 4
    assert int(state.last_action) == original.last_action == 1
    after = env.step(state, 3, words(env, STICKS)).state
    original.step(3, [STICKS, 0])
    assert int(after.game.paddle) == original.game.pos == 3


def test_the_reward_of_the_last_step_is_given_with_the_new_episode():
    env = make("MinAtar/Freeway-v1")
    state = env.reset(words(env, DOES_NOT))
    game = state.game._replace(
        chicken_y=jnp.int32(1), move_timer=jnp.int32(0), terminate_timer=jnp.int32(0)
    )
    result = env.step(state._replace(game=game), 1, words(env, DOES_NOT))
    assert float(result.reward) == 1.0
    assert bool(result.terminated)
    assert int(result.state.game.terminate_timer) == 2500


def test_a_game_of_freeway_is_2501_steps():
    env = make("MinAtar/Freeway-v1")

    def step(state, key):
        draws = jax.random.bits(key, (env.num_draws,))
        result = env.step(state, draws[1] % 3, draws)
        return result.state, result.terminated

    keys = jax.random.split(jax.random.key(0), 5100)
    _, terminated = jax.lax.scan(step, env.reset(words(env, 0)), keys)
    assert np.flatnonzero(terminated).tolist() == [2500, 5001]


def test_without_auto_reset_the_last_state_stays():
    env = make("MinAtar/Freeway-v1", auto_reset=False)
    state = env.reset(words(env, 0))
    game = state.game._replace(terminate_timer=jnp.int32(0))
    result = env.step(state._replace(game=game), 0, words(env, 0))
    assert bool(result.terminated)
    assert int(result.state.game.terminate_timer) == -1


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_actions_that_are_out_of_range_are_refused(env_id):
    env = make(env_id)
    state = env.reset(words(env, 0))
    for wrong in (-1, env.num_actions):
        with pytest.raises(InputError, match=rf"action {wrong} for {env_id} is not one of: 0 noop"):
            env.step(state, wrong, words(env, 0))
    with pytest.raises(InputError, match="must be one integer"):
        env.step(state, 0.5, words(env, 0))
    with pytest.raises(InputError, match="vmap a batch"):
        env.step(state, np.zeros(3, np.int32), words(env, 0))


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_wrong_draws_are_refused(env_id):
    env = make(env_id)
    state = env.reset(words(env, 0))
    for wrong in (np.zeros(env.num_draws + 1, np.uint32), np.zeros(env.num_draws, np.float32)):
        with pytest.raises(InputError, match=rf"must be uint32\[{env.num_draws}\]"):
            env.reset(wrong)
        with pytest.raises(InputError, match=rf"must be uint32\[{env.num_draws}\]"):
            jax.jit(env.step)(state, 0, wrong)


def test_stickiness_must_be_a_probability():
    with pytest.raises(InputError, match=r"sticky_probability 1\.5 is not in \[0, 1\]"):
        make("MinAtar/Breakout-v1", sticky_probability=1.5)
