"""RDQ's β: question (d) of docs/study.md, tested as that page laid down before the runs.

    returns = beta_returns(Path("results/beta"))
    returns["Breakout"][1e-3]         # [seeds]: mean return of each seed's last evaluation

A game that is not in yet counts in Holm's correction as if its tests had shown nothing.
"""

from pathlib import Path

import numpy as np

from docs_tables.cells import NOT_YET
from qduet.core.tables import Table
from qduet.paper.claims import signed
from qduet.results import published
from qduet.results.comparison import unit
from qduet.results.published import title
from qduet.results.runs import Runs, find, load
from qduet.stats import (
    Estimate,
    Interval,
    bootstrap,
    equivalence,
    holm,
    mean_interval,
    mean_of_strata,
    number,
    welch_interval,
    welch_test,
)

PAPERS = 1e-3
"""The paper's β."""
BETAS = (0.0, 1e-5, 1e-4, 3e-4, PAPERS, 3e-3, 1e-2, 1e-1)
OTHERS = tuple(beta for beta in BETAS if beta != PAPERS)
MARGIN = 0.1
"""Two means count as equal if they differ by less than this share of the mean at the paper's β."""

Returns = dict[str, dict[float, np.ndarray]]
"""By game and β, the last mean return of each seed in ascending order."""


def beta_returns(directory: Path) -> Returns:
    """The runs of ``results/beta``, in the order of the published games."""
    by_game = _by_game(directory)
    return {
        game: {
            agent["beta"]: by_game[game].scores(agent["label"]).values[:, -1]
            for agent in by_game[game].config["agents"]
        }
        for game in published.GAMES
        if game in by_game
    }


def _by_game(directory: Path) -> dict[str, Runs]:
    """The runs in a directory, which may be absent."""
    there = [directory] if directory.is_dir() else []
    return {runs.game: runs for runs in map(load, find(there))}


def beta_tables(results: Path) -> dict[str, str]:
    """The tables of docs/study.md on β, by name."""
    returns = beta_returns(results / "beta")
    references = _by_game(results / "validation")
    at_last = {
        agent: {game: runs.scores(agent).values[:, -1] for game, runs in references.items()}
        for agent in ("dueling_dqn", "rdq")
    }
    zero = {game: by_beta[0.0] for game, by_beta in returns.items()}
    papers = {game: by_beta[PAPERS] for game, by_beta in returns.items()}
    return {
        "beta": sensitivity_table(returns).markdown(),
        "beta-choice": choice_table(returns).markdown(),
        "beta-zero": against_table("Dueling DQN", zero, at_last["dueling_dqn"]).markdown(),
        "beta-check": against_table("validation", papers, at_last["rdq"]).markdown(),
    }


def sensitivity_table(returns: Returns) -> Table:
    """d1 and d2: the mean return for each β and game, and whether it differs from 10⁻³."""
    tests = [(game, beta) for game in published.GAMES for beta in OTHERS]
    raw = [
        welch_test(returns[game][beta], returns[game][PAPERS]) if game in returns else 1.0
        for game, beta in tests
    ]
    corrected = dict(zip(tests, holm(raw), strict=True))
    rows = []
    for beta in BETAS:
        row = [f"{beta:g}"]
        for game in published.GAMES:
            if game not in returns:
                row.append(NOT_YET)
                continue
            mine, papers = returns[game][beta], returns[game][PAPERS]
            mark = _mark(mine, papers, corrected[game, beta]) if beta != PAPERS else ""
            row.append(f"{_half_width(mean_interval(mine))}{mark}")
        rows.append(tuple(row))
    return Table("β", ("β", *map(title, published.GAMES)), rows)


def _mark(mine: np.ndarray, papers: np.ndarray, p_value: float) -> str:
    """Whether `mine` differs from the sample at the paper's β, or is as good."""
    if p_value < 0.05:
        return " higher" if mine.mean() > papers.mean() else " lower"
    return " equal" if equivalence(mine, papers, MARGIN * papers.mean()).equivalent else ""


def _half_width(interval: Interval) -> str:
    return f"{interval.mean:.2f} ± {interval.half_width:.2f}"


def choice_table(returns: Returns) -> Table:
    """d3: the β that the even seeds choose, and its lead over 10⁻³ on the odd seeds.

    It is asked once, when all games are in.
    """
    headings = ("best β on even seeds", "its score", "score at 0.001", "lead on odd seeds")
    if set(returns) != set(published.GAMES):
        return Table("Choice of β", headings, [(NOT_YET, "–", "–", "–")])
    scores = {beta: [returns[game][beta] / unit(game) for game in returns] for beta in BETAS}
    on_even = {beta: float(np.mean([s[0::2].mean() for s in scores[beta]])) for beta in BETAS}
    chosen = max(on_even, key=lambda beta: on_even[beta])
    odd = [s[1::2] for s in (*scores[chosen], *scores[PAPERS])]
    lead = bootstrap(odd, difference_of_means, np.random.default_rng(0))
    row = (f"{chosen:g}", f"{on_even[chosen]:.3f}", f"{on_even[PAPERS]:.3f}", _bounds(lead))
    return Table("Choice of β", headings, [row])


def difference_of_means(strata: list[np.ndarray]) -> np.ndarray:
    """Mean over games of the first half of the strata less that of the second half."""
    half = len(strata) // 2
    return mean_of_strata(strata[:half]) - mean_of_strata(strata[half:])


def _bounds(estimate: Estimate) -> str:
    value, low, high = (number(float(bound), "+.3f") for bound in estimate)
    return f"{value} [{low}, {high}]"


def against_table(name: str, mine: dict[str, np.ndarray], others: dict[str, np.ndarray]) -> Table:
    """d4 and the check: two samples of each game, with Welch's test after Holm."""
    raw = [
        welch_test(mine[game], others[game]) if game in mine else 1.0 for game in published.GAMES
    ]
    rows = []
    for game, p_value in zip(published.GAMES, holm(raw), strict=True):
        if game not in mine:
            rows.append((title(game), NOT_YET, "–", "–", "–"))
            continue
        rows.append(
            (
                title(game),
                _half_width(mean_interval(mine[game])),
                _half_width(mean_interval(others[game])),
                signed(welch_interval(mine[game], others[game])),
                "< 0.001" if p_value < 0.001 else f"{p_value:.3f}",
            )
        )
    return Table(name, ("game", "RDQ", name, "difference", "p (Holm)"), rows)
