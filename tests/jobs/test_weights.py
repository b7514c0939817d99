"""Weights come back as they were; a file that is anything else is refused."""

import json
import re

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from qduet.agents import Agent, make_agent
from qduet.core import tensors
from qduet.core.errors import InputError
from qduet.deep import board
from qduet.jobs import weights
from qduet.jobs.weights import Weights
from qduet.minatar import make

ENV = "MinAtar/Breakout-v1"


@pytest.fixture
def trained():
    agent = make_agent("rdq", protocol="reference", beta=0.25)
    env = make(ENV)
    params = board.init(jax.random.key(3), env.num_channels, env.num_actions)
    return Weights(params, agent, ENV, "rdq-beta-0.25", 17, 2_000)


def test_weights_come_back_with_what_they_are(trained, tmp_path):
    path = weights.path_of(tmp_path, "rdq-beta-0.25", 17)
    weights.save(path, trained)
    found = weights.load(path)
    assert found[1:] == trained[1:]
    assert repr(found) == "Weights(rdq-beta-0.25, MinAtar/Breakout-v1, seed 17, step 2000)"
    assert path.name == "rdq-beta-0.25-17.safetensors"
    np.testing.assert_array_equal(found.params.adv_hidden.w, trained.params.adv_hidden.w)


def test_values_are_of_one_observation(trained):
    with pytest.raises(InputError, match=r"the shape \[10, 10, 4\]; this one has \[7, 10, 10, 4\]"):
        trained.values(np.zeros((7, 10, 10, 4)))
    outputs, q = jax.vmap(trained.values)(np.zeros((7, 10, 10, 4), bool))
    assert (outputs.v.shape, q.shape) == ((7,), (7, 3))


def test_a_directory_is_no_file_of_weights(tmp_path):
    with pytest.raises(InputError, match="is a directory; give a file"):
        weights.load(tmp_path)


def test_any_safetensors_reader_can_read_it(trained, tmp_path):
    weights.save(tmp_path / "x.safetensors", trained)
    arrays = load_file(tmp_path / "x.safetensors")
    assert arrays["conv.w"].shape == (36, 16)
    np.testing.assert_array_equal(arrays["v.w"], trained.params.v.w)


@pytest.mark.parametrize("at", [3, 200, -1])
def test_damage_is_noticed(trained, tmp_path, at):
    path = tmp_path / "x.safetensors"
    weights.save(path, trained)
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        weights.load(path)


def test_a_cut_file_is_damaged(trained, tmp_path):
    path = tmp_path / "x.safetensors"
    weights.save(path, trained)
    for size in (0, 5, 300, 100_000):
        path.write_bytes(path.read_bytes()[:size])
        with pytest.raises(InputError, match="damaged"):
            weights.load(path)


def test_other_files_are_refused(trained, tmp_path):
    path = tmp_path / "x.safetensors"
    with pytest.raises(InputError, match="does not exist"):
        weights.load(path)
    save_file({"a": np.zeros(3)}, path)
    with pytest.raises(InputError, match="damaged"):
        weights.load(path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"env_id": "MinAtar/Seaquest-v1"}, "'conv.w' is float32"),
        ({"env_id": "MinAtar/Braekout-v1"}, "did you mean"),
    ],
)
def test_weights_of_another_network_are_refused(trained, tmp_path, change, told):
    path = tmp_path / "x.safetensors"
    weights.save(path, trained._replace(**change))
    with pytest.raises(InputError, match=told):
        weights.load(path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"v.w": np.zeros((128, 1))}, "'v.w' is float64(128, 1) there, float32(128, 1) here"),
        ({"more": np.zeros(1)}, "'more' is in one of them only"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(trained, tmp_path, change, told):
    path = tmp_path / "x.safetensors"
    weights.save(path, trained)
    arrays, metadata = tensors.read(path)
    tensors.write(path, arrays | change, metadata)
    with pytest.raises(InputError, match=re.escape(told)):
        weights.load(path)


def test_numbers_are_aligned(tmp_path):
    """Every tensor starts at a multiple of its item's size, whatever the names are."""
    path = tmp_path / "x.safetensors"
    tensors.write(path, {"a": np.zeros(3, "i1"), "b": np.zeros(3), "c": np.zeros(3, "i2")}, {})
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    starts = {name: end + header[name]["data_offsets"][0] for name in "abc"}
    assert (starts["b"] % 8, starts["c"] % 2) == (0, 0)


@pytest.mark.parametrize(
    ("forge", "told"),
    [
        (lambda fields: {"name": "rdq"}, "cannot be used: the agent's 'adam_epsilon' is missing"),
        (lambda fields: {**fields, "capacity": 4.0}, "the agent's 'capacity' is missing, unknown"),
        (lambda fields: {**fields, "shared_bias": 0.5}, "the agent's 'shared_bias' is missing"),
        (lambda fields: {**fields, "beta": -2.0}, "beta must be ≥ 0"),
        (lambda fields: [], "the agent must be an object"),
        (lambda fields: {**fields, "algorithm": "mine"}, "unknown algorithm 'mine'.*--import"),
        (lambda fields: {**fields, "network": "mine"}, "unknown network 'mine'.*--import"),
    ],
)
def test_settings_of_no_agent_are_refused(trained, tmp_path, monkeypatch, forge, told):
    path, forged = tmp_path / "x.safetensors", forge(trained.agent.fields())
    with monkeypatch.context() as patch:
        patch.setattr(Agent, "fields", lambda agent: forged)
        weights.save(path, trained)
    with pytest.raises(InputError, match=told):
        weights.load(path)
