"""Recordings: played again step by step in plain code, written, read, and refused when wrong."""

import base64
import json
import tracemalloc
import zlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from examples_by_path import example

from qduet.agents import make_agent
from qduet.core.errors import InputError
from qduet.core.files import to_json
from qduet.core.reading import checksum
from qduet.deep import board
from qduet.jobs import recording, recording_file
from qduet.jobs.recording import Recording, record
from qduet.jobs.weights import Weights
from qduet.minatar import make, seeded_game, unpack


def untrained(env_id, name="rdq", seed=0, **options):
    env, agent = make(env_id), make_agent(name, **options)
    key = jax.random.key(seed)
    params = board.init(key, env.num_channels, env.num_actions)
    params = jax.tree.map(np.asarray, params)
    return Weights(params, agent, env_id, name, seed, step=7_000)


@pytest.fixture(scope="module")
def weights():
    return untrained("MinAtar/Asterix-v1", "dueling_dqn")


@pytest.fixture(scope="module")
def played(weights):
    """Much is random, so that both kinds of action are in it."""
    return record(weights, episode_seed=4, frames=600, epsilon=0.3)


def test_every_step_is_what_the_game_and_plain_numpy_say(weights, played):
    env, agent, steps = make(weights.env_id, auto_reset=False), weights.agent, played.episode
    key = jax.random.wrap_key_data(jnp.asarray(seeded_game.key_data(4)), impl="threefry2x32")
    key_start, key_play = jax.random.split(key)
    state = env.reset(jax.random.bits(key_start, (env.num_draws,)))
    arrays = {
        f"{name}.{part}": getattr(getattr(weights.params, name), part)
        for name in board.Params._fields
        for part in "wb"
    }
    q_of = example("load_and_play").q_values
    numbers = agent.fields()
    q_at = lambda state: q_of(arrays, numbers, np.asarray(env.observe(state)))
    step, randoms = jax.jit(env.step), 0
    for t, action in enumerate(steps.action):
        seen = unpack(jnp.asarray(steps.observations[t]), env.num_channels)
        np.testing.assert_array_equal(seen, env.observe(state))
        q = q_at(state)
        np.testing.assert_allclose(steps.q[t], q, atol=1e-5)
        np.testing.assert_allclose(
            steps.q[t], steps.v[t] + steps.adv[t] - steps.adv[t].mean(), atol=1e-5
        )
        words = jax.random.bits(jax.random.fold_in(key_play, t), (env.num_draws + 2,))
        random = int(words[0]) / 2**32 < 0.3
        expected = int(words[1]) * env.num_actions >> 32 if random else q.argmax()
        assert (steps.random[t], action) == (random, expected)
        randoms += random
        state, reward, ended = step(state, jnp.int32(action), words[2:])
        assert steps.reward[t] == reward
        assert steps.executed[t] == state.last_action
        target = reward + 0.99 * q_at(state).max() * (not ended)
        assert steps.target[t] == pytest.approx(float(target), abs=1e-5)
        assert bool(ended) == (t == len(steps.action) - 1)
    last = unpack(jnp.asarray(steps.observations[-1]), env.num_channels)
    np.testing.assert_array_equal(last, env.observe(state))
    assert played.ended
    assert 0 < randoms < len(steps.action)
    actions = np.array(env.actions)[steps.action]
    assert (actions != steps.executed).any()  # sticky actions were at work


def test_returns_are_discounted_sums(played):
    rewards = played.episode.reward
    assert played.score == rewards.sum() > 0
    for t in (0, 5, len(rewards) - 1):
        later = sum(0.99**i * int(r) for i, r in enumerate(rewards[t:]))
        assert played.episode.return_to_go[t] == pytest.approx(later, rel=1e-5)


def test_the_seed_decides_the_episode_and_frames_only_cut_it(weights, played):
    again = record(weights, episode_seed=4, frames=600, epsilon=0.3)
    other = record(weights, episode_seed=5, frames=600, epsilon=0.3)
    short = record(weights, episode_seed=4, frames=9, epsilon=0.3)
    np.testing.assert_array_equal(again.episode.observations, played.episode.observations)
    assert other.episode.observations.tobytes() != played.episode.observations.tobytes()
    assert not short.ended
    np.testing.assert_array_equal(short.episode.action, played.episode.action[:9])
    np.testing.assert_array_equal(short.episode.target, played.episode.target[:9])
    with pytest.raises(InputError, match="frames must be from 1 to"):
        record(weights, frames=0)


