"""The theory on the page: the table of claims, and the figures that were drawn for it."""

import math
from pathlib import Path
from typing import Any

from qduet.core.errors import as_input_error, read_json
from qduet.paper.claims import CORRECTED, HOLDS
from qduet.show.figures.style import Look
from qduet.show.report.chart import DASHES, Fact, Part, group
from qduet.show.report.html import code, el, table

CAPTIONS = {
    "figure4": (
        "Figure 4: where Dueling and Hard RDQ end up",
        "Sampled paths of V(s) and A(s, a₀). Dueling keeps the mean advantage it starts with; Hard "
        "RDQ ends at the solution nearest to its start, of V and all advantages: in this plane of "
        "two of them its path need not be at a right angle to the line.",
    ),
    "rates": (
        "Predicted and simulated rates (not in the paper)",
        "Lines: the expected update; dots: the mean of simulated runs. Right: how many steps the "
        "slowest error needs to shrink by e, times the step size; dashes let another line be seen.",
    ),
    "ring": (
        "Where AV-learning diverges off-policy (not in the paper)",
        "A ring of states with uniform behaviour: left, runs of four rules; right, the slowest "
        "mode of the expected update, which repels from the optimum where it is below zero.",
    ),
}

SIZE = ", |A| = "
"""What stands between a rule and its |A| in the label of a line."""

STYLES = {"-": "solid", "--": "dashed", "-.": "dashed and dotted", ":": "dotted"}


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
        told = f"{claim['statement']} (the paper: {says})" if says else claim["statement"]
        rows.append(
            [
                claim["where"],
                el("span", told, el("br"), code(claim["claim"])),
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


# --- Drawn figures -------------------------------------------------------------------------------


def show_drawn(path: Path, name: str) -> Part:
    """A figure whose lines were written beside its picture (`qduet.show.figures.drawn`)."""
    document = read_json(path)
    with as_input_error(path):
        return _drawn(path, document, name)


def _drawn(path: Path, document: dict[str, Any], name: str) -> Part:
    title, caption = CAPTIONS[path.stem]
    caption += "".join(_sizes(panel) for panel in document["panels"])
    looks: dict[str, Look] = {}
    for panel in document["panels"]:
        for line in panel["series"]:
            family = line["label"].partition(SIZE)[0]  # one switch for all sizes of a rule
            looks.setdefault(family, Look(family, line["colour"], "-", len(looks)))
            line |= {"group": family, "name": line["label"], "dash": DASHES[line["style"]]}
    lines = [line for panel in document["panels"] for line in panel["series"]]
    marks = {line["group"] for line in lines if line.get("points")}
    marks -= {line["group"] for line in lines if not line.get("points")}
    groups = [group(key, look, points=key in marks) for key, look in looks.items()]
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


def _sizes(panel: dict[str, Any]) -> str:
    """Which line style is which |A| in a panel, if its lines are of several."""
    sizes = {}
    for line in panel["series"]:
        size = line["label"].partition(SIZE)[2]
        if size:
            sizes[line["style"]] = size
    told = [f"{name} |A| = {sizes[style]}" for style, name in STYLES.items() if style in sizes]
    where = panel["title"].partition(":")[0]
    return f" In “{where}” {', '.join(told)}." if len(told) > 1 else ""


def _panel(panel: dict[str, Any]) -> dict[str, Any]:
    kept = ("x", "y", "group", "name", "dash", "points", "open", "kind")
    lines = [{key: line[key] for key in kept if key in line} for line in panel["series"]]
    return {**panel, "series": lines}
