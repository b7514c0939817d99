"""The chart of the β study (docs/study.md): RDQ's return against the weight of its penalty."""

import numpy as np

from qduet import stats
from qduet.results import published
from qduet.results.collect import Collection
from qduet.show.chart import Axis, Chart, Panel, Series
from qduet.show.names import agent_styles


def beta_chart(collection: Collection) -> Chart:
    """One panel per game; the values of β stand at equal distances, as 0 has no logarithm."""
    betas = sorted(float(agent.rpartition("beta-")[2]) for agent in collection.agents)
    labels = {float(agent.rpartition("beta-")[2]): agent for agent in collection.agents}
    places = np.arange(len(betas), dtype=float)
    papers = betas.index(0.001) if 0.001 in betas else None
    x = Axis("β", ticks=tuple(places), names=tuple(map(_short, betas)), guide=papers)
    panels = []
    for game in collection.games:
        samples = [collection.curves[game, labels[beta]].last for beta in betas]
        mean, low, high, _ = np.array([stats.mean_interval(s) for s in samples]).T
        line = Series("rdq", places, mean, low, high, marker="o")
        panels.append(Panel(published.title(game), x, Axis("Mean return"), (line,)))
    alt = (
        f"Mean return of RDQ at step {collection.at:,} for each weight β of its penalty, with 95 % "
        "intervals over seeds. The paper’s β is 0.001."
    )
    return Chart("RDQ and β", agent_styles(("rdq",)), tuple(panels), alt=alt)


def _short(beta: float) -> str:
    """``1e-3`` or ``2.5e-3``: eight of them fit below a panel."""
    return np.format_float_scientific(beta, trim="-", exp_digits=1) if beta else "0"
