"""The picture of what the differences between the paper's text and its released code do.

    figure = protocols_figure(*protocol_shifts(*protocols(results)))

For each game and agent: ``protocol=paper`` as a whole, and each of its settings alone, against
``protocol=reference``, in percent of its mean return.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from docs_tables.protocols import WORDS, Shift
from qduet.results import published
from qduet.stats import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALONE = {
    WORDS["initialisation"]: "initial weights",
    WORDS["shared_bias"]: "bias per action",
    WORDS["epsilon_hold_steps"]: "ε held at 1",
}
"""What is changed, as in the tables, and the text of its row."""

EXPLAINED = """\
Diamonds: protocol=paper
against protocol=reference.

Dots: the reference with one setting
as the paper's text has it.

Bars: 95 % intervals over seeds (Welch)."""


def protocols_figure(paper: Sequence[Shift], ablation: Sequence[Shift]) -> "Figure":
    """All shifts; those of an ablation that changes several settings have no row."""
    from qduet.show.figures.forest import Row, forest_figure

    rows: dict[tuple[str, str | None], Row] = {}
    for agent in published.AGENTS:
        rows[agent, None] = Row(f"{published.AGENT_NAMES[agent]}: all", agent, whole=True)
        for changed, text in ALONE.items():
            if agent != "dqn" or changed != WORDS["shared_bias"]:  # which DQN has not
                rows[agent, changed] = Row(text, agent)
    effects: dict[str, dict[Row, Interval]] = {}
    for shift, what in [*((s, None) for s in paper), *((s, s.changed) for s in ablation)]:
        row = rows.get((shift.agent, what))
        if row is not None:
            effects.setdefault(shift.game, {})[row] = _percent(shift)
    steps = sorted({shift.step for shift in (*paper, *ablation)})
    when = f"After {' or '.join(f'{step:,}' for step in steps)} steps.\n\n" if steps else ""
    unit = "Change of the mean return, %"
    return forest_figure(tuple(rows.values()), effects, unit, when + EXPLAINED)


def _percent(shift: Shift) -> Interval:
    mean, low, high, n = shift.difference
    scale = 100 / shift.before.mean
    return Interval(scale * mean, scale * low, scale * high, n)
