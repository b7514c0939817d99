"""The theory on the page: the table of claims, and its figures."""

import base64
import math
from pathlib import Path
from typing import Any

from qduet.core.reading import as_input_error, read_json
from qduet.paper.claims import CORRECTED, HOLDS, theory_claims
from qduet.show.chart import read
from qduet.show.charts import figure2
from qduet.show.charts.theory import ALT, TITLES
from qduet.show.figures import draw_figure2, rendered
from qduet.show.report.html import code, el, table
from qduet.show.report.parts import Fact, Part, chart_data, figure, item, source


def show_claims(path: Path, name: str) -> Part:
    """The claims of a ``theory.json``, with their verdicts."""
    document = read_json(path)
    with as_input_error(path):
        return _claims(path, document, name)


def _claims(path: Path, document: dict[str, Any], name: str) -> Part:
    document, rows = {**document, "claims": theory_claims(document)}, []
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
    chart = read(path, title=TITLES[path.stem], alt=ALT[path.stem])
    html = item(name, chart.title, figure(name, chart), source(path))
    return Part(html, {name: chart_data(chart)}, {})


def show_figure2(name: str) -> Part:
    """Figure 2 as it is on paper, and its norms."""
    norms = figure2.figure2_norms()
    svg = base64.b64encode(rendered(draw_figure2(norms))["svg"]).decode()
    picture = el("img", src=f"data:image/svg+xml;base64,{svg}", alt=figure2.in_words(norms))
    wide = el("div", picture, class_="scroll", tabindex="0", role="region", aria_label="Figure 2")
    html = item(name, figure2.TITLE, el("figure", wide, el("figcaption", figure2.ALT)))
    stated = {rule: {f"{a}→{b}": x for (a, b), x in by.items()} for rule, by in norms.items()}
    return Part(html, {}, {name: {"norms": stated, "discount": figure2.DISCOUNT}})
