"""MinAtar on the page: the runs of each directory as learning curves, beside the published ones.

    for parent, runs in grouped(paths).items():     # results/figure6 -> its five games
        part = show(parent, [load(path) for path in runs], "deep-0", "Figure 6")

Directories that lie side by side become the panels of one figure, and those of one game one panel
where that is unambiguous (`deep_text.panels`). Runs that are unfinished, of a single seed, or that
diverged are shown as far as they go, and the text says so.
"""

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from qduet import stats
from qduet.results import published
from qduet.results.runs import Runs, Scores
from qduet.show.figures.style import FEW_EVALUATIONS, look_of
from qduet.show.report import deep_numbers, deep_text
from qduet.show.report.chart import Part, group, series
from qduet.show.report.html import Raw, code, details, el

METRICS = {
    "return_mean": "Mean return of an episode",
    "q_overestimation": "Overestimation: predicted Q − observed return",
    "v_rms": "Size of V (root mean square)",
    "adv_rms": "Size of A (root mean square)",
    "mean_adv_abs": "Size of the mean advantage",
    "episode_length_mean": "Mean length of an episode",
    "train_loss_mean": "Training loss",
}
"""The columns that can be drawn, and their names."""


def grouped(paths: Iterable[Path]) -> dict[Path, list[Path]]:
    """Directories of runs by the directory they lie in."""
    groups: dict[Path, list[Path]] = {}
    for path in paths:
        groups.setdefault(path.parent, []).append(path)
    return groups


def show(parent: Path, found: list[Runs], name: str, heading: str) -> Part:
    """The figure of all runs below `parent`."""
    labels = tuple(dict.fromkeys(label for runs in found for label in runs.agents))
    metrics = [m for m in METRICS if any(_has(runs, m) for runs in found)] or ["return_mean"]
    drawn = [runs for runs in found if len(runs.table["step"])]
    panels = deep_text.panels(drawn)
    many = any(len(runs.config["seeds"]) > 1 for runs in found)
    chart: dict[str, Any] = {
        "selects": [
            {
                "id": "metric",
                "label": "Shown",
                "values": metrics,
                "labels": [METRICS[m] for m in metrics],
                "initial": metrics[0],
            }
        ],
        "groups": [group(label, look_of(label, labels)) for label in labels],
        "kinds": [{"id": "published", "label": "published", "suffix": "published", "dash": "5 3"}],
        "seeds": many,
        "log": True,
        "panels": [_panel(panel, metrics, deep_text.title(panel, panels)) for panel in panels],
    }
    beside = {line["group"] for p in chart["panels"] for line in p["series"] if "kind" in line}
    if not beside:
        del chart["kinds"]
    if "dueling_dqn" in beside:
        chart["about"] = {"by": "metric", "q_overestimation": published.ABOUT_VALUES}
    short = deep_text.share(found)
    numbers, stated = deep_numbers.show(found)
    notes = [el("li", note) for runs in found for note in deep_text.notes(runs)]
    told = deep_text.caption(drawn, with_published=bool(beside)) if drawn else None
    html = el(
        "section",
        el("h3", heading),
        el("p", deep_text.setting(found), class_="setting"),
        el("p", short, class_="missing") if short else None,
        el("ul", notes, class_="missing") if notes else None,
        el("figure", _folded(el("div", data_chart=name, class_="chart"), drawn), told)
        if drawn
        else None,
        numbers,
        deep_text.agents_table(found),
        id=name,
        class_="item",
    )
    charts = {name: chart} if drawn else {}
    return Part(html, charts, {name: {"numbers": stated}}, deep_text.facts(parent, found, name))


def _folded(chart: Raw, drawn: list[Runs]) -> Raw:
    """The chart, folded away where it is many panels of straight lines."""
    what = deep_text.straight(drawn)
    return details(what, chart, class_="folded") if what else chart


def show_published(name: str) -> Part:
    """The published curves alone, for want of runs to put beside them."""
    agents = published.AGENTS
    panels = [
        {
            "title": published.title(game),
            "x": {"label": "Environment steps", "min": 0},
            "y": {"label": METRICS["return_mean"], "cut": True},
            "series": [_line(agent, published.scores(game, agent), None) for agent in agents],
        }
        for game in published.GAMES
    ]
    chart = {
        "groups": [group(agent, look_of(agent, agents)) for agent in agents],
        "seeds": True,
        "log": True,
        "panels": panels,
    }
    html = el(
        "section",
        el("h3", "Figure 6, as published"),
        el("p", deep_text.NOTHING_OF_OURS, class_="missing"),
        el("figure", el("div", data_chart=name, class_="chart"), deep_text.published_caption()),
        el("p", "Source: ", code("qduet/data/published_scores.csv"), class_="source"),
        id=name,
        class_="item",
    )
    return Part(html, {name: chart}, {})


def _has(runs: Runs, metric: str) -> bool:
    return metric in runs.table and bool(np.isfinite(runs.table[metric]).any())


# --- The chart -----------------------------------------------------------------------------------


def _panel(panel: deep_text.Panel, metrics: list[str], title: str) -> dict[str, Any]:
    lines = []
    for metric, runs in itertools.product(metrics, panel):
        for label in runs.agents if _has(runs, metric) else ():
            lines.append(_line(label, runs.scores(label, metric), metric))
            theirs = _published(runs, label, metric)
            if theirs is not None:
                lines.append(_line(label, theirs, metric, kind="published"))
    return {
        "title": title,
        "x": {"label": "Environment steps", "min": 0, "max": panel[0].config["steps"]},
        "y": {"label": {"by": "metric", **METRICS}, "cut": True},
        "series": lines,
    }


def _line(
    label: str, scores: Scores, metric: str | None, kind: str | None = None
) -> dict[str, Any]:
    when = {"metric": metric} if metric else None
    if not len(scores.steps):
        empty = np.zeros(0)
        return series(label, empty, empty, empty, empty, when=when, kind=kind)
    several = len(scores.seeds) > 1
    line = series(
        label,
        scores.steps,
        *stats.band(scores.values),
        when=when,
        kind=kind,
        seeds=scores.values if several and kind is None else None,
        seed_names=scores.seeds.tolist(),
        note=None if several else "one seed",
    )
    return line | ({"dots": True, "size": 2.2} if len(scores.steps) <= FEW_EVALUATIONS else {})


def _published(runs: Runs, label: str, metric: str) -> Scores | None:
    """The published scores to draw beside an agent's: its own, up to where it was trained."""
    known = published.covers(runs.config) and metric in ("return_mean", "q_overestimation")
    if not known or label not in published.AGENTS:
        return None
    scores = published.scores(runs.game, label, metric)
    there = scores.steps <= runs.config["steps"]
    if there.sum() < 2:
        return None
    return Scores(scores.seeds, scores.steps[there], scores.values[:, there])
