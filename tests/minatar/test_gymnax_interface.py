"""The games with gymnax's interface: their rules are ours, and code for gymnax runs unchanged."""

import subprocess
import sys
from functools import partial

import gymnax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnax.wrappers import (
    FlattenObservationWrapper,
    GymnaxToGymWrapper,
    GymnaxToVectorGymWrapper,
    LogWrapper,
)

import qduet.minatar
import qduet.minatar.gymnax
from qduet.core.digests import describe
from qduet.core.errors import InputError
from qduet.minatar import ACTION_NAMES, GAMES, NOOP

STEPS = 400


def play(env, params, seed=0, steps=STEPS):
    """The first observation and state, and what `steps` steps give, each ``[steps, ...]``."""

    def body(state, key):
        key_act, key_step = jax.random.split(key)
        given = env.step(key_step, state, env.action_space(params).sample(key_act), params)
        return given[1], given

    key_reset, key_play = jax.random.split(jax.random.key(seed))
    first = env.reset(key_reset, params)
    return first, jax.lax.scan(body, first[1], jax.random.split(key_play, steps))[1]


@pytest.mark.parametrize("game", GAMES)
def test_a_game_is_ours_fed_with_the_draws_of_the_keys(game):
    """The oracle plays without auto-reset, resets by hand, and keeps the last action."""
    env, params = qduet.minatar.gymnax.make(f"{game}-MinAtar")
    (first, _), (seen, states, rewards, terminated, truncated, info) = play(env, params)

    ours = qduet.minatar.make(f"MinAtar/{game}-v1", auto_reset=False)
    bits = lambda key: jax.random.bits(key, (ours.num_draws,), jnp.uint32)
    key_reset, key_play = jax.random.split(jax.random.key(0))
    start = jax.jit(ours.reset)(bits(key_reset))
    np.testing.assert_array_equal(first, jax.jit(ours.observe)(start))

    def body(carry, key):
        state, time = carry
        key_act, key_step = jax.random.split(key)
        key_game, key_next = jax.random.split(key_step)  # as gymnax splits the key of a step
        action = jax.random.randint(key_act, (), 0, ours.num_actions)
        after = ours.step(state, action, bits(key_game))
        fresh = ours.reset(bits(key_next))._replace(last_action=after.state.last_action)
        choose = lambda new, old: jnp.where(after.terminated, new, old)
        following = jax.tree.map(choose, fresh, after.state), choose(0, time + 1)
        return following, (*following, after, ours.observe(after.state))

    keys = jax.random.split(key_play, STEPS)
    _, (games, times, after, last_seen) = jax.jit(lambda: jax.lax.scan(body, (start, 0), keys))()
    assert terminated.sum() > 1 or game == "Freeway"  # which ends in step 2501
    jax.tree.map(np.testing.assert_array_equal, states.game, games)
    np.testing.assert_array_equal(states.time, times)
    np.testing.assert_array_equal(seen, jax.vmap(ours.observe)(games))
    np.testing.assert_array_equal(rewards, after.reward)
    np.testing.assert_array_equal(terminated, after.terminated)
    assert not truncated.any()
    np.testing.assert_array_equal(info["final_observation"], last_seen)
    np.testing.assert_array_equal(info["executed_action"], after.state.last_action)
    np.testing.assert_array_equal(info["discount"], 1.0 - terminated)


@pytest.mark.parametrize("game", GAMES)
def test_spaces_names_and_types_are_gymnaxs(game):
    (ours, params), (theirs, their_params) = (
        module.make(f"{game}-MinAtar") for module in (qduet.minatar.gymnax, gymnax)
    )
    assert isinstance(ours, gymnax.environments.environment.Environment)
    assert (ours.name, ours.num_actions) == (theirs.name, theirs.num_actions)
    for space in ("action_space", "observation_space"):
        pair = getattr(ours, space)(params), getattr(theirs, space)(their_params)
        assert str(pair[0]) == str(pair[1])
    assert ours.default_params == params

    def shapes(env, params):
        key = jax.random.key(0)
        observation, state = jax.eval_shape(env.reset, key, params)
        given = jax.eval_shape(env.step, key, state, jnp.int32(0), params)
        info = {name: given[-1][name].shape for name in given[-1]}
        return describe(observation), describe(given[0]), describe(given[2:5]), info

    assert shapes(ours, params)[:3] == shapes(theirs, their_params)[:3]
    assert shapes(ours, params)[3] == {**shapes(theirs, their_params)[3], "executed_action": ()}


def test_the_last_action_survives_the_end_and_a_reset_forgets_it():
    env, params = qduet.minatar.gymnax.make("Breakout-MinAtar", sticky_probability=0.0)
    (_, first), (_, states, _, terminated, _, info) = play(env, params)
    assert first.game.last_action == NOOP
    last = states.game.last_action[terminated]
    np.testing.assert_array_equal(last, info["executed_action"][terminated])
    assert {ACTION_NAMES[action] for action in last.tolist()} == {"noop", "left", "right"}


def test_there_is_no_time_limit_unless_one_is_given():
    env, params = qduet.minatar.gymnax.make("Freeway-MinAtar")
    _, (_, states, _, terminated, truncated, _) = play(env, params, steps=2_600)
    assert np.flatnonzero(terminated).tolist() == [2_500]  # as in the original, in step 2501
    assert not truncated.any()
    assert states.time[2_499:2_502].tolist() == [2_500, 0, 1]

    limited = params.replace(max_steps_in_episode=1_000)
    _, (_, states, _, terminated, truncated, info) = play(env, limited, steps=2_600)
    assert np.flatnonzero(truncated).tolist() == [999, 1_999]
    assert not terminated.any()
    assert states.time[998:1_001].tolist() == [999, 0, 1]
    assert info["discount"].all()


