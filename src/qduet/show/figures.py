"""Charts drawn with matplotlib, and figures written to disk.

    save(draw(chart), Path("out/figure5"))          # figure5.png, .pdf and .svg

What a reader of the page can choose is drawn as it is chosen at first.
"""

import io
import pathlib
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis as MatplotlibAxis
from matplotlib.figure import Figure
from matplotlib.patches import Circle, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from matplotlib.transforms import Affine2D

from qduet.core.files import write_atomically
from qduet.show.chart import FAINT, PUBLISHED, Axis, Chart, Panel, Series
from qduet.show.charts.figure1 import (
    ARROW_HEAD,
    HEIGHT,
    MIDDLE,
    NUM_ACTIONS,
    RADIUS,
    WIDTH,
    Diagram,
)
from qduet.show.names import Style

FORMATS = ("png", "pdf", "svg")

GREY = "#595959"

_PENS: dict[str, dict[str, Any]] = {
    "": {"alpha": 1.0, "linewidth": 1.4, "zorder": 2.2},
    PUBLISHED: {"alpha": 0.55, "linewidth": 1.1, "zorder": 2.1},
    FAINT: {"alpha": 0.4, "linewidth": 0.4, "zorder": 2.0},
}
"""How lines are drawn, by the kind of their series."""

_SETTINGS: dict[Any, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "figure.titlesize": 11,
    "font.size": 9,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "qduet",
}


@contextmanager
def house_style() -> Iterator[None]:
    """The project's matplotlib settings, for the duration of a ``with`` block."""
    with matplotlib.rc_context(_SETTINGS):
        yield


