"""Environments as training meets them: gymnax's, MinAtar's and one's own, held against the source.

gymnax is the oracle of its adapter: the same keys and actions must give gymnax's own trajectories.
"""

import subprocess
import sys
from importlib import metadata
from typing import NamedTuple

import gymnax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnax.environments.classic_control.cartpole import CartPole
from gymnax.environments.spaces import Box

import qduet.minatar
from qduet.core.errors import InputError
from qduet.deep.environments import (
    Environment,
    Step,
    canonical_id,
    fingerprint_of,
    game_of,
    make,
    register,
)

STEPS = 700
"""More than a whole episode of CartPole or Acrobot, which are cut at 500."""


def words(*shape, seed=0):
    return jax.random.bits(jax.random.key(seed), shape, jnp.uint32)


def key(draws):
    return jax.random.wrap_key_data(draws, impl="threefry2x32")


def play(env, policy, steps=STEPS):
    """States, their encodings, and the results of `steps` steps; fields are ``[steps, ...]``."""

    def body(state, x):
        draws, draw = x
        result = env.step(state, policy(env.decode(env.encode(state)), draw), draws)
        return result.state, (result, env.encode(result.state))

    xs = words(steps, env.num_draws), words(steps, seed=1)
    first = jax.jit(env.reset)(words(env.num_draws, seed=2))
    return jax.jit(lambda: jax.lax.scan(body, first, xs)[1])()


def at_random(num_actions):
    return lambda observation, draw: (draw % num_actions).astype(jnp.int32)


def balance(observation, draw):
    """Keeps CartPole's pole up for more than 500 steps."""
    position, velocity, angle, turning = observation
    return (0.05 * position + 0.3 * velocity + angle + 0.6 * turning > 0).astype(jnp.int32)


@pytest.mark.parametrize(
    "name", ["CartPole-v1", "Acrobot-v1", "Catch-bsuite", "DeepSea-bsuite", "Breakout-MinAtar"]
)
def test_a_trajectory_is_gymnaxs_own(name):
    env = make(f"gymnax/{name}")
    results, encoded = play(env, at_random(env.num_actions))

    theirs, params = gymnax.make(name)
    assert env.num_actions == theirs.num_actions

    def body(state, x):
        draws, draw = x
        action = (draw % theirs.num_actions).astype(jnp.int32)
        observation, state, *rest = theirs.step(key(draws), state, action, params)
        return state, (observation, state, *rest)

    observation, state = theirs.reset(key(words(2, seed=2)), params)
    xs = words(STEPS, 2), words(STEPS, seed=1)
    expected = jax.jit(lambda: jax.lax.scan(body, state, xs)[1])()
    observations, states, rewards, terminated, truncated, _ = expected

    assert terminated.any() or truncated.any()
    np.testing.assert_array_equal(encoded, observations)
    jax.tree.map(np.testing.assert_array_equal, results.state.env, states)
    np.testing.assert_array_equal(results.reward, rewards)
    np.testing.assert_array_equal(results.terminated, terminated)
    np.testing.assert_array_equal(results.truncated, truncated & ~terminated)
    np.testing.assert_array_equal(env.encode(env.reset(words(2, seed=2))), observation)


def test_the_time_limit_of_cartpole_truncates_and_does_not_terminate():
    results, encoded = play(make("gymnax/CartPole-v1"), balance)
    assert np.flatnonzero(results.truncated).tolist() == [499]  # the 500th step
    assert not results.terminated.any()
    assert results.state.env.time[498:501].tolist() == [499, 0, 1]  # a fresh start
    assert (np.abs(encoded[499]) <= 0.05).all()  # gymnax's first states
    assert np.abs(encoded[498]).max() > 0.05


def test_a_fall_in_cartpole_terminates_and_does_not_truncate():
    results, _ = play(make("gymnax/CartPole-v1"), lambda observation, draw: jnp.int32(0))
    assert 60 < results.terminated.sum() < 90  # a pole that is pushed one way falls in 8 to 10
    assert not results.truncated.any()
    assert (results.state.env.time == 0).tolist() == results.terminated.tolist()


