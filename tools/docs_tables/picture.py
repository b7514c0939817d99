"""The picture of what the differences between the paper's text and its released code do.

    chart = protocols_chart(*protocol_shifts(*protocols(results)))

For each game and agent: ``protocol=paper`` as a whole, and each of its settings alone, against
``protocol=reference``, in percent of its mean return.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from docs_tables.protocols import WORDS, Shift
from qduet.results import published
from qduet.show.chart import Axis, Chart, Guide, Panel
from qduet.show.charts.comparison import interval_series, rows_axis
from qduet.show.names import agent_styles
from qduet.stats import Interval

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

Bars: 95 % intervals over seeds (Welch).
Rows without a dot were not run."""


class Row(NamedTuple):
    """What one row is about."""

    text: str
    agent: str
    whole: bool = False
    """Whether it is of several effects together; drawn as a diamond."""


def protocols_chart(paper: Sequence[Shift], ablation: Sequence[Shift]) -> Chart:
    """All shifts; those of an ablation that changes several settings have no row."""
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
    return _effects_chart(tuple(rows.values()), effects, unit, when + EXPLAINED)


def _percent(shift: Shift) -> Interval:
    mean, low, high, n = shift.difference
    scale = 100 / shift.before.mean
    return Interval(scale * mean, scale * low, scale * high, n)


def _effects_chart(
    rows: Sequence[Row],
    effects: Mapping[str, Mapping[Row, Interval]],
    unit: str,
    about: str,
) -> Chart:
    """The effects of the five games, by game and row; what a game lacks was not run."""
    panels = []
    for i, game in enumerate(published.GAMES):
        there = effects.get(game, {})
        heights = dict(zip(rows, range(len(rows), 0, -1), strict=True))
        lines = [
            line
            for row, (mean, low, high, _) in there.items()
            for line in interval_series(row.agent, mean, low, high, heights[row], whole=row.whole)
        ]
        panels.append(
            Panel(
                published.title(game) + ("" if there else " (no data yet)"),
                Axis(unit),
                rows_axis([row.text for row in rows], named=i % 3 == 0),
                tuple(lines),
                guides=(Guide(0, vertical=True),),
            )
        )
    return Chart("", agent_styles(published.AGENTS), tuple(panels), about=about)
