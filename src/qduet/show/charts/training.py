"""Learning curves of training runs, beside the published ones.

    chart = runs_chart([load(path) for path in paths])       # results/figure6/*, of five games

Each game is a panel; so are directories of one game that were made differently (`by_panel`). Runs
that are unfinished, of a single seed, or that diverged are drawn as far as they go.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from qduet import stats
from qduet.results import published
from qduet.results.runs import Runs, Scores, joined
from qduet.show.chart import FEW_SEEDS, PUBLISHED, STEPS, Axis, Chart, Panel, Select, Series
from qduet.show.names import agent_styles

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

FEW_EVALUATIONS = 21
"""A learning curve through up to so many evaluations has a marker at each of them."""

ALIKE = ("env", "game_program", "protocol", "steps", "evaluate_every", "episodes")
"""Settings that the directories of one panel have in common, besides the game."""


def score_series(agent: str, scores: Scores, **options: Any) -> Series:
    """The mean of an agent's runs with its 95 % interval; `options` are fields of `Series`."""
    if not len(scores.steps):
        return Series(agent, np.zeros(0), np.zeros(0), **options)
    if len(scores.seeds) > 1 and not options.get("kind"):
        options |= {"seeds": scores.values, "seed_names": tuple(scores.seeds.tolist())}
    return banded_series(agent, scores.steps, stats.Estimate(*stats.band(scores.values)), **options)


def banded_series(agent: str, x: np.ndarray, band: stats.Estimate, **options: Any) -> Series:
    """A line with its band (value, low, high), and with markers if its points are few."""
    marker = "o" if len(x) <= FEW_EVALUATIONS else ""
    return Series(agent, x, *band, marker=marker, **options)


# --- Runs ----------------------------------------------------------------------------------------


def by_panel(runs: Sequence[Runs]) -> list[list[Runs]]:
    """Directories that are drawn in one panel: of one game, made alike, with different runs.

    They may hold other seeds of the same agent, as the jobs of a sweep do.
    """
    panels: list[list[Runs]] = []
    for directory in runs:
        for panel in panels:
            if all(_can_share(directory, other) for other in panel):
                panel.append(directory)
                break
        else:
            panels.append([directory])
    return panels


def _can_share(a: Runs, b: Runs) -> bool:
    """Whether two directories were made alike, and an agent of both can be one line.

    It can if no run is in both, the evaluations are at the same steps, and what it computes is the
    same.
    """
    made = [(r.game, *(r.config.get(key) for key in ALIKE)) for r in (a, b)]
    ours, theirs = ({agent["label"]: agent for agent in r.config["agents"]} for r in (a, b))
    both = ours.keys() & theirs.keys()
    if made[0] != made[1] or any(ours[label] != theirs[label] for label in both):
        return False
    one_line = (
        set(a.config["seeds"]).isdisjoint(b.config["seeds"])
        and set(a.table["step"].tolist()) == set(b.table["step"].tolist())
        and a.config.get("agent_programs") == b.config.get("agent_programs")
    )
    return one_line or not both


def panel_titles(panels: Sequence[Sequence[Runs]]) -> list[str]:
    """The game of each panel; with its directories if two panels are of the same game."""
    games = [panel[0].game for panel in panels]
    titles = []
    for panel, game in zip(panels, games, strict=True):
        names = f" ({', '.join(runs.directory.name for runs in panel)})"
        titles.append(published.title(game) + (names if games.count(game) > 1 else ""))
    return titles


def runs_chart(runs: Sequence[Runs]) -> Chart:
    """All runs that have been evaluated, by panel, with the published scores beside them."""
    labels = tuple(dict.fromkeys(label for directory in runs for label in directory.agents))
    metrics = [m for m in METRICS if any(_has(r, m) for r in runs)] or ["return_mean"]
    together = by_panel([r for r in runs if len(r.table["step"])])
    titles = panel_titles(together)
    panels = tuple(_panel(p, t, metrics) for p, t in zip(together, titles, strict=True))
    beside = {s.group for panel in panels for s in panel.series if s.kind == PUBLISHED}
    counts = [len(s.seed_names) for panel in panels for s in panel.series if s.kind != PUBLISHED]
    alt = "Lines: means over seeds." if any(counts) else "Lines: a single seed each."
    if any(1 < count < FEW_SEEDS for count in counts):
        alt += " Thin lines: the single seeds."
    if max(counts, default=0) >= FEW_SEEDS:
        alt += " Shading: 95 % intervals over seeds."
    if beside:
        alt += " Solid: these runs; dashed: the published scores of the same agents and games."
    if "dueling_dqn" in beside:
        alt += f" Overestimation: {published.ABOUT_VALUES}"
    return Chart(
        title="Learning curves",
        groups=agent_styles(labels),
        panels=panels,
        selects=(
            Select(
                "metric",
                "Shown",
                tuple(metrics),
                initial=metrics[0],
                labels=tuple(METRICS[m] for m in metrics),
            ),
        ),
        alt=alt,
    )


def _has(runs: Runs, metric: str) -> bool:
    return metric in runs.table and bool(np.isfinite(runs.table[metric]).any())


def _panel(together: Sequence[Runs], title: str, metrics: Sequence[str]) -> Panel:
    lines = []
    labels = dict.fromkeys(label for runs in together for label in runs.agents)
    for metric, label in itertools.product(metrics, labels):
        having = [runs for runs in together if label in runs.agents and _has(runs, metric)]
        if having:
            when = {"metric": metric}
            ours = joined([runs.scores(label, metric) for runs in having])
            lines.append(score_series(label, ours, when=when))
            theirs = _published(having[0], label, metric)
            if theirs is not None:
                lines.append(score_series(label, theirs, when=when, kind=PUBLISHED))
    x = Axis(STEPS, min=0, max=together[0].config["steps"])
    return Panel(title, x, Axis(""), tuple(lines))


def _published(runs: Runs, label: str, metric: str) -> Scores | None:
    """The published scores to draw beside an agent's: its own, up to where it was trained."""
    known = published.covers(runs.config) and metric in ("return_mean", "q_overestimation")
    if not known or label not in published.AGENTS:
        return None
    scores = published.scores(runs.game, label, metric)
    there = scores.steps <= runs.config["steps"]
    return scores.where(there) if there.sum() > 1 else None
