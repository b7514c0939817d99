"""Agents compared: what `qduet compare` and its figures show.

    collection = collect([*sources("out/breakout"), *sources("out/seaquest")])
    summary = summarise(collection)
    summary.agents[0].mean          # per game and agent
    summary.pairs[0].welch_holm     # per game and pair of agents
    summary.overall[0].iqm          # per agent, over all games

`collect` reads and checks, `by_game` and `over_games` compute. docs/comparing.md defines every
number.
"""

from typing import NamedTuple

from qduet.core.errors import unknown_name
from qduet.results.comparison.by_game import (
    AgentSummary,
    PairSummary,
    Resampling,
    agent_summaries,
    note_on_intervals,
    pair_summaries,
)
from qduet.results.comparison.collect import (
    METRICS,
    Collection,
    Curves,
    Source,
    collect,
    note_on_steps,
    sources,
)
from qduet.results.comparison.over_games import (
    Line,
    Overall,
    OverallPair,
    normalised,
    overall,
    overall_pairs,
    profile,
    sample_efficiency,
    unit,
)

__all__ = [
    "METRICS",
    "AgentSummary",
    "Collection",
    "Curves",
    "Line",
    "Overall",
    "OverallPair",
    "PairSummary",
    "Resampling",
    "Source",
    "Summary",
    "collect",
    "normalised",
    "note_on_intervals",
    "note_on_steps",
    "sources",
    "summarise",
    "unit",
]


class Summary(NamedTuple):
    """All numbers of a comparison."""

    agents: tuple[AgentSummary, ...]
    pairs: tuple[PairSummary, ...]
    overall: tuple[Overall, ...]
    overall_pairs: tuple[OverallPair, ...]
    profile: tuple[Line, ...]
    """Fraction of runs with a normalised score above x."""
    sample_efficiency: tuple[Line, ...]
    """IQM of the normalised scores at step x."""


def summarise(
    collection: Collection,
    resampling: Resampling = Resampling(),  # noqa: B008 (it cannot change)
    *,
    baseline: str | None = None,
) -> Summary:
    """The numbers; every pair of agents is compared, or each of them with `baseline`."""
    if baseline is not None and baseline not in collection.agents:
        raise unknown_name("agent", baseline, collection.agents)
    scores = normalised(collection)
    return Summary(
        agents=agent_summaries(collection, resampling),
        pairs=pair_summaries(collection, resampling, baseline),
        overall=overall(collection, scores, resampling),
        overall_pairs=overall_pairs(collection, resampling, baseline),
        profile=profile(scores, resampling),
        sample_efficiency=sample_efficiency(collection, scores, resampling),
    )
