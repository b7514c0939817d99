"""The QV family after 10M steps: questions (a) to (c), tested as docs/study.md laid down before.

    returns = six_agents(Path("results"), "return_mean")
    returns["Asterix", "dqv_max"]         # [seeds]: of each seed's last evaluation

A game that is not in yet counts in Holm's correction as if its tests had shown nothing. Questions
that are asked once, over all games, wait for the last one.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from docs_tables.beta import difference_of_means
from docs_tables.cells import NOT_YET
from docs_tables.qv import Returns, last_returns, score_table
from qduet.core.tables import Table
from qduet.paper.claims import p_text, signed
from qduet.results import published
from qduet.results.comparison import unit
from qduet.results.published import title
from qduet.stats import (
    Estimate,
    Interval,
    bootstrap,
    holm,
    improvement,
    iqm,
    mean_interval,
    mean_of_strata,
    number,
    pooled,
    welch_interval,
    welch_test,
)

CORRECTED = "bc_qvmax_double"
"""The form of BC-QVMAX that seeds 30 to 44 chose."""
AGENTS = ("dqn", "dueling_dqn", "rdq", "dqv", "dqv_max", CORRECTED)
QUESTIONS = {
    "a1": (("dqv_max", "dqn"), ("dqv_max", "rdq")),
    "b1": ((CORRECTED, "dqv_max"),),
}
"""By test: the pairs that are compared in each game; Holm corrects each test for itself."""
PAIRS = [pair for family in QUESTIONS.values() for pair in family]


def six_agents(results: Path, column: str, index: int = -1) -> Returns:
    """The paper's agents from ``figure6`` and the family's from ``family``; see `last_returns`."""
    paper, family = (last_returns(results / part, column, index) for part in ("figure6", "family"))
    return paper | family


def family_tables(results: Path) -> dict[str, str]:
    """The tables of docs/study.md on the runs of 10M steps, by name."""
    returns = six_agents(results, "return_mean")
    excess = six_agents(results, "q_overestimation")
    return {
        "family-answers": answers(returns, excess),
        "family": score_table(AGENTS, returns).markdown(),
        "family-tests": pairs_table(returns).markdown(),
        "family-overall": overall_table(returns).markdown(),
        "family-normalised": normalised_table(returns).markdown(),
        "family-overestimation": overestimation_table(excess).markdown(),
        "family-explains": explains_table(excess, returns).markdown(),
    }


def _corrected(pairs: Sequence[tuple[str, str]], samples: Returns) -> dict[tuple, float]:
    """Holm-corrected p of Welch's test for each game and pair; 1 where a sample is missing."""
    tests = [(game, x, y) for game in published.GAMES for x, y in pairs]
    raw = [
        welch_test(samples[game, x], samples[game, y])
        if {(game, x), (game, y)} <= samples.keys()
        else 1.0
        for game, x, y in tests
    ]
    return dict(zip(tests, holm(raw), strict=True))


class Verdict(NamedTuple):
    """On one agent against another in one game."""

    difference: Interval
    """Of the mean returns, with Welch's interval."""
    p_value: float
    """After Holm's correction."""

    @property
    def word(self) -> str:
        """Where the first agent is."""
        word = "ahead" if self.difference.mean > 0 else "behind"
        return word if self.p_value < 0.05 else "undecided"


def verdicts(returns: Returns) -> dict[tuple[str, str, str], Verdict]:
    """a1 and b1: by game and pair, where both have been run."""
    return {
        (game, x, y): Verdict(welch_interval(returns[game, x], returns[game, y]), p_value)
        for family in QUESTIONS.values()
        for (game, x, y), p_value in _corrected(family, returns).items()
        if {(game, x), (game, y)} <= returns.keys()
    }


def pairs_table(returns: Returns) -> Table:
    """a1 and b1: differences of mean returns in each game, tested."""
    found = verdicts(returns)
    rows = []
    for game in published.GAMES:
        row = [title(game)]
        for pair in PAIRS:
            verdict = found.get((game, *pair))
            text = NOT_YET
            if verdict:
                p_value = p_text(verdict.p_value)
                text = f"{signed(verdict.difference)}, p = {p_value}: {verdict.word}"
            row.append(text)
        rows.append(tuple(row))
    return Table("Tests", ("game", *(f"{x} − {y}" for x, y in PAIRS)), rows)


def overall_table(returns: Returns) -> Table:
    """a2 (and, exploratory, the rest): mean normalised scores of two agents over all games."""
    rows = []
    for x, y in PAIRS:
        wanted = [(game, agent) for agent in (x, y) for game in published.GAMES]
        row = [NOT_YET, NOT_YET]
        if set(wanted) <= returns.keys():
            strata = [returns[key] / unit(key[0]) for key in wanted]
            row = [
                _bounds(bootstrap(strata, statistic, np.random.default_rng(0)), form)
                for statistic, form in ((difference_of_means, "+.3f"), (improvement, ".3f"))
            ]
        rows.append((f"{x} − {y}", *row))
    return Table("Over games", ("normalised score", "difference", "P(the first is ahead)"), rows)