def test_an_end_in_the_last_step_before_the_limit_is_a_termination():
    """gymnax tells both of DeepSea's eighth step, which is its last in any case."""
    results, _ = play(make("gymnax/DeepSea-bsuite"), at_random(2), steps=8)
    assert results.terminated.tolist() == 7 * [False] + [True]
    assert not results.truncated.any()


def test_without_auto_reset_the_last_state_stays():
    env, resetting = make("gymnax/CartPole-v1", auto_reset=False), make("gymnax/CartPole-v1")
    results, encoded = play(env, balance, steps=500)
    same, same_encoded = play(resetting, balance, steps=500)
    np.testing.assert_array_equal(encoded[:-1], same_encoded[:-1])
    assert results.truncated.tolist() == same.truncated.tolist() == 499 * [False] + [True]
    assert results.state.env.time[-1] == 500
    assert same.state.env.time[-1] == 0


def test_steps_that_draw_are_the_same_with_and_without_auto_reset():
    """UmbrellaChain draws its rewards, ±1, but for the last of an episode's ten."""
    env_id = "gymnax/UmbrellaChain-bsuite"
    stays, resets = (
        play(make(env_id, auto_reset=auto_reset), at_random(2), steps=10)[0].reward
        for auto_reset in (False, True)
    )
    assert set(stays[:-1].tolist()) == {-1.0, 1.0}
    np.testing.assert_array_equal(stays, resets)


class Frames(CartPole):
    """CartPole seen as a picture of bytes, from 0 to `high`."""

    high, dtype = 255, jnp.uint8

    def get_obs(self, state, params=None, key=None):
        return jnp.full((3, 2), state.time % (self.high + 1)).astype(self.dtype)

    def observation_space(self, params):
        return Box(0, self.high, (3, 2), self.dtype)


class Levels(Frames):
    high = 4


class Bits(Frames):
    high, dtype = 1, jnp.bool_


class Parts(Frames):
    def get_obs(self, state, params=None, key=None):
        return {"x": state.x, "theta": state.theta}


for kind in (Frames, Levels, Bits, Parts):
    gymnax.register(f"{kind.__name__}-v0", kind)


@pytest.mark.parametrize(
    ("env_id", "dtype", "decoded"),
    [
        ("gymnax/Frames-v0", "uint8", 3 / 255),  # the time, 3, in [0, 1]
        ("gymnax/Levels-v0", "uint8", 3),
        ("gymnax/Bits-v0", "bool", 1),  # 3 modulo 2
    ],
)
def test_bytes_and_bits_are_kept_as_they_are_and_decoded_to_numbers(env_id, dtype, decoded):
    env = make(env_id)
    _, encoded = play(env, at_random(2), steps=3)
    assert (str(encoded.dtype), encoded.shape) == (dtype, (3, 3, 2))
    seen = env.decode(encoded[-1])
    assert env.observation == jax.ShapeDtypeStruct((3, 2), jnp.float32)
    np.testing.assert_allclose(seen, np.full((3, 2), decoded), rtol=1e-6)


def test_numbers_of_a_finite_set_become_one_hot_vectors():
    env = make("gymnax/FrozenLake-misc")
    _, encoded = play(env, at_random(env.num_actions), steps=50)
    assert (str(encoded.dtype), encoded.shape) == ("bool", (50, 16))
    assert (encoded.sum(1) == 1).all()
    assert env.observation == jax.ShapeDtypeStruct((16,), jnp.float32)
    assert len(set(np.argmax(encoded, 1).tolist())) > 3
    np.testing.assert_array_equal(env.decode(encoded), encoded.astype(jnp.float32))


@pytest.mark.parametrize(
    "env_id", ["gymnax/CartPole-v1", "gymnax/FourRooms-misc", "gymnax/UmbrellaChain-bsuite"]
)
def test_all_else_is_float32(env_id):
    """FourRooms observes int32, UmbrellaChain rewards with int32."""
    env = make(env_id)
    results, encoded = play(env, at_random(env.num_actions), steps=20)
    assert encoded.dtype == env.observation.dtype == results.reward.dtype == jnp.float32
    np.testing.assert_array_equal(env.decode(encoded), encoded)