def test_one_program_serves_agents_that_differ_in_numbers(weights, played):
    before = recording._play._cache_size()
    record(weights._replace(agent=make_agent("rdq", beta=0.5)), frames=9, epsilon=0.3)
    assert recording._play._cache_size() == before


def test_advantages_of_the_qv_family_are_q_less_v(weights):
    """Its second output is Q; the target is by the same rule as for all agents."""
    agent = make_agent("dqv_max", protocol="paper")
    steps = record(weights._replace(agent=agent), episode_seed=4, frames=9).episode
    seen = unpack(jnp.asarray(steps.observations[5]), make(weights.env_id).num_channels)
    outputs, q = weights._replace(agent=agent).values(seen)
    np.testing.assert_allclose(q, outputs.adv)
    np.testing.assert_allclose(steps.q[5], q, atol=1e-5)
    np.testing.assert_allclose(steps.v[5], outputs.v, atol=1e-5)
    np.testing.assert_allclose(steps.adv, steps.q - steps.v[:, None], atol=1e-6)
    targets = steps.reward[:-1] + 0.99 * steps.q[1:].max(axis=1)
    np.testing.assert_allclose(steps.target[:-1], targets, atol=1e-5)


def test_a_file_gives_back_what_was_written(played, tmp_path):
    path = tmp_path / "play.json"
    recording_file.write(path, played)
    back = recording_file.read(path)
    assert back._replace(episode=None) == played._replace(episode=None)
    for name, array in played.episode._asdict().items():
        if array.dtype.kind == "f":
            np.testing.assert_allclose(getattr(back.episode, name), array, rtol=2**-16)
        else:
            np.testing.assert_array_equal(getattr(back.episode, name), array)
    recording_file.write(tmp_path / "again.json", back)
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_numbers_are_rounded_to_sixteen_bits_and_nothing_finite_is_lost():
    values = np.array([1.0, -1.0, 3.14159265, 1e-20, np.inf, -np.inf, np.nan, 0.0], np.float32)
    kept = recording_file.rounded(values)
    np.testing.assert_allclose(kept, values, rtol=2**-16)
    assert not (kept[:4].view(np.uint32) & 0xFF).any()


def long_recording(frames):
    """As long as wanted, with six actions, and values that nothing can compress."""
    weights = untrained("MinAtar/Seaquest-v1")
    short = record(weights, frames=100, epsilon=1.0)
    rng = np.random.default_rng(0)
    index = np.arange(frames + 1) % len(short.episode.action)
    steps = jax.tree.map(lambda x: x[index[:-1]], short.episode)
    v, adv = rng.normal(size=frames), rng.normal(size=(frames, 6))
    return short._replace(
        ended=False,
        episode=steps._replace(
            observations=short.episode.observations[index],
            reward=np.zeros(frames, np.int8),
            v=v.astype(np.float32),
            adv=adv.astype(np.float32),
            q=(v[:, None] + adv).astype(np.float32),
            target=rng.normal(size=frames).astype(np.float32),
            return_to_go=np.zeros(frames, np.float32),
        ),
    )


def test_a_thousand_frames_with_six_actions_are_small(tmp_path):
    recording_file.write(tmp_path / "a.json", long_recording(1_000))
    assert (tmp_path / "a.json").stat().st_size <= 150_000
    assert len(recording_file.read(tmp_path / "a.json").episode.action) == 1_000


def test_a_diverged_run_can_be_written_and_read(weights, tmp_path):
    huge = jax.tree.map(lambda x: x * np.float32(1e30), weights.params)
    recording = record(weights._replace(params=huge), frames=20)
    assert not np.isfinite(recording.episode.q).all()
    recording_file.write(tmp_path / "a.json", recording)
    assert isinstance(recording_file.read(tmp_path / "a.json"), Recording)


def signed(document, **changes):
    """The document with other content and a checksum that fits it, as a forger would make it."""
    document = {**document, **changes}
    document.pop("sha256")
    return {**document, "sha256": checksum(document)}