def normalised_table(returns: Returns) -> Table:
    """Normalised scores over all games, of each agent that has been run in all of them."""
    rows = []
    for agent in AGENTS:
        row = [NOT_YET, NOT_YET]
        if all((game, agent) in returns for game in published.GAMES):
            strata = [returns[game, agent] / unit(game) for game in published.GAMES]
            row = [
                _bounds(bootstrap(strata, statistic, np.random.default_rng(0)), ".3f")
                for statistic in (mean_of_strata, pooled(iqm))
            ]
        rows.append((agent, *row))
    return Table("Normalised", ("agent", "mean over games", "IQM"), rows)


def answers(returns: Returns, excess: Returns) -> str:
    """(a) to (c) in a few words each, of the games that are in."""
    found = verdicts(returns)
    over = {row[0]: row[1] for row in overall_table(returns).rows}
    explained = explains_table(excess, returns)
    *by_game, (_, mean) = zip(explained.headings, explained.rows[0], strict=True)

    def told(x: str, y: str) -> str:
        words = [found[game, x, y].word for game in published.GAMES if (game, x, y) in found]
        kinds = ("ahead", "behind", "undecided")
        counts = ", ".join(f"{kind} in {words.count(kind)}" for kind in kinds)
        lead = f"Lead in mean normalised score over five games: {over[f'{x} − {y}']}."
        return f"`{x}` against `{y}`: {counts} of {len(words)} games. {lead}"

    count, least, most = _extremes(excess)
    run = ", ".join(f"{value} in {game}" for game, value in by_game if value != NOT_YET)
    return (
        f"- **(a)** {' '.join(told(*pair) for pair in QUESTIONS['a1'])}\n"
        f"- **(b)** {told(*QUESTIONS['b1'][0])}\n"
        f"- **(c)** Of {count} games, mean over-estimation is largest for {most or NOT_YET} and "
        f"smallest for {least or NOT_YET}. Its rank correlation with mean return, over the six "
        f"agents: {run or NOT_YET}; mean over five games: {mean}."
    )


def _extremes(excess: Returns) -> tuple[int, str, str]:
    """How many games have all six agents; which over-estimate least there, and which most."""
    orders = [
        sorted(AGENTS, key=lambda agent, game=game: excess[game, agent].mean())
        for game in published.GAMES
        if all((game, agent) in excess for agent in AGENTS)
    ]
    least, most = (
        ", ".join(f"`{agent}` in {n}" for agent, n in Counter(o[i] for o in orders).most_common())
        for i in (0, -1)
    )
    return len(orders), least, most


def _bounds(estimate: Estimate, form: str = "+.3f") -> str:
    value, low, high = (number(float(bound), form) for bound in estimate)
    return f"{value} [{low}, {high}]"


def overestimation_table(excess: Returns) -> Table:
    """c1: over-estimation by agent and game, and which pairs of agents it does not tell apart."""
    corrected = _corrected([*combinations(AGENTS, 2)], excess)
    rows = [[agent] for agent in AGENTS]
    last = ["pairs that do not differ"]
    for game in published.GAMES:
        there = [agent for agent in AGENTS if (game, agent) in excess]
        for row in rows:
            cell = NOT_YET
            if row[0] in there:
                interval = mean_interval(excess[game, row[0]])
                cell = f"{number(interval.mean, '+.2f')} ± {interval.half_width:.2f}"
            row.append(cell)
        alike = [f"{x}, {y}" for x, y in combinations(there, 2) if corrected[game, x, y] >= 0.05]
        whole = len(there) == len(AGENTS)
        last.append(("; ".join(alike) or "none") if whole else NOT_YET)
    headings = ("agent", *map(title, published.GAMES))
    return Table("Over-estimation", headings, [*map(tuple, rows), tuple(last)])


def explains_table(excess: Returns, returns: Returns) -> Table:
    """c2: Spearman's correlation over the six agents between over-estimation and mean return."""
    row, whole = [], True
    for game in published.GAMES:
        there = all((game, agent) in returns for agent in AGENTS)
        whole &= there
        row.append(number(_of_game(excess, returns, game), "+.2f") if there else NOT_YET)
    mean = NOT_YET
    if whole:
        keys = [(game, agent) for game in published.GAMES for agent in AGENTS]
        strata = [np.stack([excess[key], returns[key]], axis=-1) for key in keys]
        mean = _bounds(bootstrap(strata, _mean_correlation, np.random.default_rng(0)))
    return Table("Explains", (*map(title, published.GAMES), "mean"), [(*row, mean)])


def _of_game(excess: Returns, returns: Returns, game: str) -> float:
    means = [[s[game, agent].mean() for agent in AGENTS] for s in (excess, returns)]
    return float(_rank_correlation(*map(np.array, means)))


def _rank_correlation(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spearman's ρ along the last axis, for values without ties."""
    ranks = [z.argsort(axis=-1).argsort(axis=-1) for z in (x, y)]
    n = x.shape[-1]
    return 1 - 6 * ((ranks[0] - ranks[1]) ** 2).sum(axis=-1) / (n * (n**2 - 1))


def _mean_correlation(strata: Sequence[np.ndarray]) -> np.ndarray:
    """The mean over games, of strata ``[batch, seeds, 2]`` by game, then agent."""
    means = np.stack([stratum.mean(axis=1) for stratum in strata], axis=1)  # [batch, 30, 2]
    by_game = means.reshape(len(means), len(published.GAMES), len(AGENTS), 2)
    return _rank_correlation(by_game[..., 0], by_game[..., 1]).mean(axis=1)
