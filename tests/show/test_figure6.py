"""Figure 6 draws the numbers of the raw files, ours and the published ones, and says what lacks."""

import csv
from pathlib import Path

import numpy as np
import planted
import pytest
import scipy.stats

from qduet.cli import main
from qduet.paper.admission import admit
from qduet.paper.overall import aggregates, collections
from qduet.results import published, runs
from qduet.show.charts.figure6 import curves_chart, figure6_charts, summary_chart

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results" / "figure6"
PUBLISHED = Path(published.__file__).parent / "data" / "published_scores.csv"
MILLION = planted.MILLION


def band(path, game, agent, column):
    """Steps, means and half-widths by the csv module and SciPy."""
    by_step = {}
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if (row["game"], row["agent"]) == (game, agent):
                by_step.setdefault(int(row["step"]), []).append(float(row[column]))
    steps = sorted(by_step)
    mean = np.array([np.mean(by_step[step]) for step in steps])
    quantile = lambda values: scipy.stats.t.ppf(0.975, len(values) - 1)
    half = [scipy.stats.sem(by_step[step]) * quantile(by_step[step]) for step in steps]
    return np.array(steps), mean, np.array(half)


def panel(chart, game):
    (found,) = [p for p in chart.panels if p.title.startswith(published.title(game))]
    return found


def lines(panel):
    """The series of a panel by whose they are and by agent."""
    names = {"": "ours", "published": "published"}
    return {
        f"{'uncentred' if s.detail else names[s.kind]}-{s.group}": s
        for s in panel.series
        if s.line != ""
    }


def has_advantages(path):
    with path.open(encoding="utf-8") as file:
        return "mean_adv_abs" in next(csv.reader(file))


def check_uncentred(line, path, game):
    """Dueling DQN's over-estimation plus its mean advantage, by the csv module."""
    sums = {}
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["agent"] == "dueling_dqn":
                mean_adv = float(row.get("mean_adv", row["mean_adv_abs"]))
                value = float(row["q_overestimation"]) + mean_adv
                sums.setdefault(int(row["step"]), []).append(value)
    np.testing.assert_allclose(line.x, sorted(sums))
    want = [np.mean(sums[step]) for step in sorted(sums)]
    np.testing.assert_allclose(line.y, want, rtol=1e-6)


