"""Charts drawn with matplotlib, and figures written to disk.

    save(draw(chart), Path("out/figure5"))          # figure5.png, .pdf and .svg

What a reader of the page can choose is drawn as it is chosen at first.
"""

import io
import pathlib
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis as MatplotlibAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.ticker import EngFormatter, FuncFormatter, LogFormatterSciNotation, NullLocator

from qduet.core.files import write_atomically
from qduet.show.chart import FAINT, MOST_PERCENT, PUBLISHED, STEPS, Axis, Chart, Panel, Series
from qduet.show.charts.figure2 import NUM_ACTIONS, Norms, in_discounts
from qduet.show.names import RULES

CANVASES: dict[str, Any] = {"png": FigureCanvasAgg, "pdf": FigureCanvasPdf, "svg": FigureCanvasSVG}
"""What draws each format."""

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
    columns = 2 if len(chart.panels) == 4 and not chart.about else min(3, len(chart.panels))
    rows = -(-len(chart.panels) // columns)
    height = max(_height(panel) for panel in chart.panels)
    size = (columns * (3.65 if columns == 3 else 5.4), height * rows + 1.0)
    with house_style():
        figure = Figure(figsize=size, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)  # type: ignore[union-attr, call-arg]
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        named: set[tuple[str, str]] = set()
        for axes, panel in zip(grid, chart.panels, strict=False):
            _draw_panel(axes, chart, panel, named)
        for axes in grid[len(chart.panels) :]:
            axes.set_axis_off()
        handles = _handles(list(grid))
        if len(grid) > len(chart.panels) and chart.about:
            grid[-1].legend(handles=handles, loc="upper left", fontsize=10)
            words = _wrapped(chart.about, 44)
            grid[-1].text(0.03, 0.05, words, va="bottom", transform=grid[-1].transAxes)
        elif handles:
            longest = max(len(str(handle.get_label())) for handle in handles)
            fits = max(1, int(size[0] / (0.6 + 0.075 * longest)))
            at_most = min(fits, len(handles))
            figure.legend(handles=handles, loc="outside lower center", ncols=at_most)
        figure.suptitle(_wrapped(chart.title, int(11.5 * size[0])))
    return figure


def _height(panel: Panel) -> float:
    """Inches for a panel and its title; a panel whose rows have names needs more for each row."""
    return 0.9 + 0.35 * len(panel.y.names) if panel.y.names else 3.1


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
    """Draws a panel; adds to `named` the groups and details that get a label for the legend."""
    low, high = _y_range(panel)
    scale = {True: "log", False: "linear"}
    narrow = 26 if panel.y.names else 36
    axes.set(title=_wrapped(panel.title, narrow if len(chart.panels) > 2 else 60))
    axes.set(xscale=scale[panel.x.log], yscale=scale[panel.y.log])
    axes.set(xlabel=panel.x.label, ylabel=_wrapped(panel.y.label, 36))
    for across, axis in ((axes.axvline, panel.x), (axes.axhline, panel.y)):
        if axis.guide is not None:
            across(axis.guide, color=GREY, linewidth=0.8)
    for series in panel.series:
        key, label = (series.group, series.detail), None
        if key not in named and series.kind != FAINT and not panel.y.names:  # rows have names
            named.add(key)
            label = chart.label_of(series) + (f" ({series.note})" if series.note else "")
        _draw_series(axes, chart, series, label)
        _draw_marks(axes, chart, series, high)
    kinds = {series.kind for series in panel.series}
    if PUBLISHED in kinds:
        axes.plot([], [], color=GREY, label="ours" if "" in kinds else None, **_PENS[""])
        axes.plot([], [], "--", color=GREY, label="published", **_PENS[PUBLISHED])
    _set_ticks(axes.xaxis, panel.x)
    _set_ticks(axes.yaxis, panel.y)
    axes.set_xlim(panel.x.min, panel.x.max)
    axes.set_ylim(low, high)
    if panel.equal:
        axes.set_aspect("equal")


def _draw_series(axes: Axes, chart: Chart, series: Series, label: str | None) -> None:
    colour, pen = chart.groups[series.group].colour, _PENS[series.kind]
    theirs = series.kind == PUBLISHED and series.line is None
    axes.plot(
        series.x,
        series.y,
        linestyle="--" if theirs else chart.line_of(series),
        color=colour,
        marker=series.marker,
        markersize=4,
        markerfacecolor="white" if series.open else colour,
        label=label,
        **pen,
    )
    if series.by_seed:
        x = series.x if series.seed_x is None else series.seed_x
        for seed in series.seeds:  # type: ignore[union-attr]
            axes.plot(x, seed, color=colour, **_PENS[FAINT])
    elif series.has_band:
        shade = {"color": colour, "alpha": 0.22 * pen["alpha"], "linewidth": 0}
        axes.fill_between(series.x, series.low, series.high, **shade)  # type: ignore[arg-type]


def _draw_marks(axes: Axes, chart: Chart, series: Series, top: float | None) -> None:
    """Rings where runs diverged; crosses at held-out AUCs, triangles for those beyond the top."""

    def mark(label: str, where: np.ndarray, y: np.ndarray, **options: Any) -> None:
        colour = chart.groups[series.group].colour
        if where.any():
            axes.plot(series.x[where], y[where], color=colour, linestyle="", **options)
            axes.plot([], [], color=GREY, linestyle="", label=label, **options)

    if series.diverged is not None:
        row = list(chart.groups).index(series.group)
        height = np.full(len(series.x), 0.98 - 0.035 * row)  # a share of the panel's
        ring: dict[str, Any] = {"marker": "o", "fillstyle": "none", "markersize": 3.5}
        ring |= {"transform": axes.get_xaxis_transform(), "in_layout": False}
        mark("runs diverged", series.diverged > 0, height, **ring)
    if series.held_out is not None:
        edge = np.full(len(series.x), np.inf if top is None else top)
        beyond = series.held_out > edge
        free: dict[str, Any] = {"clip_on": False, "in_layout": False, "markersize": 5}
        crossed = np.isfinite(series.held_out) & ~beyond
        mark("α chosen on the other seeds", crossed, series.held_out, marker="x", **free)
        mark("the same, off the scale", beyond, edge, marker="^", **free)


# --- Axes ----------------------------------------------------------------------------------------


def _y_range(panel: Panel) -> tuple[float | None, float | None]:
    """Where the axis of y ends; None: anywhere.

    It leaves out where the lines begin if from their second point on all values are near the top.
    MinAtar's Freeway is such a case: every agent soon scores 55 to 63. Bands do not stretch it
    beyond the single seeds: those of few seeds would dwarf the lines.
    """
    axis = panel.y
    curves = [values for series in panel.series for values in _with_band(series)]
    if axis.percent:
        curves = [np.where(values <= MOST_PERCENT, values, np.nan) for values in curves]
    known, later = (
        np.concatenate([np.zeros(0), *(v[start:][np.isfinite(v[start:])] for v in curves)])
        for start in (0, 1)
    )
    if axis.log or not known.size or known.min() == known.max():
        return axis.min, axis.max
    near_the_top = later.size > len(curves) and 0.7 * later.max() < later.min() < later.max()
    if axis.min is None and near_the_top:
        known = later
    low, high = float(known.min()), float(known.max())
    room = 0.05 * (high - low)
    return (
        low - room if axis.min is None else axis.min,
        high + room if axis.max is None else axis.max,
    )


def _with_band(series: Series) -> list[np.ndarray]:
    if series.by_seed:
        return [series.y, *np.asarray(series.seeds)]
    if not series.has_band:
        return [series.y]
    band = np.array([series.low, series.high])
    if series.seeds is not None:
        seeds = series.seeds[np.isfinite(series.seeds)]
        band = band.clip(seeds.min(initial=np.inf), seeds.max(initial=-np.inf))
    return [series.y, *band]


MOST_DECADES = 4
"""Of a logarithmic axis with numbers instead of powers."""


class _RoundNumbers(LogFormatterSciNotation):
    """600 and 1,000 where there is room for them; 10⁴ and 10⁵ on an axis of many decades."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def __call__(self, x: float, pos: int | None = None) -> str:
        power = super().__call__(x, pos)
        low, high = self.axis.get_view_interval()  # type: ignore[union-attr]
        return f"{x:,.10g}{self.unit}" if power and high < 10**MOST_DECADES * low else power


def _set_ticks(axis: MatplotlibAxis, chosen: Axis) -> None:
    unit = "%" if chosen.percent else ""
    if chosen.log:
        axis.set_major_formatter(_RoundNumbers(unit))
        axis.set_minor_formatter(_RoundNumbers(unit))
    if chosen.ticks:
        axis.set_ticks(chosen.ticks, labels=chosen.names or None)
        axis.set_minor_locator(NullLocator())
    elif chosen.percent:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}{unit}"))
    elif chosen.label == STEPS:
        axis.set_major_formatter(EngFormatter(sep=""))


# --- Figure 2 ------------------------------------------------------------------------------------


def draw_figure2(norms: Mapping[str, Norms]) -> Figure:
    """The diagrams of Figure 2 side by side: the tables of a rule as circles, with arrows."""
    with house_style():
        figure = Figure(figsize=(11, 1.7), layout="constrained")
        for axes, rule in zip(figure.subplots(1, len(norms)), norms, strict=True):
            label, colour = RULES[rule]
            axes.set(title=label, xlim=(-2.3, 2.3), ylim=(-1, 1), aspect="equal")
            axes.set_axis_off()
            tables = sorted({source for source, _ in norms[rule]}, key="VAQ".index)
            for x, table in zip((-0.8, 0.8), tables, strict=True):
                ring = {"boxstyle": "circle", "facecolor": "white"}
                axes.text(x, 0, table, ha="center", va="center", size=11, bbox=ring)
            for (source, to), norm in norms[rule].items():
                if norm >= 1e-12:
                    ends = tables.index(source), tables.index(to)
                    _draw_arrow(axes, *ends, in_discounts(norm), colour)
        figure.suptitle(
            f"Who bootstraps from whom, |A| = {NUM_ACTIONS}: arrows point from the bootstrapped "
            "table to the updated one"
        )
    return figure


def _draw_arrow(axes: Axes, source: int, to: int, text: str, colour: str) -> None:
    """Between circles, above to the right and below to the left; or from a circle to itself."""
    way = 1 if to > source else -1
    ends = (-0.45 * way, 0.15 * way), (0.45 * way, 0.15 * way)
    bend, place = -0.5, (0.0, 0.62 * way)
    if source == to:
        side = 1 if source else -1
        ends = (1.1 * side, 0.2), (1.1 * side, -0.2)
        bend, place = -1.6 * side, (1.8 * side, 0.0)
    style: dict[str, Any] = {"arrowstyle": "-|>", "connectionstyle": f"arc3,rad={bend}"}
    axes.add_patch(FancyArrowPatch(*ends, color=colour, mutation_scale=10, **style))
    axes.text(*place, text, ha="center", va="center")


# --- Files ---------------------------------------------------------------------------------------


def rendered(figure: Figure, *formats: str) -> dict[str, bytes]:
    """The figure as files, by format (by default all); the same figure gives the same bytes.

    It is laid out for that, and keeps this layout.
    """
    undated = {"png": {"Software": None}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
    files = {}
    with house_style():
        # What savefig does, but with one layout for all formats, and one pass for each.
        figure.set_dpi(matplotlib.rcParams["savefig.dpi"])
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for fmt in formats or CANVASES:
            buffer = io.BytesIO()
            getattr(CANVASES[fmt](figure), f"print_{fmt}")(buffer, metadata=undated[fmt])
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