def q_learning(make, seed, num_envs=8, steps=300):
    """Code for gymnax: tiny linear Q-learning in a vector of games; the mean reward of each step.

    Nothing in it but `make` knows whose games they are.
    """
    env, params = make("Breakout-MinAtar")
    env = LogWrapper(FlattenObservationWrapper(env))
    num_actions = env.action_space(params).n
    (size,) = env.observation_space(params).shape
    reset = jax.vmap(env.reset, in_axes=(0, None))
    step = jax.vmap(env.step, in_axes=(0, 0, 0, None))

    def td_error(weights, obs, action, reward, terminated, next_obs):
        target = reward + 0.99 * (1 - terminated) * (next_obs @ weights).max()
        return jax.lax.stop_gradient(target) - (obs @ weights)[action]

    def loss(weights, *batch):
        return (jax.vmap(partial(td_error, weights))(*batch) ** 2).mean()

    def body(carry, key):
        weights, obs, state = carry
        key_explore, key_act, key_env = jax.random.split(key, 3)
        drawn = jax.random.randint(key_act, (num_envs,), 0, num_actions)
        greedy = (obs @ weights).argmax(-1)
        action = jnp.where(jax.random.bernoulli(key_explore, 0.3, (num_envs,)), drawn, greedy)
        next_obs, state, reward, terminated, truncated, info = step(
            jax.random.split(key_env, num_envs), state, action, params
        )
        slope = jax.grad(loss)(weights, obs, action, reward, terminated, info["final_observation"])
        return (weights - 0.01 * slope, next_obs, state), (reward, terminated | truncated, info)

    key_reset, key_train = jax.random.split(jax.random.key(seed))
    obs, state = reset(jax.random.split(key_reset, num_envs), params)
    carry = jnp.zeros((size, num_actions)), obs, state
    (weights, *_), outcome = jax.lax.scan(body, carry, jax.random.split(key_train, steps))
    return weights, outcome


@pytest.mark.parametrize("make", [gymnax.make, qduet.minatar.gymnax.make])
def test_a_training_loop_for_gymnax_runs_by_changing_make(make):
    weights, (rewards, ended, info) = jax.jit(partial(q_learning, make))(0)
    assert weights.shape == (400, 3)
    assert np.isfinite(weights).all()
    assert jnp.abs(weights).max() > 0
    assert rewards.shape == (300, 8)
    assert ended.sum() > 100  # an untrained game of Breakout lasts about ten steps
    # What the wrapper noted of the last whole episode is what the loop saw of it.
    whole = np.flatnonzero(ended[:, 0])[-2:]
    noted = info["returned_episode_returns"][whole[1], 0]
    assert noted == rewards[whole[0] + 1 : whole[1] + 1, 0].sum()
    assert info["returned_episode_lengths"][whole[1], 0] == whole[1] - whole[0]


def test_gymnaxs_gymnasium_wrappers_take_a_game():
    env, _ = qduet.minatar.gymnax.make("Breakout-MinAtar")
    single = GymnaxToGymWrapper(env, seed=1)
    assert single.reset(seed=1)[0].shape == (10, 10, 4)
    assert [bool(flag) for flag in single.step(0)[2:4]] == [False, False]
    several = GymnaxToVectorGymWrapper(env, num_envs=3, seed=1)
    assert several.reset(seed=1)[0].shape == (3, 10, 10, 4)
    assert several.step(jnp.zeros(3, jnp.int32))[1].shape == (3,)


def test_options_are_those_of_our_games_and_of_gymnaxs():
    make = qduet.minatar.gymnax.make
    env, _ = make("Breakout-MinAtar", use_minimal_action_set=False)
    assert (env.name, env.num_actions) == ("MinAtar/Breakout-v0", 6)
    assert make("MinAtar/Breakout-v0")[0].num_actions == 6
    assert make("minatar-space_invaders")[0].name == "SpaceInvaders-MinAtar"
    assert make("Breakout-MinAtar")[0] is make("Breakout-MinAtar")[0]  # compiled once
    sticky, params = make("Breakout-MinAtar", sticky_probability=1.0)
    _, (*_, info) = play(sticky, params, steps=20)
    assert (info["executed_action"] == NOOP).all()


@pytest.mark.parametrize(
    ("env_id", "told"),
    [
        ("Brakout-MinAtar", "'Brakout-MinAtar': did you mean 'Breakout-MinAtar'?"),
        ("CartPole-v1", "unknown environment 'CartPole-v1'"),
        ("", "unknown environment ''"),
    ],
)
def test_an_unknown_id_is_refused_in_one_line(env_id, told):
    with pytest.raises(InputError) as error:
        qduet.minatar.gymnax.make(env_id)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("missing", ["gymnax", "flax"])
def test_without_gymnax_the_import_says_what_to_do(missing):
    """In a process of its own, because here it is imported already."""
    code = f"import sys; sys.modules[{missing!r}] = None; import qduet.minatar.gymnax"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 1
    last = run.stderr.splitlines()[-1]
    assert "needs gymnax 1.0 or later: pip install --upgrade 'qduet[gymnax]'" in last
