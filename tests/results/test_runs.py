"""What is written comes back; what was edited, cut or mixed up is refused."""

import hashlib
import subprocess

import numpy as np
import planted
import pytest

from qduet.core.errors import InputError
from qduet.results import runs

CONFIG = {
    "format": runs.FORMAT,
    "game": "Breakout",
    "agents": [{"label": "rdq"}, {"label": "dqn"}],
    "seeds": [3, 4],
    "steps": 2_000,
}


def row(agent, seed, step, score):
    return {"game": "Breakout", "agent": agent, "seed": seed, "step": step, "return_mean": score}


ROWS = [
    row("rdq", 3, 0, 0.5),
    row("rdq", 4, 0, 1.0 / 3),
    row("rdq", 4, 2_000, 4.0),
    row("rdq", 3, 2_000, 3.0),
    row("dqn", 3, 0, 0.0),
]


def test_scores_are_by_seed_and_step(tmp_path):
    runs.write(tmp_path, CONFIG, ROWS)
    loaded = runs.load(tmp_path)
    scores = loaded.scores("rdq")
    assert loaded.agents == ("rdq", "dqn")
    assert loaded.game == "Breakout"
    assert not loaded.finished
    np.testing.assert_array_equal(scores.seeds, [3, 4])
    np.testing.assert_array_equal(scores.steps, [0, 2_000])
    np.testing.assert_allclose(scores.values, [[0.5, 3.0], [1 / 3, 4.0]], rtol=1e-8)
    assert np.isnan(loaded.scores("rdq", "v_rms").values).all()


def test_evaluations_that_some_runs_lack_are_left_out(tmp_path):
    runs.write(tmp_path, CONFIG, ROWS[:3])
    np.testing.assert_array_equal(runs.load(tmp_path).scores("rdq").steps, [0])


def test_the_sums_are_what_sha256sum_reads(tmp_path):
    runs.write(tmp_path, CONFIG, ROWS)
    done = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path)
    assert done.returncode == 0
    text = (tmp_path / "evaluations.csv").read_bytes()
    assert hashlib.sha256(text).hexdigest() in (tmp_path / "SHA256SUMS").read_text()


def test_an_edited_file_is_refused(tmp_path):
    runs.write(tmp_path, CONFIG, ROWS)
    path = tmp_path / "evaluations.csv"
    path.write_text(path.read_text().replace("0.5", "9.5"))
    with pytest.raises(InputError, match="checksum differs"):
        runs.load(tmp_path)
    assert runs.load(tmp_path, check=False).scores("rdq").values[0, 0] == 9.5


@pytest.mark.parametrize("name", ["config.json", "evaluations.csv", "SHA256SUMS"])
def test_a_missing_file_is_named(tmp_path, name):
    runs.write(tmp_path, CONFIG, ROWS)
    (tmp_path / name).unlink()
    with pytest.raises(InputError, match=name):
        runs.load(tmp_path)


def test_another_format_is_refused(tmp_path):
    runs.write(tmp_path, {**CONFIG, "format": 99}, ROWS)
    with pytest.raises(InputError, match="another version"):
        runs.load(tmp_path)


def test_what_is_not_ours_is_refused(tmp_path):
    runs.write(tmp_path, {"format": runs.FORMAT}, ROWS)
    with pytest.raises(InputError, match="damaged"):
        runs.load(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"agents": []},
        {"agents": [{"label": 5}]},
        {"seeds": []},
        {"seeds": ["0", "1"]},
        {"steps": None},
        {"steps": "2000"},
        {"game": 7},
    ],
    ids=str,
)
def test_settings_of_other_types_are_refused(tmp_path, change):
    runs.write(tmp_path, {**CONFIG, **change}, ROWS)
    with pytest.raises(InputError, match="damaged"):
        runs.load(tmp_path)


@pytest.mark.parametrize("change", [lambda row: row + ",1", lambda row: row.rpartition(",")[0]])
def test_a_row_with_a_value_too_many_or_too_few_is_refused(change):
    header, first, *others = runs.to_csv(ROWS).splitlines()
    with pytest.raises(ValueError, match="more or fewer values"):
        runs.read_table("\n".join([header, first, change(others[0]), *others[1:]]))


def test_an_unknown_agent_gets_the_nearest_name(tmp_path):
    runs.write(tmp_path, CONFIG, ROWS)
    with pytest.raises(InputError, match="rdq"):
        runs.load(tmp_path).scores("rqd")


def test_runs_further_down_are_named(tmp_path):
    for place in ("b/y", "a/x", "a/z"):
        runs.write(tmp_path / place, CONFIG, ROWS)
    told = f"nor do the directories in it; there are some in {tmp_path / 'a'} and {tmp_path / 'b'}$"
    with pytest.raises(InputError, match=told):
        runs.find([tmp_path])
    assert runs.find([tmp_path / "a"]) == [tmp_path / "a/x", tmp_path / "a/z"]


def test_a_job_that_is_writing_is_given_a_moment(tmp_path, monkeypatch):
    """Its three files are renamed one after the other; a reader may come in between."""
    planted.game(tmp_path, "Breakout", np.random.default_rng(0), seeds=(0, 1))
    rows = (tmp_path / runs.EVALUATIONS).read_text()
    (tmp_path / runs.EVALUATIONS).write_text(rows + "half")
    finish = lambda pause: (tmp_path / runs.EVALUATIONS).write_text(rows)
    monkeypatch.setattr(runs.time, "sleep", finish)
    assert runs.load(tmp_path).finished