def draw(chart: Chart) -> Figure:
    """The figure of a chart.

    The legend is below the panels; or beside the last panel, above the words of the chart
    (`Chart.about`), where the rows of panels leave a place.
    """
    chart = chart.shown
    columns = min(3, len(chart.panels))
    rows = -(-len(chart.panels) // columns)
    width, height = chart.panel_size
    size = (max(5.4, columns * width), rows * height + 1.0)
    with house_style():
        figure = Figure(figsize=size, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)  # type: ignore[union-attr, call-arg]
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        named: set[tuple[str, str]] = set()
        for axes, panel in zip(grid, chart.panels, strict=False):
            _draw_panel(axes, chart, panel, set() if panel.legend else named)
        for axes in grid[len(chart.panels) :]:
            axes.set_axis_off()
        handles = _handles([a for a in grid if a.get_legend() is None])
        if len(grid) > len(chart.panels) and chart.about:
            grid[-1].legend(handles=handles, loc="upper left", fontsize=10)
            words = _wrapped(str(chart.about), 44)
            grid[-1].text(0.03, 0.05, words, va="bottom", transform=grid[-1].transAxes)
        elif handles:
            longest = max(len(str(handle.get_label())) for handle in handles)
            fits = max(1, int(size[0] / (0.6 + 0.075 * longest)))
            at_most = min(fits, len(handles))
            figure.legend(handles=handles, loc="outside lower center", ncols=at_most)
        figure.suptitle(_wrapped(chart.title, int(11.5 * size[0])))
    return figure


def _handles(grid: Sequence[Axes]) -> list[Artist]:
    """What has a label, each label once."""
    by_label: dict[str, Artist] = {}
    for axes in grid:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            by_label.setdefault(label, handle)
    return list(by_label.values())


def _wrapped(text: str, width: int) -> str:
    return "\n".join(textwrap.fill(line, width) for line in text.splitlines())


# --- A panel -------------------------------------------------------------------------------------


def _draw_panel(axes: Axes, chart: Chart, panel: Panel, named: set[tuple[str, str]]) -> None:
    """Draws a panel; adds to `named` the groups and details that its legend has."""
    low, high, cut = _y_range(panel)
    scale = {True: "log", False: "linear"}
    title = _wrapped(panel.title, int(13 * (chart.panel_size[0] - 0.75)))
    axes.set(title=title, xscale=scale[panel.x.log], yscale=scale[panel.y.log])
    axes.set_xlabel(str(panel.x.label))
    axes.set_ylabel(_wrapped(str(panel.y.label) + " (axis cut)" * cut, 36))
    for guide in panel.guides:
        across = axes.axvline if guide.vertical else axes.axhline
        across(guide.at, color=guide.colour, linestyle=guide.line, linewidth=0.8)
        beside: dict[str, Any] = {"xytext": (3, 4), "textcoords": "offset points", "rotation": 90}
        bottom = axes.get_xaxis_transform()
        axes.annotate(guide.text, (guide.at, 0.25), xycoords=bottom, color=GREY, **beside)
    for series in panel.series:
        key = series.group, series.detail
        unnamed = key in named or series.kind == FAINT or panel.y.names  # rows have their names
        _draw_series(axes, chart, series, label=None if unnamed else _label(chart, series))
        _draw_marks(axes, series, chart.groups[series.group], high)
        named |= set() if unnamed else {key}
    kinds = {series.kind for series in panel.series}
    if PUBLISHED in kinds:
        axes.plot([], [], color=GREY, label="ours" if "" in kinds else None, **_PENS[""])
        axes.plot([], [], "--", color=GREY, label="published", **_PENS[PUBLISHED])
    _set_ticks(axes.xaxis, panel.x, np.concatenate([s.x for s in panel.series] or [np.zeros(1)]))
    _set_ticks(axes.yaxis, panel.y, np.zeros(1))
    axes.set_xlim(panel.x.min, panel.x.max)
    axes.set_ylim(low, high)
    if panel.equal:
        axes.set_aspect("equal")
    if panel.legend:
        own: dict[str, Any] = {"loc": panel.legend, "fontsize": 7.5}
        axes.legend(handles=_handles([axes]), **own)


def _label(chart: Chart, series: Series) -> str:
    return chart.label_of(series) + (f" ({series.note})" if series.note else "")


def _draw_series(axes: Axes, chart: Chart, series: Series, label: str | None) -> None:
    colour, pen = chart.groups[series.group].colour, _PENS[series.kind]
    theirs = series.kind == PUBLISHED and series.line is None
    axes.plot(
        series.x,
        series.y,
        linestyle="--" if theirs else chart.line_of(series),
        color=colour,
        marker=series.marker,
        markersize=series.size,
        markerfacecolor="white" if series.open else colour,
        label=label,
        **pen,
    )
    if series.has_band:
        shade = {"color": colour, "alpha": 0.22 * pen["alpha"], "linewidth": 0}
        axes.fill_between(series.x, series.low, series.high, **shade)  # type: ignore[arg-type]


def _draw_marks(axes: Axes, series: Series, style: Style, top: float | None) -> None:
    """Rings where runs diverged; crosses, or triangles at the top edge, at held-out AUCs."""

    def mark(label: str, where: np.ndarray, y: np.ndarray, **options: Any) -> None:
        if where.any():
            axes.plot(series.x[where], y[where], color=style.colour, linestyle="", **options)
            axes.plot([], [], color=GREY, linestyle="", label=label, **options)

    if series.diverged is not None:
        height = np.full(len(series.x), 0.98 - 0.035 * style.row)  # a share of the panel's
        ring: dict[str, Any] = {"marker": "o", "fillstyle": "none", "markersize": 3.5}
        ring |= {"transform": axes.get_xaxis_transform(), "in_layout": False}
        mark("runs diverged", series.diverged > 0, height, **ring)
    if series.held_out is not None:
        edge = np.full(len(series.x), np.inf if top is None else top)
        inside = series.held_out <= edge
        outside = ~inside & ~np.isnan(series.held_out)
        name = "α chosen on the other seeds"
        mark(name, inside, series.held_out, marker="x", markersize=5)
        mark("the same, off the scale", outside, edge, marker="^", markersize=5, clip_on=False)


# --- Axes ----------------------------------------------------------------------------------------


def _y_range(panel: Panel) -> tuple[float | None, float | None, bool]:
    """Where the axis of y ends, and whether it leaves out how the lines begin; None: anywhere.

    Bands do not stretch it beyond the single seeds: those of few seeds would dwarf the lines.
    """
    axis = panel.y
    curves = [values for series in panel.series for values in _with_band(series)]
    known = np.concatenate([np.zeros(0), *(v[np.isfinite(v)] for v in curves)])
    if axis.log or not known.size or known.min() == known.max():
        return axis.min, axis.max, False
    later = np.concatenate([np.zeros(0), *(v[1:][np.isfinite(v[1:])] for v in curves)])
    enough = later.size and max(len(series.x) for series in panel.series) > 2
    cut = axis.cut and enough and 0.7 * later.max() < later.min() < later.max()
    low, high = (later.min(), later.max()) if cut else (known.min(), known.max())
    below, above = (0.3, 0.15) if cut else (0.05, 0.05)
    low, high = low - below * (high - low), high + above * (high - low)
    if axis.cap is not None:
        means = np.concatenate([series.y[np.isfinite(series.y)] for series in panel.series])
        high = np.clip(1.08 * means.max(initial=0), 10.0, axis.cap)
    ends = (low if axis.min is None else axis.min, high if axis.max is None else axis.max)
    return float(ends[0]), float(ends[1]), bool(cut)


def _with_band(series: Series) -> list[np.ndarray]:
    if not series.has_band:
        return [series.y]
    band = np.array([series.low, series.high])
    if series.seeds is not None:
        seeds = series.seeds[np.isfinite(series.seeds)]
        band = band.clip(seeds.min(initial=np.inf), seeds.max(initial=-np.inf))
    return [series.y, *band]


def _set_ticks(axis: MatplotlibAxis, chosen: Axis, values: np.ndarray) -> None:
    most = np.max(values, initial=chosen.max or 0)
    if chosen.ticks:
        axis.set_ticks(chosen.ticks, labels=chosen.names or None)
    elif chosen.percent:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}%"))
    elif chosen.log and values.any():
        _log_ticks(axis, values)
    elif most >= 1e4:
        axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))


