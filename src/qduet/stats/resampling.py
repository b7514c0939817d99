"""Aggregates over runs of several games, with stratified-bootstrap intervals.

The measures are those of Agarwal et al. (2021), "Deep Reinforcement Learning at the Edge of the
Statistical Precipice"; their software is rliable. A *stratum* is one game's runs: ``[seeds]``, or
``[seeds, points]`` for curves. The bootstrap resamples seeds within each game and never games, so
an interval is about other seeds of the same games.

    rng = np.random.default_rng(0)
    bootstrap([breakout, seaquest], pooled(iqm), rng)           # IQM of all runs, 95 % interval
    bootstrap([x_breakout, y_breakout], improvement, rng)       # P(X > Y)
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from qduet.core.errors import InputError

RESAMPLES = 2_000
"""Resamples of a bootstrap, unless the caller asks for another number."""

Statistic = Callable[[Sequence[np.ndarray]], np.ndarray]
"""From strata ``[batch, seeds, ...]`` to estimates ``[batch, ...]``."""


class Estimate(NamedTuple):
    """A statistic with its interval. Each field is a float or ``[points]``."""

    value: np.ndarray
    """The statistic of the runs themselves."""
    low: np.ndarray
    """The lower bound; NaN if a game has a single run."""
    high: np.ndarray
    """The upper bound, likewise."""

    def __str__(self) -> str:
        value, low, high = (f"{x:.2f}" if np.ndim(x) == 0 else str(x) for x in self)
        return f"{value} [{low}, {high}]".replace("-", "−")


def bootstrap(
    strata: Sequence[ArrayLike],
    statistic: Statistic,
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Estimate:
    """`statistic` of the strata ``[seeds, ...]`` with its percentile interval.

    Every resample draws, in each stratum, as many seeds as it has, with replacement. A stratum of a
    single seed says nothing of the spread, so the bounds are then NaN.
    """
    samples = [np.asarray(stratum) for stratum in strata]
    if not samples or not all(stratum.ndim for stratum in samples):
        raise InputError("strata must be a list of arrays, one [seeds, …] for each game")
    value = statistic([stratum[None] for stratum in samples])[0]
    if min(len(stratum) for stratum in samples) < 2:
        unknown = value * np.nan
        return Estimate(value, unknown, unknown)
    drawn = [rng.integers(len(s), size=(resamples, len(s))) for s in samples]
    # In batches, so that memory stays small for curves of many points.
    batches = np.array_split(np.arange(resamples), max(1, resamples // 100))
    estimates = np.concatenate(
        [statistic([s[d[b]] for s, d in zip(samples, drawn, strict=True)]) for b in batches]
    )
    low, high = np.quantile(estimates, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Estimate(value, low, high)


def pooled(statistic: Callable[..., np.ndarray]) -> Statistic:
    """A statistic (with an ``axis``) of the runs of all strata together."""
    return lambda strata: statistic(np.concatenate(strata, axis=1), axis=1)


def mean_of_strata(strata: Sequence[np.ndarray]) -> np.ndarray:
    """The mean over strata of their means: every game counts the same."""
    return np.mean([stratum.mean(axis=1) for stratum in strata], axis=0)


def iqm(samples: np.ndarray, axis: int = 0) -> np.ndarray:
    """Interquartile mean: the mean without the ⌊n/4⌋ least and the ⌊n/4⌋ greatest samples."""
    cut = samples.shape[axis] // 4
    kept = np.arange(cut, samples.shape[axis] - cut)
    return np.sort(samples, axis=axis).take(kept, axis).mean(axis)


def improvement(strata: Sequence[np.ndarray]) -> np.ndarray:
    """P(X > Y), averaged over games: the chance that a run of X beats a run of Y.

    The strata are X's games, then Y's in the same order. In a game with runs x ``[n]``, y ``[m]``

        P(X > Y) = (1 / n m) Σ_i Σ_j 1{x_i > y_j} + ½ 1{x_i = y_j}

    which is Mann and Whitney's U / n m.
    """
    half = len(strata) // 2
    games = []
    for x, y in zip(strata[:half], strata[half:], strict=True):
        signs = np.sign(x[:, :, None] - y[:, None, :])
        games.append(0.5 + 0.5 * signs.mean(axis=(1, 2)))
    return np.mean(games, axis=0)


def profile(thresholds: np.ndarray) -> Statistic:
    """The fraction of all runs with a score above each of `thresholds` ``[points]``."""

    def statistic(strata: Sequence[np.ndarray]) -> np.ndarray:
        scores = np.sort(np.concatenate(strata, axis=1), axis=1)
        n = scores.shape[1]
        below = [np.searchsorted(row, thresholds, side="right") for row in scores]
        return 1.0 - np.array(below) / n

    return statistic
