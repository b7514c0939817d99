"""Figure 1: who bootstraps from whom, as two circles and the arrows between them.

A `Diagram` is placed in a box of `WIDTH` × `HEIGHT`, y downwards, once for paper
(`qduet.show.figures.draw_diagrams`) and the page (`qduet.show.report.theory`). It is no `Chart`: it
has no axes and no series.
"""

import itertools
from typing import NamedTuple

import numpy as np

from qduet.show.names import Style, rule_style
from qduet.tabular import operators as ops
from qduet.tabular.mdp import AVTables, four_state
from qduet.theory.expected import random_tables
from qduet.theory.problems import Problem, problem_of
from qduet.theory.qv import dependence

RULES = ("qv_learning", "qvmax", "bc_qvmax", "dueling_q", "hard_rdq")
DISCOUNT = 0.9
NUM_ACTIONS = 4
WIDTH, HEIGHT = 250, 104
CENTRES, MIDDLE = (82, 168), 52
"""Where the circles are: x of each, y of both."""
RADIUS = 15
ARROW_HEAD = ((2, 0), (-8, -4.5), (-8, 4.5))
"""At the end of an arrow that points to the right."""

TITLE = "Figure 1: who bootstraps from whom"
ALT = (
    "An arrow points from the table that is bootstrapped from to the table that is updated; its "
    "number is the norm of that block of the operator’s Jacobian, for |A| = 4 and γ = 0.9. "
    "Computed when this page was written, with nothing random in it; the claim “bootstrapping” of "
    "qduet theory checks it on many MDPs."
)

Norms = dict[tuple[str, str], float]
"""``(from, to) -> norm``: how strongly the target of one table depends on another."""


class Text(NamedTuple):
    """A word; (x, y) is on its baseline."""

    text: str
    x: float
    y: float
    anchor: str = "middle"
    """What is at x: its ``start``, ``middle`` or ``end``."""


class Arrow(NamedTuple):
    """One dependence."""

    source: str
    to: str
    path: tuple[tuple[float, float], ...]
    """The control points of a Bézier curve, three or four."""
    angle: float
    """Of the head at the end of `path`, in degrees, clockwise; 0 points to the right."""
    text: Text


class Diagram(NamedTuple):
    """The two tables of a rule, and what each bootstraps from."""

    rule: str
    style: Style
    circles: tuple[Text, ...]
    """The names of the tables, in circles around (x, MIDDLE)."""
    arrows: tuple[Arrow, ...]
    norms: Norms

    @property
    def alt(self) -> str:
        """The diagram in words."""
        said = [f"{a.to} bootstraps from {a.source} ({a.text.text})" for a in self.arrows]
        return f"{self.style.label}: {', '.join(said)}"


def diagrams() -> list[Diagram]:
    """The five rules of the figure."""
    problem = problem_of(four_state("qvmax", NUM_ACTIONS, DISCOUNT))
    return [_diagram(rule, bootstrap_norms(rule, problem)) for rule in RULES]


def bootstrap_norms(rule: str, problem: Problem) -> Norms:
    """The norms of a rule's targets.

    For the QV family, the blocks of the joint operator's Jacobian. For the AV family, whose tables
    share the target r + γ P E Q, its response to V or A (and both tables follow it).
    """
    if rule in ("qv_learning", "qvmax", "bc_qvmax"):
        blocks = dependence(problem, getattr(ops, rule)).ravel()
        pairs = itertools.product("QV", "QV")
        return {(source, to): x for (to, source), x in zip(pairs, blocks, strict=True)}
    tables = random_tables(rule, problem, np.random.default_rng(problem.seed))
    centred = rule == "dueling_q"
    greedy = ops.read_out(tables, centred).argmax(axis=1)
    policy = np.eye(problem.mdp.num_actions)[greedy]
    expect = lambda q: ops.E_pi(policy, q)
    target = lambda y: ops.T(problem.mdp, ops.read_out(y, centred), expect).ravel()
    zero = AVTables(np.zeros(problem.mdp.num_states), np.zeros(problem.mdp.r.shape))
    response = {}
    for source, field in (("V", "v"), ("A", "adv")):
        size = getattr(zero, field).size
        units = np.eye(size).reshape(size, *getattr(zero, field).shape)
        columns = [target(zero._replace(**{field: unit})) - target(zero) for unit in units]
        response[source] = float(np.abs(columns).sum(axis=0).max())
    return {(source, to): response[source] for source in "VA" for to in "VA"}


# --- Where things are ----------------------------------------------------------------------------


def _diagram(rule: str, norms: Norms) -> Diagram:
    tables = sorted({source for source, _ in norms}, key="VAQ".index)
    drawn = {pair: norm for pair, norm in norms.items() if norm >= 1e-12}
    bent = sum(source != to for source, to in drawn) > 1
    arrows = []
    for (source, to), norm in drawn.items():
        start, end = tables.index(source), tables.index(to)
        text = _in_discounts(norm)
        placed = _loop(start, text) if start == end else _crossing(start, end, text, bent=bent)
        arrows.append(Arrow(source, to, *placed))
    circles = tuple(Text(t, x, MIDDLE + 5) for t, x in zip(tables, CENTRES, strict=True))
    return Diagram(rule, rule_style(rule), circles, tuple(arrows), norms)


def _in_discounts(norm: float) -> str:
    if abs(norm - 1) < 1e-9:
        return "1"
    return f"{norm / DISCOUNT:.3g}γ".removeprefix("1γ") or "γ"


_Placed = tuple[tuple[tuple[float, float], ...], float, Text]
"""Path, angle and text of an arrow."""


def _loop(table: int, text: str) -> _Placed:
    """From a circle to itself, on its outer side."""
    side = -1 if table == 0 else 1
    x = CENTRES[table]
    out, end = x + 44 * side, (x + 17 * side, MIDDLE + 9)
    path = ((x + 13 * side, MIDDLE - 9), (out, MIDDLE - 24), (out, MIDDLE + 24), end)
    anchor, angle = ("end", -25) if side < 0 else ("start", 205)
    return path, angle, Text(text, x + 41 * side, MIDDLE + 5, anchor)


def _crossing(source: int, to: int, text: str, *, bent: bool) -> _Placed:
    """From one circle to the other; bent upwards to the right and downwards to the left."""
    way = 1 if to > source else -1
    start, end = CENTRES[source] + 16 * way, CENTRES[to] - 17 * way
    middle, bend = sum(CENTRES) / 2, -30 * way if bent else 0
    level = MIDDLE + (-7 * way if bent else 0)
    angle = (0 if way > 0 else 180) + (38 if bent else 0)
    above = -8 if way > 0 or not bent else 16
    path = ((start, level), (middle, level + bend), (end, level))
    return path, angle, Text(text, middle, level + bend / 2 + above)