def _short(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _log_ticks(axis: MatplotlibAxis, values: np.ndarray) -> None:
    """Labels powers of ten; of a grid with fewer than two of them 1, 2 and 5, or round numbers."""
    low, high = np.log10([values.min() * (1 - 1e-9), values.max() * (1 + 1e-9)])
    axis.set_minor_formatter(NullFormatter())
    if np.floor(high) > np.ceil(low):
        return
    steps = (1, 2, 5)
    narrow = len(np.unique(values)) > 1 and high - low < np.log10(5)
    axis.set_major_locator(MaxNLocator(5, steps=(*steps, 10)) if narrow else LogLocator(subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


# --- Figure 1 ------------------------------------------------------------------------------------


def draw_diagrams(diagrams: Sequence[Diagram]) -> Figure:
    """The diagrams of Figure 1 side by side."""
    with house_style():
        figure = Figure(figsize=(11, 1.6), layout="constrained")
        for axes, diagram in zip(figure.subplots(1, len(diagrams)), diagrams, strict=True):
            axes.set(title=diagram.style.label, xlim=(0, WIDTH), ylim=(HEIGHT, 0), aspect="equal")
            axes.set_axis_off()
            _draw_diagram(axes, diagram)
        figure.suptitle(
            f"Who bootstraps from whom, |A| = {NUM_ACTIONS}: arrows point from the bootstrapped "
            "table to the updated one"
        )
    return figure


def _draw_diagram(axes: Axes, diagram: Diagram) -> None:
    colour = diagram.style.colour
    for arrow in diagram.arrows:
        curve = [Path.CURVE4 if len(arrow.path) == 4 else Path.CURVE3] * (len(arrow.path) - 1)
        path = Path(arrow.path, [Path.MOVETO, *curve])
        axes.add_patch(PathPatch(path, fill=False, edgecolor=colour, linewidth=1.6))
        turned = Affine2D().rotate_deg(arrow.angle).translate(*arrow.path[-1])
        axes.add_patch(Polygon(turned.transform(ARROW_HEAD), color=colour))
    for circle in diagram.circles:
        axes.add_patch(Circle((circle.x, MIDDLE), RADIUS, facecolor="white", edgecolor="black"))
    anchors = {"start": "left", "middle": "center", "end": "right"}
    for word in (*diagram.circles, *(arrow.text for arrow in diagram.arrows)):
        axes.text(word.x, word.y, word.text, ha=anchors[word.anchor], fontsize=11)


# --- Files ---------------------------------------------------------------------------------------


def rendered(figure: Figure) -> dict[str, bytes]:
    """The figure as files, by format; the same figure gives the same bytes."""
    undated = {"png": {"Software": None}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
    files = {}
    with house_style():
        for fmt in FORMATS:
            buffer = io.BytesIO()
            figure.savefig(buffer, format=fmt, metadata=undated[fmt])
            files[fmt] = buffer.getvalue()
    return files


def save(figure: Figure, stem: pathlib.Path) -> list[pathlib.Path]:
    """Writes the figure as `stem`.png, .pdf and .svg, and returns their paths."""
    paths = []
    for fmt, content in rendered(figure).items():
        path = stem.with_name(f"{stem.name}.{fmt}")
        write_atomically(path, content)
        paths.append(path)
    return paths
