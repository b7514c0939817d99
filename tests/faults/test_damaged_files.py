"""One bit of a file is flipped: its reader gives what was there before, or refuses it by name."""

import dataclasses
import random

import jax
import numpy as np
import planted
import planted_cells
import pytest

from qduet.agents import make_agent
from qduet.core import tensors
from qduet.core.errors import InputError
from qduet.core.files import check_settings, write_json
from qduet.core.reading import read_json
from qduet.deep import board
from qduet.jobs import recording, recording_file, weights
from qduet.results import runs
from qduet.show import chart
from qduet.show.report import experiments

TRAINED = weights.Weights(
    board.init(jax.random.key(0), 4, 3), make_agent("rdq"), "MinAtar/Breakout-v1", "rdq", 0, 100
)


def same(one, other):
    if isinstance(one, np.ndarray):
        return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def flips(path, read, bits):
    """Flips each of `bits` of the file alone; returns how often it was refused."""
    good, wanted, refused = path.read_bytes(), read(path), 0
    for bit in bits:
        content = bytearray(good)
        content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        try:
            found = read(path)
        except InputError as error:
            refused += str(path.parent) in str(error)
        else:
            assert same(wanted, found), f"bit {bit} changes what is read"
    path.write_bytes(good)
    return refused


def some(path, number, first=None):
    """Some bits of the file, or of its `first` bytes."""
    return random.Random(0).sample(range(8 * (first or path.stat().st_size)), number)


def test_curves_files(tmp_path):
    """The archive's own exceptions are caught: its directory is flipped bit by bit."""
    path = planted_cells.cell(tmp_path, "hard_rdq", 2)
    read = lambda path: tuple(experiments.read(path))[1:]
    end = path.stat().st_size
    start = path.read_bytes().index(b"PK\x01\x02")
    assert flips(path, read, range(8 * start, 8 * (start + 70), 3)) > 60
    assert flips(path, read, range(8 * (end - 22), 8 * end)) > 80
    assert flips(path, read, range(8 * 40)) > 30
    assert flips(path, read, some(path, 150)) > 100


DOCUMENTS = {
    "summary.json": {"table": [{"auc": {"mean": 12.5, "low": 11, "high": 14}}], "findings": []},
    "theory.json": {"claims": [{"holds": True, "failures": 0}], "seconds": 1.5},
    "last-run.json": {"seconds": 3.25, "commit": "0" * 40, "figures": ["figure3"]},
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents(tmp_path, name):
    path = tmp_path / name
    write_json(path, DOCUMENTS[name])
    assert read_json(path) == DOCUMENTS[name]
    assert flips(path, read_json, some(path, 500)) == 500


def test_charts_and_settings(tmp_path):
    axis = chart.Axis("x")
    line = chart.Series("a", np.arange(3.0), np.array([1.0, np.nan, 2.5]))
    style = chart.Style("A", "#123456")
    panel = chart.Panel("p", axis, axis, (line,))
    path = chart.write(chart.Chart("t", {"a": style}, (panel,)), tmp_path / "rates")
    assert flips(path, read_json, some(path, 300)) == 300
    assert chart.read(path)["panels"][0]["series"][0]["y"] == [1, None, 2.5]
    check_settings(tmp_path / "settings.json", {"scale": "smoke"})
    check_settings(tmp_path / "settings.json", {"scale": "smoke"})
    path = tmp_path / "settings.json"
    path.write_text(path.read_text().replace("smoke", "paper"))
    with pytest.raises(InputError, match="checksum"):
        check_settings(path, {"scale": "paper"})


def test_a_document_from_before_checksums_is_read(tmp_path):
    path = tmp_path / "summary.json"
    path.write_text('{"findings": [], "title": "' + "x" * 64 + '"}')
    assert read_json(path)["findings"] == []


def test_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(runs.time, "sleep", lambda seconds: None)
    planted.game(tmp_path, "Breakout", np.random.default_rng(0), seeds=[0, 1])
    for name, number in ((runs.CONFIG, 200), (runs.EVALUATIONS, 60)):
        path = tmp_path / name
        read = lambda path: dataclasses.astuple(runs.load(path.parent))[1:]
        assert flips(path, read, some(path, number)) == number
    path = tmp_path / runs.SUMS
    assert flips(path, read, some(path, 100)) > 90


def test_weights_and_checkpoints(tmp_path):
    path = tmp_path / "rdq-0.safetensors"
    weights.save(path, TRAINED)
    whole = lambda path: (tensors.flatten(weights.load(path).params), *weights.load(path)[1:])
    length = 8 + int.from_bytes(path.read_bytes()[:8], "little")
    assert flips(path, whole, some(path, 40, first=length)) == 40
    assert flips(path, whole, some(path, 10)) == 10
    state = {"a": np.arange(5), "empty": np.zeros((0, 3)), "flag": np.array(True)}
    tensors.write(path, state, {"state": "{}"})
    assert same(state, {name: tensors.read(path)[0][name] for name in state})
    assert flips(path, tensors.read, some(path, 800)) == 800


def test_recordings(tmp_path):
    path = tmp_path / "x-episode0.json"
    recording_file.write(path, recording.record(TRAINED, frames=5))
    read = lambda path: recording_file.read(path)._replace(agent=None, episode=())
    assert flips(path, read, some(path, 150)) == 150
