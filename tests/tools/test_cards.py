"""Cards are made from a run's own files, and rounding is tried on the run's own evaluation."""

import jax
import numpy as np
import pretrained
import pytest

from qduet.agents import make_agent
from qduet.core.errors import InputError
from qduet.core.reading import read_json
from qduet.jobs import Job, train, weights

SMALL = {"capacity": 400, "learn_from": 100, "sync_every": 100, "batch_size": 16}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    place = tmp_path_factory.mktemp("job") / "breakout"
    agents = {"rdq": make_agent("rdq", **SMALL)}
    train(Job("MinAtar/Breakout-v1", agents, seeds=[4], steps=400, episodes=20), place)
    return place


def test_a_card_repeats_the_runs_own_numbers(finished, tmp_path):
    card = read_json(pretrained.make(finished, tmp_path))
    header, *_, last = (finished / "evaluations.csv").read_text().splitlines()
    row = dict(zip(header.split(","), last.split(","), strict=True))
    assert card["evaluation"]["return_mean"] == float(row["return_mean"])
    assert (card["steps"], card["seed"], card["evaluation"]["episodes"]) == (400, 4, 20)
    # The evaluation that is played again with the unrounded weights is the run's last one.
    assert card["half_precision"]["return_mean_float32"] == float(row["return_mean"])
    assert "| Breakout | rdq | 4 | 400 |" in pretrained.readme(tmp_path)


def test_weights_that_rounding_spoils_are_refused(finished, tmp_path, monkeypatch):
    """Rounding that turns the weights' signs: play is then far from the run's."""
    full = weights.load(weights.path_of(finished, "rdq", 4))
    spoilt = full._replace(params=jax.tree.map(np.negative, full.params))
    told = pretrained.compared(full, spoilt, 20)
    assert told["return_mean_float16"] != told["return_mean_float32"]
    worse = {"change": -1.0, "standard_error": 0.3}
    monkeypatch.setattr(pretrained, "compared", lambda *_: worse)
    with pytest.raises(InputError, match="worse"):
        pretrained.make(finished, tmp_path)
    assert not [*tmp_path.iterdir()]
