"""Predicted values, ours and published: the mean Q of the actions taken in an evaluation.

For Dueling DQN there is a second comparison, of V + A: what its Q is *before* the mean advantage is
subtracted, which the published numbers are (docs/differences.md, item 17).

A second table is of the published data alone: how much higher the values are in evaluations than in
the minibatches of training, of the same agent at the same time.
"""

from collections.abc import Sequence

import numpy as np

from docs_tables.cells import NOT_YET
from qduet.core.tables import Table
from qduet.paper.agreement import measure
from qduet.paper.claims import signed
from qduet.results import published
from qduet.results.published import AGENT_NAMES, title
from qduet.results.runs import Runs, Scores
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
            rows.append((title(game), AGENT_NAMES[agent], str(mean_interval(theirs)), *ours))
    return Table("Predicted values", (*HEADINGS, *UNCENTRED), rows)


def _compared(runs: Runs, agent: str, theirs: np.ndarray, step: int) -> tuple[str, ...]:
    column = "q_value_mean"
    centred = _columns(runs.scores(agent, column), theirs, step)
    if agent != "dueling_dqn":
        return (*centred, *("–",) * 3)
    return (*centred, *_columns(runs.uncentred(agent, column), theirs, step))


def _columns(scores: Scores, theirs: np.ndarray, step: int) -> tuple[str, str, str]:
    ours = measure(scores, "return", step)
    difference = welch_interval(ours, theirs)
    return str(mean_interval(ours)), signed(difference), f"{welch_test(ours, theirs):.2g}"


def published_table(step: int) -> Table:
    """Published values in evaluations minus those in training, at `step`."""
    rows = []
    for game in published.GAMES:
        row = [title(game)]
        for agent in published.AGENTS:
            evaluated, trained = (
                measure(published.scores(game, agent, column), "return", step)
                for column in ("q_value_mean", "train_q_mean")
            )
            row.append(signed(mean_interval(evaluated - trained)))
        rows.append(tuple(row))
    return Table("Published values", ("game", *AGENT_NAMES.values()), rows)
