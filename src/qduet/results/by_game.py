"""The numbers of each game, in units of the metric; docs/comparing.md defines them."""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from qduet import stats
from qduet.results.collect import Collection
from qduet.stats import Estimate, Interval
from qduet.stats.resampling import Statistic


class Resampling(NamedTuple):
    """Settings of bootstraps and permutation tests.

    Each starts from a generator of its own with this seed, so that a number does not depend on
    what else is compared.
    """

    seed: int = 0
    """Of the generator."""
    resamples: int = stats.RESAMPLES
    """Of each bootstrap."""

    def rng(self) -> np.random.Generator:
        """A new generator."""
        return np.random.default_rng(self.seed)

    def estimate(self, strata: Sequence[np.ndarray], statistic: Statistic) -> Estimate:
        """`stats.bootstrap` with these settings."""
        return stats.bootstrap(strata, statistic, self.rng(), resamples=self.resamples)


FEW_SEEDS = 10
"""With so many seeds, bootstrap intervals hold in some 90 % of cases (docs/comparing.md)."""


def note_on_intervals(collection: Collection) -> tuple[str, ...]:
    """A note that bootstrap intervals are too short, if there are 2 to 9 seeds of an agent."""
    counts = [len(curves.seeds) for curves in collection.curves.values()]
    if all(count == 1 or count >= FEW_SEEDS for count in counts):
        return ()
    return (
        f"Fewer than {FEW_SEEDS} seeds: bootstrap intervals, in brackets, are too short. In one "
        "game, the true IQM is in 50 % of those of 2 seeds, 75 % of 3, 90 % of 5.",
    )


class AgentSummary(NamedTuple):
    """One agent on one game."""

    game: str
    agent: str
    seeds: int
    """How many."""
    mean: Interval
    """Over seeds, with Student's interval."""
    median: float
    """Over seeds."""
    iqm: Estimate
    """Interquartile mean over seeds, with a bootstrap interval."""
    auc: Interval
    """Mean over training: the area under the learning curve, over its length."""


class PairSummary(NamedTuple):
    """Agent x against agent y on one game."""

    game: str
    x: str
    y: str
    difference: Interval
    """mean(x) − mean(y), with Welch's interval."""
    improvement: Estimate
    """P(X > Y)."""
    welch_p: float
    """p-value of Welch's test of equal means."""
    welch_holm: float
    """`welch_p`, Holm-corrected for all comparisons that are made."""
    paired_p: float
    """p-value of the permutation test over the seeds that both have."""
    paired_holm: float
    """`paired_p`, Holm-corrected."""
    correlation: float
    """Between x and y over those seeds; the higher it is, the more pairing gains."""


def agent_summaries(collection: Collection, resampling: Resampling) -> tuple[AgentSummary, ...]:
    """One summary for each game and agent."""
    return tuple(
        _agent(collection, resampling, game, agent)
        for game in collection.games
        for agent in collection.agents_of(game)
    )


def _agent(collection: Collection, resampling: Resampling, game: str, agent: str) -> AgentSummary:
    curves = collection.curves[game, agent]
    return AgentSummary(
        game=game,
        agent=agent,
        seeds=len(curves.seeds),
        mean=stats.mean_interval(curves.last),
        median=float(np.median(curves.last)),
        iqm=resampling.estimate([curves.last], stats.pooled(stats.iqm)),
        auc=stats.mean_interval(area(collection.steps, curves.values)),
    )


def area(steps: np.ndarray, curves: np.ndarray) -> np.ndarray:
    """Mean over training of curves ``[seeds, points]``, by trapezoids: ``[seeds]``.

    NaN if there is but one point.
    """
    if len(steps) < 2:
        return np.full(len(curves), np.nan)
    return np.trapezoid(curves, steps, axis=1) / (steps[-1] - steps[0])


def pairs_of(agents: Sequence[str], baseline: str | None) -> Iterator[tuple[str, str]]:
    """Every pair of `agents`, or each of the others with `baseline`."""
    if baseline is None:
        return itertools.combinations(agents, 2)
    others = [agent for agent in agents if agent != baseline] if baseline in agents else []
    return iter([(agent, baseline) for agent in others])


def pair_summaries(
    collection: Collection, resampling: Resampling, baseline: str | None
) -> tuple[PairSummary, ...]:
    """One summary for each game and pair, p-values corrected for all of them."""
    pairs = [
        _pair(collection, resampling, game, x, y)
        for game in collection.games
        for x, y in pairs_of(collection.agents_of(game), baseline)
    ]
    welch = stats.holm([pair.welch_p for pair in pairs])
    paired = stats.holm([pair.paired_p for pair in pairs])
    return tuple(
        pair._replace(welch_holm=float(a), paired_holm=float(b))
        for pair, a, b in zip(pairs, welch, paired, strict=True)
    )


def _pair(collection: Collection, resampling: Resampling, game: str, x: str, y: str) -> PairSummary:
    a, b = collection.curves[game, x], collection.curves[game, y]
    _, in_a, in_b = np.intersect1d(a.seeds, b.seeds, return_indices=True)
    paired_a, paired_b = a.last[in_a], b.last[in_b]
    return PairSummary(
        game=game,
        x=x,
        y=y,
        difference=stats.welch_interval(a.last, b.last),
        improvement=resampling.estimate([a.last, b.last], stats.improvement),
        welch_p=stats.welch_test(a.last, b.last),
        welch_holm=np.nan,
        paired_p=stats.paired_permutation_test(paired_a, paired_b, resampling.rng()),
        paired_holm=np.nan,
        correlation=_correlation(paired_a, paired_b),
    )


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])
