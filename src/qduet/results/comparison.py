"""Agents compared: the numbers that ``qduet compare`` prints and draws.

    summary = compare("out/breakout", "out/seaquest")
    summary.agents[0].mean          # per game and agent
    summary.pairs[0].welch_holm     # per game and pair of agents
    summary.overall[0].iqm          # per agent, over all games

`collect` reads and checks the runs, `by_game` computes each game's numbers, and this module those
of all games together, after Agarwal et al. (2021). docs/comparing.md defines every number.

    normalised score = return / published mean return of DQN on that game after 10M steps

0 is no reward at all (no MinAtar reward is negative) and 1 is the published DQN. Both were fixed
before any run was made and are the same in every comparison: a score does not depend on the other
agents, and its interval need not account for an estimated unit. P(X > Y) needs no unit.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from qduet import stats
from qduet.core.errors import InputError, unknown_name
from qduet.results import by_game, published
from qduet.results.collect import Collection, collect, sources
from qduet.stats import Estimate

THRESHOLDS = 101
"""Points of a performance profile."""


class Overall(NamedTuple):
    """One agent over all games, in normalised scores."""

    agent: str
    iqm: Estimate
    """Of all runs of all games."""
    mean: Estimate
    """Mean over games of the mean over seeds."""
    auc: Estimate
    """IQM of the mean over training."""


class OverallPair(NamedTuple):
    """P(X > Y), averaged over games."""

    x: str
    y: str
    improvement: Estimate
    """The probability, with a bootstrap interval."""


class Line(NamedTuple):
    """One agent's curve over all games, with its band."""

    agent: str
    x: np.ndarray
    """Scores or steps, ``[points]``."""
    y: Estimate
    """Value and bounds, ``[points]`` each."""


Normalised = dict[str, list[np.ndarray]]
"""For each agent that plays every game: its normalised curves ``[seeds, points]`` by game."""


def unit(game: str) -> float:
    """The return whose normalised score is 1."""
    return float(published.scores(game, "dqn").values[:, -1].mean())


def normalised(collection: Collection) -> Normalised:
    """Normalised scores; none if the metric is not the mean return, or a game has no unit."""
    if collection.metric != "return_mean" or not collection.normalisable:
        return {}
    units = {game: unit(game) for game in collection.games}
    return {
        agent: [collection.curves[game, agent].values / units[game] for game in collection.games]
        for agent in collection.everywhere
    }


def overall(
    collection: Collection, scores: Normalised, resampling: by_game.Resampling
) -> tuple[Overall, ...]:
    """One summary for each agent that plays every game."""
    pooled_iqm = stats.pooled(stats.iqm)
    summaries = []
    for agent, curves in scores.items():
        last = [game[:, -1] for game in curves]
        areas = [by_game.area(collection.steps, game) for game in curves]
        summaries.append(
            Overall(
                agent,
                iqm=resampling.estimate(last, pooled_iqm),
                mean=resampling.estimate(last, stats.mean_of_strata),
                auc=resampling.estimate(areas, pooled_iqm),
            )
        )
    return tuple(summaries)


def overall_pairs(
    collection: Collection, resampling: by_game.Resampling, baseline: str | None
) -> tuple[OverallPair, ...]:
    """P(X > Y) for each pair of agents that play every game."""
    last = lambda agent: [collection.curves[game, agent].last for game in collection.games]
    return tuple(
        OverallPair(x, y, resampling.estimate([*last(x), *last(y)], stats.improvement))
        for x, y in by_game.pairs_of(collection.everywhere, baseline)
    )


def profile(scores: Normalised, resampling: by_game.Resampling) -> tuple[Line, ...]:
    """Fraction of runs with a normalised score above τ, for τ from 0 to the best run's score."""
    last = {agent: [game[:, -1] for game in curves] for agent, curves in scores.items()}
    best = max((float(game.max()) for games in last.values() for game in games), default=0.0)
    thresholds = np.linspace(0.0, best if best > 0 else 1.0, THRESHOLDS)
    statistic = stats.profile(thresholds)
    return tuple(
        Line(agent, thresholds, resampling.estimate(games, statistic))
        for agent, games in last.items()
    )


def sample_efficiency(
    collection: Collection, scores: Normalised, resampling: by_game.Resampling
) -> tuple[Line, ...]:
    """IQM of the normalised scores of all runs of all games, at each step."""
    return tuple(
        Line(agent, collection.steps, resampling.estimate(games, stats.pooled(stats.iqm)))
        for agent, games in scores.items()
    )


class Summary(NamedTuple):
    """All numbers of a comparison; normalised scores only if every game has published scores."""

    collection: Collection
    """The runs that are compared."""
    notes: tuple[str, ...]
    """What a reader must know of the runs and of the intervals."""
    agents: tuple[by_game.AgentSummary, ...]
    """One for each game and agent."""
    pairs: tuple[by_game.PairSummary, ...]
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
    resampling: by_game.Resampling = by_game.Resampling(),  # noqa: B008 (it cannot change)
) -> Summary:
    """The comparison of all agents in `directories` of training runs, as ``qduet compare`` does it.

    A directory is ``DIR``, or ``NAME=DIR`` to mark its agents as ``rdq@NAME``. Agents are compared
    by `metric` (one of `METRICS`) at step `at`, by default the last one that all runs have: in all
    pairs, or each with `baseline`.
    """
    if not directories:
        raise InputError("compare needs one or more directories of training runs; none was given")
    given = [source for directory in directories for source in sources(str(directory))]
    return summarise(collect(given, metric=metric, at=at), resampling, baseline=baseline)


def summarise(
    collection: Collection,
    resampling: by_game.Resampling = by_game.Resampling(),  # noqa: B008 (it cannot change)
    *,
    baseline: str | None = None,
) -> Summary:
    """The numbers of a collection; see `compare`."""
    if baseline is not None and baseline not in collection.agents:
        raise unknown_name("agent", baseline, collection.agents)
    scores = normalised(collection)
    return Summary(
        collection=collection,
        notes=collection.notes + by_game.note_on_intervals(collection),
        agents=by_game.agent_summaries(collection, resampling),
        pairs=by_game.pair_summaries(collection, resampling, baseline),
        overall=overall(collection, scores, resampling),
        overall_pairs=overall_pairs(collection, resampling, baseline),
        profile=profile(scores, resampling),
        sample_efficiency=sample_efficiency(collection, scores, resampling),
    )
