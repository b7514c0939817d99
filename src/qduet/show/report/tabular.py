"""The tabular figures on the page: charts, tables and verdicts of what `cells` has loaded."""

from typing import Any

import numpy as np

from qduet import stats
from qduet.show.figures.style import look_of_rule
from qduet.show.report import tabular_text
from qduet.show.report.cells import Loaded
from qduet.show.report.chart import Part, finite, group, series
from qduet.show.report.html import el
from qduet.tabular.summary import table as summary_table

FEW_POINTS = 50
"""The curves of single seeds, and of all step sizes, are drawn with about so many points."""

BEST = "best"
"""The choice of each rule's best step size; the others are numbered."""


def show(loaded: Loaded, name: str, heading: str) -> Part:
    """The figure `name` of the page: chart, what the paper says, table, sources."""
    experiment, summary = loaded.results.experiment, loaded.summary
    shown = str(experiment.actions[-1])
    chart: dict[str, Any] = {
        "selects": [
            {
                "id": "actions",
                "label": "Number of actions |A|",
                "values": [str(n) for n in experiment.actions],
                "initial": shown,
            },
            {
                "id": "step_size",
                "label": "Curves at α =",
                "values": [BEST, *(str(k) for k in range(len(experiment.step_sizes)))],
                "labels": ["each rule’s best", *(f"{a:.4f}" for a in experiment.step_sizes)],
                "initial": BEST,
            },
        ],
        "groups": [
            group(rule, look_of_rule(rule, loaded.results.rules)) for rule in loaded.results.rules
        ],
        "seeds": experiment.seeds > 1,
        "log": True,
        "panels": [_curves(loaded), _step_sizes(loaded)],
    }
    if len(experiment.actions) > 1:
        chart["panels"].append(_scaling(loaded))
    missing = tabular_text.missing(loaded)
    html = el(
        "section",
        el("h3", heading),
        el("p", tabular_text.setting(experiment), class_="setting"),
        el("p", missing, class_="missing") if missing else None,
        el("figure", el("div", data_chart=name, class_="chart"), tabular_text.caption(loaded)),
        tabular_text.verdicts(loaded),
        tabular_text.numbers(loaded),
        id=name,
        class_="item",
    )
    data = {"table": summary_table(summary), "source": str(loaded.folder)}
    return Part(html, {name: chart}, {name: data}, tabular_text.facts(loaded, name))


def _curves(loaded: Loaded) -> dict[str, Any]:
    experiment = loaded.results.experiment
    every = max(1, (len(experiment.points) - 1) // FEW_POINTS)
    lines = []
    for n, by_rule in loaded.summary.items():
        for rule, summary in by_rule.items():
            lines.append(
                series(
                    rule,
                    experiment.points,
                    *stats.band(summary.curves),
                    note=f"α = {tabular_text.best_step_size(summary)}",
                    when={"actions": str(n), "step_size": BEST},
                    seeds=summary.curves[:, ::every] if experiment.seeds > 1 else None,
                    seed_x=experiment.points[::every],
                )
            )
            lines += _other_step_sizes(loaded, n, rule, every)
    return {
        "title": "Learning curves",
        "grids": {"few": finite(experiment.points[::every], 9)},
        "x": {"label": "Environment steps", "min": 0},
        "y": {
            "label": "RMS error, % of the initial error",
            "percent": True,
            "min": 0,
            "cap": 200,
        },
        "series": lines,
    }


def _other_step_sizes(loaded: Loaded, n: int, rule: str, every: int) -> list[dict[str, Any]]:
    """The mean curve of every step size; it ends where a run diverges."""
    percent = loaded.results.curves[n][rule].percent[:, :, ::every].mean(axis=0)
    return [
        {"group": rule, "x": "few", "y": finite(curve, 4)}
        | {"when": {"actions": str(n), "step_size": str(k)}}
        for k, curve in enumerate(percent)
    ]


def _step_sizes(loaded: Loaded) -> dict[str, Any]:
    lines = []
    for n, by_rule in loaded.summary.items():
        for rule, summary in by_rule.items():
            mean, low, high, _ = np.array(summary.intervals).T
            line = series(rule, summary.step_sizes, mean, low, high, when={"actions": str(n)})
            line["diverged"] = [int(count) for count in summary.diverged]
            line["runs"] = len(summary.aucs)
            lines.append(line)
    return {
        "title": "Step sizes",
        "x": {"label": "Step size α", "log": True},
        "y": {"label": "AUC, % of the initial error", "percent": True, "min": 0, "cap": 150},
        "series": lines,
    }


def _scaling(loaded: Loaded) -> dict[str, Any]:
    lines = []
    for rule in loaded.results.rules:
        there = {n: by[rule] for n, by in loaded.summary.items() if rule in by}
        mean, low, high, _ = np.array([s.best.auc for s in there.values()]).T
        aucs = np.array([s.best_aucs for s in there.values()]).T
        many = len(aucs) > 1
        line = series(rule, np.array(list(there)), mean, low, high, seeds=aucs if many else None)
        line["dots"] = True
        held = [s.held_out.auc.mean if s.held_out else np.nan for s in there.values()]
        line["held"] = finite(np.array(held))
        lines.append(line)
    return {
        "title": "Best step size for each |A|",
        "x": {"label": "Number of actions |A|", "ticks": list(loaded.summary)},
        "y": {"label": "Best AUC, % of the initial error", "percent": True, "min": 0, "cap": 150},
        "series": lines,
    }
