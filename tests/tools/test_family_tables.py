"""The tables of docs/study.md on the runs of 10M steps, against SciPy and the raw files."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from docs_tables.family import (
    AGENTS,
    answers,
    explains_table,
    normalised_table,
    overall_table,
    overestimation_table,
    pairs_table,
    six_agents,
)
from docs_tables.over_time import over_time_tables
from raw import curves

from qduet.results import published

RESULTS = Path(__file__).parents[2] / "results"
GAMES = published.GAMES


@pytest.fixture
def planted():
    """Six agents in five games, 30 seeds each; the means differ by agent and game."""
    rng = np.random.default_rng(3)
    return {
        (game, agent): rng.normal(10 + i + 0.6 * rng.normal(), 2.0 + i, 30)
        for i, game in enumerate(GAMES)
        for agent in AGENTS
    }


def holm_by_hand(p_values):
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    largest, adjusted = 0.0, {}
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[i]))
        adjusted[i] = largest
    return [adjusted[i] for i in range(len(p_values))]


def welch(x, y):
    return scipy.stats.ttest_ind(x, y, equal_var=False)


def test_each_game_is_tested_within_its_family(planted):
    """a1: ten tests; b1: five."""
    pairs = [("dqv_max", "dqn"), ("dqv_max", "rdq")]
    tests = [welch(planted[g, x], planted[g, y]) for g in GAMES for x, y in pairs]
    a1 = holm_by_hand([t.pvalue for t in tests])
    b1 = holm_by_hand(
        [welch(planted[g, "bc_qvmax_double"], planted[g, "dqv_max"]).pvalue for g in GAMES]
    )
    for i, row in enumerate(pairs_table(planted).rows):
        for cell, test, p in zip(row[1:3], tests[2 * i :], a1[2 * i :], strict=False):
            interval = test.confidence_interval()
            half = (interval.high - interval.low) / 2
            mean = (interval.high + interval.low) / 2
            assert cell.startswith(f"{mean:+.2f} ± {half:.2f}".replace("-", "−"))
            word = "undecided" if p >= 0.05 else "ahead" if mean > 0 else "behind"
            assert cell.endswith(word)
        assert row[3].endswith("undecided") == (b1[i] >= 0.05)


def test_missing_games_count_as_if_they_had_shown_nothing(planted):
    """One game of five: its smallest p is multiplied by ten, not by two."""
    game = GAMES[0]
    alone = {key: values for key, values in planted.items() if key[0] == game}
    base = alone[game, "dqn"]
    p_of = lambda lead: welch(base + lead, base).pvalue
    lead = next(d for d in np.linspace(0.5, 3.0, 200) if 0.005 < p_of(d) < 0.025)
    alone[game, "dqv_max"] = alone[game, "rdq"] = base + lead
    rows = pairs_table(alone).rows
    assert rows[0][1].endswith("undecided")
    assert rows[1][1:] == ("no data yet",) * 3


def test_spearman(planted):
    """c2, against SciPy; the interval holds the value."""
    excess = {key: -values + 0.1 for key, values in planted.items()}
    assert set(explains_table(excess, planted).rows[0][:5]) == {"−1.00"}
    rng = np.random.default_rng(5)
    excess = {key: rng.normal(size=30) for key in planted}
    *cells, mean = explains_table(excess, planted).rows[0]
    wanted = []
    for game in GAMES:
        means = [[s[game, agent].mean() for agent in AGENTS] for s in (excess, planted)]
        wanted.append(scipy.stats.spearmanr(*means).statistic)
    assert cells == [f"{rho:+.2f}".replace("-", "−") for rho in wanted]
    assert mean.split()[0] == f"{np.mean(wanted):+.3f}".replace("-", "−")


def test_pairs_that_over_estimation_does_not_tell_apart(planted):
    """c1: 75 tests."""
    pairs = [*itertools.combinations(AGENTS, 2)]
    raw = [welch(planted[g, x], planted[g, y]).pvalue for g in GAMES for x, y in pairs]
    adjusted = holm_by_hand(raw)
    last = overestimation_table(planted).rows[-1]
    for i, cell in enumerate(last[1:]):
        here = zip(pairs, adjusted[15 * i : 15 * i + 15], strict=True)
        alike = [f"{x}, {y}" for (x, y), p in here if p >= 0.05]
        assert cell == ("; ".join(alike) or "none")


def test_over_all_games(planted):
    """a2: the value by hand; it waits for the last game."""
    ours = [
        np.mean(
            [
                planted[g, agent].mean() / published.scores(g, "dqn").values[:, -1].mean()
                for g in GAMES
            ]
        )
        for agent in ("dqv_max", "dqn")
    ]
    cell = overall_table(planted).rows[0][1]
    assert cell.split()[0] == f"{ours[0] - ours[1]:+.3f}".replace("-", "−")
    assert normalised_table(planted).rows[4][1].split()[0] == f"{ours[0]:.3f}"
    chance = np.mean(
        [
            scipy.stats.mannwhitneyu(planted[g, "dqv_max"], planted[g, "dqn"]).statistic / 30**2
            for g in GAMES
        ]
    )
    assert overall_table(planted).rows[0][2].split()[0] == f"{chance:.3f}"
    del planted[GAMES[-1], "dqv_max"]
    assert overall_table(planted).rows[0][1:] == ("no data yet",) * 2
    assert normalised_table(planted).rows[4][1:] == ("no data yet",) * 2


def test_normalised_scores_over_games(planted):
    """The IQM of all runs: SciPy's mean without the lowest and the highest quarter."""
    for agent, mean, iqm in normalised_table(planted).rows:
        scores = [
            planted[g, agent] / published.scores(g, "dqn").values[:, -1].mean() for g in GAMES
        ]
        value, low, high = (float(x.strip("[],")) for x in iqm.split())
        assert value == pytest.approx(scipy.stats.trim_mean(np.concatenate(scores), 0.25), abs=5e-4)
        assert low < value < high
        assert float(mean.split()[0]) == pytest.approx(np.mean(scores), abs=5e-4)


