"""The Gymnasium adapters: Gymnasium's own checks, and the original's behaviour."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import qduet.minatar.gym
from qduet.core.errors import InputError
from qduet.minatar import ENV_IDS

IDS = [env_id.replace("MinAtar/", "qduet/") for env_id in ENV_IDS]
# Gymnasium calls every id with a newer version out of date; here v0 is the full action set.
pytestmark = pytest.mark.filterwarnings("ignore:.*-v0 is out of date:DeprecationWarning")
MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]


@pytest.mark.parametrize("env_id", [*IDS[1::2], "qduet/Breakout-v0"])
def test_gymnasiums_own_check(env_id):
    check_env(gymnasium.make(env_id).unwrapped)


@pytest.fixture(scope="module")
def original_ids():
    """The original's own ids, registered once."""
    minatar = pytest.importorskip("minatar.gym", reason="the original package is not installed")
    minatar.register_envs()


@pytest.mark.usefixtures("original_ids")
@pytest.mark.parametrize("env_id", IDS)
def test_spaces_are_the_originals(env_id):
    original = gymnasium.make(env_id.replace("qduet/", "MinAtar/"))
    env = gymnasium.make(env_id)
    assert env.observation_space == original.observation_space
    assert env.action_space == original.action_space
    assert env.spec.max_episode_steps is None


def test_documented_line_works_in_a_fresh_process():
    line = (
        "import gymnasium;"
        "e = gymnasium.make('qduet.minatar.gym:qduet/Breakout-v1');"
        "print(e.reset(seed=0)[0].shape)"
    )
    out = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, timeout=60)
    assert out.stdout.strip() == "(10, 10, 4)", out.stderr


def play(env, actions):
    return [env.step(action) for action in actions]


def test_same_seed_same_game_other_seed_other_game():
    env = gymnasium.make("qduet/Seaquest-v1").unwrapped
    actions = np.random.default_rng(0).integers(0, 6, 60)
    runs = {}
    for name, seed in (("first", 5), ("again", 5), ("other", 6)):
        env.reset(seed=seed)
        runs[name] = play(env, actions)
    assert data_equivalence(runs["first"], runs["again"])
    assert not data_equivalence(runs["first"], runs["other"])


def test_huge_seeds_are_accepted():
    env = gymnasium.make("qduet/Breakout-v1")
    observation, _ = env.reset(seed=2**80)
    assert env.observation_space.contains(observation)


def lose(env):
    """Noops until Breakout is lost; the paddle stays where it is."""
    for steps in range(1, 2000):
        if env.step(0)[2]:
            return steps
    raise AssertionError("the ball was never lost")


def test_a_step_after_the_end_changes_nothing():
    env = gymnasium.make("qduet/Breakout-v1").unwrapped
    env.reset(seed=1)
    lose(env)
    before = env.step(0)
    after = env.step(2)
    assert (before[1], before[2], before[3]) == (0.0, True, False)
    assert data_equivalence(before, after)
    observation, _ = env.reset()
    assert observation[3, :, 3].all(), "reset() brings the bricks back"


def test_last_action_survives_reset_and_not_a_seed():
    """With stickiness 1 every step repeats the last action, so noop from the start."""
    env = gymnasium.make("qduet/Breakout-v1", sticky_probability=1.0).unwrapped
    env.reset(seed=0)
    games = env._vector._games
    pushed = games.state._replace(last_action=np.array([3], np.int32))
    env._vector._games = games._replace(state=pushed)
    env.reset()
    assert env.step(0)[0][9].argmax(axis=0)[0] == 5, "the paddle goes on to the right"
    env.reset(seed=0)
    assert env.step(2)[0][9].argmax(axis=0)[0] == 4, "a seed starts from noop"


