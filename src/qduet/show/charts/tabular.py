"""Figures 1, 3 and 5: error curves, AUC against step size, best AUC against |A|."""

import dataclasses
from collections.abc import Iterator

import numpy as np

from qduet import stats
from qduet.show.chart import STEPS, Axis, Chart, Panel, Select, Series
from qduet.show.names import rule_styles
from qduet.tabular.running import Results
from qduet.tabular.summary import RuleSummary, Summary

FEW_POINTS = 50
"""The curves of single seeds, and of all step sizes, have about so many points."""

ALT = (
    "Learning curves: at each rule’s best step size, or at one of choice. Step sizes: AUC against "
    "step size, with an open circle where runs diverged. Crosses: a step size chosen on one half "
    "of the seeds and tried on the other; triangles: the same, off the scale. Shading: 95 % "
    "intervals over seeds."
)

BEST = "best"
"""The choice of each rule's best step size; the others are numbered."""


def tabular_chart(results: Results, summary: Summary) -> Chart:
    """The paper's three panels for one experiment, or the first two of them with a single |A|.

    Left: error curves at each rule's best step size, with 95 % bands over seeds. Centre: AUC of
    each step size, open circles on top where runs diverged, which ends the line. Right: best AUC as
    |A| grows. Crosses, in the last panel, show the AUC of a step size chosen on the other half of
    the seeds.
    """
    experiment = results.experiment
    panels = [_curves(results, summary), _step_sizes(summary)]
    if len(experiment.actions) > 1:
        panels.append(_scaling(results, summary))
    seeds = experiment.seeds
    note = f"{seeds} seeds, 95 % intervals" if seeds > 1 else "a single seed: no intervals"
    suffix = "" if experiment.protocol == "paper" else ", protocol=reference"
    sizes = tuple(map(str, experiment.actions))
    numbers = tuple(map(str, range(len(experiment.step_sizes))))
    names = ("each rule’s best", *(f"{a:.4f}" for a in experiment.step_sizes))
    which = f"|A| = {sizes[-1]}{' except on the right' if len(sizes) > 1 else ''}"
    return Chart(
        title=f"{experiment.title} ({which}; {note}{suffix})",
        groups=rule_styles(results.rules),
        panels=tuple(panels),
        selects=(
            Select("actions", "Number of actions |A|", sizes, initial=sizes[-1]),
            Select("step_size", "Curves at α =", (BEST, *numbers), initial=BEST, labels=names),
        ),
        alt=ALT,
    )


def _curves(results: Results, summary: Summary) -> Panel:
    experiment = results.experiment
    points = experiment.points
    every = max(1, (len(points) - 1) // FEW_POINTS)
    lines = []
    for n, rule, s in _each(summary):
        when = {"actions": str(n), "step_size": BEST}
        note = f"α = {best_step_size(s)}"
        line = Series(rule, points, *stats.band(s.curves), note=note, when=when)
        if experiment.seeds > 1:
            runs = s.curves[:, ::every]
            line = dataclasses.replace(line, seeds=runs, seed_x=points[::every])
        lines.append(line)
        for k, curve in enumerate(results.curves[n][rule].percent[:, :, ::every].mean(axis=0)):
            when = {"actions": str(n), "step_size": str(k)}
            lines.append(Series(rule, points[::every], curve, when=when))
    x = Axis(STEPS, min=0, max=experiment.steps)
    y = Axis("RMS error, % of the initial error", percent=True, min=0)
    return Panel("Learning curves", x, y, tuple(lines))


def _each(summary: Summary) -> Iterator[tuple[int, str, RuleSummary]]:
    """Every |A| and rule, with its summary."""
    for n, by_rule in summary.items():
        yield from ((n, rule, s) for rule, s in by_rule.items())


def _step_sizes(summary: Summary) -> Panel:
    lines = []
    for n, rule, s in _each(summary):
        mean, low, high, _ = np.array(s.intervals).T  # infinite where runs diverged
        line = Series(rule, s.step_sizes, mean, low, high, when={"actions": str(n)})
        line = dataclasses.replace(line, diverged=s.diverged, runs=len(s.aucs))
        if s.held_out and len(summary) == 1:  # else they are in the third panel
            held_out = np.full(len(s.step_sizes), np.nan)
            held_out[s.held_out.which] = s.held_out.auc.mean
            line = dataclasses.replace(line, held_out=held_out)
        lines.append(line)
    x, y = Axis("Step size α", log=True), _auc_axis("AUC")
    return Panel("Step sizes", x, y, tuple(lines))


def _scaling(results: Results, summary: Summary) -> Panel:
    lines = []
    for rule in results.rules:
        by_size = {n: by_rule[rule] for n, by_rule in summary.items() if rule in by_rule}
        sizes = np.array(list(by_size), float)
        mean, low, high, _ = np.array([s.best.auc for s in by_size.values()]).T
        held_out = [s.held_out.auc.mean if s.held_out else np.nan for s in by_size.values()]
        line = Series(rule, sizes, mean, low, high, marker="o", held_out=np.array(held_out))
        if results.experiment.seeds > 1:
            aucs = np.array([s.best_aucs for s in by_size.values()]).T
            line = dataclasses.replace(line, seeds=aucs)
        lines.append(line)
    x, y = Axis("Number of actions |A|", ticks=tuple(summary)), _auc_axis("Best AUC")
    return Panel("Best step size for each |A|", x, y, tuple(lines))


def _auc_axis(name: str) -> Axis:
    return Axis(f"{name}, % of the initial error", percent=True, min=0)


def best_step_size(s: RuleSummary) -> str:
    """The best α, and whether one beyond the grid might be better."""
    edge = ", edge of the grid" if s.best_at_edge else ""
    return f"{s.best_step_size:.4f}{edge}"
