import numpy as np
import pytest

from qduet import InputError, stats


def test_auc_is_the_mean_of_the_points():
    assert stats.auc(np.array([[100.0, 50.0, 0.0]])).tolist() == [50.0]


def test_best_step_size_never_has_a_diverged_run():
    aucs = np.array([[5.0, 1.0, 6.0], [5.0, np.inf, 6.0]])
    assert stats.best(aucs).which == 0


def test_the_best_step_size_has_the_least_mean():
    # Means 4 and 3, medians 1 and 3: one bad seed counts, as in the paper's choice.
    choice = stats.best(np.array([[1.0, 3.0], [1.0, 3.0], [10.0, 3.0]]))
    assert (choice.which, choice.auc.mean) == (1, 3.0)


def test_best_difference_chooses_step_sizes_anew_in_every_resample():
    rng = np.random.default_rng(1)
    x, y = 30 + rng.normal(size=(20, 4)), 31 + rng.normal(size=(20, 4))
    x[7, 2] = 4_000.0  # one run makes the otherwise best step size the worst
    x[:, 2] -= 5
    y[3, 0] = np.inf
    found = stats.best_difference(x, y, np.random.default_rng(0))
    least = lambda aucs: min(aucs[:, k].mean() for k in range(4))
    assert found.value == pytest.approx(least(x) - least(y))
    drawn = [rng.integers(20, size=20) for _ in range(4_000)]
    again = [least(x[rows]) - least(y[rows]) for rows in drawn]
    low, high = np.quantile(again, [0.025, 0.975])
    assert found.low == pytest.approx(low, abs=0.2)
    assert found.high == pytest.approx(high, abs=0.2)
    assert found.low < -4  # without seed 7, in a third of the resamples, x is far ahead
    assert np.isnan(stats.best_difference(x[:1], y[:1], rng).low)
    with pytest.raises(InputError, match="of the same seeds"):
        stats.best_difference(x[:5], y, rng)


def test_best_difference_resamples_the_seeds_of_both_together():
    x = np.random.default_rng(1).normal(size=(20, 4))
    found = stats.best_difference(x, x - 1, np.random.default_rng(0))
    assert (found.low, found.high) == pytest.approx((1, 1))


def test_best_difference_to_runs_that_diverge_is_bounded_on_one_side():
    """Every step size of y has a diverged run; resamples without them are not rare."""
    x, y = np.zeros((20, 2)), np.ones((20, 2))
    y[4] = np.inf
    found = stats.best_difference(x, y, np.random.default_rng(0))
    assert (found.value, found.low, found.high) == (-np.inf, -np.inf, -1)


def test_held_out_chooses_on_even_seeds_and_reports_odd_ones():
    # Even seeds like step size 1, odd ones step size 0.
    aucs = np.array([[9.0, 1.0], [2.0, 8.0], [9.0, 1.0], [2.0, 10.0]])
    choice = stats.held_out(aucs)
    assert choice.which == 1
    assert choice.auc.mean == 9.0
    assert stats.held_out(aucs[:3]) is None


def test_pooled_interval_takes_every_point_for_a_sample():
    # Released code: mean ± 1.96 s / √(seeds × points). Values 0 and 2, 50 each: s² = 100/99.
    interval = stats.pooled_interval(np.array([[0.0, 2.0]] * 50))
    assert interval.mean == 1.0
    assert interval.half_width == pytest.approx(1.96 / 99**0.5)
