"""Tables of all 15 cells of the paper; those without data say so."""

from collections.abc import Sequence

from qduet.core.tables import Table
from qduet.paper.agreement import MARGIN, Cell, measure
from qduet.paper.certificate_tables import cell_row, cells_table, margin_text, with_seeds
from qduet.results import published
from qduet.results.published import AGENT_NAMES, title
from qduet.stats import mean_interval

NOT_YET = "no data yet"


def all_cells_table(cells: Sequence[Cell], name: str, step: int) -> Table:
    """All cells of the measure `name` at `step`."""
    present = {(c.game, c.agent): c for c in cells if c.measure == name and c.step == step}
    rows = []
    for game in published.GAMES:
        for agent in published.AGENTS:
            cell = present.get((game, agent))
            rows.append(cell_row(cell) if cell else _empty_row(game, agent, name, step))
    return cells_table(rows, name, step)


def _empty_row(game: str, agent: str, name: str, step: int) -> tuple[str, ...]:
    values = measure(published.scores(game, agent), name, step)
    theirs = with_seeds(mean_interval(values))
    margin = margin_text(MARGIN * values.std(ddof=1), values.mean())
    return (title(game), AGENT_NAMES[agent], theirs, "–", "–", margin, "–", "–", NOT_YET)
