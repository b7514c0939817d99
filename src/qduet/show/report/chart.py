"""The parts of a chart as plain data, for `static/charts.js` to draw.

A chart has panels side by side; a panel has series; a series belongs to a group (a rule or an
agent), which the reader can switch off, and may be tied to what the reader selects::

    {"groups":  [{"id": "rdq", "label": "RDQ", "light": "#0b3d91", "dark": "#b7c5ff", "dash": ""}],
     "selects": [{"id": "actions", "label": "|A|", "values": ["2", "18"], "initial": "18"}],
     "seeds": true, "log": true,
     "panels":  [{"title": …, "x": {"label": …}, "y": {"label": …}, "series": [series(…), …]}]}

An axis that has a ``cap`` is not stretched by values above it; ``min`` and ``max`` fix its ends;
with ``cut`` it leaves out where the lines begin, if from their second point on all values lie near
the top (MinAtar's Freeway, in which every agent soon scores 55 to 63), and says so.
A text can depend on what is selected: ``{"by": "metric", "v_rms": "Size of V"}`` is a ``label`` of
an axis, or what a chart has to say below its panels (``about``).
A value that is not finite is null. Series that share their x name it: ``"x": "few"`` is
``panel["grids"]["few"]``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from qduet.show.figures.style import Look
from qduet.show.report.html import Raw
from qduet.show.report.palette import pair

DASHES = {"-": "", "--": "6 4", ":": "1.5 4", "-.": "7 4 1.5 4"}
"""SVG's dash patterns for matplotlib's line styles."""


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
    """What the text and tables state, as plain values."""
    facts: tuple[Fact, ...] = ()


def group(name: str, look: Look, **more: Any) -> dict[str, Any]:
    """A rule or agent in the legend."""
    light, dark = pair(look.colour)
    dash = DASHES.get(look.style, "")
    return {"id": name, "label": look.label, "light": light, "dark": dark, "dash": dash, **more}


def finite(values: np.ndarray, digits: int = 6) -> list[float | None]:
    """The values with so many significant digits."""
    return [float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in np.asarray(values)]


def series(
    group: str,
    x: np.ndarray,
    mean: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    *,
    when: Mapping[str, str] | None = None,
    note: str | None = None,
    seeds: np.ndarray | None = None,
    seed_x: np.ndarray | None = None,
    seed_names: Sequence[int] | None = None,
    kind: str | None = None,
) -> dict[str, Any]:
    """A line with its 95 % band, each ``[points]``; `seeds` ``[seeds, points]`` at `seed_x`."""
    line: dict[str, Any] = {"group": group, "x": finite(x, 9), "y": finite(mean)}
    if np.isfinite(low).any():
        line |= {"low": finite(low), "high": finite(high)}
    if seeds is not None:
        line["seeds"] = [finite(row, 4) for row in seeds]
        if seed_x is not None and len(seed_x) != len(x):
            line["seedX"] = finite(seed_x, 9)
        if seed_names is not None:
            line["seedNames"] = [int(seed) for seed in seed_names]
    optional = {"when": dict(when) if when else None, "note": note, "kind": kind}
    return line | {key: value for key, value in optional.items() if value is not None}
