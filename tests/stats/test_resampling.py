"""Aggregates against scipy; intervals against the coverage they promise."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy_stats

from qduet import stats
from qduet.core.errors import InputError
from qduet.results import published

RNG = np.random.default_rng(2)
GAMES = ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")


def rng():
    return np.random.default_rng(0)


def last(game, agent):
    return published.scores(game, agent).values[:, -1]


@pytest.mark.parametrize("n", [1, 3, 4, 5, 10, 30, 150])
def test_iqm_is_scipys_trimmed_mean(n):
    x = RNG.normal(size=(n, 3)) ** 3
    np.testing.assert_allclose(stats.iqm(x), scipy_stats.trim_mean(x, 0.25), rtol=1e-12)
    np.testing.assert_allclose(stats.iqm(x.T, axis=1), scipy_stats.trim_mean(x, 0.25), rtol=1e-12)


@pytest.mark.parametrize("game", GAMES)
def test_improvement_is_mann_and_whitneys_statistic(game):
    x, y = last(game, "rdq"), last(game, "dqn")
    expected = scipy_stats.mannwhitneyu(x, y).statistic / (len(x) * len(y))
    found = stats.bootstrap([x, y], stats.improvement, rng(), resamples=50)
    assert float(found.value) == pytest.approx(expected, rel=1e-12)
    assert found.low <= found.value <= found.high


def test_ties_count_half():
    # 1 > 0 once of four pairs; 0 = 0 and 1 = 1 are ties: (1 + 2 / 2) / 4.
    x = np.array([0.0, 1.0])
    assert stats.improvement([x[None], x[None]]) == [0.5]
    # Over games: all of 3 beat all of 2, then none: the mean of 1 and 0.5.
    strata = [np.array([[3.0, 3.0]]), x[None], np.array([[2.0]]), x[None]]
    assert stats.improvement(strata) == [0.75]


def test_profile_is_a_count():
    strata = [np.array([[0.0, 1.0]]), np.array([[1.0, 2.0]])]
    found = stats.profile(np.array([-1.0, 0.0, 0.5, 1.0, 2.0]))(strata)
    np.testing.assert_array_equal(found, [[1.0, 0.75, 0.75, 0.25, 0.0]])


def test_games_count_the_same_in_the_mean_and_runs_in_the_iqm():
    strata = [np.zeros((1, 6)), np.full((1, 2), 4.0)]
    assert stats.mean_of_strata(strata) == [2.0]
    assert stats.pooled(stats.iqm)(strata) == [0.0 + 0.0]
    assert stats.pooled(np.mean)(strata) == [1.0]


def test_strata_are_lists_of_vectors():

    lists, arrays = [[1.0, 2.0], [3.0, 5.0]], [np.array([1.0, 2.0]), np.array([3.0, 5.0])]
    mean = stats.mean_of_strata
    assert stats.bootstrap(lists, mean, rng()) == stats.bootstrap(arrays, mean, rng())
    for wrong in ([], [1.0, 2.0]):
        with pytest.raises(InputError, match="one \\[seeds"):
            stats.bootstrap(wrong, mean, rng())


def test_one_seed_in_a_game_gives_no_interval():
    found = stats.bootstrap([np.array([1.0]), np.ones(5)], stats.pooled(stats.iqm), rng())
    assert found.value == 1.0
    assert np.isnan([found.low, found.high]).all()


def test_the_generator_decides():
    strata = [last(game, "rdq") for game in GAMES]
    same = [stats.bootstrap(strata, stats.pooled(stats.iqm), rng()) for _ in range(2)]
    other = stats.bootstrap(strata, stats.pooled(stats.iqm), np.random.default_rng(1))
    assert same[0] == same[1]
    assert same[0].low != other.low


def test_games_are_never_resampled():
    """Two games without spread but far apart: resampling games would give a wide interval."""
    strata = [np.zeros(10), np.full(10, 100.0)]
    found = stats.bootstrap(strata, stats.mean_of_strata, rng())
    assert found.low == found.value == found.high == 50.0


def test_the_bootstrap_of_a_mean_is_scipys():
    x = RNG.normal(size=40)
    ours = stats.bootstrap([x], stats.pooled(np.mean), rng(), resamples=20_000)
    theirs = scipy_stats.bootstrap(
        (x,), np.mean, n_resamples=20_000, method="percentile", rng=rng()
    ).confidence_interval
    np.testing.assert_allclose([ours.low, ours.high], theirs, atol=0.02)


def test_games_are_resampled_independently_of_each_other():
    """x and −x: with the same seeds drawn in both, their mean would always be 0."""
    x = np.arange(50.0)
    found = stats.bootstrap([x, -x], stats.mean_of_strata, rng())
    error = np.sqrt(2 * x.var() / 50) / 2  # of the mean of two independent means
    assert found.low == pytest.approx(-1.96 * error, rel=0.1)
    assert found.high == pytest.approx(1.96 * error, rel=0.1)


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    """IQM of 3 games × 15 seeds, normal about −5, 0 and 5: the truth is 0.

    Percentile intervals of so few runs are a little short: 92 % of 4,000 data sets, not 95 %. The
    count here is within 4 standard errors of that.
    """
    data, covered = np.random.default_rng(3), 0
    for _ in range(400):
        strata = [data.normal(centre, 1.0, size=15) for centre in (-5.0, 0.0, 5.0)]
        found = stats.bootstrap(strata, stats.pooled(stats.iqm), rng(), resamples=300)
        covered += found.low < 0.0 < found.high
    assert abs(covered - 0.92 * 400) < 4 * np.sqrt(400 * 0.92 * 0.08)


def coverage_on_the_page():
    """The table of docs/comparing.md: percent by row and number of seeds."""
    page = Path(__file__).parents[2] / "docs" / "comparing.md"
    _, rest = page.read_text(encoding="utf-8").split("| seeds | 2 |")
    lines = ("| seeds | 2 |" + rest.split("\n\n")[0]).splitlines()
    counts, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return {
        (name, int(n)): int(percent)
        for name, *cells in rows
        for n, percent in zip(counts[1:], cells, strict=True)
    }


@pytest.mark.parametrize(("row", "percent"), coverage_on_the_page().items(), ids=str)
def test_intervals_of_few_seeds_cover_as_often_as_the_page_says(row, percent):
    """Each column is a data set; the count is within 4 standard errors.

    Of 2 and 3 seeds the interval is from the least to the greatest: all values are the same one in
    1/4 and 1/27 of resamples, more than the 2.5 % that are cut off. It misses a centre of symmetry
    if all are on one side of it: in 2/2² and 2/2³ of cases.
    """
    name, n = row
    data, sets = np.random.default_rng(n), 1_000
    strata, statistic, truth = [data.normal(size=(n, sets))], stats.pooled(stats.iqm), 0.0
    if name.startswith("mean"):
        statistic = stats.mean_of_strata
    elif name == "P(X > Y)":
        strata = [strata[0] + 1, data.normal(size=(n, sets))]
        statistic, truth = stats.improvement, scipy_stats.norm.cdf(1 / np.sqrt(2))
    found = stats.bootstrap(strata, statistic, rng(), resamples=500)
    covered = ((found.low <= truth) & (truth <= found.high)).mean()
    assert abs(covered - percent / 100) < 4 * np.sqrt(covered * (1 - covered) / sets)
    if n < 4 and name != "P(X > Y)":
        assert percent == 100 * (1 - 2 / 2**n)


def test_curves_are_resampled_as_a_whole():
    curves = np.outer(RNG.normal(size=12), [1.0, 2.0])  # the second point is twice the first
    found = stats.bootstrap([curves], stats.pooled(stats.iqm), rng(), resamples=200)
    assert found.low.shape == (2,)
    np.testing.assert_allclose(found.low[1], 2 * found.low[0])


@pytest.mark.parametrize("n", [6, 30])
def test_paired_permutation_is_scipys(n):
    x = RNG.normal(size=n)
    y = x + RNG.normal(0.4, 1.0, size=n)
    expected = scipy_stats.permutation_test(
        (x, y), lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples", vectorized=True, n_resamples=10_000, rng=rng(),
    ).pvalue  # fmt: skip
    tolerance = 0 if n == 6 else 4 * np.sqrt(1.1 * expected * (1 - expected) / 10_000)
    found = stats.paired_permutation_test(x, y, rng())
    assert found == pytest.approx(expected, rel=1e-12, abs=tolerance)


def test_paired_permutation_by_hand():
    # Differences 1 and 2: of the four sign patterns, ++ and −− are as far from 0 as ++.
    assert stats.paired_permutation_test(np.array([1.0, 2.0]), np.zeros(2), rng()) == 0.5
    assert stats.paired_permutation_test(np.zeros(3), np.zeros(3), rng()) == 1.0
    # 40 differences of one sign: none of 99 drawn patterns is as far from 0, the one seen is.
    ones = np.ones(40)
    assert stats.paired_permutation_test(ones, 0 * ones, rng(), permutations=99) == 0.01
    assert np.isnan(stats.paired_permutation_test(np.zeros(1), np.zeros(1), rng()))


def test_rounding_does_not_make_a_pattern_less_far_than_itself():
    """Differences of one sign: only + … + and − … − are as far from 0, and they always are."""
    for k in range(1, 200):
        d = np.arange(1, 8) * k / 10
        assert stats.paired_permutation_test(d, np.zeros(7), rng()) == 2 / 2**7
