"""Effects as points with intervals: one panel per game, the same rows in all of them.

rows = (Row("DQN: all", "dqn", whole=True), Row("initial weights", "dqn"))
figure = forest_figure(rows, {"Breakout": {rows[0]: interval}}, "Change, %", "After 1M steps.")
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qduet.results.published import GAMES, title
from qduet.show.figures.style import colour, house_style
from qduet.stats import Interval

BESIDE: dict[str, Any] = {
    "textcoords": "offset points",
    "va": "center",
    "color": "0.35",
    "fontsize": "small",
}
"""How a word stands to the right of a point."""


class Row(NamedTuple):
    """What one row is about."""

    text: str
    agent: str
    whole: bool = False
    """Whether it is of several effects together; drawn larger."""


def forest_figure(
    rows: Sequence[Row],
    effects: Mapping[str, Mapping[Row, Interval]],
    unit: str,
    explained: str,
) -> Figure:
    """The effects of the five games, by game and row; what a game lacks was not run."""
    with house_style():
        figure = Figure(figsize=(11, 6.2), layout="constrained")
        *panels, last = figure.subplots(2, 3, sharey=True).ravel()
        for axes, game in zip(panels, GAMES, strict=True):
            there = effects.get(game, {})
            for height, row in zip(range(len(rows), 0, -1), rows, strict=True):
                if row in there:
                    _draw(axes, row, there[row], height)
                elif there:
                    axes.annotate("not run", (0, height), xytext=(4, 0), **BESIDE)
            axes.set_title(title(game) + ("" if there else " (no data yet)"))
            axes.axvline(0, color="0.35", linewidth=0.8)
            axes.set_xlabel(unit)
        panels[0].set_yticks(range(len(rows), 0, -1), [row.text for row in rows])
        panels[0].set_ylim(0.3, len(rows) + 0.7)
        last.set_axis_off()
        last.text(0, 0.5, explained, transform=last.transAxes, va="center")
    return figure


def _draw(axes: Axes, row: Row, effect: Interval, height: int) -> None:
    shade = colour(row.agent)
    ends = [effect.low, effect.high]
    axes.plot(ends, [height, height], color=shade, linewidth=2.2 if row.whole else 1.2)
    marker, size = ("D", 6) if row.whole else ("o", 4.5)
    axes.plot(effect.mean, height, marker, color=shade, markersize=size)