@pytest.mark.parametrize("env_id", ["MinAtar/Breakout-v1", "MinAtar/Seaquest-v0"])
@pytest.mark.parametrize("auto_reset", [True, False])
def test_minatar_is_computed_as_before(env_id, auto_reset):
    """Its program has no operation more, so that recorded results stay bit for bit."""
    env = make(env_id, auto_reset=auto_reset)
    game = qduet.minatar.make(env_id, auto_reset=auto_reset)
    draws = jnp.zeros(game.num_draws, jnp.uint32)
    state = jax.eval_shape(game.reset, draws)
    for ours, theirs, arguments in (
        (env.reset, game.reset, (draws,)),
        (env.step, game.step, (state, jnp.int32(0), draws)),
        (env.encode, game.pack, (state,)),
    ):
        assert str(jax.make_jaxpr(ours)(*arguments)) == str(jax.make_jaxpr(theirs)(*arguments))
    state = jax.jit(game.reset)(draws)
    decoded = jax.jit(lambda state: env.decode(env.encode(state)))(state)
    np.testing.assert_array_equal(decoded, jax.jit(game.observe)(state))
    assert env.observation == jax.eval_shape(game.observe, state)
    same = ("name", "num_actions", "num_draws", "reward_dtype")
    assert [getattr(env, name) for name in same] == [getattr(game, name) for name in same]
    assert (env.truncates, env.board) == (False, True)
    assert jax.eval_shape(env.step, state, jnp.int32(0), draws).truncated is None


def test_ids_and_what_they_are_called():
    assert canonical_id("Breakout-MinAtar") == "MinAtar/Breakout-v1"
    assert canonical_id("gymnax/breakout-minatar") == "gymnax/Breakout-MinAtar"
    assert canonical_id("GYMNAX/cartpole-v1") == "gymnax/CartPole-v1"
    assert make("gymnax/cartpole-v1") is make("gymnax/CartPole-v1", auto_reset=True)
    assert make("Breakout-MinAtar") is make("MinAtar/Breakout-v1")
    assert make("gymnax/CartPole-v1").name == "gymnax/CartPole-v1"
    assert game_of("MinAtar/Breakout-v1") == "Breakout"
    assert game_of("gymnax/Breakout-MinAtar") == "gymnax/Breakout-MinAtar"
    assert game_of("gymnax/CartPole-v1") == "gymnax/CartPole"
    assert fingerprint_of("MinAtar/Breakout-v1") is None
    assert fingerprint_of("gymnax/CartPole-v1") == f"gymnax {metadata.version('gymnax')}"


@pytest.mark.parametrize(
    ("env_id", "told"),
    [
        ("CartPole-v1", "unknown environment 'CartPole-v1': did you mean 'gymnax/CartPole-v1'?"),
        ("gymnax/Cartpol-v1", "'gymnax/Cartpol-v1': did you mean 'gymnax/CartPole-v1'?"),
        ("gymnax/", "unknown environment 'gymnax/'"),
        ("gymnax/Pendulm-v1", "'gymnax/Pendulm-v1': did you mean 'gymnax/CartPole-v1'?"),
        ("MinAtar/Brakout-v1", "did you mean 'MinAtar/Breakout-v1'?"),
        ("gymnax/Pendulum-v1", "its actions are Box(low=-2.0"),
        ("gymnax/MountainCarContinuous-v0", "choose among a finite number of actions"),
        ("gymnax/Parts-v0", "its observation is {theta: float32[], x: float32[]}; only single"),
    ],
)
def test_what_cannot_be_made_is_refused_in_one_line(env_id, told):
    with pytest.raises(InputError) as error:
        make(env_id)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("ask", [make, canonical_id, fingerprint_of])
