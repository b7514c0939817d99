"""The data that a drawn figure shows, read off its lines.

    >>> document = drawn(figure4())
    >>> document["panels"][0]["series"][0]["label"]
    'solutions: V + A = q_*(s,a_0)'

So a page can draw the same figure anew, and a reader can have the numbers without the program.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from qduet.core.files import to_json, write_atomically

POINTS = 400
"""A line with more points is thinned out to about so many."""


def drawn(figure: Figure) -> dict[str, Any]:
    """Each panel's title, axes and lines."""
    return {"panels": [_panel(axes) for axes in figure.axes]}


def save_data(figure: Figure, stem: Path) -> Path:
    """Writes what `figure` shows as `stem`.json, and returns that path."""
    path = stem.with_name(f"{stem.name}.json")
    write_atomically(path, to_json(drawn(figure)).encode())
    return path


def _panel(axes: Axes) -> dict[str, Any]:
    lines = [line for line in axes.lines if len(np.atleast_1d(line.get_xdata())) > 0]
    lines = [line for line in lines if not _is_guide(line)]
    (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
    return {
        "title": _plain(axes.get_title()),
        "equal": axes.get_aspect() == 1.0,
        "x": {"label": _plain(axes.get_xlabel()), "log": axes.get_xscale() == "log"}
        | {"min": x0, "max": x1},
        "y": {"label": _plain(axes.get_ylabel()), "log": axes.get_yscale() == "log"}
        | {"min": y0, "max": y1},
        "series": [_series(line, _owner(line, lines)) for line in lines],
    }


def _is_guide(line: Line2D) -> bool:
    """Whether it is a line across the whole panel (``axhline``), which shows no data."""
    return line.get_transform() != line.axes.transData  # type: ignore[union-attr]


def _owner(line: Line2D, lines: list[Line2D]) -> Line2D:
    """The line in the legend that `line` goes with: the nearest one of its colour and kind."""
    at = lines.index(line)
    named = [
        (_is_marks(other) != _is_marks(line), abs(i - at), i > at, i)
        for i, other in enumerate(lines)
        if not str(other.get_label()).startswith("_") and _colour(other) == _colour(line)
    ]
    return lines[min(named)[-1]] if named else line


def _is_marks(line: Line2D) -> bool:
    """Whether it is drawn as marks without a line."""
    return line.get_linestyle() in ("None", "", " ")


def _series(line: Line2D, owner: Line2D) -> dict[str, Any]:
    x, y = (np.atleast_1d(np.asarray(v, float)) for v in line.get_data())
    every = -(-len(x) // POINTS)
    kept = np.unique(np.append(np.arange(0, len(x), every), len(x) - 1))
    rounded = lambda values: [float(f"{v:.6g}") for v in values[kept]]
    found: dict[str, Any] = {
        "label": _plain(str(owner.get_label())).lstrip("_"),
        "colour": _colour(owner),
        "style": owner.get_linestyle() if owner.get_linestyle() in ("--", ":", "-.") else "-",
        "x": rounded(x),
        "y": rounded(y),
    }
    if _is_marks(line):
        found |= {"points": True, "open": to_hex(str(line.get_markerfacecolor())) == "#ffffff"}
    elif line is not owner and line.get_linewidth() < 1:
        found["kind"] = "faint"
    return found


def _colour(line: Line2D) -> str:
    return to_hex(line.get_markeredgecolor() if _is_marks(line) else line.get_color())


def _plain(text: str) -> str:
    """Mathematical text without its mark-up."""
    return text.replace("$", "").replace("_0", "₀").replace("_*", "⁎")