def test_wrong_actions_are_named():
    env = gymnasium.make("qduet/Breakout-v1", disable_env_checker=True).unwrapped
    env.reset(seed=0)
    with pytest.raises(InputError, match=r"action 3 .*0 noop, 1 left, 2 right"):
        env.step(3)
    vector = gymnasium.make_vec("qduet/Breakout-v1", num_envs=4)
    vector.reset(seed=0)
    with pytest.raises(InputError, match=r"each from 0 to 2; got \[ 0  1 -1  7\]"):
        vector.step(np.array([0, 1, -1, 7]))
    with pytest.raises(InputError, match=r"must be int\[4\].*; got \[0 1 2\]"):
        vector.step(np.array([0, 1, 2]))


def test_step_needs_reset_and_unknown_names_are_refused():
    with pytest.raises(gymnasium.error.ResetNeeded):
        qduet.minatar.gym.MinAtarEnv("MinAtar/Breakout-v1").step(0)
    with pytest.raises(InputError, match="did you mean 'MinAtar/Breakout-v1'"):
        qduet.minatar.gym.MinAtarEnv("MinAtar/Brekout-v1")
    with pytest.raises(InputError, match="render_mode 'human'"):
        qduet.minatar.gym.MinAtarEnv("MinAtar/Breakout-v1", render_mode="human")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("game", ["Breakout", "Asterix"])
def test_vector_is_gymnasiums_vector_of_single_games(game, mode):
    """Gymnasium's SyncVectorEnv of single games is the oracle, through many episode ends."""
    env_id, num_envs = f"qduet/{game}-v1", 3
    vector = gymnasium.make_vec(env_id, num_envs=num_envs, autoreset_mode=mode)
    oracle = SyncVectorEnv([lambda: gymnasium.make(env_id)] * num_envs, autoreset_mode=mode)
    assert vector.metadata["autoreset_mode"] is mode
    assert vector.observation_space == oracle.observation_space
    assert vector.action_space == oracle.action_space
    assert data_equivalence(vector.reset(seed=7), oracle.reset(seed=7))
    rng, ends = np.random.default_rng(3), 0
    for _ in range(150):
        actions = rng.integers(0, vector.single_action_space.n, num_envs)
        ours, theirs = vector.step(actions), oracle.step(actions)
        assert data_equivalence(ours, theirs)
        ends += int(ours[2].sum())
    assert ends >= 5
    assert data_equivalence(vector.reset(), oracle.reset())


def test_vector_without_autoreset_freezes_what_is_over():
    envs = gymnasium.make_vec(
        "qduet/Breakout-v1", num_envs=8, autoreset_mode="Disabled", sticky_probability=0.0
    )
    envs.reset(seed=0)
    noop = np.zeros(8, int)
    while True:
        observation, _, terminated, _, _ = envs.step(noop)
        if terminated.any():
            break
    again, rewards, still, _, _ = envs.step(noop)
    assert (still[terminated]).all()
    assert (rewards[terminated] == 0).all()
    assert data_equivalence(again[terminated], observation[terminated])
    fresh, _ = envs.reset(options={"reset_mask": terminated})
    assert fresh[terminated][:, 3, :, 3].all()
    assert data_equivalence(fresh[~terminated], again[~terminated])


def test_thousands_of_games_are_one_call():
    envs = gymnasium.make_vec("qduet/Freeway-v1", num_envs=2048)
    first, _ = envs.reset(seed=0)
    assert envs.observation_space.contains(first)
    assert len({observation.tobytes() for observation in first}) > 2000, "each has its own seed"
    stepped = envs.step(envs.action_space.sample())
    assert envs.observation_space.contains(stepped[0])
    assert stepped[1].dtype == np.float64


def test_observations_are_the_users_own():
    envs = gymnasium.make_vec("qduet/Breakout-v1", num_envs=2, render_mode="rgb_array")
    observation, _ = envs.reset(seed=0)
    before = envs.render()
    observation[:] = False
    assert data_equivalence(envs.render(), before)
    assert before[0].shape == (240, 240, 3)
