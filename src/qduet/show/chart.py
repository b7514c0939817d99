"""A chart as data: matplotlib draws it (`figures.draw`), and so does the page (`chart_data`).

    chart = Chart(
        title="Two rules",
        groups=rule_styles(("q_learning", "hard_rdq")),
        panels=(
            Panel("Learning curves", Axis("Steps"), Axis("Error", percent=True), (
                Series("q_learning", steps, *stats.band(curves)),
            )),
        ),
    )
    save(draw(chart), Path("out/two-rules"))        # qduet.show.figures

A chart has panels side by side, a panel has series, a series belongs to a group: a rule or an
agent, which has one style in all panels. A reader of the page can switch groups off, and choose
among series by the chart's `selects`; a figure, which matplotlib draws, shows the initial choice.

The theory's charts take long to compute, so they are also kept in files: see `write` and `read`.
"""

import dataclasses
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from qduet.core.files import write_json
from qduet.core.reading import damaged, read_json
from qduet.show.names import Style, on_screen

STEPS = "Environment steps"
"""The label of the x axis of learning curves; its ticks are short: 200k, 1M."""

MOST_PERCENT = 200
"""Larger errors come from runs that diverge."""

FEW_SEEDS = 5
"""Fewer are drawn one by one: their interval would fill the panel."""

PUBLISHED = "published"
"""The kind of series that show the scores that the paper's authors released."""
FAINT = "faint"
"""The kind of series drawn behind others: single runs behind their median."""


@dataclass(frozen=True)
class Axis:
    """One axis of a panel."""

    label: str
    """If empty, the page shows the choice of the first select."""
    log: bool = False
    """Whether its scale is logarithmic."""
    min: float | None = None
    """Where the axis begins; None: where the data do."""
    max: float | None = None
    """Where the axis ends; None: where the data do."""
    ticks: tuple[float, ...] = ()
    """Where the ticks are; none: at round numbers."""
    names: tuple[str, ...] = ()
    """Labels of the ticks, instead of numbers."""
    percent: bool = False
    """Whether it is in percent; values above `MOST_PERCENT` do not stretch it."""
    guide: float | None = None
    """Where a figure has a line across the whole panel."""


@dataclass(frozen=True, eq=False)
class Series:
    """A line, marks, or both; all arrays are ``[points]`` unless said otherwise."""

    group: str
    """A key of `Chart.groups`."""
    x: np.ndarray
    """Where the points are, such as steps or step sizes."""
    y: np.ndarray
    """Not finite where there is nothing to draw, because a run diverged."""
    low: np.ndarray | None = None
    """The lower end of the 95 % interval of `y`; not finite, or None, where it is not known."""
    high: np.ndarray | None = None
    """The upper end, likewise."""
    line: str | None = None
    """A line style; None: that of the group; empty: marks only."""
    marker: str = ""
    """A marker of matplotlib at each point, such as ``o``; empty: none."""
    open: bool = False
    """Whether the marker is a ring instead of a disc."""
    kind: str = ""
    """Empty for results of one's own, `PUBLISHED` or `FAINT`."""
    detail: str = ""
    """What tells it from others of its group: ``|A| = 2``."""
    note: str = ""
    """A remark on it: ``α = 0.2``."""
    when: Mapping[str, str] = field(default_factory=dict)
    """The choices for which it is shown: select id to value. If empty, it is always shown."""
    seeds: np.ndarray | None = None
    """``[seeds, seed points]``: the single runs that `y` is the mean of."""
    seed_x: np.ndarray | None = None
    """``[seed points]``; None: as `x`."""
    seed_names: tuple[int, ...] = ()
    """The seeds of the rows of `seeds`."""
    diverged: np.ndarray | None = None
    """How many of `runs` diverged at each point."""
    runs: int = 0
    """How many runs `y` is the mean of."""
    held_out: np.ndarray | None = None
    """AUC of a step size that was chosen on other seeds; NaN where there is none."""

    @property
    def by_seed(self) -> bool:
        """Whether its seeds are drawn instead of its band."""
        return self.seeds is not None and len(self.seeds) < FEW_SEEDS

    @property
    def has_band(self) -> bool:
        """Whether an interval is known anywhere."""
        return self.low is not None and bool(np.isfinite(self.low).any())


@dataclass(frozen=True)
class Panel:
    """One coordinate system."""

    title: str
    """Stands above the panel."""
    x: Axis
    """The horizontal axis."""
    y: Axis
    """The vertical axis."""
    series: tuple[Series, ...]
    """What is drawn, the last one on top."""
    equal: bool = False
    """Whether one unit of x is as long as one of y."""