def test_gymnax_must_be_there_and_new_enough(ask, monkeypatch):
    def version(installed):
        def answer(package):
            if installed is None:
                raise metadata.PackageNotFoundError(package)
            return installed

        monkeypatch.setattr(metadata, "version", answer)

    version(None)
    with pytest.raises(InputError, match=r"v1 needs gymnax: pip install 'qduet\[gymnax\]'"):
        ask("gymnax/CartPole-v1")
    version("0.0.9")
    with pytest.raises(InputError, match=r"gymnax 1.0 or later, and 0.0.9 is installed: pip"):
        ask("gymnax/CartPole-v1")
    version("1.2.0")
    monkeypatch.setitem(sys.modules, "gymnax", None)
    if ask is not fingerprint_of:
        with pytest.raises(InputError, match=r"gymnax 1\.2\.0 cannot be imported"):
            ask("gymnax/CartPole-v1")


def test_gymnax_is_imported_only_when_asked_for():
    """In a process of its own, because here it is imported already."""
    code = """import sys
from qduet.deep.environments import make
make("MinAtar/Breakout-v1")
print("gymnax" in sys.modules)"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


class Walk(NamedTuple):
    """A place, and how many steps have been taken."""

    x: jax.Array
    time: jax.Array


def walk(*, limit=5):
    """Left or right from a drawn place below 256; a draw below 2³⁰ ends it, and so does a limit."""

    def step(state, action, draws):
        after = Walk(state.x + 2 * action - 1, state.time + 1)
        terminated = draws[0] < jnp.uint32(2**30)
        return Step(after, jnp.float32(1), terminated, (after.time >= limit) & ~terminated)

    return Environment(
        name="Walk-v0",
        num_actions=2,
        num_draws=1,
        observation=jax.ShapeDtypeStruct((1,), jnp.float32),
        reset=lambda draws: Walk((draws[0] >> 24).astype(jnp.int32), jnp.int32(0)),
        step=step,
        encode=lambda state: state.x.astype(jnp.float32).reshape(1),
        truncates=True,
    )


def test_an_environment_of_ones_own_is_known_by_its_name():
    register(walk()._replace(name="Named-v0"))
    assert (canonical_id("Named-v0"), game_of("Named-v0")) == ("Named-v0", "Named")
    env = make("Named-v0", auto_reset=False)
    assert (env.name, env.num_actions, env.num_draws) == ("Named-v0", 2, 2)
    state = env.reset(jnp.array([0, 7 << 24], jnp.uint32))
    assert env.encode(state).tolist() == env.decode(env.encode(state)).tolist() == [7.0]
    going_on = jnp.array([2**31, 0], jnp.uint32)
    results = [env.step(state._replace(time=t), jnp.int32(1), going_on) for t in range(5)]
    assert [int(result.state.time) for result in results] == [1, 2, 3, 4, 5]
    assert [bool(result.truncated) for result in results] == 4 * [False] + [True]
    for time, draw in ((0, 0), (4, 0), (4, 2**31)):  # terminated; also at the limit; truncated
        draws = jnp.array([draw, 9 << 24], jnp.uint32)
        result = make("Named-v0").step(state._replace(time=time), jnp.int32(1), draws)
        assert (bool(result.terminated), bool(result.truncated)) == (draw == 0, draw > 0)
        assert jax.tree.map(int, result.state) == Walk(9, 0)


def test_the_next_episode_has_draws_of_its_own():
    """Episodes end on small draws; were those the next one's too, all would start at x < 64."""
    register(walk()._replace(name="Draws-v1"))
    env = make("Draws-v1")
    states = jax.vmap(env.reset)(words(2000, 2))
    results = jax.vmap(env.step)(states, jnp.zeros(2000, jnp.int32), words(2000, 2, seed=1))
    starts = np.asarray(results.state.x)[np.asarray(results.terminated)]
    assert 400 < len(starts) < 600
    assert abs(starts.mean() - 127.5) < 4 * 256 / np.sqrt(12 * len(starts))


