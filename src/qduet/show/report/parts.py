"""What the page is put together from: items, facts, and charts as data for `static/charts.js`.

The data of a chart are the fields of `qduet.show.chart`, without those at their defaults::

    {"groups": [{"id": "rdq", "label": "RDQ", "line": "-", "light": "#0b3d91", "dark": "#b7c5ff"}],
     "panels": [{"title": …, "x": {"label": …}, "y": {"label": …}, "series": [{"group": …}, …]}]}

A value that is not finite is null. An x that several series of a panel share is in
``panel["grids"]``, and they have its key.
"""

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qduet.show.chart import Chart, Panel, Series
from qduet.show.names import ON_BLACK, ON_WHITE
from qduet.show.report.html import Child, Raw, code, el


class Fact(NamedTuple):
    """A line of the summary at the top of the page."""

    kind: str
    """A key of `page.KINDS`."""
    text: str
    item: str | None = None
    """The id of the item it is about."""
    file: str | None = None
    """Where it can be read."""


class Part(NamedTuple):
    """One item of the page."""

    html: Raw
    charts: dict[str, Any]
    """By the name that ``data-chart`` has in `html`."""
    data: dict[str, Any]
    """What the text and tables state, as values of JSON."""
    facts: tuple[Fact, ...] = ()


def item(name: str, heading: str, *children: Child) -> Raw:
    """The element of an item; links lead to it by `name`."""
    return el("section", el("h3", heading), children, id=name, class_="item")


def source(path: Path | str) -> Raw:
    """Where the numbers of an item come from."""
    return el("p", "Source: ", code(str(path)), class_="source")


def figure(name: str, chart: Chart) -> Raw:
    """The element that a chart is drawn in, and its text."""
    return el("figure", el("div", data_chart=name, class_="chart"), el("figcaption", chart.alt))


# --- Charts --------------------------------------------------------------------------------------

DIGITS = {"x": 9, "seed_x": 9, "seeds": 4}
"""Significant digits of these arrays; of the others 6."""


def chart_data(chart: Chart) -> dict[str, Any]:
    """The chart for `static/charts.js`."""
    return {
        "groups": [
            {"id": key, "label": style.label, "line": style.line, **on_screen(style.colour)}
            for key, style in chart.groups.items()
        ],
        "selects": [_fields(select) for select in chart.selects],
        "panels": [_panel(panel) for panel in chart.panels],
    }


def on_screen(colour: str) -> dict[str, str]:
    """A colour for the light theme and for the dark one."""
    colour = colour.lower()
    return {"light": ON_WHITE.get(colour, colour), "dark": ON_BLACK.get(colour, colour)}


def _fields(value: Any) -> dict[str, Any]:
    """The fields that are not at their defaults."""
    values = {f.name: (getattr(value, f.name), f.default) for f in dataclasses.fields(value)}
    return {
        name: own
        for name, (own, default) in values.items()
        if isinstance(own, np.ndarray) or own != default
    }


def _panel(panel: Panel) -> dict[str, Any]:
    uses = Counter(series.x.tobytes() for series in panel.series)
    names = {x: f"x{i}" for i, (x, count) in enumerate(uses.items()) if x and count > 1}
    grids, lines = {}, []
    for series in panel.series:
        line = _series(series)
        name = names.get(series.x.tobytes())
        if name:
            grids[name], line["x"] = line["x"], name
        lines.append(line)
    axes = {"x": _fields(panel.x), "y": _fields(panel.y)}
    return _fields(panel) | axes | {"series": lines, "grids": grids}


def _series(series: Series) -> dict[str, Any]:
    bandless = () if series.has_band else ("low", "high")
    return {
        name: _numbers(value, DIGITS.get(name, 6)) if isinstance(value, np.ndarray) else value
        for name, value in _fields(series).items()
        if name not in bandless
    }


def _numbers(values: np.ndarray, digits: int) -> list[Any]:
    """The values with so many significant digits."""
    if values.ndim > 1:
        return [_numbers(row, digits) for row in values]
    return [float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in values]
