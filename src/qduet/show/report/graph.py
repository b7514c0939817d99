"""Figure 1 on the page: who bootstraps from whom, as two circles and the arrows between them."""

from typing import NamedTuple

from qduet.show.figures.style import COLOURS, label
from qduet.show.figures.theory import bootstrap_norms
from qduet.show.report.chart import Part
from qduet.show.report.html import Raw, el
from qduet.show.report.palette import pair
from qduet.tabular.mdp import four_state
from qduet.theory.problems import problem_of

RULES = ("qv_learning", "qvmax", "bc_qvmax", "dueling_q", "hard_rdq")
DISCOUNT = 0.9
WIDTH, HEIGHT = 250, 104
PLACES, MIDDLE = (82, 168), 52
"""Where the circles are: x of each, y of both."""

CAPTION = (
    "An arrow points from the table that is bootstrapped from to the table that is updated; its "
    "number is the norm of that block of the operator’s Jacobian, for |A| = 4 and γ = 0.9. "
    "Computed when this page was written, with nothing random in it; the claim “bootstrapping” of "
    "qduet theory checks it on many MDPs."
)


class Arrow(NamedTuple):
    """One dependence."""

    source: int
    to: int
    text: str


def show(name: str) -> Part:
    """Five small graphs with their norms."""
    problem = problem_of(four_state("qvmax", 4, DISCOUNT))
    graphs, norms = [], {}
    for rule in RULES:
        found = bootstrap_norms(rule, problem)
        norms[rule] = {f"{source}→{to}": norm for (source, to), norm in found.items()}
        tables = sorted({source for source, _ in found}, key="VAQ".index)
        arrows = [
            Arrow(tables.index(source), tables.index(to), _in_discounts(norm))
            for (source, to), norm in found.items()
            if norm >= 1e-12
        ]
        light, dark = pair(COLOURS[rule])
        look = f"--light:{light};--dark:{dark}"
        drawing = _draw(label(rule), tables, arrows)
        graphs.append(el("div", el("h4", label(rule)), drawing, class_="graph", style=look))
    figure = el("figure", el("div", graphs, class_="graphs"), el("figcaption", CAPTION))
    heading = el("h3", "Figure 1: who bootstraps from whom")
    html = el("section", heading, figure, id=name, class_="item")
    return Part(html, {}, {name: {"norms": norms, "discount": DISCOUNT}})


def _in_discounts(norm: float) -> str:
    if abs(norm - 1) < 1e-9:
        return "1"
    return f"{norm / DISCOUNT:.3g}γ".removeprefix("1γ") or "γ"


def _draw(rule: str, tables: list[str], arrows: list[Arrow]) -> Raw:
    both = sum(arrow.source != arrow.to for arrow in arrows) > 1
    parts: list[Raw] = []
    for arrow in arrows:
        parts += _loop(arrow) if arrow.source == arrow.to else _crossing(arrow, bent=both)
    for table, x in zip(tables, PLACES, strict=True):
        parts.append(el("circle", cx=str(x), cy=str(MIDDLE), r="15"))
        parts.append(_text(table, x, MIDDLE + 5, "middle"))
    said = ", ".join(
        f"{tables[a.to]} bootstraps from {tables[a.source]} ({a.text})" for a in arrows
    )
    box = f"0 0 {WIDTH} {HEIGHT}"
    return el("svg", parts, viewBox=box, role="img", aria_label=f"{rule}: {said}")


def _loop(arrow: Arrow) -> list[Raw]:
    """From a circle to itself, on its outer side."""
    side = -1 if arrow.source == 0 else 1
    x = PLACES[arrow.source]
    start, out, end = x + 13 * side, x + 44 * side, x + 17 * side
    path = f"M{start} {MIDDLE - 9}C{out} {MIDDLE - 24} {out} {MIDDLE + 24} {end} {MIDDLE + 9}"
    head = _head(end, MIDDLE + 9, -25 if side < 0 else 205)
    anchor = "end" if side < 0 else "start"
    return [el("path", d=path), head, _text(arrow.text, x + 41 * side, MIDDLE + 5, anchor)]


def _crossing(arrow: Arrow, *, bent: bool) -> list[Raw]:
    """From one circle to the other; bent upwards to the right and downwards to the left."""
    way = 1 if arrow.to > arrow.source else -1
    start, end = PLACES[arrow.source] + 16 * way, PLACES[arrow.to] - 17 * way
    bend = -30 * way if bent else 0
    level = MIDDLE + (-7 * way if bent else 0)
    path = f"M{start} {level}Q{sum(PLACES) // 2} {level + bend} {end} {level}"
    turned = (0 if way > 0 else 180) + (38 if bent else 0)
    above = -8 if way > 0 or not bent else 16
    text = _text(arrow.text, sum(PLACES) // 2, level + bend // 2 + above, "middle")
    return [el("path", d=path), _head(end, level, turned), text]


def _head(x: int, y: int, angle: int) -> Raw:
    move = f"translate({x} {y}) rotate({angle})"
    return el("path", d="M2 0L-8 -4.5L-8 4.5Z", class_="head", transform=move)


def _text(text: str, x: int, y: int, anchor: str) -> Raw:
    return el("text", text, x=str(x), y=str(y), text_anchor=anchor)
