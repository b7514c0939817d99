"""The agents that come with qduet: their files, their cards, and how they are found."""

import hashlib
import json
import shutil

import jax
import numpy as np
import pytest

from qduet.agents import make_agent
from qduet.core import shipped
from qduet.core.errors import InputError
from qduet.core.reading import read_json
from qduet.deep import board
from qduet.jobs import load_pretrained, pretrained, weights
from qduet.jobs.weights import Weights
from qduet.minatar import make

ENV = "MinAtar/Breakout-v1"
CARDS = sorted((shipped.directory("results") / "weights").glob("*.json"))


def planted(params, label="rdq"):
    return Weights(params, make_agent(label), ENV, label, 3, 1_000)


@pytest.fixture
def params():
    env = make(ENV)
    return board.init(jax.random.key(0), env.num_channels, env.num_actions)


@pytest.fixture
def results(tmp_path, monkeypatch, params):
    """Results with weights of `dqv`, and one recording of `dqn`."""
    (tmp_path / "weights").mkdir()
    path = tmp_path / "weights" / "breakout-dqv-3.safetensors"
    weights.save(path, planted(params, "dqv"))
    card = {"env": ENV, "label": "dqv", "seed": 3, "steps": 1_000, "weights": path.name}
    card["evaluation"] = {"return_mean": 2.5}
    path.with_suffix(".json").write_text(json.dumps(card))
    (tmp_path / "recordings").mkdir()
    recorded = shipped.directory("results") / "recordings" / "breakout-dqn-0-episode0.json"
    shutil.copy(recorded, tmp_path / "recordings")
    monkeypatch.setattr(pretrained.shipped, "directory", lambda name: tmp_path)
    return tmp_path


def test_half_precision_is_read_as_the_float32_that_it_stands_for(params, tmp_path):
    half = jax.tree.map(lambda x: np.asarray(x, np.float16), params)
    weights.save(tmp_path / "half.safetensors", planted(half))
    found = weights.load(tmp_path / "half.safetensors")
    for x, rounded in zip(jax.tree.leaves(found.params), jax.tree.leaves(half), strict=True):
        assert x.dtype == np.float32
        np.testing.assert_array_equal(x, rounded)


@pytest.mark.parametrize("game", ["Breakout", "breakout", ENV, "breakout-minatar"])
def test_an_agent_is_found_by_any_name_of_its_game(results, game):
    found = pretrained.find("dqv", game)
    assert (found.kind, found.score, found.steps) == ("weights", 2.5, 1_000)
    assert load_pretrained("dqv", game).seed == 3


def test_a_recording_stands_in_for_missing_weights(results):
    assert pretrained.find("dqn", "Breakout").kind == "recording"
    assert [one.label for one in pretrained.everything()] == ["dqv", "dqn"]
    with pytest.raises(InputError, match="only a recording"):
        load_pretrained("dqn", "Breakout")


def test_what_is_missing_is_said_with_the_command_that_makes_it(results):
    with pytest.raises(InputError, match=f"qduet train rdq {ENV} --out"):
        pretrained.find("rdq", "Breakout")
    with pytest.raises(InputError, match="did you mean 'rdq'"):
        pretrained.find("rdqq", "Breakout")
    with pytest.raises(InputError, match="unknown environment"):
        pretrained.find("rdq", "Pong")


def test_weights_are_what_their_cards_say():
    assert CARDS
    assert {path.stem for path in CARDS} == {
        path.stem for path in CARDS[0].parent.glob("*.safetensors")
    }
    for path in CARDS:
        card = read_json(path)
        file = path.with_name(card["weights"])
        assert hashlib.sha256(file.read_bytes()).hexdigest() == card["weights_sha256"]
        found = weights.load(file)
        assert (found.env_id, found.label, found.seed, found.step) == (
            card["env"], card["label"], card["seed"], card["steps"],
        )  # fmt: skip
        assert found.agent.fields() == card["agent"]
