"""The pictures of docs/study.md, one panel per game.

    study_charts(Path("results"))["study-family"]       # learning curves of the six agents

A game, or an agent in it, that has not been run yet is said to have no data.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from docs_tables.beta import BETAS
from docs_tables.cells import NOT_YET
from docs_tables.family import AGENTS
from qduet.results import published
from qduet.results.collect import Collection, Source, collect
from qduet.results.runs import find, load
from qduet.show.chart import Axis, Chart, Panel, Series
from qduet.show.charts.comparison import interval_series, learning_curves
from qduet.show.charts.study import beta_chart
from qduet.show.charts.training import METRICS
from qduet.show.names import agent_styles
from qduet.stats import mean_interval

FEWER = "\nWhere agents are missing, they have\nno data yet."
BANDS = """\
Solid: the paper's agents.
Dashed: the QV family.
Shading: 95 % intervals over seeds."""
POINTS = """\
After {at:,} steps.
Discs: the paper's agents.
Rings: the QV family.
Bars: 95 % intervals over seeds."""
RETURNS_OF_BETA = """\
After {at:,} steps.
Shading: 95 % intervals over seeds.
The line marks the paper's β.
The values of β stand at equal
distances."""


def study_charts(results: Path) -> dict[str, Chart]:
    """The charts, by the stem of their file names."""
    folders = [results / "figure6", results / "family"]
    returns, excess = (_collected(folders, m) for m in ("return_mean", "q_overestimation"))
    beta = _collected([results / "beta"], "return_mean")
    return {
        "study-family": _by_game(returns and learning_curves(returns), returns, BANDS),
        "study-overestimation": _by_game(
            returns and excess and against_chart(returns, excess), returns, POINTS
        ),
        "study-overestimation-steps": _by_game(excess and learning_curves(excess), excess, BANDS),
        "study-beta": _by_game(beta and beta_chart(beta), beta, RETURNS_OF_BETA, len(BETAS)),
    }


def _collected(folders: Sequence[Path], metric: str) -> Collection | None:
    """All runs in the folders; None if there are none."""
    there = find([folder for folder in folders if any(folder.glob("*/config.json"))])
    return collect([Source(load(path)) for path in there], metric=metric) if there else None


def against_chart(returns: Collection, excess: Collection) -> Chart:
    """Over-estimation (x) against mean return (y) at the last step: a cross for each agent."""
    panels = []
    for game in returns.games:
        lines: list[Series] = []
        for agent in returns.agents_of(game):
            x, y = (mean_interval(c.curves[game, agent].last) for c in (excess, returns))
            across, point = interval_series(agent, x, y.mean)
            point = dataclasses.replace(point, open=agent not in published.AGENTS)
            up = dataclasses.replace(across, x=np.full(2, x.mean), y=np.array(y[1:3]), line="-")
            lines += [point, dataclasses.replace(across, line="-"), up]  # the first has the name
        axes = Axis(METRICS["q_overestimation"]), Axis(METRICS["return_mean"])
        panels.append(Panel(published.title(game), *axes, tuple(lines)))
    return Chart("", agent_styles(returns.agents), tuple(panels))


def _by_game(
    chart: Chart | None, collection: Collection | None, about: str, expected: int = len(AGENTS)
) -> Chart:
    """The chart with a panel for each of the five games, and with `about` beside them."""
    drawn = dict(zip(collection.games, chart.panels, strict=True)) if chart and collection else {}
    panels = []
    for game in published.GAMES:
        panel = drawn.get(game, Panel(published.title(game), Axis(""), Axis(""), ()))
        count = len(collection.agents_of(game)) if collection else 0
        if count < expected:
            note = f"{count} of {expected} agents" if count else NOT_YET
            panel = dataclasses.replace(panel, title=f"{panel.title} ({note})")
        panels.append(panel)
    about = about.format(at=collection.at if collection else 0)
    about += FEWER if any("agents)" in panel.title for panel in panels) else ""
    groups = {
        agent: style._replace(line="-" if agent in published.AGENTS else "--")
        for agent, style in (chart.groups if chart else agent_styles(AGENTS)).items()
    }
    return Chart("", groups, tuple(panels), about=about)
