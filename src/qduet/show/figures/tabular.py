"""Figures 2, 3 and 5: error curves, AUC against step size, best AUC against |A|."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from qduet import stats
from qduet.show.figures.style import Look, house_style, in_percent, look_of_rule
from qduet.stats import Interval
from qduet.tabular.running import Results
from qduet.tabular.summary import RuleSummary, Summary


def tabular_figure(results: Results, summary: Summary) -> Figure:
    """The paper's three panels for one experiment, or the first two of them with a single |A|.

    Left: error curves at each rule's best step size, with 95 % bands over seeds. Centre: AUC of
    each step size, dashed at the least one, open circles on top where runs diverged, which ends the
    line. Right: best AUC as |A| grows. Crosses, in the last panel, show the AUC of a step size
    chosen on the other half of the seeds; triangles at its top edge those that lie outside of it.
    """
    experiment = results.experiment
    shown = experiment.actions[-1]
    panels = 3 if len(experiment.actions) > 1 else 2
    with house_style():
        figure = Figure(figsize=(11 * panels / 3, 3.9), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)  # type: ignore[union-attr, call-arg]
        left, centre, *rest = figure.subplots(1, panels)
        centre.set_xscale("log")
        centre_top = _top(i for rule in summary[shown].values() for i in rule.intervals)
        top = _top(rule.best.auc for by_rule in summary.values() for rule in by_rule.values())
        for name in results.rules:
            look, rule = look_of_rule(name, results.rules), summary[shown][name]
            _draw_curve(left, experiment.points, rule, look)
            _draw_step_sizes(centre, rule, look)
            for right in rest:
                _draw_sizes(right, {n: by_rule[name] for n, by_rule in summary.items()}, look, top)
            if not rest and rule.held_out:
                chosen = float(rule.step_sizes[rule.held_out.which])
                _draw_held_out(centre, [(chosen, rule.held_out.auc.mean)], look, centre_top)
        _finish(left, "Environment steps", "RMS error", f"Learning curves, |A| = {shown}")
        left.set_ylim(bottom=0)
        left.set_xlim(0, experiment.steps)
        _finish(centre, "Step size α", "AUC", f"Step-size sweep, |A| = {shown}")
        centre.set_ylim(0, centre_top)
        _step_size_ticks(centre.xaxis, experiment.step_sizes)
        for right in rest:
            _finish(right, "Number of actions |A|", "Best AUC", "Scaling with the action set")
            right.set_ylim(0, top)
            right.set_xticks(experiment.actions)
        _legend(figure, left, results)
    return figure


def _legend(figure: Figure, left: Axes, results: Results) -> None:
    """The legend below the panels and the title above them."""
    experiment = results.experiment
    rules = left.get_legend_handles_labels()[0]
    columns = min(len(figure.axes), len(results.rules))
    figure.legend(handles=rules + _marks(figure), loc="outside lower center", ncols=columns)
    seeds = experiment.seeds
    note = f"{seeds} seeds, 95 % intervals" if seeds > 1 else "a single seed: no intervals"
    suffix = "" if experiment.protocol == "paper" else ", protocol=reference"
    figure.suptitle(f"{experiment.title} ({note}{suffix})", fontsize=11)


def _marks(figure: Figure) -> list[Line2D]:
    """Legend entries for the marks that are in the panels."""
    grey: dict[str, Any] = {"color": "0.35", "linestyle": ""}
    marks = [
        Line2D([], [], **grey, marker="o", fillstyle="none", markersize=4, label="runs diverged"),
        Line2D([], [], **grey, marker="x", markersize=5, label="α chosen on the other seeds"),
        Line2D([], [], **grey, marker="^", markersize=5, label="the same, off the scale"),
    ]
    lines = [line for axes in figure.axes for line in axes.lines if np.size(line.get_xdata())]
    there = {(line.get_marker(), line.get_fillstyle()) for line in lines}
    return [mark for mark in marks if (mark.get_marker(), mark.get_fillstyle()) in there]


def _draw_curve(axes: Axes, points: np.ndarray, rule: RuleSummary, look: Look) -> None:
    mean, low, high = stats.band(rule.curves)
    edge = ", edge of the grid" if rule.best_at_edge else ""
    text = f"{look.label} (α = {rule.best_step_size:.2g}{edge})"
    axes.plot(points, mean, color=look.colour, linestyle=look.style, label=text)
    axes.fill_between(points, low, high, color=look.colour, alpha=0.2, linewidth=0)


def _draw_step_sizes(axes: Axes, rule: RuleSummary, look: Look) -> None:
    mean = np.array([interval.mean for interval in rule.intervals])
    low = np.array([interval.low for interval in rule.intervals])
    high = np.array([interval.high for interval in rule.intervals])
    # A mean is infinite where runs diverged: the line ends before it.
    axes.plot(rule.step_sizes, mean, color=look.colour, linestyle=look.style)
    axes.fill_between(rule.step_sizes, low, high, color=look.colour, alpha=0.2, linewidth=0)
    axes.axhline(rule.best.auc.mean, color=look.colour, linestyle="--", linewidth=0.8)
    diverged = rule.step_sizes[rule.diverged > 0]
    height = np.full(len(diverged), 0.98 - 0.035 * look.row)
    (markers,) = axes.plot(
        diverged,
        height,
        color=look.colour,
        linestyle="",
        marker="o",
        markersize=3,
        fillstyle="none",
        transform=axes.get_xaxis_transform(),  # x in data, y in axes coordinates
    )
    markers.set_in_layout(False)


def _draw_sizes(axes: Axes, by_size: dict[int, RuleSummary], look: Look, top: float) -> None:
    sizes = list(by_size)
    best = [rule.best.auc for rule in by_size.values()]
    axes.plot(
        sizes, [b.mean for b in best], "o", linestyle=look.style, markersize=4, color=look.colour
    )
    low, high = [b.low for b in best], [b.high for b in best]
    axes.fill_between(sizes, low, high, color=look.colour, alpha=0.2, linewidth=0)
    held = [(float(n), rule.held_out.auc.mean) for n, rule in by_size.items() if rule.held_out]
    _draw_held_out(axes, held, look, top)


def _draw_held_out(axes: Axes, held: list[tuple[float, float]], look: Look, top: float) -> None:
    """Crosses at (x, AUC); triangles at the top edge for those above it."""
    inside = [(x, auc) for x, auc in held if auc <= top]
    axes.plot(*np.transpose(inside or np.empty((0, 2))), "x", color=look.colour, markersize=5)
    outside = [x for x, auc in held if not auc <= top]
    if outside:
        edge = [top] * len(outside)
        axes.plot(outside, edge, "^", color=look.colour, markersize=5, clip_on=False)


def _top(aucs: Iterable[Interval]) -> float:
    """The upper end of an AUC axis: all means that are finite, but no more than 150 %."""
    means = [interval.mean for interval in aucs if np.isfinite(interval.mean)]
    return float(np.clip(1.08 * max(means, default=100.0), 10.0, 150.0))


def _step_size_ticks(axis: Axis, step_sizes: Sequence[float]) -> None:
    """Labels powers of ten; of a grid with fewer than two of them 1, 2 and 5, or round numbers."""
    low, high = np.log10([min(step_sizes) * (1 - 1e-9), max(step_sizes) * (1 + 1e-9)])
    axis.set_minor_formatter(NullFormatter())
    if np.floor(high) > np.ceil(low):
        return
    steps = (1, 2, 5)
    narrow = len(step_sizes) > 1 and high - low < np.log10(5)
    axis.set_major_locator(MaxNLocator(5, steps=(*steps, 10)) if narrow else LogLocator(subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _finish(axes: Axes, x: str, y: str, title: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(f"{y} (% of initial error)")
    axes.set_title(title)
    in_percent(axes.yaxis)
