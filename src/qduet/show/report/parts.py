"""What the page is put together from: items, facts, and charts as data for `static/charts.js`.

The data of a chart are the fields of `qduet.show.chart`, without those at their defaults::

    {"groups": [{"id": "rdq", "label": "RDQ", "line": "-", "light": "#0b3d91", "dark": "#b7c5ff"}],
     "panels": [{"title": …, "x": {"label": …}, "y": {"label": …}, "series": [{"group": …}, …]}]}

A value that is not finite is null. An x that several series of a panel share is in
``panel["grids"]``, and they have its key.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from qduet.show.chart import Chart, Panel, Series
from qduet.show.names import ON_BLACK, ON_WHITE
from qduet.show.report.html import Child, Raw, code, el, table


class Origin(NamedTuple):
    """Where and how something on the page was computed."""

    what: str
    file: str
    where: str = ""
    """The machine and versions."""
    time: str = ""


class Part(NamedTuple):
    """One item of the page."""

    name: str
    """Its id; links lead to it."""
    heading: str
    intro: Child
    """What was asked, and how it was run."""
    figure: Raw | None = None
    """Its chart; the opening of the page may take it."""
    rest: Child = None
    charts: Mapping[str, Any] = MappingProxyType({})
    """By the name that ``data-chart`` has in `figure` or `rest`."""
    data: Mapping[str, Any] = MappingProxyType({})
    """What the text and tables state, as values of JSON."""
    origins: tuple[Origin, ...] = ()
    found: tuple[str, ...] = ()
    """What came out, in sentences."""

    @property
    def opening(self) -> Child:
        """What stands under the heading."""
        return [[el("p", line, class_="finding") for line in self.found], self.intro]

    def html(self, *, figure_is_above: bool = False, intro_is_above: bool = False) -> Raw:
        """The element of the item."""
        intro = None if intro_is_above else self.opening
        number, _, _ = self.heading.partition(":")
        title = f"{number} in numbers" if figure_is_above else self.heading
        heading = el("h3", title) if title else None
        link = el("a", "The figure is at the top of the page.", href="#top")
        shown = el("p", link, class_="note") if figure_is_above else self.figure
        return el("section", heading, intro, shown, self.rest, id=self.name, class_="item")


def source(path: Path | str) -> Raw:
    """Where the numbers of an item come from."""
    return el("p", "Source: ", code(str(path)), class_="source")


def figure(name: str, chart: Chart) -> Raw:
    """The element that a chart is drawn in, and its text."""
    return el("figure", el("div", data_chart=name, class_="chart"), el("figcaption", chart.alt))


def protocol(name: str) -> str:
    """The protocol, and what that word means."""
    means = {"reference": "as the released code does", "paper": "as the paper’s text says"}
    return f"protocol={name}" + (f" ({means[name]})" if name in means else "")


def evidence(text: str) -> list[Raw]:
    """The numbers that decide, one to a line; in a table where they are of several |A|."""
    lines, columns = [], {}
    for part in text.replace("; but ", "; ").split("; "):
        what, _, numbers = part.partition(": ")
        each = re.findall(r"([+−][\d.]+ \[[^]]*\]) at \|A\| = (\d+)", numbers)
        if len(each) > 1:
            columns[what] = {size: value for value, size in each}
        else:
            lines.append(el("li", part.strip()))
    shown = [el("ul", lines, class_="evidence")] if lines else []
    if columns:
        sizes = dict.fromkeys(size for column in columns.values() for size in column)
        rows = [[size, *(column.get(size, "") for column in columns.values())] for size in sizes]
        caption = "Difference, with its 95 % interval"
        headings = ("|A|", *columns)
        shown.append(table(headings, rows, caption=caption, numeric=1, class_="evidence"))
    return shown


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
