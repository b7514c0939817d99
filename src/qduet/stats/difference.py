"""Tests of difference and of equivalence between two samples of runs, and Holm's correction.

    welch_test(rdq, dqn)                      # p-value of "the means are equal"
    equivalence(ours, theirs, margin=2.0)     # p-value of "the means differ by 2 or more"
    holm([0.01, 0.04, 0.03])                  # [0.03, 0.06, 0.06]

Samples are vectors with one value per seed. A test that needs more seeds than there are gives NaN.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from qduet.core.errors import InputError
from qduet.stats.intervals import Interval, welch_difference, welch_interval


def _upper_tail(value: float, error: float, freedom: float) -> float:
    """P(T ≥ value / error) for Student's T; with no error it is 0, ½ or 1."""
    if error == 0:
        return 0.5 - 0.5 * float(np.sign(value))
    from scipy.special import stdtr  # Student's t distribution function; slow to import

    return float(stdtr(freedom, -value / error))


def welch_test(x: np.ndarray, y: np.ndarray) -> float:
    """Two-sided p-value of equal means, without assuming equal variances (Welch, 1947)."""
    mean, error, freedom = welch_difference(x, y)
    return 2 * _upper_tail(abs(mean), error, freedom)


def paired_permutation_test(
    x: np.ndarray, y: np.ndarray, rng: np.random.Generator, *, permutations: int = 100_000
) -> float:
    """Two-sided p-value of a mean difference of 0 between samples ``[n]`` paired by seed.

    If x and y differ in name only, every difference x_i − y_i is as likely with the other sign. p
    is the share of sign patterns whose mean is at least as far from 0 as the observed one. All 2ⁿ
    patterns are tried if they are at most `permutations`; otherwise the observed one and that many
    random ones.
    """
    d = np.asarray(x, np.float64) - np.asarray(y, np.float64)
    n = len(d)
    if n < 2 or not np.isfinite(d).all():
        return float("nan")
    exact = 2**n <= permutations
    if exact:
        flipped = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    else:
        flipped = rng.integers(2, size=(permutations, n))
    means = np.abs((1 - 2 * flipped) @ d) / n
    observed = abs(d.mean())
    as_far = int((means >= observed * (1 - 1e-12)).sum())  # equal sums may differ in the last bit
    return as_far / 2**n if exact else (as_far + 1) / (permutations + 1)


class Equivalence(NamedTuple):
    """Two one-sided tests."""

    difference: Interval
    """mean(x) − mean(y) with the interval of level 1 − 2·alpha that the decision rests on."""
    margin: float
    """The difference of means that would matter."""
    p_value: float
    """Of "the means differ by `margin` or more": the larger of the two one-sided p-values."""
    equivalent: bool
    """Whether `p_value` is below alpha; equivalently, whether the interval lies inside ±margin."""


def equivalence(x: np.ndarray, y: np.ndarray, margin: float, alpha: float = 0.05) -> Equivalence:
    """Whether two means differ by less than `margin` (Schuirmann, 1987), with Welch's error.

    Absence of a significant difference is no evidence of equality, least of all with few seeds. So
    "the means differ by `margin` or more" has to be rejected. Choose `margin` without seeing the
    samples.
    """
    mean, error, freedom = welch_difference(x, y)
    below = _upper_tail(margin - mean, error, freedom)  # against mean ≥ margin
    above = _upper_tail(margin + mean, error, freedom)  # against mean ≤ −margin
    p_value = float(np.maximum(below, above))
    interval = welch_interval(x, y, 1 - 2 * alpha)
    return Equivalence(interval, margin, p_value, p_value < alpha)


def holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Holm's (1979) adjusted p-values ``[k]``.

    If those below α are rejected, the chance of any false rejection among the k is at most α. The
    j-th smallest of k becomes max over i ≤ j of (k − i + 1) p_(i), at most 1. NaN (a test that
    could not be made) stays NaN and is not counted.
    """
    p = np.asarray(p_values, np.float64)
    if ((p < 0) | (p > 1)).any():
        raise InputError(f"p-values must be in [0, 1]; they are {p.tolist()!s:.60}")
    made = np.flatnonzero(~np.isnan(p))
    order = made[np.argsort(p[made], kind="stable")]
    scaled = p[order] * np.arange(len(order), 0, -1)
    adjusted = np.full(p.shape, np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted
