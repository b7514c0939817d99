"""The QV family: questions (a) to (c) of docs/study.md and its screening, as far as they are run.

scores = last_returns(Path("results/choice"))
scores["Breakout", "bc_qvmax"]        # [seeds]: mean return of each seed's last evaluation
"""

from pathlib import Path

import numpy as np

from docs_tables.cells import NOT_YET
from qduet.core.tables import Table
from qduet.results import published
from qduet.results.comparison import unit
from qduet.results.published import title
from qduet.results.runs import find, load
from qduet.stats import mean_interval

VARIANTS = ("bc_qvmax", "bc_qvmax_target", "bc_qvmax_double")
SCREENED = (
    *("double_dqn", "dueling_dqn-double", "rdq-double", "dqv_max-double"),
    *("dqv_max-sum", "dqv_max-sum-penalty", "dqv_max-penalty", "dqv_max-separate"),
    *("rdq-three-steps", "dqv_max-three-steps"),
)
REFERENCES = {"rdq": "validation", "dqv_max": "qv"}
"""Agents that the screened ones stand beside: same protocol, seeds and steps."""

Returns = dict[tuple[str, str], np.ndarray]
"""By game and agent, the last mean return of each seed in ascending order."""


def last_returns(directory: Path, column: str = "return_mean", index: int = -1) -> Returns:
    """The runs of all directories in `directory`, which may be absent.

    Or another column, or another evaluation: that of `index`, such as 1 for the one after 1M steps.
    """
    there = find([directory]) if directory.is_dir() else []
    return {
        (runs.game, agent): runs.scores(agent, column).values[:, index]
        for runs in map(load, there)
        for agent in runs.agents
    }


def qv_tables(results: Path) -> dict[str, str]:
    """The tables of docs/study.md on the QV family, by name."""
    screened = last_returns(results / "screening")
    for agent, where in REFERENCES.items():
        found = last_returns(results / where)
        screened |= {key: values for key, values in found.items() if key[1] == agent}
    return {
        "bc-choice": score_table(VARIANTS, last_returns(results / "choice")).markdown(),
        "screening": score_table((*REFERENCES, *SCREENED), screened).markdown(),
    }


def score_table(agents: tuple[str, ...], returns: Returns) -> Table:
    """Mean returns by game, and the mean normalised score where all games are in."""
    rows = []
    for agent in agents:
        row, scores = [agent], []
        for game in published.GAMES:
            if (game, agent) not in returns:
                row.append(NOT_YET)
                continue
            values = returns[game, agent]
            interval = mean_interval(values)
            row.append(f"{interval.mean:.2f} ± {interval.half_width:.2f}")
            scores.append(values.mean() / unit(game))
        whole = len(scores) == len(published.GAMES)
        rows.append((*row, f"{np.mean(scores):.3f}" if whole else NOT_YET))
    return Table("Scores", ("agent", *map(title, published.GAMES), "normalised"), rows)
