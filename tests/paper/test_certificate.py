"""The certificate as a whole, and `qduet certify`."""

import json

import numpy as np
import planted
import pytest

from qduet.cli import main
from qduet.core.errors import InputError
from qduet.paper.certificate import certify, cost
from qduet.paper.certificate_tables import sources_table
from qduet.results import runs

MILLION = planted.MILLION


def test_the_command_prints_writes_and_exits(tmp_path, generator, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    planted.game(tmp_path / "r" / "freeway", "Freeway", generator, shift={"dqn": 3.0})
    code = main(["certify", "r", "--markdown", "c.md"])
    text = capsys.readouterr().out
    assert code == 1
    for told in ("differ", "lack seeds 2, 3, 4, 5, 6, 7, 8, 9: 22 of 30", "Runs of 1 of 5 games"):
        assert told in text
        assert told in (tmp_path / "c.md").read_text(encoding="utf-8")
    assert main(["certify", "r", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["differs"]
    assert document["cells"][0]["verdict"] == "differ"
    assert document["sources"][0]["cost"]["microseconds_per_iteration"] == pytest.approx(600)


@pytest.mark.parametrize(("device", "told"), [("NVIDIA H200", "2.4"), ("cpu", "–")])
def test_the_cost_is_beside_the_floor(tmp_path, generator, device, told):
    """600,000 frames a second are 600 µs for 4 steps of 90 runs; the floor of an H200 is 250 µs."""
    provenance = {"device": device, "jax": "0.11.2"}
    planted.game(tmp_path, "Breakout", generator, provenance=provenance)
    (row,) = sources_table(certify([tmp_path]).sources).rows
    assert row[3:] == (device, "0.11.2", "unknown", "25.0 min", "600", told)


def test_the_time_of_an_iteration_is_a_mean_of_times(tmp_path):
    """Two runs at 100,000 and then at 300,000 frames a second: 80 µs and 80/3 µs for 8 frames."""
    config = planted.config("Breakout", agents=["dqn"], seeds=range(2), steps=2 * MILLION)
    speeds = {0: None, MILLION: 1e5, 2 * MILLION: 3e5}
    rows = planted.rows(config, {"dqn": np.zeros((2, 3))})
    told = [row | {"frames_per_second": speeds[row["step"]]} for row in rows]
    runs.write(tmp_path, config, told)
    found = cost(runs.load(tmp_path))
    assert (found.runs, found.seconds) == (2, 300)
    assert found.microseconds_per_iteration == pytest.approx((80 + 80 / 3) / 2)


def test_every_commit_that_was_at_work_is_named(tmp_path, generator):
    later = [{"commit": "b" * 40, "step": 3_000_000}]
    provenance = {"commit": "a" * 40, "continued": later}
    planted.game(tmp_path, "Breakout", generator, provenance=provenance)
    (row,) = sources_table(certify([tmp_path]).sources).rows
    assert row[5] == "aaaaaaa, bbbbbbb from step 3,000,000"


@pytest.mark.parametrize(
    "provenance", ["by hand", {"continued": 1}, {"continued": [{"commit": "b"}]}]
)
def test_provenance_of_another_shape_is_damage(tmp_path, generator, provenance):
    planted.game(tmp_path, "Breakout", generator, provenance=provenance)
    with pytest.raises(InputError, match="is damaged"):
        certify([tmp_path])


def test_nothing_that_differs_is_code_0(tmp_path, generator, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    planted.game(tmp_path / "r", "Breakout", generator)
    assert main(["certify", "r"]) == 0
    assert "1 agents" not in capsys.readouterr().out
