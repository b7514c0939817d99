"""Means over seeds: intervals of one and of the difference of two, tests, Holm's correction.

    mean_interval(returns)                    # of one agent's runs
    paired_difference(auc_x, auc_y)           # of runs that share their random numbers
    welch_interval(rdq, dqn)                  # of independent runs
    welch_test(rdq, dqn)                      # p-value of "the means are equal"
    equivalence(ours, theirs, margin=2.0)     # p-value of "the means differ by 2 or more"
    holm([0.01, 0.04, 0.03])                  # [0.03, 0.06, 0.06]

Samples are vectors with one value per seed. A test that needs more seeds than there are gives NaN.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from qduet.core.errors import InputError


class Interval(NamedTuple):
    """An estimate and its confidence interval (95 % unless said otherwise).

    The bounds are NaN if there are fewer than two runs, or if a run diverged.
    """

    mean: float
    """The estimate."""
    low: float
    """The lower bound."""
    high: float
    """The upper bound."""
    n: int
    """The number of independent runs it rests on."""

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        if np.isinf(self.mean):
            return "diverged"
        half = f" ± {self.half_width:.2f}" if np.isfinite(self.low) else ""
        return f"{number(self.mean)}{half}"


def number(value: float, form: str = ".2f") -> str:
    """`value` in Python's format `form`, with a true minus sign (−)."""
    text = f"{value:{form}}"
    return f"−{text[1:]}" if text.startswith("-") else text


def _t_quantile(freedom: float, probability: float) -> float:
    """The quantile of Student's t distribution with `freedom` degrees of freedom."""
    from scipy.special import stdtrit  # slow to import

    return float(stdtrit(freedom, probability))


def _one_for_each_seed(samples: ArrayLike) -> np.ndarray:
    """`samples` as an array; raises unless it is ``[n]``."""
    values = np.asarray(samples)
    if values.ndim != 1 or not values.size:
        raise InputError(
            "samples must be one value for each seed, [n] with n ≥ 1; their shape is "
            f"{list(values.shape)} (of several columns, pass one at a time)"
        )
    return values


def mean_interval(samples: ArrayLike) -> Interval:
    """Student's t interval (95 %) for the mean of independent `samples` ``[n]``."""
    values = _one_for_each_seed(samples)
    n = len(values)
    mean = float(np.mean(values))
    if n < 2 or not np.isfinite(mean):
        return Interval(mean, np.nan, np.nan, n)
    error = float(np.std(values, ddof=1)) / n**0.5
    half = _t_quantile(n - 1, 0.975) * error
    return Interval(mean, mean - half, mean + half, n)


def band(curves: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(mean, low, high), each ``[points]``, of curves ``[seeds, points]``; see `mean_interval`."""
    intervals = [mean_interval(column) for column in curves.T]
    mean, low, high, _ = (np.array(column) for column in zip(*intervals, strict=True))
    return mean, low, high


def paired_difference(a: np.ndarray, b: np.ndarray) -> Interval:
    """Interval for the mean of a − b over seeds ``[n]`` that share their random numbers."""
    with np.errstate(invalid="ignore"):
        return mean_interval(np.asarray(a, np.float64) - np.asarray(b, np.float64))


class Difference(NamedTuple):
    """mean(x) − mean(y) with what Welch's tests and intervals need."""

    mean: float
    """mean(x) − mean(y)."""
    error: float
    """Its standard error."""
    freedom: float
    """Welch's and Satterthwaite's degrees of freedom."""


def welch_difference(x: np.ndarray, y: np.ndarray) -> Difference:
    """mean(x) − mean(y) of independent samples ``[n]``, ``[m]`` whose variances may differ.

        error² = s_x²/n + s_y²/m,   freedom = error⁴ / ((s_x²/n)²/(n−1) + (s_y²/m)²/(m−1))

    The error is NaN if a sample has fewer than two values (Welch, 1947).
    """
    x, y = (_one_for_each_seed(samples).astype(np.float64) for samples in (x, y))
    mean = float(x.mean() - y.mean())
    n, m = len(x), len(y)
    if min(n, m) < 2 or not np.isfinite(mean):
        return Difference(mean, np.nan, np.nan)
    a, b = float(x.var(ddof=1)) / n, float(y.var(ddof=1)) / m
    if a + b == 0:
        return Difference(mean, 0.0, float(n + m - 2))
    return Difference(mean, (a + b) ** 0.5, (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1)))


def welch_interval(x: np.ndarray, y: np.ndarray, level: float = 0.95) -> Interval:
    """Welch's interval for mean(x) − mean(y) at confidence `level`; see `welch_difference`."""
    mean, error, freedom = welch_difference(x, y)
    half = _t_quantile(freedom, (1 + level) / 2) * error
    return Interval(mean, mean - half, mean + half, len(x) + len(y))


# --- Tests ---------------------------------------------------------------------------------------


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
    if not margin > 0:
        raise InputError(f"margin must be > 0; it is {margin}")
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