def test_an_id_means_one_environment():
    register(walk()._replace(name="Once-v0"))
    first, fingerprint = make("Once-v0"), fingerprint_of("Once-v0")
    register(walk()._replace(name="Once-v0"))  # other functions, the same environment
    assert make("Once-v0") is first
    assert fingerprint is not None
    for other in (
        walk(limit=6),
        walk()._replace(num_actions=3),
        walk()._replace(reward_dtype=np.dtype(np.int8)),
        walk()._replace(decode=lambda encoded: encoded / 2),
    ):
        with pytest.raises(InputError, match="'Once-v0' is registered already"):
            register(other._replace(name="Once-v0"))
    assert fingerprint_of("Once-v0") == fingerprint


def test_boards_and_environments_share_their_ids():
    board = qduet.minatar.Environment(
        name="Board",
        channels=("me",),
        actions=(0, 1),
        num_draws=0,
        reset=lambda draws: jnp.int32(0),
        step=lambda state, action, draws: qduet.minatar.StepResult(
            state, jnp.float32(0), jnp.bool_(False)
        ),
        rows=lambda state: jnp.zeros((1, 10), jnp.uint32),
    )
    qduet.minatar.register("Board-v0", board)
    assert make("Board-v0").board
    assert make("Board-v0").observation.shape == (10, 10, 1)
    assert fingerprint_of("Board-v0") == qduet.minatar.registry.fingerprint_of("Board-v0")
    with pytest.raises(InputError, match="'Board-v0' is registered already"):
        register(walk()._replace(name="Board-v0"))
    register(walk()._replace(name="Shared-v0"))
    with pytest.raises(InputError, match="'Shared-v0' is registered already"):
        qduet.minatar.register("Shared-v0", board)
    with pytest.raises(InputError, match="unknown environment 'Shared-v0'"):
        qduet.minatar.make("Shared-v0")


def giving(**fields):
    """`walk` with a step that gives other fields."""

    def step(state, action, draws):
        return walk().step(state, action, draws)._replace(**fields)

    return walk()._replace(step=step)


def holding_a_key():
    return walk()._replace(
        reset=lambda draws: jax.random.key(0),
        step=lambda state, action, draws: Step(state, jnp.float32(0), *2 * [jnp.bool_(False)]),
    )


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("Walk-v0", "register a qduet.deep.environments.Environment"),
        (walk()._replace(name="a b"), "must be of letters"),
        (walk()._replace(name="MinAtar/Breakout-v1"), "is a name of MinAtar's"),
        (walk()._replace(name="gymnax/Walk-v0"), "is a name of gymnax's"),
        (walk()._replace(num_actions=0), "num_actions must be a number of at least 1; it is 0"),
        (walk()._replace(num_draws=-1), "num_draws must be a number from 0; it is -1"),
        (walk()._replace(num_draws=0), "num_draws is too small, 0"),
        (walk()._replace(reward_dtype=np.dtype(np.float64)), "reward_dtype must be int8 or"),
        (walk()._replace(truncates=False), "truncates is False, and step gives truncated as bool"),
        (giving(truncated=None), "truncates is True, and step gives truncated as None"),
        (giving(truncated=jnp.int32(0)), "must give truncated as bool[]; it gives int32[]"),
        (giving(reward=jnp.int32(1)), "step must give a reward of float32[]; it gives int32[]"),
        (giving(terminated=jnp.zeros(2, bool)), "terminated as bool[]; it gives bool[2]"),
        (giving(state=jnp.int32(1)), "step must give a state like that of reset"),
        (walk()._replace(step=lambda *_: (1, 2, 3)), "step must give a Step"),
        (holding_a_key(), "the state may hold bool"),
        (walk()._replace(decode=lambda x: x[0]), "decode must give `observation`, float32[1]"),
        (walk()._replace(board=True), "a board's observation must be bool[10, 10, 1]"),
    ],
)
def test_what_is_not_an_environment_is_refused_in_one_line(wrong, told):
    with pytest.raises(InputError) as error:
        register(wrong)
    assert told in str(error.value)
    assert "\n" not in str(error.value)
