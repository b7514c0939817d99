"""The pictures of docs/study.md, against the raw files and SciPy."""

from pathlib import Path

import numpy as np
import planted
import pytest
import scipy.stats
from docs_tables.study_pictures import study_charts
from raw import curves

from qduet.results import published

RESULTS = Path(__file__).parents[2] / "results"


def panels(results, stem):
    return dict(zip(published.GAMES, study_charts(results)[stem].panels, strict=True))


def interval(sample):
    half = scipy.stats.sem(sample) * scipy.stats.t.ppf(0.975, len(sample) - 1)
    return sample.mean(), sample.mean() - half, sample.mean() + half


@pytest.mark.parametrize(
    ("stem", "column"),
    [("study-family", "return_mean"), ("study-overestimation-steps", "q_overestimation")],
)
@pytest.mark.parametrize(
    ("game", "agent", "where"),
    [
        ("Seaquest", "rdq", "figure6/seaquest"),
        ("Asterix", "dqv_max", "family/asterix"),
        ("Asterix", "bc_qvmax_double", "family/asterix-bc_qvmax_double"),
    ],
)
def test_curves_are_means_with_intervals(stem, column, game, agent, where):
    (line,) = [s for s in panels(RESULTS, stem)[game].series if s.group == agent]
    raw = curves(RESULTS / where / "evaluations.csv", game, agent, column)
    wanted = np.transpose([interval(sample) for sample in raw.T])
    np.testing.assert_allclose([line.y, line.low, line.high], wanted)
    assert line.x.tolist() == [million * 1_000_000 for million in range(11)]


def test_crosses_are_over_estimation_against_return():
    series = panels(RESULTS, "study-overestimation")["Asterix"].series
    point, across, up = (s for s in series if s.group == "dqv")
    path = RESULTS / "family" / "asterix" / "evaluations.csv"
    x, y = (
        interval(curves(path, "Asterix", "dqv", column)[:, -1])
        for column in ("q_overestimation", "return_mean")
    )
    np.testing.assert_allclose([*point.x, *point.y], [x[0], y[0]])
    np.testing.assert_allclose([across.x, across.y], [x[1:], [y[0]] * 2])
    np.testing.assert_allclose([up.x, up.y], [[x[0]] * 2, y[1:]])


def test_beta():
    (line,) = panels(RESULTS, "study-beta")["Freeway"].series
    path = RESULTS / "beta" / "freeway" / "evaluations.csv"
    betas = ("0", "1e-05", "0.0001", "0.0003", "0.001", "0.003", "0.01", "0.1")
    wanted = [interval(curves(path, "Freeway", f"rdq-beta-{beta}")[:, -1]) for beta in betas]
    np.testing.assert_allclose([line.y, line.low, line.high], np.transpose(wanted))
    axis = panels(RESULTS, "study-beta")["Freeway"].x
    assert [float(name) for name in axis.names] == [float(beta) for beta in betas]
    assert axis.names[axis.guide] == "1e-3"


def test_what_has_not_been_run_is_said(tmp_path):
    generator = np.random.default_rng(1)
    planted.game(tmp_path / "figure6" / "freeway", "Freeway", generator)
    charts = study_charts(tmp_path)
    for stem, chart in charts.items():
        there = "Freeway (3 of 6 agents)" if stem != "study-beta" else "Freeway (no data yet)"
        assert [panel.title for panel in chart.panels] == [
            *("Asterix (no data yet)", "Breakout (no data yet)", there),
            *("Seaquest (no data yet)", "Space Invaders (no data yet)"),
        ]
    assert "no data yet" in charts["study-family"].about
