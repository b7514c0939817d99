"""The certificate on the page, as `qduet certify` prints it."""

from pathlib import Path

from qduet.certificate import Certificate
from qduet.certificate.claims import CORRECTED, FAILS, HOLDS
from qduet.certificate.document import as_document
from qduet.certificate.tables import Table, certificate_tables, explanation, sentences
from qduet.report.chart import Fact, Part
from qduet.report.html import Raw, el, table

GOOD, BAD = ("agree", HOLDS, CORRECTED), ("differ", FAILS)


def show(certificate: Certificate, name: str, title: str, sources: list[Path]) -> Part:
    """The verdicts of a certificate, cell by cell and claim by claim."""
    said = sentences(certificate)
    tables = [_table(content) for content in certificate_tables(certificate)]
    html = el(
        "section",
        el("h3", title),
        el("ul", [el("li", line) for line in said]),
        tables,
        el("p", explanation(), class_="setting"),
        el("p", "Source: ", ", ".join(map(str, sources)), class_="source") if sources else None,
        id=name,
        class_="item",
    )
    kind = "differs" if certificate.differs else "agrees"
    facts = tuple(Fact(kind, line.rstrip("."), name) for line in said if _is_verdict(line))
    return Part(html, {}, {name: as_document(certificate)}, facts)


def _is_verdict(line: str) -> bool:
    return line.startswith(("In ", "Claims: ")) and line != "Claims: no data."


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
