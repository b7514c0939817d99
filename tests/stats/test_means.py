"""Intervals, Welch, TOST and Holm against scipy, a hand calculation, the paper's inequality."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from qduet import stats
from qduet.core.errors import InputError

GENERATOR = np.random.default_rng(0)
RNG = np.random.default_rng(1)
X, Y = RNG.normal(3.0, 2.0, size=17), RNG.normal(1.5, 0.4, size=9)


def test_mean_interval_is_scipys():
    x = GENERATOR.normal(3.0, 2.0, size=17)
    expected = scipy_stats.ttest_1samp(x, 0.0).confidence_interval(0.95)
    ours = stats.mean_interval(x)
    assert (ours.low, ours.high) == pytest.approx((expected.low, expected.high))
    assert ours.mean == pytest.approx(x.mean())
    assert ours.n == 17


def test_paired_difference_is_scipys():
    a, b = GENERATOR.normal(size=20), GENERATOR.normal(size=20)
    expected = scipy_stats.ttest_rel(a, b).confidence_interval(0.95)
    ours = stats.paired_difference(a, b)
    assert (ours.low, ours.high) == pytest.approx((expected.low, expected.high))


def test_intervals_cover_the_truth_as_often_as_they_say():
    """2,000 intervals from 8 normal samples each: the count is binomial(2000, 0.95)."""
    covered = 0
    for x in GENERATOR.normal(size=(2000, 8)):
        interval = stats.mean_interval(x)
        covered += interval.low < 0 < interval.high
    assert abs(covered - 1900) < 4 * np.sqrt(2000 * 0.95 * 0.05)


def test_people_read_a_true_minus():
    assert str(stats.mean_interval(np.array([-2.0, -2.0]))) == "−2.00 ± 0.00"
    assert stats.number(-1234.5678, ".4g") == "−1235"
    assert stats.number(-1e-7, ".1e") == "−1.0e-07"
    assert stats.number(0.5, "+.2f") == "+0.50"


def test_one_sample_has_no_interval():
    interval = stats.mean_interval(np.array([2.0]))
    assert interval.mean == 2.0
    assert np.isnan([interval.low, interval.high]).all()
    assert str(interval) == "2.00"


def test_a_diverged_run_makes_the_mean_infinite():
    interval = stats.mean_interval(np.array([1.0, np.inf]))
    assert np.isposinf(interval.mean)
    assert str(interval) == "diverged"


def test_band_is_the_interval_of_each_point():
    curves = GENERATOR.normal(size=(6, 3))
    mean, low, high = stats.band(curves)
    for k in range(3):
        interval = stats.mean_interval(curves[:, k])
        assert (mean[k], low[k], high[k]) == pytest.approx(interval[:3])


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_welch_interval_is_scipys(level):
    expected = scipy_stats.ttest_ind(X, Y, equal_var=False).confidence_interval(level)
    ours = stats.welch_interval(X, Y, level)
    assert (ours.low, ours.high) == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert ours.mean == pytest.approx(X.mean() - Y.mean())
    assert ours.n == 26


def test_welch_test_is_scipys():
    expected = scipy_stats.ttest_ind(X, Y, equal_var=False).pvalue
    assert stats.welch_test(X, Y) == pytest.approx(expected, rel=1e-10)
    assert stats.welch_test(Y, X) == pytest.approx(expected, rel=1e-10)


def test_equivalence_by_hand():
    # x = (9, 10, 11), y = (8, 10, 12): means 10, s² = 1 and 4, error² = 1/3 + 4/3 = 5/3,
    # freedom = (5/3)² / ((1/3)²/2 + (4/3)²/2) = (25/9) / (17/18) = 50/17;
    # margin 5: both t are 5/√(5/3) = √15.
    x, y = np.array([9.0, 10.0, 11.0]), np.array([8.0, 10.0, 12.0])
    expected = scipy_stats.t.sf(np.sqrt(15), 50 / 17)
    found = stats.equivalence(x, y, margin=5.0)
    assert found.p_value == pytest.approx(expected, rel=1e-10)
    assert found.equivalent
    assert not stats.equivalence(x, y, margin=1.0).equivalent


def test_equivalence_is_the_worse_of_scipys_two_one_sided_tests():
    margin = 2.1
    above = scipy_stats.ttest_ind(X + margin, Y, equal_var=False, alternative="greater").pvalue
    below = scipy_stats.ttest_ind(X - margin, Y, equal_var=False, alternative="less").pvalue
    found = stats.equivalence(X, Y, margin)
    assert found.p_value == pytest.approx(max(above, below), rel=1e-9)


def test_equivalent_means_that_the_interval_is_inside_the_margin():
    for shift in np.linspace(-3, 3, 61):
        found = stats.equivalence(X + shift, Y, margin=2.5)
        inside = found.difference.low > -2.5 and found.difference.high < 2.5
        assert found.equivalent == inside


@pytest.mark.parametrize("margin", [0, -1, np.nan])
def test_a_margin_is_positive(margin):
    with pytest.raises(InputError, match="margin must be > 0"):
        stats.equivalence([1.0, 2.0], [1.0, 2.0], margin)


def test_holm_by_hand():
    # Sorted .005 .01 .03 .04 times 4 3 2 1: .02 .03 .06 .04, and running maxima .02 .03 .06 .06.
    adjusted = stats.holm([0.01, 0.04, 0.03, 0.005])
    np.testing.assert_allclose(adjusted, [0.03, 0.06, 0.06, 0.02], rtol=1e-12)
    assert stats.holm([0.6, 0.7]).tolist() == [1.0, 1.0]
    assert stats.holm([]).shape == (0,)


def test_holm_does_not_count_tests_that_were_not_made():
    np.testing.assert_array_equal(stats.holm([0.01, np.nan, 0.02]), [0.02, np.nan, 0.02])


def test_too_few_seeds_give_no_verdict():
    one = np.array([1.0])
    interval = stats.welch_interval(one, Y)
    assert np.isnan([interval.low, interval.high]).all()
    assert str(interval) == f"{1.0 - Y.mean():.2f}".replace("-", "−")
    assert np.isnan(stats.welch_test(one, Y))
    assert not stats.equivalence(one, Y, margin=100.0).equivalent


def test_samples_without_spread():
    zeros, ones = np.zeros(3), np.ones(3)
    assert stats.welch_test(zeros, zeros) == 1.0
    assert stats.welch_test(zeros, ones) == 0.0
    assert stats.equivalence(zeros, ones, margin=2.0).equivalent
    assert not stats.equivalence(zeros, ones, margin=0.5).equivalent
