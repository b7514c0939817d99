"""The QV family after 10M steps: questions (a) to (c), tested as docs/study.md laid down before.

    returns = six_agents(Path("results"), "return_mean")
    returns["Asterix", "dqv_max"]         # [seeds]: of each seed's last evaluation

A game that is not in yet counts in Holm's correction as if its tests had shown nothing. Questions
that are asked once, over all games, wait for the last one.
"""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from docs_tables.beta import difference_of_means
from docs_tables.cells import NOT_YET
from docs_tables.qv import Returns, last_returns, score_table
from qduet.core.tables import Table
from qduet.paper.claims import p_text, signed
from qduet.results import published
from qduet.results.comparison import unit
from qduet.results.published import title
from qduet.stats import Estimate, bootstrap, holm, mean_interval, number, welch_interval, welch_test

CORRECTED = "bc_qvmax_double"
"""The form of BC-QVMAX that seeds 30 to 44 chose."""
AGENTS = ("dqn", "dueling_dqn", "rdq", "dqv", "dqv_max", CORRECTED)
QUESTIONS = {
    "a1": (("dqv_max", "dqn"), ("dqv_max", "rdq")),
    "b1": ((CORRECTED, "dqv_max"),),
}
"""By test: the pairs that are compared in each game; Holm corrects each test for itself."""


def six_agents(results: Path, column: str) -> Returns:
    """The paper's agents from ``figure6`` and the family's from ``family``."""
    return last_returns(results / "figure6", column) | last_returns(results / "family", column)


def family_tables(results: Path) -> dict[str, str]:
    """The tables of docs/study.md on the runs of 10M steps, by name."""
    returns = six_agents(results, "return_mean")
    excess = six_agents(results, "q_overestimation")
    return {
        "family": score_table(AGENTS, returns).markdown(),
        "family-tests": pairs_table(returns).markdown(),
        "family-overall": overall_table(returns).markdown(),
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


def pairs_table(returns: Returns) -> Table:
    """a1 and b1: differences of mean returns in each game, tested."""
    pairs = [
        (x, y, _corrected(family, returns)) for family in QUESTIONS.values() for x, y in family
    ]
    rows = []
    for game in published.GAMES:
        row = [title(game)]
        for x, y, corrected in pairs:
            if not {(game, x), (game, y)} <= returns.keys():
                row.append(NOT_YET)
                continue
            interval = welch_interval(returns[game, x], returns[game, y])
            p_value = corrected[game, x, y]
            word = "ahead" if interval.mean > 0 else "behind"
            verdict = word if p_value < 0.05 else "undecided"
            row.append(f"{signed(interval)}, p = {p_text(p_value)}: {verdict}")
        rows.append(tuple(row))
    return Table("Tests", ("game", *(f"{x} − {y}" for x, y, _ in pairs)), rows)


def overall_table(returns: Returns) -> Table:
    """a2 (and, exploratory, the rest): differences of mean normalised scores over all games."""
    rows = []
    for x, y in [pair for family in QUESTIONS.values() for pair in family]:
        wanted = [(game, agent) for agent in (x, y) for game in published.GAMES]
        text = NOT_YET
        if set(wanted) <= returns.keys():
            strata = [returns[key] / unit(key[0]) for key in wanted]
            text = _bounds(bootstrap(strata, difference_of_means, np.random.default_rng(0)))
        rows.append((f"{x} − {y}", text))
    return Table("Over games", ("normalised score", "difference"), rows)


def _bounds(estimate: Estimate) -> str:
    value, low, high = (number(float(bound), "+.3f") for bound in estimate)
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
