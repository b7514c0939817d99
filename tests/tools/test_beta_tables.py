"""The tables of docs/study.md on β, derived again from the raw files with SciPy."""

from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from docs_tables.beta import BETAS, PAPERS, beta_returns, beta_tables, choice_table
from raw import curves

from qduet.results import published

ROOT = Path(__file__).parents[2]
FOLDERS = {
    published.title(game): (game, published.title(game).lower().replace(" ", "_"))
    for game in published.GAMES
}
OTHERS = [beta for beta in BETAS if beta != PAPERS]


def returns(title, agent, where="beta"):
    game, folder = FOLDERS[title]
    return curves(ROOT / "results" / where / folder / "evaluations.csv", game, agent)[:, -1]


def rows(name):
    """The rows of a table below its headings, as lists of text."""
    lines = beta_tables(ROOT / "results")[name].splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return table[0], table[2:]


def holm(p_values, size):
    """Holm's corrected p-values; tests of the family that are missing count as 1."""
    order = np.argsort(p_values)
    factors = size - np.arange(len(p_values))
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(1, np.maximum.accumulate(np.array(p_values)[order] * factors))
    return corrected


def within(x, y, margin):
    """Whether two one-sided Welch tests at 5 % show that the means differ by less than `margin`."""
    above = scipy.stats.ttest_ind(x + margin, y, equal_var=False, alternative="greater").pvalue
    below = scipy.stats.ttest_ind(x - margin, y, equal_var=False, alternative="less").pvalue
    return max(above, below) < 0.05


def test_sensitivity():
    (_, *titles), table = rows("beta")
    there = [t for t in titles if (ROOT / "results/beta" / FOLDERS[t][1]).exists()]
    cells = {(row[0], t): text for row in table for t, text in zip(titles, row[1:], strict=True)}
    tests = [(t, beta) for t in there for beta in OTHERS]
    sample = lambda t, beta: returns(t, f"rdq-beta-{beta:g}")
    welch = [
        scipy.stats.ttest_ind(sample(t, beta), sample(t, PAPERS), equal_var=False).pvalue
        for t, beta in tests
    ]
    for (t, beta), p_value in zip(tests, holm(welch, 35), strict=True):
        mine, papers = sample(t, beta), sample(t, PAPERS)
        half = scipy.stats.t.ppf(0.975, 29) * scipy.stats.sem(mine)
        word = "higher" if mine.mean() > papers.mean() else "lower"
        if p_value >= 0.05:
            word = "equal" if within(mine, papers, 0.1 * papers.mean()) else ""
        assert cells[f"{beta:g}", t] == f"{mine.mean():.2f} ± {half:.2f} {word}".strip()


@pytest.mark.parametrize(
    ("name", "agent", "other"),
    [("beta-zero", "rdq-beta-0", "dueling_dqn"), ("beta-check", "rdq-beta-0.001", "rdq")],
)
def test_against_runs_of_the_validation(name, agent, other):
    _, table = rows(name)
    there = [row for row in table if (ROOT / "results/beta" / FOLDERS[row[0]][1]).exists()]
    samples = [(returns(row[0], agent), returns(row[0], other, "validation")) for row in there]
    found = [scipy.stats.ttest_ind(x, y, equal_var=False) for x, y in samples]
    corrected = holm([test.pvalue for test in found], 5)
    for row, (x, y), test, p_value in zip(there, samples, found, corrected, strict=True):
        low, high = test.confidence_interval()
        shown = f"{x.mean() - y.mean():+.2f} ± {(high - low) / 2:.2f}".replace("-", "−")
        assert row[3] == shown
        assert row[4] == ("< 0.001" if p_value < 0.001 else f"{p_value:.3f}")


def test_the_choice_is_made_on_even_seeds_and_judged_on_odd_ones():
    """Planted: 0.01 leads on the even seeds, 0.001 on the odd ones, by as much in every game."""
    even = np.arange(30) % 2 == 0
    planted = {
        game: {
            beta: published_dqn(game) * (1 + {0.01: 0.2, PAPERS: 0.1}.get(beta, 0.0) * np.ones(30))
            - (published_dqn(game) * 0.5 * ~even if beta == 0.01 else 0.0)
            for beta in BETAS
        }
        for game in published.GAMES
    }
    (row,) = choice_table(planted).rows
    assert row == ("0.01", "1.200", "1.100", "−0.400 [−0.400, −0.400]")
    del planted["Seaquest"]
    assert choice_table(planted).rows[0][0] == "no data yet"


def published_dqn(game):
    """The published mean return of DQN after 10M steps."""
    path = Path(published.__file__).parent / "data" / "published_scores.csv"
    return curves(path, game, "dqn")[:, -1].mean()


def test_the_runs_are_those_of_the_plan():
    for by_beta in beta_returns(ROOT / "results" / "beta").values():
        assert tuple(by_beta) == BETAS
        assert all(sample.shape == (30,) for sample in by_beta.values())