@dataclass(frozen=True)
class Select:
    """A choice that the reader of the page has."""

    id: str
    """What `Series.when` calls it."""
    label: str
    """What the reader sees beside it."""
    values: tuple[str, ...]
    """What can be chosen."""
    initial: str
    """The value that is chosen at first, and in a figure."""
    labels: tuple[str, ...] = ()
    """What the reader sees for `values`; if empty, the values themselves."""


@dataclass(frozen=True)
class Chart:
    """Panels that share groups, a legend and controls."""

    title: str
    """Stands above the panels of a figure; the page has a heading instead."""
    groups: Mapping[str, Style]
    """The rules or agents, in the order of the legend."""
    panels: tuple[Panel, ...]
    """Side by side, from left to right."""
    selects: tuple[Select, ...] = ()
    """What the reader of the page can choose."""
    about: str = ""
    """Text beside the panels of a figure."""
    alt: str = ""
    """What the chart shows, in words, for the page."""

    @property
    def shown(self) -> "Chart":
        """The chart at its initial choices, which a figure shows."""
        chosen = {select.id: select.initial for select in self.selects}.items()
        panels = [
            dataclasses.replace(
                panel, series=tuple(s for s in panel.series if s.when.items() <= chosen)
            )
            for panel in self.panels
        ]
        return dataclasses.replace(self, panels=tuple(panels))

    def line_of(self, series: Series) -> str:
        """The line style of a series; empty for marks only."""
        return self.groups[series.group].line if series.line is None else series.line

    def label_of(self, series: Series) -> str:
        """A series' name: its group and its detail."""
        group = self.groups[series.group].label
        return f"{group}, {series.detail}" if series.detail else group


# --- For the page --------------------------------------------------------------------------------

DIGITS = {"x": 9, "seed_x": 9, "seeds": 4}
"""Significant digits of these arrays; of the others 6."""


def chart_data(chart: Chart) -> dict[str, Any]:
    """The chart for `static/charts.js`: its fields, without those at their defaults.

        {"groups": [{"id": "rdq", "label": "RDQ", "line": "-", "light": "#0b3d91", "dark": …}, …],
         "panels": [{"title": …, "x": {"label": …}, "y": {…}, "series": [{"group": …}, …]}, …]}

    A value that is not finite is null. An x that several series of a panel share is in
    ``panel["grids"]``, and they have its key.
    """
    return {
        "groups": [
            {"id": key, "label": style.label, "line": style.line, **on_screen(style.colour)}
            for key, style in chart.groups.items()
        ],
        "selects": [_fields(select) for select in chart.selects],
        "panels": [_panel_data(panel) for panel in chart.panels],
    }


def _fields(value: Any) -> dict[str, Any]:
    """The fields that are not at their defaults."""
    values = {f.name: (getattr(value, f.name), f.default) for f in dataclasses.fields(value)}
    return {
        name: own
        for name, (own, default) in values.items()
        if isinstance(own, np.ndarray) or own != default
    }


def _panel_data(panel: Panel) -> dict[str, Any]:
    uses = Counter(series.x.tobytes() for series in panel.series)
    names = {x: f"x{i}" for i, (x, count) in enumerate(uses.items()) if x and count > 1}
    grids, lines = {}, []
    for series in panel.series:
        line = _series_data(series)
        name = names.get(series.x.tobytes())
        if name:
            grids[name], line["x"] = line["x"], name
        lines.append(line)
    axes = {"x": _fields(panel.x), "y": _fields(panel.y)}
    return _fields(panel) | axes | {"series": lines, "grids": grids}


def _series_data(series: Series) -> dict[str, Any]:
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


# --- Files ---------------------------------------------------------------------------------------

POINTS = 400
"""`write` thins a line with more points to about this many."""


def write(chart: Chart, stem: Path) -> Path:
    """Writes the data of `chart`, thinned, as `stem`.json, and returns that path."""
    path = stem.with_name(f"{stem.name}.json")
    panels = [
        dataclasses.replace(panel, series=tuple(map(_thinned, panel.series)))
        for panel in chart.panels
    ]
    write_json(path, chart_data(dataclasses.replace(chart, panels=tuple(panels))))
    return path


def _thinned(series: Series) -> Series:
    """The series with some of its points, the last one among them."""
    last = len(series.x) - 1
    kept = np.unique(np.append(np.arange(0, last, last // POINTS + 1), last))
    return dataclasses.replace(series, x=series.x[kept], y=series.y[kept])


def read(path: Path) -> dict[str, Any]:
    """The data that `write` wrote, or `InputError`; `read_json` compares its checksum."""
    data = read_json(path)
    if data.keys() != {"groups", "panels", "selects"}:
        remedy = "qduet theory --out DIR writes it anew"
        raise damaged(path, "it is no chart of this version", remedy)
    return data
