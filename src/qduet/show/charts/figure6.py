"""Figure 6: DQN, Dueling DQN and RDQ on MinAtar, ours over the published curves.

    runs = admit([Path("results/figure6")])          # of any of the games, or []
    for stem, chart in figure6_charts(runs).items():
        save(draw(chart), Path("out") / stem)

Solid lines are ours, with 95 % intervals over seeds; faint dashed lines are the published scores.
The summary over games, which the paper does not have, shows the numbers of `comparison`, for ours
and for the published runs of the same games (`paper.overall`).
"""

from collections.abc import Sequence

from qduet.paper.overall import aggregates, collections
from qduet.results import published
from qduet.results.collect import Collection
from qduet.results.published import title
from qduet.results.runs import Runs
from qduet.show.chart import PUBLISHED, STEPS, Axis, Chart, Panel, Series
from qduet.show.charts.comparison import interval_series, rows_axis
from qduet.show.charts.training import METRICS, banded_series, score_series
from qduet.show.names import agent_styles


def figure6_charts(runs: Sequence[Runs]) -> dict[str, Chart]:
    """All charts that MinAtar runs give, by the stem of their file names."""
    return {
        "figure6": curves_chart(runs, "return_mean"),
        "figure6-summary": summary_chart(*collections(runs)),
        "figure6-overestimation": curves_chart(runs, "q_overestimation"),
    }


# --- Five panels ---------------------------------------------------------------------------------


def curves_chart(runs: Sequence[Runs], metric: str) -> Chart:
    """One panel per game: `metric` against steps, ours over the published curves."""
    by_game = {directory.game: directory for directory in runs}
    panels = tuple(_panel(game, by_game.get(game), metric) for game in published.GAMES)
    seeds = sorted({len(directory.config["seeds"]) for directory in runs})
    some = len(runs) < len(published.GAMES)
    there = [f"{len(runs)} of {len(published.GAMES)} games"] if some else []
    there += [f"{' to '.join(map(str, seeds))} seeds each"] if runs else []
    about = f"Ours: {', '.join(there)}.\nPublished: 30 seeds each (Freeway, RDQ: 22)."
    about += "\nShading: 95 % intervals over seeds."
    if metric == "q_overestimation":
        about += f"\n{published.ABOUT_VALUES}"
    return Chart("", agent_styles(published.AGENTS), panels, about=about)


def _panel(game: str, runs: Runs | None, metric: str) -> Panel:
    zero = metric == "q_overestimation"
    agents = runs.agents if runs else ()
    lines = [score_series(agent, runs.scores(agent, metric)) for agent in agents if runs]
    if runs and zero and "dueling_dqn" in agents and "mean_adv_abs" in runs.table:
        lines.append(_uncentred(runs))
    theirs = {agent: published.scores(game, agent, metric) for agent in published.AGENTS}
    lines += [score_series(agent, s, kind=PUBLISHED) for agent, s in theirs.items()]
    return Panel(
        title(game) + ("" if runs else " (published only)"),
        Axis(STEPS, min=0, max=published.STEPS),
        Axis(METRICS[metric], guide=0 if zero else None),
        tuple(lines),
    )


def _uncentred(runs: Runs) -> Series:
    """Dueling DQN's V + A, which the published values are of."""
    scores = runs.uncentred("dueling_dqn", "q_overestimation")
    mean = scores.values.mean(axis=0)
    return Series("dueling_dqn", scores.steps, mean, line=":", detail="V + A")


# --- Over games ----------------------------------------------------------------------------------


def summary_chart(ours: Collection | None, theirs: Collection) -> Chart:
    """IQM against steps, probability of improvement and performance profile, over all games."""
    published_numbers = aggregates(theirs)
    sources = [(aggregates(ours), "", 1.12)] if ours else []
    sources.append((published_numbers, PUBLISHED, 0.88))
    iqm, profile, improvement = [], [], []
    pairs = published_numbers.improvement
    for numbers, kind, height in sources:
        iqm += [banded_series(*line, kind=kind) for line in numbers.iqm]
        profile += [banded_series(*line, kind=kind) for line in numbers.profile]
        for row, (x, _, chance) in enumerate(numbers.improvement):
            improvement += interval_series(x, chance, len(pairs) - 1 - row + height, kind=kind)
    styles = agent_styles(theirs.agents)
    names = [f"{styles[x].label} over\n{styles[y].label}" for x, y, _ in pairs]
    covered = "All five games" if len(theirs.games) == 5 else ", ".join(map(title, theirs.games))
    drawn = covered if ours else f"{covered}, published runs only"
    return Chart(
        f"{drawn}; 95 % stratified-bootstrap intervals, up to step {theirs.at:,}",
        styles,
        (
            Panel(
                "IQM over games",
                Axis(STEPS, min=0),
                Axis("Normalised return (published DQN at 10M = 1)"),
                tuple(iqm),
            ),
            Panel(
                "Probability of improvement",
                Axis("P(a run of the first is better)", min=0, max=1, guide=0.5),
                rows_axis(names),
                tuple(improvement),
            ),
            Panel(
                "Performance profile",
                Axis("Normalised return τ"),
                Axis("Fraction of runs above τ", min=0, max=1.02),
                tuple(profile),
            ),
        ),
    )
