"""Predicted values, ours and published: the mean Q of the actions taken in an evaluation.

For Dueling DQN there is a second comparison, of V + A: what its Q is *before* the mean advantage is
subtracted. The published numbers turn out to be that. Our evaluations log |mean A|; a trained
network's mean advantage has one sign in nearly all states (positive, in recorded play), so that V +
A is Q + |mean A|.
"""

from collections.abc import Sequence

import numpy as np

from qduet import published
from qduet.certificate.cells import measure
from qduet.certificate.claims import signed
from qduet.certificate.tables import AGENTS, NOT_YET, Table
from qduet.published import title
from qduet.runs import Runs
from qduet.stats import mean_interval, welch_interval, welch_test

HEADINGS = ("game", "agent", "published", "ours, Q", "difference", "p (equal)")
UNCENTRED = ("ours, V + A", "difference", "p (equal)")
NONE = (NOT_YET, *("–",) * 5)


def values_table(runs: Sequence[Runs], step: int) -> Table:
    """All 15 cells at `step`."""
    there = {game.game: game for game in runs}
    rows = []
    for game in published.GAMES:
        for agent in published.AGENTS:
            theirs = measure(published.scores(game, agent, "q_value_mean"), "return", step)
            ours = _compared(there[game], agent, theirs, step) if game in there else NONE
            rows.append((title(game), AGENTS[agent], str(mean_interval(theirs)), *ours))
    return Table("Predicted values", (*HEADINGS, *UNCENTRED), rows)


def _compared(runs: Runs, agent: str, theirs: np.ndarray, step: int) -> tuple[str, ...]:
    q, mean_adv = (
        measure(runs.scores(agent, column), "return", step)
        for column in ("q_value_mean", "mean_adv_abs")
    )
    uncentred = _columns(q + mean_adv, theirs) if agent == "dueling_dqn" else ("–",) * 3
    return (*_columns(q, theirs), *uncentred)


def _columns(ours: np.ndarray, theirs: np.ndarray) -> tuple[str, str, str]:
    difference = welch_interval(ours, theirs)
    return str(mean_interval(ours)), signed(difference), f"{welch_test(ours, theirs):.2g}"