def test_answers_count_the_games(planted):
    excess = {key: -values for key, values in planted.items()}
    for games in (GAMES, GAMES[:2]):
        there = {key: values for key, values in planted.items() if key[0] in games}
        a, _, c = answers(there, {key: excess[key] for key in there}).splitlines()
        words = [row[2].split()[-1] for row in pairs_table(there).rows[: len(games)]]
        told = ", ".join(f"{w} in {words.count(w)}" for w in ("ahead", "behind", "undecided"))
        assert f"`rdq`: {told} of {len(games)} games." in a
        least = [min(AGENTS, key=lambda x, g=g: excess[g, x].mean()) for g in games]
        tail = c.partition("smallest for ")[2].partition(". Its")[0]
        assert all(f"`{x}` in {least.count(x)}" in tail for x in least)
        assert ("no data yet" in a) == (len(games) < 5)
    assert answers({}, {}).count("no data yet") == 7


def test_over_estimation_over_time_from_the_raw_files():
    tables = {
        name: [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
        for name, text in over_time_tables(RESULTS).items()
    }
    half = lambda x: scipy.stats.sem(x) * scipy.stats.t.ppf(0.975, len(x) - 1)
    read = lambda where, agent, column: curves(
        RESULTS / where / "evaluations.csv", "Breakout", agent, column
    )
    for where, agent, row in (("figure6/breakout", "rdq", 4), ("family/breakout", "dqv", 5)):
        values = read(where, agent, "q_overestimation")
        change = values[:, 10] - values[:, 1]
        told = f"{values[:, 1].mean():+.2f} → {values[:, 10].mean():+.2f}, "
        told += f"{change.mean():+.2f} ± {half(change):.2f}"
        assert tables["family-over-time"][row][:3:2] == [agent, told.replace("-", "−")]
    below, apart = (
        read("family/breakout", "dqv_max", c)[:, 10] for c in ("v_minus_max_q", "q_spread")
    )
    told = f"{below.mean():+.2f} ± {half(below):.2f}; {apart.mean():.2f} ± {half(apart):.2f}"
    assert tables["family-values"][3][:3:2] == ["dqv_max", told.replace("-", "−")]


def test_the_runs_are_what_the_study_asks_for():
    """Seeds 0 to 29 and 10M steps of protocol=reference, read from the raw files."""
    found = six_agents(RESULTS, "return_mean")
    for path in (RESULTS / "family").glob("*/config.json"):
        config = json.loads(path.read_text("utf-8"))
        assert (config["protocol"], config["steps"]) == ("reference", 10_000_000)
        assert config["seeds"] == [*range(30)]
        for agent in config["agents"]:
            key = config["game"], agent["label"]
            raw = curves(path.with_name("evaluations.csv"), *key)
            assert raw.shape == (30, 11)
            np.testing.assert_array_equal(found[key], raw[:, -1])
