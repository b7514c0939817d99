"""What is computed from runs: areas under curves, intervals over seeds, honest step-size choice.

A seed is the unit of replication: every interval here is over seeds. A run that diverged has an
AUC of +∞, and so has any mean that includes it: a step size with a diverged run can never be the
best one, and nothing is dropped.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit  # Student's t quantile; scipy.stats is slow to import


class Interval(NamedTuple):
    """A mean and its 95 % confidence interval; the bounds are NaN where they cannot be known."""

    mean: float
    low: float
    high: float
    n: int
    """Independent replications behind it."""

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        if np.isinf(self.mean):
            return "diverged"
        return f"{self.mean:.2f} ± {self.half_width:.2f}" if self.n > 1 else f"{self.mean:.2f}"


def mean_interval(samples: np.ndarray) -> Interval:
    """Student's t interval for the mean of independent `samples` ``[n]``."""
    n = len(samples)
    mean = float(np.mean(samples))
    if n < 2 or not np.isfinite(mean):
        return Interval(mean, np.nan, np.nan, n)
    error = float(np.std(samples, ddof=1)) / np.sqrt(n)
    half = float(stdtrit(n - 1, 0.975)) * error
    return Interval(mean, mean - half, mean + half, n)


def band(curves: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(mean, low, high), each ``[points]``, of curves ``[seeds, points]``; as `mean_interval`."""
    intervals = [mean_interval(column) for column in curves.T]
    mean, low, high, _ = (np.array(column) for column in zip(*intervals, strict=True))
    return mean, low, high


def auc(percent: np.ndarray) -> np.ndarray:
    """Area under curves ``[..., points]``: the mean of the recorded points, in percent."""
    return percent.mean(axis=-1, dtype=np.float64)


def pooled_interval(percent: np.ndarray) -> Interval:
    """The released code's AUC interval: seeds × points pooled as if all were independent.

    It mixes how a curve falls over time with how seeds differ, so it says nothing of the latter: it
    may be too wide or too narrow. It is here so that the published shading can be drawn
    (``protocol="reference"``). `percent` is ``[seeds, points]``.
    """
    samples = percent.astype(np.float64).ravel()
    mean = float(samples.mean())
    half = 1.96 * float(samples.std()) / np.sqrt(samples.size)
    return Interval(mean, mean - half, mean + half, samples.size)


class Choice(NamedTuple):
    """A step size and the AUC it achieves."""

    which: int
    """Its index among the step sizes."""
    auc: Interval


def best(aucs: np.ndarray) -> Choice:
    """The step size with the least mean of ``aucs[seeds, step_sizes]``, as the paper chooses it.

    Chosen and reported on the same seeds, so the AUC is biased downwards; see `held_out`.
    """
    which = int(aucs.mean(axis=0).argmin())
    return Choice(which, mean_interval(aucs[:, which]))


def held_out(aucs: np.ndarray) -> Choice | None:
    """The step size chosen on one half of the seeds, with its AUC on the other half.

    The halves are the even and the odd rows. None with fewer than four seeds.
    """
    if len(aucs) < 4:
        return None
    which = int(aucs[0::2].mean(axis=0).argmin())
    return Choice(which, mean_interval(aucs[1::2, which]))


def paired_difference(a: np.ndarray, b: np.ndarray) -> Interval:
    """Interval for the mean of a − b over seeds ``[n]`` that share their random numbers."""
    with np.errstate(invalid="ignore"):
        return mean_interval(np.asarray(a, np.float64) - np.asarray(b, np.float64))
