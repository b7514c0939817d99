"""The theory on the page: the table of claims, and the figures that were drawn for it."""

import math
from pathlib import Path
from typing import Any

from qduet.figures.style import COLOURS, Look, label
from qduet.figures.theory import bootstrap_norms
from qduet.mdp import four_state
from qduet.report.chart import DASHES, Fact, Part, group
from qduet.report.html import Raw, code, el, table
from qduet.report.palette import pair
from qduet.report.sources import read_json
from qduet.theory.problems import problem_of

CAPTIONS = {
    "figure4": (
        "Figure 4: where Dueling and Hard RDQ end up",
        "Sampled paths of V(s) and A(s, a₀). Dueling keeps the mean advantage it starts with; Hard "
        "RDQ moves at a right angle to the solutions and ends at the one nearest to its start.",
    ),
    "rates": (
        "Predicted and simulated rates (not in the paper)",
        "Lines: the expected update; dots: the mean of simulated runs. Right: how many steps the "
        "slowest error needs to shrink by e, times the step size.",
    ),
    "ring": (
        "Where AV-learning diverges off-policy (not in the paper)",
        "A ring of states with uniform behaviour: left, runs of four rules; right, the slowest "
        "mode of the expected update, which repels from the optimum where it is below zero.",
    ),
}


def show_claims(path: Path, name: str) -> Part:
    """The claims of a ``theory.json``, with their verdicts."""
    document = read_json(path)
    rows = []
    for claim in document["claims"]:
        verdict = "holds" if claim["holds"] else f"FAILS on {claim['failures']}"
        rows.append(
            [
                claim["where"],
                el("span", claim["statement"], el("br"), code(claim["claim"])),
                el("strong", verdict, class_="yes" if claim["holds"] else "no"),
                f"{claim['problems']:,}",
                f"{claim['worst']['error']:.1e}",
                _margin(claim["margin"]),
            ]
        )
    failed = sum(not claim["holds"] for claim in document["claims"])
    total = len(document["claims"])
    verdict = f"{failed} of {total} claims fail" if failed else f"Every one of {total} claims holds"
    caption = "The margin is what rounding or the bound allows, divided by the worst error found."
    headings = ("paper", "claim", "verdict", "MDPs", "worst error", "margin")
    html = el(
        "section",
        el("h3", "Each claim, checked"),
        el("p", f"{verdict} ({document['seconds']:.1f} s)."),
        table(headings, rows, caption=caption, numeric=3),
        el("p", "Source: ", code(str(path)), class_="source"),
        id=name,
        class_="item",
    )
    on = max((claim["problems"] for claim in document["claims"]), default=0)
    facts = (
        Fact("run", f"Theory: {total} claims, on up to {on:,} MDPs each", name, str(path)),
        Fact("time", f"{document['seconds']:.1f} s: theory", name, str(path)),
        Fact("differs" if failed else "agrees", f"Theory: {verdict[0].lower()}{verdict[1:]}", name),
    )
    return Part(html, {}, {name: {**document, "source": str(path)}}, facts)


def _margin(value: Any) -> str:
    number = float(value) if value is not None else math.nan
    return "∞" if number == math.inf else f"×{number:.2g}"


# --- Figure 1 ------------------------------------------------------------------------------------


def show_figure1(discount: float = 0.9) -> Part:
    """Who bootstraps from whom; computed here, since it takes no time and has no chance in it."""
    problem = problem_of(four_state("qvmax", 4, discount))
    graphs, norms = [], {}
    for rule in ("qv_learning", "qvmax", "bc_qvmax", "dueling_q", "hard_rdq"):
        found = bootstrap_norms(rule, problem)
        light, dark = pair(COLOURS[rule])
        tables = sorted({source for source, _ in found}, key="VAQ".index)
        norms[rule] = {f"{source}→{to}": norm for (source, to), norm in found.items()}
        arrows: list[dict[str, Any]] = [
            {"from": tables.index(source), "to": tables.index(to), "text": _in_discounts(norm)}
            for (source, to), norm in found.items()
            if norm >= 1e-12
        ]
        said = ", ".join(
            f"{tables[a['to']]} bootstraps from {tables[a['from']]} ({a['text']})" for a in arrows
        )
        drawing = _graph(tables, arrows, f"{label(rule)}: {said}")
        look = f"--light:{light};--dark:{dark}"
        graphs.append(el("div", el("h4", label(rule)), drawing, class_="graph", style=look))
    html = el(
        "section",
        el("h3", "Figure 1: who bootstraps from whom"),
        el("figure", el("div", graphs, class_="graphs"), el("figcaption", _FIGURE1)),
        id="figure1",
        class_="item",
    )
    return Part(html, {}, {"figure1": {"norms": norms, "discount": discount}})


