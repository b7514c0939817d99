"""All games together: our runs and the published ones, side by side, for Figure 6's summary.

    ours, theirs = collections(admit([Path("results/figure6")]))
    aggregates(theirs).iqm                       # against steps, one line per agent

The numbers are those of `results.comparison`; the paper has none over games.
"""

from collections.abc import Sequence
from typing import NamedTuple

from qduet import stats
from qduet.results import published
from qduet.results.by_game import Resampling
from qduet.results.collect import Collection, Source, collect
from qduet.results.comparison import (
    Line,
    OverallPair,
    normalised,
    overall_pairs,
    profile,
    sample_efficiency,
)
from qduet.results.runs import Runs


def collections(runs: Sequence[Runs]) -> tuple[Collection | None, Collection]:
    """Our runs, and the published ones of the same games, up to the last step that both have.

    (None, all published runs) if we have no runs, or no agent that plays all our games.
    """
    ours = _ours(runs) if runs else None
    ours = ours if ours and ours.everywhere else None
    games, agents = (ours.games, ours.everywhere) if ours else (published.GAMES, published.AGENTS)
    curves = {(game, agent): published.scores(game, agent) for game in games for agent in agents}
    last = ours.at if ours else published.STEPS
    curves = {key: scores.where(scores.steps <= last) for key, scores in curves.items()}
    return ours, Collection("return_mean", curves)


def _ours(runs: Sequence[Runs]) -> Collection:
    """All runs, up to the last published step that each of them has reached."""
    every = published.EVALUATE_EVERY
    at = min(game.config["steps"] for game in runs) // every * every
    return collect([Source(game) for game in runs], at=at)


class Aggregates(NamedTuple):
    """The numbers over all games of one collection."""

    iqm: tuple[Line, ...]
    """IQM of the normalised scores against steps, one line per agent."""
    profile: tuple[Line, ...]
    """Fraction of runs above a normalised score, one line per agent."""
    improvement: list[OverallPair]
    """P(x > y), where x comes after y in the order DQN, Dueling DQN, RDQ."""


def aggregates(collection: Collection) -> Aggregates:
    """The numbers of the summary figure."""
    resampling, scores = Resampling(), normalised(collection)
    return Aggregates(
        iqm=sample_efficiency(collection, scores, resampling),
        profile=profile(scores, resampling),
        improvement=_later_first(overall_pairs(collection, resampling, None)),
    )


def _later_first(pairs: Sequence[OverallPair]) -> list[OverallPair]:
    order = published.AGENTS.index
    reordered = []
    for x, y, (value, low, high) in pairs:
        pair = OverallPair(x, y, stats.Estimate(value, low, high))
        if order(x) < order(y):
            pair = OverallPair(y, x, stats.Estimate(1 - value, 1 - high, 1 - low))
        reordered.append(pair)
    return sorted(reordered, key=lambda pair: (order(pair.x), order(pair.y)))
