"""The theory on the page: the table of claims, and its figures."""

import dataclasses
import math
from pathlib import Path
from typing import Any

from qduet.core.errors import as_input_error, read_json
from qduet.paper.claims import CORRECTED, HOLDS
from qduet.show.chart import read, sizes_in_words
from qduet.show.charts import figure1
from qduet.show.charts.figure1 import Diagram, Text
from qduet.show.charts.theory import ALT, TITLES
from qduet.show.report.html import Raw, code, el, table
from qduet.show.report.palette import on_grounds
from qduet.show.report.parts import Fact, Part, chart_data, figure, item, source


def show_claims(path: Path, name: str) -> Part:
    """The claims of a ``theory.json``, with their verdicts."""
    document = read_json(path)
    with as_input_error(path):
        return _claims(path, document, name)


def _claims(path: Path, document: dict[str, Any], name: str) -> Part:
    rows = []
    for claim in document["claims"]:
        says = claim.get("paper")
        verdict = CORRECTED if says else HOLDS
        if not claim["holds"]:
            verdict = f"FAILS on {claim['failures']}"
        text = f"{claim['statement']} (the paper: {says})" if says else claim["statement"]
        rows.append(
            [
                claim["where"],
                el("span", text, el("br"), code(claim["claim"])),
                el("strong", verdict, class_="yes" if claim["holds"] else "no"),
                f"{claim['problems']:,}",
                f"{claim['worst']['error']:.1e}",
                _margin(claim["margin"]),
            ]
        )
    failed = sum(not claim["holds"] for claim in document["claims"])
    total = len(document["claims"])
    own = sum(claim["where"] == "ours" for claim in document["claims"])
    verdict = f"{failed} of {total} claims fail" if failed else f"Every one of {total} claims holds"
    verdict += f" ({total - own} of the paper, {own} of ours)" if own else ""
    corrected = [c for c in document["claims"] if c.get("paper") and c["holds"]]
    caption = "The margin is what rounding or the bound allows, divided by the worst error found."
    headings = ("paper", "claim", "verdict", "MDPs", "worst error", "margin")
    html = item(
        name,
        "Each claim, checked",
        el("p", f"{verdict} ({document['seconds']:.1f} s)."),
        table(headings, rows, caption=caption, numeric=3),
        source(path),
    )
    on = max((claim["problems"] for claim in document["claims"]), default=0)
    facts = (
        Fact("run", f"Theory: {total} claims, on up to {on:,} MDPs each", name, str(path)),
        Fact("time", f"Theory: {document['seconds']:.1f} s", name, str(path)),
        Fact("differs" if failed else "agrees", f"Theory: {verdict[0].lower()}{verdict[1:]}", name),
        *(
            Fact("corrected", f"{c['where']}: {c['statement']}; the paper: {c['paper']}", name)
            for c in corrected
        ),
    )
    return Part(html, {}, {name: {**document, "source": str(path)}}, facts)


def _margin(value: Any) -> str:
    number = float(value) if value is not None else math.nan
    return "∞" if number == math.inf else f"×{number:.2g}"


# --- Figures -------------------------------------------------------------------------------------


def show_chart(path: Path, name: str) -> Part:
    """A chart that `qduet theory --out` or `qduet reproduce` wrote beside its picture."""
    chart = read(path, title=TITLES[path.stem])
    alt = ALT[path.stem] + sizes_in_words(chart)
    chart = dataclasses.replace(chart, alt=alt)
    html = item(name, chart.title, figure(name, chart), source(path))
    return Part(html, {name: chart_data(chart)}, {})


def show_figure1(name: str) -> Part:
    """Five small graphs with their norms."""
    graphs, norms = [], {}
    for diagram in figure1.diagrams():
        norms[diagram.rule] = {f"{a}→{b}": norm for (a, b), norm in diagram.norms.items()}
        heading = el("h4", diagram.style.label)
        colours = "--light:{light};--dark:{dark}".format(**on_grounds(diagram.style.colour))
        graphs.append(el("div", heading, _svg(diagram), class_="graph", style=colours))
    place = el("div", graphs, class_="graphs")
    html = item(name, figure1.TITLE, el("figure", place, el("figcaption", figure1.ALT)))
    return Part(html, {}, {name: {"norms": norms, "discount": figure1.DISCOUNT}})


def _svg(diagram: Diagram) -> Raw:
    parts: list[Raw] = []
    pairs = lambda points: [f"{x:g} {y:g}" for x, y in points]
    for arrow in diagram.arrows:
        start, *others = pairs(arrow.path)
        curve = "C" if len(others) == 3 else "Q"
        parts.append(el("path", d=f"M{start}{curve}{' '.join(others)}"))
        move = f"translate({others[-1]}) rotate({arrow.angle})"
        head = f"M{'L'.join(pairs(figure1.ARROW_HEAD))}Z"
        parts.append(el("path", d=head, class_="head", transform=move))
        parts.append(_text(arrow.text))
    for circle in diagram.circles:
        centre = {"cx": f"{circle.x:g}", "cy": str(figure1.MIDDLE)}
        parts += [el("circle", **centre, r=str(figure1.RADIUS)), _text(circle)]
    box = f"0 0 {figure1.WIDTH} {figure1.HEIGHT}"
    return el("svg", parts, viewBox=box, role="img", aria_label=diagram.alt)


def _text(word: Text) -> Raw:
    return el("text", word.text, x=f"{word.x:g}", y=f"{word.y:g}", text_anchor=word.anchor)
