"""Figure 6: DQN, Dueling DQN and RDQ on MinAtar, ours over the published curves.

    runs = admit([Path("results/figure6")])          # of any of the games, or []
    for stem, figure in figures(runs).items():
        save(figure, Path("out") / stem)

Solid lines are ours, with 95 % intervals over seeds; faint dashed lines are the published scores.
The summary over games, which the paper does not have, is drawn with the numbers of `comparison`,
for ours and for the published runs of the same games (`paper.overall`).
"""

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from qduet import stats
from qduet.paper.overall import aggregates, collections
from qduet.results import published
from qduet.results.comparison import Collection, Line, OverallPair
from qduet.results.published import title
from qduet.results.runs import Runs, Scores
from qduet.show.figures.style import colour, cut_axis, house_style, label

COLUMNS = {
    "return_mean": "Mean return",
    "q_overestimation": "Q minus observed return",
}
"""What is drawn against steps, and the name of its axis."""


def figures(runs: Sequence[Runs]) -> dict[str, Figure]:
    """All figures that MinAtar runs give, by the stem of their file names."""
    ours, theirs = collections(runs)
    return {
        "figure6": curves_figure(runs, "return_mean"),
        "figure6-summary": summary_figure(ours, theirs),
        "figure6-overestimation": curves_figure(runs, "q_overestimation"),
    }


# --- Five panels ---------------------------------------------------------------------------------


def curves_figure(runs: Sequence[Runs], column: str) -> Figure:
    """One panel per game: `column` against steps, ours over the published curves."""
    by_game = {game.game: game for game in runs}
    with house_style():
        figure = Figure(figsize=(11, 6.2), layout="constrained")
        *panels, last = figure.subplots(2, 3).ravel()
        for axes, game in zip(panels, published.GAMES, strict=True):
            _draw_game(axes, game, by_game.get(game), column)
        about = published.ABOUT_VALUES if column == "q_overestimation" else ""
        _explain(last, by_game, about)
    return figure


def _draw_game(axes: Axes, game: str, runs: Runs | None, column: str) -> None:
    for agent in published.AGENTS:
        _draw_published(axes, published.scores(game, agent, column), agent)
    for agent in runs.agents if runs else ():
        _draw_ours(axes, runs.scores(agent, column), agent)  # type: ignore[union-attr]
    if runs and column == "q_overestimation" and _has_uncentred(runs):
        _draw_uncentred(axes, runs)
    note = "" if runs else " (published only)"
    axes.set_title(title(game) + note)
    axes.set_xlabel("Environment steps (millions)")
    axes.set_xlim(0, published.STEPS / 1e6)
    axes.set_ylabel(COLUMNS[column])
    cut_axis(axes)
    if column == "q_overestimation":
        axes.axhline(0, color="0.35", linewidth=0.8)


def _draw_published(axes: Axes, scores: Scores, agent: str) -> None:
    mean, low, high = stats.band(scores.values)
    shade, x = colour(agent), scores.steps / 1e6
    axes.plot(x, mean, "--", color=shade, alpha=0.55, linewidth=1.1, gid=f"published-{agent}")
    axes.fill_between(x, low, high, color=shade, alpha=0.10, linewidth=0)


def _draw_ours(axes: Axes, scores: Scores, agent: str) -> None:
    known = np.isfinite(scores.values).all(axis=0)
    mean, low, high = stats.band(scores.values[:, known])
    shade, x = colour(agent), scores.steps[known] / 1e6
    axes.plot(x, mean, color=shade, linewidth=1.6, gid=f"ours-{agent}")
    axes.fill_between(x, low, high, color=shade, alpha=0.28, linewidth=0)


def _draw_uncentred(axes: Axes, runs: Runs) -> None:
    """Dueling DQN's V + A, which the published values are of."""
    agent = "dueling_dqn"
    scores = runs.uncentred(agent, "q_overestimation")
    mean = scores.values.mean(axis=0)
    x, gid = scores.steps / 1e6, f"uncentred-{agent}"
    axes.plot(x, mean, ":", color=colour(agent), linewidth=1.6, gid=gid)


def _has_uncentred(runs: Runs) -> bool:
    return "dueling_dqn" in runs.agents and "mean_adv_abs" in runs.table