def check_curves(chart, directories, column):
    for game in published.GAMES:
        drawn = lines(panel(chart, game))
        sources = {"published": PUBLISHED}
        if game in directories:
            sources["ours"] = directories[game] / "evaluations.csv"
        dotted = drawn.pop("uncentred-dueling_dqn", None)
        assert set(drawn) == {f"{whose}-{a}" for whose in sources for a in published.AGENTS}
        if column == "q_overestimation" and "ours" in sources and has_advantages(sources["ours"]):
            check_uncentred(dotted, sources["ours"], game)
        else:
            assert dotted is None
        for whose, path in sources.items():
            for agent in published.AGENTS:
                x, mean, half = band(path, game, agent, column)
                line = drawn[f"{whose}-{agent}"]
                np.testing.assert_allclose(line.x, x)
                np.testing.assert_allclose(line.y, mean, rtol=1e-6, atol=1e-9)
                np.testing.assert_allclose(line.low, mean - half, rtol=1e-5, atol=1e-5)
                np.testing.assert_allclose(line.high, mean + half, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("column", ["return_mean", "q_overestimation"])
def test_the_repository_figure_is_drawn_from_its_files(column):
    there = admit([RESULTS]) if any(RESULTS.glob("*/config.json")) else []
    check_curves(curves_chart(there, column), {r.game: r.directory for r in there}, column)


@pytest.mark.parametrize("column", ["return_mean", "q_overestimation"])
def test_what_is_known_of_published_values_stands_beside_them(column):
    assert ("V + A, not of Q" in curves_chart([], column).about) == (column == "q_overestimation")


@pytest.mark.parametrize("games", [(), ("Breakout",), published.GAMES])
def test_any_of_the_games_may_be_there(tmp_path, games):
    generator = np.random.default_rng(8)
    for game in games:
        planted.game(tmp_path / game, game, generator)
    there = admit([tmp_path]) if games else []
    chart = curves_chart(there, "return_mean")
    check_curves(chart, {game: tmp_path / game for game in games}, "return_mean")
    for game in published.GAMES:
        assert ("published only" in panel(chart, game).title) == (game not in games)
    told = f"Ours: {len(games)} of 5 games" if len(games) < 5 else "Ours: 30 seeds each."
    assert told in chart.about


def test_the_summary_is_over_the_same_games_for_both(tmp_path):
    generator = np.random.default_rng(9)
    for game in ("Breakout", "Seaquest"):
        planted.game(tmp_path / game, game, generator)
    ours, theirs = collections(admit([tmp_path]))
    assert ours.games == theirs.games == ("Breakout", "Seaquest")
    left, centre, right = summary_chart(ours, theirs).panels
    scores = [
        published.scores(game, "rdq").values[:, -1]
        / published.scores(game, "dqn").values[:, -1].mean()
        for game in theirs.games
    ]
    drawn = lines(left)["published-rdq"]
    expected = scipy.stats.trim_mean(np.concatenate(scores), 0.25)
    assert drawn.y[-1] == pytest.approx(expected)
    profile = lines(right)["published-rdq"]
    pooled = np.concatenate(scores)
    np.testing.assert_allclose(profile.y, [(pooled > t).mean() for t in profile.x])
    chance = np.mean(
        [
            scipy.stats.mannwhitneyu(
                published.scores(game, "rdq").values[:, -1],
                published.scores(game, "dqn").values[:, -1],
            ).statistic
            / 900
            for game in theirs.games
        ]
    )
    row = [name.replace("\n", " ") for name in centre.y.names].index("RDQ over DQN")
    height = centre.y.ticks[row]
    (mark,) = [s for s in centre.series if s.line == "" and s.kind and abs(s.y[0] - height) < 0.5]
    assert mark.x[0] == pytest.approx(chance)


def test_the_later_agent_is_named_first():
    found = aggregates(collections([])[1]).improvement
    pairs = [(pair.x, pair.y) for pair in found]
    assert pairs == [("dueling_dqn", "dqn"), ("rdq", "dqn"), ("rdq", "dueling_dqn")]
    assert all(low < value < high for _, _, (value, low, high) in found)


def test_runs_of_a_million_steps_are_drawn_up_to_there(tmp_path):
    planted.game(tmp_path, "Breakout", np.random.default_rng(1), steps=MILLION)
    drawn = figure6_charts(admit([tmp_path]))
    line = lines(panel(drawn["figure6"], "Breakout"))["ours-rdq"]
    np.testing.assert_allclose(line.x, [0, MILLION])
    assert "step 1,000,000" in drawn["figure6-summary"].title


def test_runs_that_end_between_published_steps_are_summed_up_at_the_last_one(tmp_path):
    late = planted.config("Seaquest", steps=2 * MILLION, evaluate_every=MILLION // 2)
    curves = {agent: np.ones((30, 5)) * np.arange(5) for agent in published.AGENTS}
    runs.write(tmp_path / "b", late, planted.rows(late, curves))
    config = planted.config("Freeway", steps=3 * MILLION // 2, evaluate_every=MILLION // 2)
    curves = {agent: np.ones((30, 4)) * np.arange(4) for agent in published.AGENTS}
    runs.write(tmp_path / "c", config, planted.rows(config, curves))
    there = [runs.load(tmp_path / name) for name in ("b", "c")]
    ours, theirs = collections(there)
    assert ours.at == theirs.at == MILLION
    assert ours.curves["Freeway", "rdq"].values[0, -1] == 2.0


def test_games_without_a_common_agent_have_no_summary(tmp_path):
    generator = np.random.default_rng(3)
    planted.game(tmp_path / "a", "Breakout", generator, agents=("rdq",))
    planted.game(tmp_path / "b", "Asterix", generator, agents=("dqn",))
    ours, theirs = collections(admit([tmp_path]))
    assert ours is None
    assert theirs.games == published.GAMES
    assert set(figure6_charts(admit([tmp_path]))) == {
        "figure6",
        "figure6-summary",
        "figure6-overestimation",
    }


def test_the_command_draws_it(tmp_path, capsys, refused):
    planted.game(tmp_path / "runs" / "a", "Breakout", np.random.default_rng(1), steps=MILLION)
    out = tmp_path / "out"
    code = main(
        ["reproduce", "figure6", "--out", str(out), "--deep-results", str(tmp_path / "runs")]
    )
    assert code == 0
    assert "runs of ours of 1 of them" in capsys.readouterr().out
    stems = ("figure6", "figure6-summary", "figure6-overestimation")
    assert all((out / f"{s}.{f}").exists() for s in stems for f in ("png", "pdf", "svg"))
    refused(
        ["reproduce", "figure6", "--out", str(out), "--deep-results", str(tmp_path / "none")],
        "does not exist",
    )
