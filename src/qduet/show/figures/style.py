"""How every figure of the project looks, and how it is written to disk.

One colour and one label per rule and agent, everywhere. The colours are Okabe and Ito's, and of
variants some of Tol's, which readers with colour-vision deficiencies can tell apart; line styles
tell them apart in grey.
"""

import io
import re
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

from qduet.core.files import write_atomically
from qduet.results.published import AGENTS

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

VARIANT_COLOURS = ("#009E73", "#CC79A7", "#882255", "#117733", "#AA4499")
"""For variants of an agent, whose own colour is its alone."""

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


def colour(name: str) -> str:
    """The colour of a rule or agent of the project; of another one, the first spare colour."""
    return COLOURS.get(name, SPARE_COLOURS[0])


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


def look_of(agent: str, agents: Sequence[str]) -> Look:
    """The look of `agent` among `agents`: colour by agent or variant, line style by directory.

    ``rdq-beta-0.001`` and ``dqn-init`` are variants, ``dqn@b`` is the DQN of directory b. Variants
    of one directory differ in their line styles too.
    """
    return _look(_agent(agent), [_agent(other) for other in agents])


def look_of_rule(rule: str, rules: Sequence[str]) -> Look:
    """The look of `rule` among `rules`, whose order does not matter: results do not keep it.

    A rule of the reader's own keeps its name; ``soft_rdq-beta-0.001`` is a variant of Soft RDQ.
    """
    ordered = sorted(map(_rule, rules), key=lambda parts: (parts.family, parts.beta))
    return _look(_rule(rule), ordered)._replace(row=rules.index(rule))


class _Parts(NamedTuple):
    """A name: ``FAMILY[-VARIANT][@ORIGIN]``."""

    family: str
    known: bool
    """Whether the family is one of the project's, with a colour and a label."""
    variant: str = ""
    origin: str = ""

    @property
    def kind(self) -> tuple[str, str]:
        """What follows the family."""
        return self.variant, self.origin

    @property
    def beta(self) -> float:
        """The β that the variant is, if it is one."""
        return float(self.variant.removeprefix("beta-") or 0)


def _agent(name: str) -> _Parts:
    base, _, origin = name.partition("@")
    family, _, variant = base.partition("-")
    if family in AGENTS and variant:
        return _Parts(family, True, variant, origin)
    return _Parts(base, base in AGENTS, origin=origin)


def _rule(name: str) -> _Parts:
    found = re.fullmatch(r"(\w+)-(beta-\d+(\.\d+)?(e[+-]\d+)?)", name)
    rules = COLOURS.keys() - AGENTS
    if found and found[1] in rules:
        return _Parts(found[1], True, found[2])
    return _Parts(name, name in rules)


def _look(name: _Parts, names: Sequence[_Parts]) -> Look:
    own = list(dict.fromkeys(other.family for other in names if not other.known))
    rank = 0 if name.known else own.index(name.family)
    shade = COLOURS[name.family] if name.known else SPARE_COLOURS[rank % len(SPARE_COLOURS)]
    line = STYLES[rank // len(SPARE_COLOURS) % len(STYLES)]
    if name.variant and name.family in AGENTS:
        shade, line = _look_of_variant(name, names)
    elif any(name.kind):
        rank = _rank_of_kind(name, names)
        line = STYLES[rank % len(STYLES)]
        if rank >= len(STYLES):
            shade = SPARE_COLOURS[-(rank // len(STYLES)) % len(SPARE_COLOURS)]
    elif name.family in ("bc_qvmax", "expected_sarsa") and _Parts("q_learning", True) in names:
        line = "--"  # so that Q-learning shows: it coincides with the one, and looks like the other
    details = ", ".join(filter(None, (name.variant.replace("beta-", "β = "), name.origin)))
    text = label(name.family) if name.known else name.family
    return Look(text + (f" ({details})" if details else ""), shade, line, names.index(name))


def _look_of_variant(name: _Parts, names: Sequence[_Parts]) -> tuple[str, str]:
    """The colour and line style of a variant of an agent; solid is left to an agent itself.

    Where there are more of them than colours, ``dqn-init`` and ``rdq-init`` have the same one.
    """
    variants = list(dict.fromkeys(other[:3] for other in names if other.variant))
    changes = list(dict.fromkeys(other.variant for other in names if other.variant))
    families = list(dict.fromkeys(other.family for other in names if other.variant))
    alone = not any(other.origin for other in names)
    if alone and len(variants) > len(VARIANT_COLOURS) >= len(changes):
        shade = VARIANT_COLOURS[changes.index(name.variant)]
        return shade, STYLES[families.index(name.family)]
    origins = list(dict.fromkeys(other.origin for other in names if other[:3] == name[:3]))
    rank = variants.index(name[:3])
    plain = any(other.known and not other.variant for other in names)
    place = origins.index(name.origin) if len(origins) > 1 else rank + plain
    shades = (*VARIANT_COLOURS, *reversed(SPARE_COLOURS))
    return shades[rank % len(shades)], STYLES[place % len(STYLES)]


def _rank_of_kind(name: _Parts, names: Sequence[_Parts]) -> int:
    """The place of a name's variant and origin: among all, or if that is ambiguous, its family's.

    Without the plain ones, unless the family has one.
    """
    own = list(dict.fromkeys(other.kind for other in names if other.family == name.family))
    every = list(dict.fromkeys(o.kind for o in names if o.kind in own or any(o.kind)))
    ranks = {every.index(other) % len(STYLES) for other in own}
    return (every if len(ranks) == len(own) else own).index(name.kind)


FEW_SEEDS = 5
"""The 95 % intervals of fewer seeds are wider than all that the seeds do."""


def limit_axis(axes: Axes, values: Sequence[np.ndarray]) -> None:
    """Ends the axis of y where the `values` of single seeds end, if bands go on beyond them."""
    known = np.concatenate([v[np.isfinite(v)] for v in values] or [np.zeros(0)])
    if not known.size or known.min() == known.max():
        return
    room = 0.05 * (known.max() - known.min())
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, known.min() - room), min(high, known.max() + room))


def cut_axis(axes: Axes) -> None:
    """Where all is decided near the top (Freeway), the axis of y leaves out how the lines begin."""
    lines = [np.asarray(line.get_xydata(), float) for line in axes.get_lines()]
    bands = [path.vertices for band in axes.collections for path in band.get_paths()]
    x, y = np.concatenate([*lines, *bands, np.zeros((0, 2))]).T
    later = y[np.isfinite(y) & (x > x.min(initial=np.inf))].clip(*axes.get_ylim())
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
