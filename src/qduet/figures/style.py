"""How every figure of the project looks, and how it is written to disk.

One colour and one label per rule and agent, everywhere. The colours are Okabe and Ito's, which
readers with colour-vision deficiencies can tell apart; line styles tell families apart in grey.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from qduet.store import write_atomically

COLOURS = {
    "td0": "#999999",
    "expected_sarsa": "#D55E00",
    "q_learning": "#D55E00",
    "qv_learning": "#0072B2",
    "qvmax": "#CC79A7",
    "bc_qvmax": "#009E73",
    "dueling_q": "#56B4E9",
    "soft_rdq": "#E69F00",
    "hard_rdq": "#0B3D91",
    "dqn": "#D55E00",
    "dueling_dqn": "#56B4E9",
    "rdq": "#0B3D91",
}

LABELS = {
    "td0": "TD(0)",
    "expected_sarsa": "Expected Sarsa",
    "q_learning": "Q-learning",
    "qv_learning": "QV-learning",
    "qvmax": "QVMAX",
    "bc_qvmax": "BC-QVMAX",
    "dueling_q": "Dueling Q-learning",
    "soft_rdq": "Soft RDQ",
    "hard_rdq": "Hard RDQ",
    "dqn": "DQN",
    "dueling_dqn": "Dueling DQN",
    "rdq": "RDQ",
}

SPARE_COLOURS = ("#000000", "#8C564B", "#7F7F00", "#5E3C99", "#A6611A")
"""For names the project does not know, such as a reader's own rule."""

STYLES = ("-", "--", ":", "-.")
"""Line styles of matplotlib, in the order in which they are used."""

FEW_EVALUATIONS = 21
"""A learning curve through up to so many evaluations has a marker at each of them."""

FORMATS = ("png", "pdf", "svg")

_SETTINGS: dict[Any, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "font.size": 9,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "qduet",
}


def colour(name: str, names: tuple[str, ...] = ()) -> str:
    """The colour of a rule or agent; unknown `names` get spare ones, in order."""
    return COLOURS.get(name) or SPARE_COLOURS[_rank(name, names) % len(SPARE_COLOURS)]


def style(name: str, names: tuple[str, ...] = ()) -> str:
    """Its line style, which tells unknown `names` apart that have the same spare colour."""
    return STYLES[_rank(name, names) // len(SPARE_COLOURS) % len(STYLES)]


def _rank(name: str, names: tuple[str, ...]) -> int:
    """Its place among the unknown `names`; 0 for a known one."""
    unknown = [other for other in names if other not in COLOURS]
    return unknown.index(name) if name in unknown else 0


def label(name: str) -> str:
    """How a rule or agent is called in a legend."""
    return LABELS.get(name, name)


class Look(NamedTuple):
    """How one rule or agent is drawn among others."""

    label: str
    colour: str
    style: str
    """A line style of matplotlib."""
    row: int
    """Its place among the others."""


def look_of(name: str, names: Sequence[str]) -> Look:
    """The look of `name` among `names`: colour by family, line style by what follows it.

    ``soft_rdq-beta-0.001`` and ``dqn-init`` are variants of their families, ``dqn@b`` is the DQN of
    directory b.
    """
    family, variant, origin = _parts(name)
    families = tuple(dict.fromkeys(_parts(other).family for other in names))
    shade, line = colour(family, families), style(family, families)
    if variant or origin:
        rank = _rank_of_kind(name, names)
        line = STYLES[rank % len(STYLES)]
        if rank >= len(STYLES):
            shade = SPARE_COLOURS[-(rank // len(STYLES)) % len(SPARE_COLOURS)]
    elif family in ("bc_qvmax", "expected_sarsa") and "q_learning" in families:
        line = "--"  # so that Q-learning shows: it coincides with the one, and looks like the other
    details = ", ".join(filter(None, (variant.replace("beta-", "β = "), origin)))
    text = label(family) + (f" ({details})" if details else "")
    return Look(text, shade, line, names.index(name))


def _rank_of_kind(name: str, names: Sequence[str]) -> int:
    """The place of a name's variant and origin: among all, or if that is ambiguous, its family's.

    Without the plain ones, unless the family has one.
    """
    parts = [_parts(other) for other in names]
    family, variant, origin = _parts(name)
    own = list(dict.fromkeys(p[1:] for p in parts if p.family == family))
    every = list(dict.fromkeys(p[1:] for p in parts if p[1:] in own or any(p[1:])))
    ranks = {every.index(other) % len(STYLES) for other in own}
    return (every if len(ranks) == len(own) else own).index((variant, origin))


class _Parts(NamedTuple):
    family: str
    variant: str
    origin: str


def _parts(name: str) -> _Parts:
    """``FAMILY[-VARIANT][@ORIGIN]``; only known families have variants."""
    base, _, origin = name.partition("@")
    family, _, variant = base.partition("-")
    known = family in COLOURS and variant
    return _Parts(family, variant, origin) if known else _Parts(base, "", origin)


def cut_axis(axes: Axes) -> None:
    """Where all is decided near the top (Freeway), the axis of y leaves out how the lines begin."""
    lines = [np.asarray(line.get_xydata(), float) for line in axes.get_lines()]
    bands = [path.vertices for band in axes.collections for path in band.get_paths()]
    x, y = np.concatenate([*lines, *bands, np.zeros((0, 2))]).T
    later = y[np.isfinite(y) & (x > x.min(initial=np.inf))]
    if len(later) and max(map(len, lines)) > 2 and 0.7 * later.max() < later.min() < later.max():
        low, high = later.min(), later.max()
        axes.set_ylim(low - 0.3 * (high - low), high + 0.15 * (high - low))
        axes.set_ylabel(f"{axes.get_ylabel()} (axis cut)")


def in_percent(axis: Axis) -> None:
    """Labels the ticks of `axis` in percent, with the decimals they need: 5%, 7.5%, 10%."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}%"))


@contextmanager
def house_style() -> Iterator[None]:
    """The project's matplotlib settings, for the duration of a ``with`` block."""
    with matplotlib.rc_context(_SETTINGS):
        yield


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


def save(figure: Figure, stem: Path) -> list[Path]:
    """Writes the figure as `stem`.png, .pdf and .svg, and returns their paths."""
    paths = []
    for fmt, content in rendered(figure).items():
        path = stem.with_name(f"{stem.name}.{fmt}")
        write_atomically(path, content)
        paths.append(path)
    return paths