_FIGURE1 = (
    "An arrow points from the table that is bootstrapped from to the table that is updated; its "
    "number is the norm of that block of the operator’s Jacobian, for |A| = 4 and γ = 0.9. "
    "Computed when this page was written; the claim “bootstrapping” below checks it."
)


def _in_discounts(norm: float, discount: float = 0.9) -> str:
    if abs(norm - 1) < 1e-9:
        return "1"
    return f"{norm / discount:.3g}γ".removeprefix("1γ") or "γ"


def _graph(tables: list[str], arrows: list[dict[str, Any]], said: str) -> Raw:
    """Two circles and their arrows as inline SVG."""
    places = (62, 158)
    parts: list[Raw] = []
    crossing = [a for a in arrows if a["from"] != a["to"]]
    for arrow in arrows:
        x0, x1 = places[arrow["from"]], places[arrow["to"]]
        if x0 == x1:
            side = -1 if arrow["from"] == 0 else 1
            path = (
                f"M{x0 + 13 * side} 36C{x0 + 44 * side} 22 {x0 + 44 * side} 68 {x0 + 16 * side} 54"
            )
            tip, angle, at = (x0 + 16 * side, 54), 0 if side < 0 else 180, (x0 + 48 * side, 50)
            angle += 25 * side
        else:
            way = 1 if x1 > x0 else -1
            bend = -26 * way if len(crossing) > 1 else 0
            start, end = x0 + 17 * way, x1 - 17 * way
            path = (
                f"M{start} {45 + bend / 3:.0f}Q110 {45 + 1.4 * bend:.0f} {end} {45 + bend / 3:.0f}"
            )
            tip, angle = (end, 45 + bend // 3), (0 if way > 0 else 180) + (24 if bend else 0)
            at = (110, 41 + bend - (2 if bend < 0 else -10 if bend else 4))
        parts.append(el("path", d=path))
        move = f"translate({tip[0]} {tip[1]}) rotate({angle})"
        parts.append(el("path", d="M3 0L-7 -4.5L-7 4.5Z", class_="head", transform=move))
        anchor = {0: "middle"}.get(int(x0 != x1) - 1, "end" if arrow["from"] == 0 else "start")
        parts.append(el("text", arrow["text"], x=str(at[0]), y=str(at[1]), text_anchor=anchor))
    for name, x in zip(tables, places, strict=True):
        parts.append(el("circle", cx=str(x), cy="45", r="15"))
        parts.append(el("text", name, x=str(x), y="50", text_anchor="middle"))
    return el("svg", parts, viewBox="0 0 220 90", role="img", aria_label=said)


# --- Drawn figures -------------------------------------------------------------------------------


def show_drawn(path: Path, name: str) -> Part:
    """A figure whose lines were written beside its picture (`qduet.figures.drawn`)."""
    document = read_json(path)
    title, caption = CAPTIONS[path.stem]
    looks: dict[str, Look] = {}
    for panel in document["panels"]:
        for line in panel["series"]:
            family = line["label"].partition(", |A|")[0]  # one switch for all sizes of a rule
            looks.setdefault(family, Look(family, line["colour"], "-", len(looks)))
            line |= {"group": family, "name": line["label"], "dash": DASHES[line["style"]]}
    groups = [group(key, look) for key, look in looks.items()]
    panels = [_panel(panel) for panel in document["panels"]]
    html = el(
        "section",
        el("h3", title),
        el("figure", el("div", data_chart=name, class_="chart"), el("figcaption", caption)),
        el("p", "Source: ", code(str(path)), class_="source"),
        id=name,
        class_="item",
    )
    return Part(html, {name: {"groups": groups, "panels": panels}}, {})


def _panel(panel: dict[str, Any]) -> dict[str, Any]:
    kept = ("x", "y", "group", "name", "dash", "points", "open", "kind")
    lines = [{key: line[key] for key in kept if key in line} for line in panel["series"]]
    return {**panel, "series": lines}
