import numpy as np
import pytest
from scipy import stats as scipy_stats

from qduet import stats

RNG = np.random.default_rng(0)


def test_mean_interval_is_scipys():
    x = RNG.normal(3.0, 2.0, size=17)
    expected = scipy_stats.ttest_1samp(x, 0.0).confidence_interval(0.95)
    ours = stats.mean_interval(x)
    assert (ours.low, ours.high) == pytest.approx((expected.low, expected.high))
    assert ours.mean == pytest.approx(x.mean())
    assert ours.n == 17


def test_paired_difference_is_scipys():
    a, b = RNG.normal(size=20), RNG.normal(size=20)
    expected = scipy_stats.ttest_rel(a, b).confidence_interval(0.95)
    ours = stats.paired_difference(a, b)
    assert (ours.low, ours.high) == pytest.approx((expected.low, expected.high))


def test_intervals_cover_the_truth_as_often_as_they_say():
    """2,000 intervals from 8 normal samples each: the count is binomial(2000, 0.95)."""
    covered = 0
    for x in RNG.normal(size=(2000, 8)):
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
    curves = RNG.normal(size=(6, 3))
    mean, low, high = stats.band(curves)
    for k in range(3):
        interval = stats.mean_interval(curves[:, k])
        assert (mean[k], low[k], high[k]) == pytest.approx(interval[:3])
