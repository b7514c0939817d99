"""Results as pictures: figures on paper, the report page, the player of recordings.

    from qduet.show import draw, save, tabular_chart

    chart = tabular_chart(results, summarise_all(results))      # what a figure shows, as a value
    save(draw(chart), Path("out/figure5"))                      # figure5.png, .pdf and .svg

Results become a `Chart`, and a chart becomes a figure or a part of the page:

    qduet.show.names     how rules and agents are called, their colours and line styles
    qduet.show.chart     what a chart is: panels, axes, series
    qduet.show.charts    from results to charts, one module for each kind of result
    qduet.show.figures   charts drawn with matplotlib
    qduet.show.report    everything in one HTML page: `qduet.show.report.build`
    qduet.show.player    recorded play in a page or as a GIF
"""

import importlib
from typing import TYPE_CHECKING, Any

from qduet.show.chart import Axis, Chart, Panel, Series
from qduet.show.names import agent_styles, rule_styles

if TYPE_CHECKING:
    from qduet.show.charts.comparison import comparison_charts
    from qduet.show.charts.tabular import tabular_chart
    from qduet.show.figures import draw, save

__all__ = [
    "Axis",
    "Chart",
    "Panel",
    "Series",
    "agent_styles",
    "comparison_charts",
    "draw",
    "rule_styles",
    "save",
    "tabular_chart",
]

_MODULES = {"draw": "figures", "save": "figures"} | {
    "comparison_charts": "charts.comparison",
    "tabular_chart": "charts.tabular",
}


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first asked for: matplotlib only to draw."""
    if name in _MODULES:
        return getattr(importlib.import_module(f"qduet.show.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'qduet.show' has no attribute '{name}'")
