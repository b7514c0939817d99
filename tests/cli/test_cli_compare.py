"""`qduet compare`: what it prints, draws and refuses."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from pages import read

from qduet.cli import main
from qduet.results import runs
from qduet.results.by_game import Resampling
from qduet.results.collect import Collection
from qduet.results.comparison import summarise
from qduet.results.runs import Scores
from qduet.show.charts.comparison import comparison_charts, learning_curves
from qduet.show.figures import draw


def write(directory, labels=("rdq", "dqn"), seeds=(0, 1, 2), game="Breakout", **settings):
    config = {
        "format": runs.FORMAT, "game": game, "protocol": "reference", "episodes": 1000,
        "agents": [{"label": label} for label in labels], "seeds": list(seeds), "steps": 20,
        **settings,
    }  # fmt: skip
    rng = np.random.default_rng(len(labels))
    rows = [
        {"game": game, "agent": label, "seed": seed, "step": step, "return_mean": rng.normal(step)}
        for label in labels
        for seed in seeds
        for step in (0, 10, 20)
    ]
    runs.write(directory, config, rows)
    return str(directory)


def answer(capsys, *arguments):
    assert main(["compare", *arguments]) == 0
    return capsys.readouterr().out


def test_json_is_one_document(tmp_path, capsys):
    a = write(tmp_path / "a", ["rdq", "rdq-beta-0.01", "dqn"])
    b = write(tmp_path / "b", ["rdq", "rdq-beta-0.01", "dqn"], game="Freeway")
    found = json.loads(answer(capsys, a, b, "--json", "--resamples", "100"))
    assert found["step"] == 20
    assert found["games"] == ["Breakout", "Freeway"]
    assert len(found["by_game"]) == len(found["pairs"]) == 6
    assert len(found["overall"]) == len(found["profile"]) == 3
    assert found["return_with_normalised_score_1"]["Breakout"] == pytest.approx(44.15, abs=0.01)
    again = answer(capsys, a, b, "--json", "--resamples", "100")
    assert json.loads(again) == found


def test_tables_have_every_agent_and_pair(tmp_path, capsys):
    text = answer(capsys, write(tmp_path))
    assert "return_mean at step 20" in text
    assert "X against Y; p-values" in text
    assert "normalised scores (1 = published DQN at 10M steps)" in text
    assert "nan" not in text


def test_people_read_a_true_minus_and_programs_ascii(tmp_path, capsys):
    a = write(tmp_path, ["dqn", "rdq"])
    config = runs.load(tmp_path).config
    rows = [
        {"game": "Breakout", "agent": agent, "seed": seed, "step": step, "return_mean": -2.5 - seed}
        for agent in ("dqn", "rdq")
        for seed in range(3)
        for step in (0, 10, 20)
    ]
    runs.write(tmp_path, config, rows)
    text = answer(capsys, a, "--resamples", "100")
    assert "−3.50 ± 2.48" in text  # ± 4.303 / √3 of a standard deviation of 1
    assert not re.search(r"-\d", text)
    assert json.loads(answer(capsys, a, "--json"))["by_game"][0]["mean"]["mean"] == -3.5
    page = read([tmp_path])[1].text
    assert "−3.50 ± 2.48 −3.50 −3.50 −3.50 ± 2.48" in page
    assert not re.search(r"[^\w–]-\d\.\d", page)


def test_people_read_the_title_of_a_game_and_programs_its_id(tmp_path, capsys):
    directory = write(tmp_path, game="SpaceInvaders")
    text = answer(capsys, directory, "--resamples", "100")
    assert text.count("Space Invaders") == 2  # agents and pairs
    assert "SpaceInvaders" not in text
    found = json.loads(answer(capsys, directory, "--resamples", "100", "--json"))
    assert found["games"] == ["SpaceInvaders"]


@pytest.mark.parametrize("labels", [["rdq"], ["rdq", "dqn"]])
def test_one_seed_has_no_interval(tmp_path, capsys, labels):
    text = answer(capsys, write(tmp_path / "a", labels, [7]))
    assert "A single seed gives no interval" in text
    assert "±" not in text
    assert "nan" not in text
    found = json.loads(answer(capsys, str(tmp_path / "a"), "--json"))
    assert found["by_game"][0]["mean"]["low"] is None


@pytest.mark.parametrize(
    ("seeds", "told"), [(1, False), (2, True), (9, True), (10, False)], ids=str
)
def test_few_seeds_are_too_few_for_the_bootstrap(tmp_path, capsys, seeds, told):
    directory = write(tmp_path, ["rdq"], range(seeds))
    note = "Fewer than 10 seeds: bootstrap intervals, in brackets, are too short."
    text = " ".join(answer(capsys, directory, "--resamples", "100").split())
    assert (f"Note: {note}" in text) == told
    found = json.loads(answer(capsys, directory, "--resamples", "100", "--json"))
    assert any(line.startswith(note) for line in found["notes"]) == told


def test_at_the_first_step_there_is_no_training_to_average(tmp_path, capsys):
    text = answer(capsys, write(tmp_path), "--at", "0")
    assert "nan" not in text
    assert "–" in text


@pytest.mark.parametrize("seeds", [[0], [0, 1, 2]])
def test_figures_are_drawn(tmp_path, capsys, seeds):
    a = write(tmp_path / "a", ["rdq", "dqn"], seeds)
    b = write(tmp_path / "b", ["rdq", "own"], seeds, protocol="paper")
    answer(capsys, a, b, "--figures", str(tmp_path / "figures"), "--resamples", "100")
    stems = {"learning_curves", "performance_profile", "sample_efficiency", "improvement"}
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"{stem}.{fmt}" for stem in stems for fmt in ("png", "pdf", "svg")
    }
    drawn = (tmp_path / "figures" / "learning_curves.svg").read_text()
    for text in ("RDQ (reference)", "RDQ (paper)", "DQN (reference)", "own (paper)"):
        assert text in drawn


@pytest.mark.parametrize(("count", "marker"), [(2, "o"), (21, "o"), (22, "")])
def test_few_evaluations_are_marked(count, marker):
    curves = Scores(np.arange(2), np.arange(count), np.arange(2.0 * count).reshape(2, count))
    collection = Collection("return_mean", {("Breakout", "rdq"): curves})
    charts = comparison_charts(collection, summarise(collection, Resampling(resamples=100)))
    for stem in ("learning_curves", "sample_efficiency"):
        (panel,) = charts[stem].panels
        assert [series.marker for series in panel.series] == [marker]


@pytest.mark.parametrize(("seeds", "within"), [(2, True), (30, False)])
def test_the_bands_of_few_seeds_do_not_dwarf_the_curves(seeds, within):
    """By hand: of two values the 95 % interval is their mean ± 12.7 / 2 times their distance."""
    values = np.linspace(8.0, 12.0, seeds)[:, None] + np.array([0.0, 2.0, 10.0])
    curves = Scores(np.arange(seeds), np.array([0, 10, 20]), values)
    collection = Collection("return_mean", {("Breakout", "mine"): curves})
    figure = draw(learning_curves(collection))
    low, high = figure.axes[0].get_ylim()
    if within:
        assert (low, high) == pytest.approx((8 - 0.05 * 14, 22 + 0.05 * 14))
        FigureCanvasAgg(figure).draw()
        drawn = figure._suptitle.get_window_extent()
        assert 0 < drawn.x0 < drawn.x1 < figure.bbox.width  # all of it
    else:  # narrower than the seeds, and all in view
        assert 8 < low < 10 < 20 < high < 22


def test_other_metrics_have_no_normalised_figures(tmp_path, capsys):
    directory = write(tmp_path / "a", ["rdq"])
    rows = runs.load(tmp_path / "a").table
    config = runs.load(tmp_path / "a").config
    table = [{**{k: rows[k][i] for k in rows}, "v_rms": 1.0} for i in range(len(rows["step"]))]
    runs.write(tmp_path / "a", config, table)
    text = answer(capsys, directory, "--metric", "v_rms", "--figures", str(tmp_path / "figures"))
    assert "normalised" not in text
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {"learning_curves"}


def test_refusals(tmp_path, refused):
    a = write(tmp_path / "a")
    refused(["compare", str(tmp_path / "absent")], "absent does not exist; give the --out")
    refused(["compare", f"mine={tmp_path / 'absent'}"], "absent does not exist; give the --out")
    refused(["compare", f"{a}/config.json"], "config.json is not a directory")
    (tmp_path / "empty").mkdir()
    refused(["compare", str(tmp_path / "empty")], "holds no training runs")
    refused(["compare", a, a], "give every run once")
    refused(["compare", a, "--at", "15"], "they have 0, 10, 20")
    refused(["compare", a, "--metric", "returns"], "'returns': did you mean 'return_mean'?")
    refused(["compare", a, "--metric", "return_sd"], "did you mean 'return_std'?")
    refused(["compare", a, "--baseline", "dqn2"], "did you mean 'dqn'")
    refused(["compare", a, write(tmp_path / "b", episodes=10)], "first=")
    refused(["compare", a, "--resamples", "1"], "at least 100")
    (tmp_path / "a" / "config.json").write_text("{}")
    refused(["compare", a], "checksum differs")


def test_figures_that_cannot_be_written_are_refused(tmp_path, refused):
    a = write(tmp_path / "a")
    (tmp_path / "file").write_text("")
    refused(["compare", a, "--figures", str(tmp_path / "file")], "is a file; give a directory")


def test_a_table_whose_reader_has_gone_is_141(tmp_path):
    """rich's own way is to exit with 1 there, which of `certify` would mean "differs"."""
    arguments = [sys.executable, "-m", "qduet", "compare", write(tmp_path), "--resamples", "100"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=120) == 141
    assert errors == b""
