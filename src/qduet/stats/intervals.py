"""Student's t intervals over seeds, of one mean and of the difference of two.

mean_interval(returns)                    # of one agent's runs, one value per seed
paired_difference(auc_x, auc_y)           # of runs that share their random numbers
welch_interval(rdq, dqn)                  # of independent runs
"""

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
    error = float(np.std(values, ddof=1)) / np.sqrt(n)
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
