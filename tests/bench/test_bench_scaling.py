import json

import numpy as np
import pytest

from qduet.bench import scaling
from qduet.bench.scaling import FLOOR, Reading, chart, random_mdp, show, summary, touch
from qduet.cli import main
from qduet.tabular.mdp import QTable
from qduet.tabular.rules import Transition


def test_one_document_and_one_picture(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(scaling, "STEPS", 64)
    monkeypatch.setattr(scaling, "REPEATS", 1)
    monkeypatch.setattr(scaling, "RULES", {"q_learning": scaling.q_learning})
    picture = tmp_path / "scaling.png"
    arguments = ["bench", "--scaling", "--states", "100", "--figure", str(picture), "--json"]
    assert main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert [(r["problem"], r["num_states"], r["rule"]) for r in document["readings"]] == [
        (problem, size, rule)
        for problem in ("maze", "random")
        for size in (10, 100)
        for rule in ("q_learning", FLOOR)
    ]
    assert set(document["update_ratio_to_100_states"].values()) == {1.0}
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_ratios_and_lines_by_hand(capsys):
    """Q-learning: 2 ns at 100 states and 5 at a million; 40 ns a step is 5 for each step size."""
    readings = [
        Reading("maze", size, 4, rule, cost, 10.0, 30.0)
        for size, costs in ((100, (2.0, 1.0)), (10**6, (5.0, 1.5)))
        for rule, cost in zip(("q_learning", FLOOR), costs, strict=True)
    ]
    ratios = summary(readings)["update_ratio_to_100_states"]
    assert ratios == {"maze q_learning": 2.5, "maze floor": 1.5}
    lines = {series.group: series.y.tolist() for series in chart(readings).panels[0].series}
    assert lines["q_learning"] == [2.0, 5.0]
    assert lines["steps"] == [5.0, 5.0]
    show(readings)
    assert "2.5 times as much" in capsys.readouterr().out


def test_the_floor_copies_one_row():
    q = np.arange(12.0).reshape(2, 3, 2)
    after = touch().update(QTable(scaling.jnp.asarray(q)), Transition(0, 2, 9.0, 0.9, 1), 0.5).q
    q[0, 2] = q[1, 0]
    np.testing.assert_array_equal(after, q)


def test_the_random_problem_visits_all_states():
    assert len(np.unique(random_mdp(100, 4).successors.state)) > 95


@pytest.mark.parametrize(
    ("figure", "told"),
    [
        ("scaling.jpeg", "--figure must name a .png file"),
        ("/dev/null/scaling.png", "/dev/null"),
    ],
)
def test_a_figure_that_cannot_be_written_is_refused_before_measuring(
    figure, told, refused, monkeypatch
):
    monkeypatch.setattr(scaling, "measure", lambda args: pytest.fail("measured"))
    refused(["bench", "--scaling", "--figure", figure], told)
