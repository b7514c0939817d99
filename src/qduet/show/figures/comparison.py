"""Figures of a comparison (docs/comparing.md).

Learning curves by game; over all games: performance profile, sample efficiency and probability of
improvement.

    for stem, figure in figures(collection, summarise(collection)).items():
        save(figure, Path("out") / stem)
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from qduet import stats
from qduet.results import published
from qduet.results.comparison import Collection, Line, Summary
from qduet.show.figures.style import (
    FEW_EVALUATIONS,
    FEW_SEEDS,
    cut_axis,
    house_style,
    limit_axis,
    look_of,
)
from qduet.stats import Estimate

_METRICS = {"return_mean": "Mean return", "q_overestimation": "Over-estimation of Q"}
UNIT = "1 = published DQN at 10M steps"


def figures(collection: Collection, summary: Summary) -> dict[str, Figure]:
    """The figures that these runs allow, by the stem of their file names."""
    drawn = {"learning_curves": learning_curves(collection)}
    if summary.overall:
        drawn["performance_profile"] = performance_profile(collection, summary)
        drawn["sample_efficiency"] = sample_efficiency(collection, summary)
    if summary.pairs:
        drawn["improvement"] = improvement(collection, summary)
    return drawn


def learning_curves(collection: Collection) -> Figure:
    """One panel per game: mean over seeds with 95 % t-intervals."""
    games = collection.games
    columns = min(3, len(games))
    rows = -(-len(games) // columns)
    with house_style():
        figure = Figure(figsize=(max(4.6, 3.6 * columns), 2.9 * rows + 0.7), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, game in zip(grid, games, strict=False):
            values = {a: collection.curves[game, a].values for a in collection.agents_of(game)}
            for agent, curves in values.items():
                mean, low, high = stats.band(curves)
                line = Line(agent, collection.steps, Estimate(mean, low, high))
                _draw(axes, line, collection.agents)
            axes.set_title(published.title(game))
            _step_axis(axes, collection)
            axes.set_ylabel(_METRICS.get(collection.metric, collection.metric))
            limit_axis(axes, list(values.values()))
            cut_axis(axes)
        for axes in grid[len(games) :]:
            axes.set_visible(False)
        _legend(figure, list(grid[: len(games)]))
        few = any(1 < len(c.seeds) < FEW_SEEDS for c in collection.curves.values())
        intervals = "mean and 95 % interval" + ",\ncut at the range of the seeds" * few
        figure.suptitle(f"Learning curves ({_note(collection, intervals)})")
    return figure


def performance_profile(collection: Collection, summary: Summary) -> Figure:
    """The fraction of runs with a normalised score above τ."""
    title = f"Performance profile at step {collection.at:,}"
    figure, axes = _single(collection, summary.profile, title)
    axes.set_xlabel(f"Normalised score τ ({UNIT})")
    axes.set_ylabel("Fraction of runs with score > τ")
    axes.set_ylim(0, 1.02)
    return figure


def sample_efficiency(collection: Collection, summary: Summary) -> Figure:
    """IQM of normalised scores over all games, against steps."""
    figure, axes = _single(collection, summary.sample_efficiency, "Sample efficiency")
    _step_axis(axes, collection)
    axes.set_ylabel(f"IQM of normalised scores\n({UNIT})")
    return figure


def improvement(collection: Collection, summary: Summary) -> Figure:
    """One panel per pair of agents: P(X > Y) in each game, and averaged over games."""
    pairs = list(dict.fromkeys((pair.x, pair.y) for pair in summary.pairs))
    columns = min(3, len(pairs))
    rows = -(-len(pairs) // columns)
    height = 0.3 * (len(collection.games) + 1) + 1.1
    with house_style():
        figure = Figure(
            figsize=(max(4.6, 3.6 * columns), rows * height + 0.6), layout="constrained"
        )
        grid = figure.subplots(rows, columns, squeeze=False, sharex=True).ravel()
        for axes, (x, y) in zip(grid, pairs, strict=False):
            bars = {p.game: p.improvement for p in summary.pairs if (p.x, p.y) == (x, y)}
            averaged = [p.improvement for p in summary.overall_pairs if (p.x, p.y) == (x, y)]
            if averaged and len(bars) > 1:
                bars["all games"] = averaged[0]
            first, second = (look_of(agent, collection.agents) for agent in (x, y))
            _draw_bars(axes, bars, first.colour)
            title = f"P({first.label} > {second.label})"
            axes.set_title(title if len(title) < 32 else title.replace(" > ", " >\n", 1))
        for axes in grid[len(pairs) :]:
            axes.set_visible(False)
        title = f"Probability of improvement at step {collection.at:,}"
        figure.suptitle(f"{title} ({_note(collection, '95 % bootstrap interval')})")
    return figure


def _draw_bars(axes: Axes, bars: dict[str, Estimate], shade: str) -> None:
    for row, (game, estimate) in enumerate(bars.items()):
        height = len(bars) - row
        bold = game == "all games"
        axes.plot(float(estimate.value), height, "D" if bold else "o", color=shade, markersize=5)
        ends = [float(estimate.low), float(estimate.high)]
        axes.plot(ends, [height, height], color=shade, linewidth=2.4 if bold else 1.4)
    axes.axvline(0.5, color="0.35", linewidth=0.8, linestyle="--")
    axes.set_yticks(range(len(bars), 0, -1), [published.title(game) for game in bars])
    axes.set_ylim(0.4, len(bars) + 0.6)
    axes.set_xlim(-0.03, 1.03)


def _single(collection: Collection, lines: Sequence[Line], title: str) -> tuple[Figure, Axes]:
    """A figure of one panel with a line per agent."""
    with house_style():
        figure = Figure(figsize=(5.4, 3.8), layout="constrained")
        axes = figure.subplots()
        for line in lines:
            _draw(axes, line, collection.agents)
        _legend(figure, [axes])
        axes.set_title(f"{title}\n{_note(collection, '95 % bootstrap intervals')}")
    return figure, axes


def _draw(axes: Axes, line: Line, agents: Sequence[str]) -> None:
    drawn = look_of(line.agent, agents)
    marker = "o" if len(line.x) <= FEW_EVALUATIONS else ""
    axes.plot(
        line.x, line.y.value, color=drawn.colour, linestyle=drawn.style, marker=marker,
        markersize=3, label=drawn.label,
    )  # fmt: skip
    if np.isfinite(line.y.low).all():
        axes.fill_between(
            line.x, line.y.low, line.y.high, color=drawn.colour, alpha=0.2, linewidth=0
        )


def _step_axis(axes: Axes, collection: Collection) -> None:
    few = len(collection.steps) <= FEW_EVALUATIONS
    axes.set_xlabel(f"Environment steps{' (dots: evaluations)' * few}")
    axes.xaxis.set_major_formatter(FuncFormatter(_short))


def _short(step: float, _: object) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(step) >= size:
            return f"{step / size:g}{letter}"
    return f"{step:g}"


def _legend(figure: Figure, panels: Sequence[Axes]) -> None:
    """One legend for all panels, below them."""
    handles: dict[str, Any] = {}
    for axes in panels:
        for handle, text in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(text, handle)
    figure.legend(
        handles=list(handles.values()), loc="outside lower center", ncols=min(4, len(handles))
    )


def _note(collection: Collection, intervals: str) -> str:
    """How many seeds, and what the bands are."""
    counts = sorted({len(curves.seeds) for curves in collection.curves.values()})
    seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
    if counts[-1] == 1:
        return "a single seed: no intervals"
    games = f"{len(collection.games)} games, " if len(collection.games) > 1 else ""
    return f"{games}{seeds} seeds, {intervals}"
