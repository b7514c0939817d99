"""The certificate on the page, as `qduet certify` prints it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from qduet.core.tables import Table
from qduet.paper.certificate import Certificate, as_document
from qduet.paper.certificate_tables import (
    certificate_tables,
    difference_line,
    explanation,
    sentences,
    verdict_counts,
)
from qduet.paper.claims import CORRECTED, FAILS, HOLDS, MINATAR, NO_DATA, UNDECIDED
from qduet.show.report.html import Raw, el, table
from qduet.show.report.parts import Fact, Part, item

GOOD, BAD = ("agree", HOLDS, CORRECTED), ("differ", FAILS)


def show(certificate: Certificate, name: str, title: str, sources: list[Path]) -> Part:
    """The verdicts of a certificate, cell by cell and claim by claim."""
    tables = [_table(content) for content in certificate_tables(certificate)]
    html = item(
        name,
        title,
        el("ul", [el("li", line) for line in sentences(certificate)]),
        tables,
        el("p", explanation(), class_="setting"),
        el("p", "Source: ", ", ".join(map(str, sources)), class_="source") if sources else None,
    )
    return Part(html, {}, {name: as_document(certificate)}, tuple(_facts(certificate, name)))


def _facts(certificate: Certificate, name: str) -> Iterator[Fact]:
    """What the top of the page says of cells and of Figure 6; the other claims have parts."""
    for measure, line in verdict_counts(certificate).items():
        cells = [cell for cell in certificate.cells if cell.measure == measure]
        kind = _kind([cell.verdict for cell in cells])
        yield Fact(kind, line, name)
        if kind != "undecided":  # else the line says so of all of them
            undecided = [cell for cell in cells if cell.verdict == UNDECIDED]
            yield from (Fact("undecided", difference_line(cell), name) for cell in undecided)
    claims = [c for c in certificate.claims if c.where == MINATAR and c.verdict != NO_DATA]
    if claims:
        held = sum(claim.verdict == HOLDS for claim in claims)
        line = f"Figure 6: {held} of {len(claims)} claims hold"
        yield Fact(_kind([claim.verdict for claim in claims]), line, name)
    for claim in claims:
        if claim.verdict == UNDECIDED:
            yield Fact("undecided", f"Figure 6: {claim.statement} ({claim.ours})", name)


def _kind(verdicts: Sequence[str]) -> str:
    """Under what the top of the page has such verdicts; `undecided` is no agreement."""
    bad, good = (any(v in those for v in verdicts) for those in (BAD, GOOD))
    return "differs" if bad else "agrees" if good else "undecided"


def _table(content: Table) -> Raw:
    """A table whose verdicts stand beside the names, where a narrow screen shows them first."""
    if content.headings[-1] != "verdict":
        return table(content.headings, content.rows, caption=content.title)
    moved = lambda row, last: [*row[:2], last, *row[2:-1]]
    rows = [moved(row, _marked(row[-1])) for row in content.rows]
    return table(moved(content.headings, "verdict"), rows, caption=content.title)


def _marked(verdict: str) -> str | Raw:
    kind = "yes" if verdict in GOOD else "no" if verdict in BAD else None
    return el("strong", verdict, class_=kind) if kind else verdict
