"""Agents compared: the numbers that ``qduet compare`` prints and draws.

    summary = compare("out/breakout", "out/seaquest")
    summary.agents[0].mean          # per game and agent
    summary.pairs[0].welch_holm     # per game and pair of agents
    summary.overall[0].iqm          # per agent, over all games

`collect` reads and checks the runs, `by_game` and `over_games` compute. docs/comparing.md defines
every number.
"""

from pathlib import Path
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
    "compare",
    "normalised",
    "note_on_steps",
    "sources",
    "summarise",
    "unit",
]


class Summary(NamedTuple):
    """All numbers of a comparison; normalised scores only where every game has published ones."""

    collection: Collection
    """The runs that are compared."""
    notes: tuple[str, ...]
    """What a reader must know of the runs and of the intervals."""
    agents: tuple[AgentSummary, ...]
    """One for each game and agent."""
    pairs: tuple[PairSummary, ...]
    """One for each game and pair of agents."""
    overall: tuple[Overall, ...]
    """One for each agent that plays every game."""
    overall_pairs: tuple[OverallPair, ...]
    """One for each pair of agents that play every game."""
    profile: tuple[Line, ...]
    """Fraction of runs with a normalised score above x."""
    sample_efficiency: tuple[Line, ...]
    """IQM of the normalised scores at step x."""


def compare(
    *directories: str | Path,
    metric: str = "return_mean",
    at: int | None = None,
    baseline: str | None = None,
    resampling: Resampling = Resampling(),  # noqa: B008 (it cannot change)
) -> Summary:
    """The comparison of all agents in `directories` of training runs, as ``qduet compare`` does it.

    A directory is ``DIR``, or ``NAME=DIR`` to mark its agents as ``rdq@NAME``. The `metric` (one of
    `METRICS`) is compared `at` a step, by default the last one that all runs have: every pair of
    agents, or each agent with `baseline`.
    """
    given = [source for directory in directories for source in sources(str(directory))]
    return summarise(collect(given, metric=metric, at=at), resampling, baseline=baseline)


def summarise(
    collection: Collection,
    resampling: Resampling = Resampling(),  # noqa: B008 (it cannot change)
    *,
    baseline: str | None = None,
) -> Summary:
    """The numbers of a collection; see `compare`."""
    if baseline is not None and baseline not in collection.agents:
        raise unknown_name("agent", baseline, collection.agents)
    scores = normalised(collection)
    return Summary(
        collection=collection,
        notes=collection.notes + note_on_intervals(collection),
        agents=agent_summaries(collection, resampling),
        pairs=pair_summaries(collection, resampling, baseline),
        overall=overall(collection, scores, resampling),
        overall_pairs=overall_pairs(collection, resampling, baseline),
        profile=profile(scores, resampling),
        sample_efficiency=sample_efficiency(collection, scores, resampling),
    )
