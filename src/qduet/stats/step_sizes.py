"""Choosing a step size from a sweep: areas under error curves, the best one, honest intervals.

A run that diverged has an AUC of +∞, and so has any mean that includes it: a step size with a
diverged run can never be the best one, and nothing is dropped.
"""

from typing import NamedTuple

import numpy as np

from qduet.core.errors import InputError
from qduet.stats.means import Interval, mean_interval
from qduet.stats.resampling import RESAMPLES, Estimate


def auc(percent: np.ndarray) -> np.ndarray:
    """Area under curves ``[..., points]``: the mean of the recorded points, in percent."""
    return np.asarray(percent).mean(axis=-1, dtype=np.float64)


def pooled_interval(percent: np.ndarray) -> Interval:
    """The released code's AUC interval: seeds × points pooled as if all were independent.

    It mixes how a curve falls over time with how seeds differ, so it may be too wide or too narrow.
    It is here so that the published shading can be drawn (``protocol="reference"``). `percent` is
    ``[seeds, points]``.
    """
    samples = percent.astype(np.float64).ravel()
    mean = float(samples.mean())
    half = 1.96 * float(samples.std(ddof=min(1, samples.size - 1))) / np.sqrt(samples.size)
    return Interval(mean, mean - half, mean + half, samples.size)


class Choice(NamedTuple):
    """A step size and the AUC it achieves."""

    which: int
    """The index of the step size."""
    auc: Interval
    """Its mean AUC with an interval over seeds."""


def best(aucs: np.ndarray) -> Choice:
    """The step size with the least mean of ``aucs[seeds, step_sizes]``, as the paper chooses it.

    It is chosen and reported on the same seeds, so its AUC is biased downwards; see `held_out`.
    """
    if np.ndim(aucs) != 2:
        raise InputError(f"aucs must be [seeds, step_sizes]; their shape is {list(np.shape(aucs))}")
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


def best_difference(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Estimate:
    """How far the best (least) AUC of x is above that of y; below zero, x is ahead.

    x and y are ``aucs[seeds, step_sizes]``. With a 95 % percentile interval of the bootstrap over
    seeds, which x and y share. Every resample chooses its step sizes anew. An interval at step
    sizes chosen once would be too narrow: near the edge of stability a single run can move the
    choice, and by far more than the AUCs scatter.
    """
    n = len(x)
    if len(y) != n:
        raise InputError(f"x and y must be of the same seeds; they have {n} and {len(y)}")
    with np.errstate(invalid="ignore"):  # ∞ − ∞, where all step sizes of both diverge: NaN
        value = np.asarray(x.mean(axis=0).min() - y.mean(axis=0).min())
        if n < 2:
            return Estimate(value, value * np.nan, value * np.nan)
        weights = rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES) / n
        differences = _least_means(weights, x) - _least_means(weights, y)
    low, high = np.quantile(differences, [0.025, 0.975], method="inverted_cdf")
    return Estimate(value, low, high)


def _least_means(weights: np.ndarray, aucs: np.ndarray) -> np.ndarray:
    """``[resamples]``: the least weighted mean over step sizes; a drawn run at +∞ makes it +∞."""
    diverged = np.isinf(aucs)
    means = weights @ np.where(diverged, 0.0, aucs)
    return np.where(weights @ diverged > 0, np.inf, means).min(axis=1)
