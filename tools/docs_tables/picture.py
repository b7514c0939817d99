"""The picture of what the differences between the paper's text and its released code do.

    chart = protocols_chart(*protocol_shifts(*protocols(results)))

For each game and agent: ``protocol=paper`` as a whole, and each of its settings alone, against
``protocol=reference``, in percent of its mean return.
"""

from collections.abc import Sequence

from docs_tables.protocols import WORDS, Shift
from qduet.results import published
from qduet.show.chart import Axis, Chart, Panel, Series
from qduet.show.charts.comparison import interval_series, rows_axis
from qduet.show.names import agent_styles

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


def protocols_chart(paper: Sequence[Shift], ablation: Sequence[Shift]) -> Chart:
    """All shifts; those of an ablation that changes several settings have no row."""
    rows: dict[tuple[str, str | None], str] = {}
    for agent in published.AGENTS:
        rows[agent, None] = f"{published.AGENT_NAMES[agent]}: all"
        for changed, text in ALONE.items():
            if agent != "dqn" or changed != WORDS["shared_bias"]:  # which DQN has not
                rows[agent, changed] = text
    heights = {row: len(rows) - i for i, row in enumerate(rows)}
    lines: dict[str, list[Series]] = {game: [] for game in published.GAMES}
    for shift, what in [*((s, None) for s in paper), *((s, s.changed) for s in ablation)]:
        row = shift.agent, what
        if row in rows:
            change = [100 * x / shift.before.mean for x in shift.difference[:3]]
            lines[shift.game] += interval_series(
                shift.agent, change, heights[row], whole=what is None
            )
    panels = [
        Panel(
            published.title(game) + ("" if lines[game] else " (no data yet)"),
            Axis("Change of the mean return, %", guide=0),
            rows_axis(list(rows.values())),
            tuple(lines[game]),
        )
        for game in published.GAMES
    ]
    steps = sorted({shift.step for shift in (*paper, *ablation)})
    when = f"After {' or '.join(f'{step:,}' for step in steps)} steps.\n\n" if steps else ""
    return Chart("", agent_styles(published.AGENTS), tuple(panels), about=when + EXPLAINED)
