"""Charts of a comparison (docs/comparing.md).

Learning curves by game; over all games: performance profile, sample efficiency and probability of
improvement.

    for stem, chart in comparison_charts(collection, summarise(collection)).items():
        save(draw(chart), Path("out") / stem)
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from qduet.results import published
from qduet.results.collect import Collection
from qduet.results.comparison import Line, Summary
from qduet.show.chart import FEW_SEEDS, STEPS, Axis, Chart, Panel, Series
from qduet.show.charts.training import METRICS, banded_series, score_series
from qduet.show.names import agent_styles

UNIT = "1 = published DQN at 10M steps"

ALL_GAMES = "all games"
"""The name of the row of averages."""


def comparison_charts(collection: Collection, summary: Summary) -> dict[str, Chart]:
    """The charts that these runs allow, by the stem of their file names."""
    charts = {"learning_curves": learning_curves(collection)}
    if summary.overall:
        at = f"Performance profile at step {collection.at:,}"
        score = Axis(f"Normalised score τ ({UNIT})")
        share = Axis("Fraction of runs with score > τ", min=0, max=1.02)
        iqm = Axis(f"IQM of normalised scores ({UNIT})")
        charts["performance_profile"] = _single(collection, summary.profile, at, score, share)
        charts["sample_efficiency"] = _single(
            collection, summary.sample_efficiency, "Sample efficiency", Axis(STEPS), iqm
        )
    if summary.pairs:
        charts["improvement"] = improvement(collection, summary)
    return charts


def learning_curves(collection: Collection) -> Chart:
    """One panel per game: mean over seeds with 95 % t-intervals."""
    label = METRICS.get(collection.metric, collection.metric)
    panels = []
    for game in collection.games:
        agents = collection.agents_of(game)
        lines = [score_series(agent, collection.curves[game, agent]) for agent in agents]
        panels.append(Panel(published.title(game), Axis(STEPS), Axis(label), tuple(lines)))
    few = all(len(curves.seeds) < FEW_SEEDS for curves in collection.curves.values())
    drawn = "mean, and thin lines for the seeds" if few else "mean and 95 % interval"
    title = f"Learning curves ({_note(collection, drawn)})"
    return Chart(title, agent_styles(collection.agents), tuple(panels))


def improvement(collection: Collection, summary: Summary) -> Chart:
    """P(X > Y) of all pairs of agents in one game; or of each pair in all games, and averaged."""
    styles = agent_styles(collection.agents)
    called = lambda x, y: f"{styles[x].label}\n> {styles[y].label}"
    if len(collection.games) == 1:
        rows = [(called(p.x, p.y), p.x, p.improvement) for p in summary.pairs]
        panels = [_chances(published.title(collection.games[0]), rows)]
    else:
        panels = []
        for x, y in dict.fromkeys((pair.x, pair.y) for pair in summary.pairs):
            own = [p for p in summary.pairs if (p.x, p.y) == (x, y)]
            rows = [(published.title(p.game), x, p.improvement) for p in own]
            averaged = [p for p in summary.overall_pairs if (p.x, p.y) == (x, y)]
            rows += [(ALL_GAMES, x, p.improvement) for p in averaged]
            panels.append(_chances(f"P({called(x, y)})", rows))
    title = f"Probability of improvement at step {collection.at:,}"
    title += f" ({_note(collection, '95 % bootstrap interval')})"
    return Chart(title, styles, tuple(panels))


def _chances(title: str, rows: Sequence[tuple[str, str, Any]]) -> Panel:
    """Rows of name, agent and probability with its interval."""
    lines = []
    for height, (name, agent, chance) in zip(range(len(rows), 0, -1), rows, strict=True):
        lines += interval_series(agent, chance, height, whole=name == ALL_GAMES)
    across = Axis("", min=-0.03, max=1.03, guide=0.5)
    return Panel(title, across, rows_axis([name for name, *_ in rows]), tuple(lines))


def _single(collection: Collection, lines: Sequence[Line], title: str, x: Axis, y: Axis) -> Chart:
    """One panel with a line per agent."""
    panel = Panel("", x, y, tuple(banded_series(*line) for line in lines))
    title = f"{title}\n{_note(collection, '95 % bootstrap intervals')}"
    return Chart(title, agent_styles(collection.agents), (panel,))


def _note(collection: Collection, intervals: str) -> str:
    """How many seeds, and what the bands are."""
    counts = sorted({len(curves.seeds) for curves in collection.curves.values()})
    seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
    if counts[-1] == 1:
        return "a single seed: no intervals"
    games = f"{len(collection.games)} games, " if len(collection.games) > 1 else ""
    return f"{games}{seeds} seeds, {intervals}"


# --- Rows of intervals ---------------------------------------------------------------------------


def interval_series(
    group: str, estimate: Sequence[Any], row: float, *, whole: bool = False, kind: str = ""
) -> list[Series]:
    """The estimate (value, low, high, …) as a mark at (value, row) and a line from low to high."""
    value, low, high = map(float, estimate[:3])
    marker, line = "D" if whole else "o", None if kind else "-"
    return [
        Series(group, np.array([low, high]), np.array([row, row]), line=line, kind=kind),
        Series(group, np.array([value]), np.array([row]), line="", marker=marker, kind=kind),
    ]


def rows_axis(texts: Sequence[str]) -> Axis:
    """The axis of y of so many rows, the first on top at height len(texts), the last at 1."""
    heights = tuple(range(len(texts), 0, -1))
    return Axis("", min=0.4, max=len(texts) + 0.6, ticks=heights, names=tuple(texts))
