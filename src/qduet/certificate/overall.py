"""All games together: our runs, and the published ones of the same games, side by side.

    ours, theirs = collections(admit([Path("results/figure6")]))
    aggregates(theirs).iqm                       # against steps, one line per agent

The numbers are those of `comparison`; the paper has none over games.
"""

from collections.abc import Sequence
from typing import NamedTuple

from qduet import published, stats
from qduet.comparison import (
    Collection,
    Curves,
    Line,
    OverallPair,
    Resampling,
    Source,
    collect,
    normalised,
)
from qduet.comparison.over_games import overall_pairs, profile, sample_efficiency
from qduet.runs import Runs


def collections(runs: Sequence[Runs]) -> tuple[Collection | None, Collection]:
    """Our runs, and the published ones of the same games up to the same step.

    Without runs of ours: None, and all that was published.
    """
    ours = collect([Source(game) for game in runs]) if runs else None
    games = ours.games if ours else published.GAMES
    agents = ours.everywhere if ours else published.AGENTS
    curves = {}
    for game in games:
        for agent in agents:
            scores = published.scores(game, agent)
            shown = scores.steps <= (ours.at if ours else published.STEPS)
            curves[game, agent] = Curves(scores.seeds, scores.values[:, shown])
    return ours, Collection("return_mean", scores.steps[shown], curves)


class Aggregates(NamedTuple):
    """What is drawn of one collection, over its games."""

    iqm: tuple[Line, ...]
    profile: tuple[Line, ...]
    improvement: list[OverallPair]
    """Of the agent that stands later in the order DQN, Dueling DQN, RDQ over the other."""


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
    turned = []
    for x, y, (value, low, high) in pairs:
        pair = OverallPair(x, y, stats.Estimate(value, low, high))
        if order(x) < order(y):
            pair = OverallPair(y, x, stats.Estimate(1 - value, 1 - high, 1 - low))
        turned.append(pair)
    return sorted(turned, key=lambda pair: (order(pair.x), order(pair.y)))
