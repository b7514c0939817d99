"""Over-estimation over time, and what the QV family's values look like: exploratory.

Written after the runs of Asterix and Breakout had been seen; docs/study.md says so beside them.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from docs_tables.cells import NOT_YET
from docs_tables.family import AGENTS, six_agents
from docs_tables.qv import Returns, last_returns
from qduet.core.tables import Table
from qduet.paper.claims import signed
from qduet.results import published
from qduet.results.published import title
from qduet.stats import mean_interval, number


def over_time_tables(results: Path) -> dict[str, str]:
    """The exploratory tables of docs/study.md, by name."""
    early, late = (six_agents(results, "q_overestimation", index) for index in (1, -1))
    family = [last_returns(results / "family", c) for c in ("v_minus_max_q", "q_spread")]
    return {
        "family-over-time": over_time_table(early, late).markdown(),
        "family-values": values_table(*family).markdown(),
    }


def over_time_table(early: Returns, late: Returns) -> Table:
    """Over-estimation after 1M and after 10M steps, and the change, with an interval over seeds."""

    def cell(game: str, agent: str) -> str:
        x, y = early[game, agent], late[game, agent]
        ends = " → ".join(number(float(values.mean()), "+.2f") for values in (x, y))
        return f"{ends}, {signed(mean_interval(y - x))}"

    return _by_game(AGENTS, late, cell)


def values_table(v_minus_max_q: Returns, spread: Returns) -> Table:
    """After 10M steps: V − max Q, and how far apart the values of the actions are."""

    def cell(game: str, agent: str) -> str:
        below, apart = (mean_interval(values[game, agent]) for values in (v_minus_max_q, spread))
        return f"{signed(below)}; {apart}"

    return _by_game(AGENTS[3:], spread, cell)


def _by_game(agents: Sequence[str], there: Returns, cell: Callable[[str, str], str]) -> Table:
    rows = [
        (agent, *(cell(g, agent) if (g, agent) in there else NOT_YET for g in published.GAMES))
        for agent in agents
    ]
    return Table("By game", ("agent", *map(title, published.GAMES)), rows)