def _explain(axes: Axes, runs: Mapping[str, Runs], about: str) -> None:
    """The sixth panel: what is what, and how much of it is ours."""
    axes.set_axis_off()
    lines = [Line2D([], [], color=colour(a), label=label(a)) for a in published.AGENTS]
    lines += [
        Line2D([], [], color="0.2", linewidth=1.6, label="ours, 95 % interval over seeds"),
        Line2D([], [], color="0.2", alpha=0.55, linestyle="--", label="published, likewise"),
    ]
    if about and any(map(_has_uncentred, runs.values())):
        shade, told = colour("dueling_dqn"), "ours, V + A of Dueling DQN"
        lines.append(Line2D([], [], color=shade, linestyle=":", linewidth=1.6, label=told))
    axes.legend(handles=lines, loc="upper left", fontsize=10)
    seeds = sorted({len(game.config["seeds"]) for game in runs.values()})
    some = len(runs) < len(published.GAMES)
    there = [f"{len(runs)} of {len(published.GAMES)} games"] if some else []
    there += [f"{' to '.join(map(str, seeds))} seeds each"] if runs else []
    told = f"Ours: {', '.join(there)}.\nPublished: 30 seeds each (Freeway, RDQ: 22)."
    text = f"{told}\n{textwrap.fill(about, 40)}"
    axes.text(0.03, 0.3, text, transform=axes.transAxes, va="top", fontsize=9)


# --- Over games ----------------------------------------------------------------------------------


def summary_figure(ours: Collection | None, theirs: Collection) -> Figure:
    """IQM against steps, probability of improvement and performance profile, over all games."""
    mine = None if ours is None else aggregates(ours)
    shown = aggregates(theirs)
    games = theirs.games
    with house_style():
        figure = Figure(figsize=(11, 3.9), layout="constrained")
        left, centre, right = figure.subplots(1, 3)
        for numbers, whose in ((shown, "published"), (mine, "ours")):
            if numbers is not None:
                for line in numbers.iqm:
                    _draw_line(left, line._replace(x=line.x / 1e6), whose)
                for line in numbers.profile:
                    _draw_line(right, line, whose)
                _draw_improvement(centre, numbers.improvement, whose)
        left.set(title="IQM over games", xlabel="Environment steps (millions)")
        left.set_ylabel("Normalised return\n(published DQN at 10M = 1)")
        _finish_improvement(centre, shown.improvement)
        right.set(title="Performance profile", xlabel="Normalised return τ")
        right.set(ylabel="Fraction of runs above τ", ylim=(0, 1.02))
        handles = [Line2D([], [], color=colour(a), label=label(a)) for a in theirs.agents]
        handles += [Line2D([], [], color="0.2", label="ours")] if ours else []
        handles += [Line2D([], [], color="0.2", alpha=0.55, linestyle="--", label="published")]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
        covered = "All five games" if len(games) == 5 else ", ".join(map(title, games))
        drawn = covered if ours else f"{covered}, published runs only"
        figure.suptitle(
            f"{drawn}; 95 % stratified-bootstrap intervals, up to step {theirs.at:,}", fontsize=10
        )
    return figure


def _draw_line(axes: Axes, line: Line, whose: str) -> None:
    shade, mine = colour(line.agent), whose == "ours"
    style, alpha, band = ("-", 1.0, 0.25) if mine else ("--", 0.55, 0.10)
    axes.plot(line.x, line.y.value, style, color=shade, alpha=alpha, gid=f"{whose}-{line.agent}")
    axes.fill_between(line.x, line.y.low, line.y.high, color=shade, alpha=band, linewidth=0)


def _draw_improvement(axes: Axes, pairs: Sequence[OverallPair], whose: str) -> None:
    mine = whose == "ours"
    marker, style, alpha, offset = ("o", "-", 1.0, 0.12) if mine else ("s", "--", 0.55, -0.12)
    for row, (x, y, (value, low, high)) in enumerate(pairs):
        shade, height = colour(x), row + offset
        axes.plot(
            value, height, marker, color=shade, alpha=alpha, markersize=5, gid=f"{whose}-{x}-{y}"
        )
        axes.plot([low, high], [height, height], style, color=shade, alpha=alpha)


def _finish_improvement(axes: Axes, pairs: Sequence[OverallPair]) -> None:
    axes.axvline(0.5, color="0.35", linewidth=0.8)
    names = [f"{label(x)} over\n{label(y)}" for x, y, _ in pairs]
    axes.set_yticks(range(len(pairs)), names)
    axes.set(title="Probability of improvement", xlabel="P(a run of the first is better)")
    axes.set(xlim=(0, 1), ylim=(-0.6, len(pairs) - 0.4))