def repacked(document, change):
    """The document with changed bytes of data."""
    raw = bytearray(zlib.decompress(base64.b64decode(document["data"])))
    change(raw)
    return signed(document, data=base64.b64encode(zlib.compress(bytes(raw))).decode())


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"kind": "recipe"}, "its kind is not"),
        ({"format": 2}, "its format is 2, not 1"),
        ({"env": "MinAtar/Pong-v1"}, "unknown environment 'MinAtar/Pong-v1'"),
        ({"env": "MinAtar/Breakout-v1"}, "game are not those of MinAtar/Breakout-v1"),
        ({"colours": ["red; background: url(x)"] * 4}, "colours are not those"),
        ({"frames": 10**9}, "frames is not a whole number from 1 to"),
        ({"frames": True}, "frames is not a whole number"),
        ({"frames": 3}, "another size than the document says"),
        ({"label": "x" * 300}, "the agent's label is not a name"),
        ({"label": 3}, "the agent's label is not a name"),
        ({"label": "\ud800"}, "the agent's label is not a name"),
        ({"ended": "yes"}, "ended is neither"),
        ({"score": 10**6}, "its score is not the sum"),
        ({"seed": -1}, "seed is not a whole number"),
        ({"epsilon": 3.0}, "epsilon is not a decimal number from 0.0 to 1.0"),
        ({"epsilon": float("nan")}, "epsilon is not a decimal number"),
        ({"epsilon": "0.01"}, "epsilon is not a decimal number"),
        ({"epsilon": True}, "epsilon is not a decimal number"),
        ({"data": "%%%"}, "damaged"),
        ({"data": base64.b64encode(b"nothing").decode()}, "error"),
        ({"agent": {"name": "rdq"}}, "the agent's 'adam_epsilon' is missing"),
        ({"agent": None}, "the agent must be an object"),
    ],
)
def test_a_forged_document_is_refused(played, changes, told):
    with pytest.raises(InputError, match=told):
        recording_file.parse(signed(recording_file.document(played), **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"name": {"html": "<b>"}},
        {"shared_bias": "yes"},
        {"capacity": 4.0},
        {"w": True},
        {"w": 1},
        {"colour": "red"},
    ],
    ids=str,
)
def test_a_forged_agent_is_refused(played, changes):
    document = recording_file.document(played)
    forged = signed(document, agent={**document["agent"], **changes})
    (name,) = changes
    with pytest.raises(InputError, match=f"the agent's '{name}' is missing, unknown, or of ano"):
        recording_file.parse(forged)


def test_a_recording_of_an_algorithm_that_is_not_imported_is_one_all_the_same(played, tmp_path):
    document = recording_file.document(played)
    forged = signed(document, agent={**document["agent"], "algorithm": "mine"})
    (tmp_path / "a.json").write_text(to_json(forged))
    with pytest.raises(InputError, match=r"unknown algorithm 'mine'.*qduet --import") as told:
        recording_file.read(tmp_path / "a.json")
    assert "not a recording" not in str(told.value)


def test_an_epsilon_of_0_comes_back(played):
    whole = played._replace(epsilon=0)
    assert recording_file.parse(recording_file.document(whole)).epsilon == 0


def test_forged_numbers_are_refused(played):
    document = recording_file.document(played)
    frames, size = len(played.episode.action), make(played.env).packed_size
    start = (frames + 1) * size

    def wrong_action(raw):
        raw[start] = 200

    with pytest.raises(InputError, match="an action is not one of the game's"):
        recording_file.parse(repacked(document, wrong_action))
    with pytest.raises(InputError, match="checksum differs"):
        recording_file.parse({**document, "step": 8_000})


def test_a_bomb_is_not_unpacked(played):
    """64 MB of zeros in 64 KB: refused after the size that the document claims."""
    packer = zlib.compressobj(9)
    bomb = b"".join(packer.compress(bytes(2**20)) for _ in range(64)) + packer.flush()
    forged = signed(
        recording_file.document(played), data=base64.b64encode(bomb).decode(), frames=500
    )
    tracemalloc.start()
    with pytest.raises(InputError, match="another size"):
        recording_file.parse(forged)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"{", "not JSON"), (b"[]", "its kind is not"), (b"\xff", "a.json is damaged")],
)
def test_a_file_of_something_else_is_refused(tmp_path, content, told):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=told):
        recording_file.read(path)


def test_documents_are_json_without_surprises(played):
    document = recording_file.document(played)
    assert json.loads(to_json(document)) == document
    assert document["actions"] == ["noop", "left", "up", "right", "down"]
    assert len(document["colours"]) == len(document["channels"]) == 4
