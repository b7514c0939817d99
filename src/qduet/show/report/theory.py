"""The theory on the page: the table of claims, and its figures."""

import base64
import math
from pathlib import Path
from typing import Any

from qduet.core.reading import as_input_error, read_json
from qduet.paper.claims import CORRECTED, FAILS, HOLDS, with_texts
from qduet.show import chart
from qduet.show.charts import figure2
from qduet.show.charts.theory import ALT, TITLES
from qduet.show.figures import draw_figure2, rendered
from qduet.show.report.certificate import mark
from qduet.show.report.html import Origin, Part, code, details, el, figure, source, table


def show_claims(path: Path, name: str) -> Part:
    """The claims of a ``theory.json``, with their verdicts."""
    document = read_json(path)
    with as_input_error(path):
        return _claims(path, document, name)


def _claims(path: Path, document: dict[str, Any], name: str) -> Part:
    document, rows = {**document, "claims": [*map(with_texts, document["claims"])]}, []
    for claim in document["claims"]:
        says = claim.get("paper")
        verdict = CORRECTED if says else HOLDS
        if not claim["holds"]:
            verdict = f"{FAILS} on {claim['failures']}"
        text = f"{claim['statement']} (the paper: {says})" if says else claim["statement"]
        rows.append(
            [
                claim["where"],
                el("span", text, el("br"), code(claim["claim"])),
                mark(verdict),
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
    mended = [
        f"{c['where']}: {c['statement']}. The paper: {c['paper']}."
        for c in document["claims"]
        if c.get("paper") and c["holds"]
    ]
    caption = "The margin is what rounding or the bound allows, divided by the worst error found."
    headings = ("paper", "claim", "verdict", "MDPs", "worst error", "margin")
    intro = el("ul", [el("li", line) for line in mended], class_="plain") if mended else None
    numbers = details(
        f"The {total} checks in numbers", table(headings, rows, caption=caption, numeric=3)
    )
    on = max((claim["problems"] for claim in document["claims"]), default=0)
    what = f"Theory: {total} claims, on up to {on:,} MDPs each"
    origin = Origin(what, str(path), "", f"{document['seconds']:.1f} s")
    data = {name: {**document, "source": str(path)}}
    rest, found = [numbers, source(path)], (f"{verdict}.",)
    return Part(name, "Each claim, checked", intro, None, rest, {}, data, (origin,), found)


def _margin(value: Any) -> str:
    number = float(value) if value is not None else math.nan
    return "∞" if number == math.inf else f"×{number:.2g}"


# --- Figures -------------------------------------------------------------------------------------


def show_chart(path: Path, name: str) -> Part:
    """A chart that `qduet theory --out` or `qduet reproduce` wrote beside its picture."""
    drawn = figure(name, ALT[path.stem])
    return Part(name, TITLES[path.stem], None, drawn, source(path), {name: chart.read(path)})


def show_figure2(name: str) -> Part:
    """Figure 2 as it is on paper, and its norms."""
    norms = figure2.figure2_norms()
    svg = base64.b64encode(rendered(draw_figure2(norms), "svg")["svg"]).decode()
    picture = el("img", src=f"data:image/svg+xml;base64,{svg}", alt=figure2.in_words(norms))
    wide = el("div", picture, class_="scroll", tabindex="0", role="region", aria_label="Figure 2")
    drawn = el("figure", wide, el("figcaption", figure2.ALT))
    stated = {rule: {f"{a}→{b}": x for (a, b), x in by.items()} for rule, by in norms.items()}
    data = {name: {"norms": stated, "discount": figure2.DISCOUNT}}
    return Part(name, figure2.TITLE, None, None, drawn, {}, data)
