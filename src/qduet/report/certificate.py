"""The certificate on the page, as `qduet certify` prints it."""

from pathlib import Path

from qduet.certificate import Certificate
from qduet.certificate.document import as_document
from qduet.certificate.tables import certificate_tables, explanation, sentences
from qduet.report.chart import Fact, Part
from qduet.report.html import Raw, el, table

GOOD, BAD = ("agree", "holds"), ("differ", "does not hold")


def show(certificate: Certificate, name: str, title: str, sources: list[Path]) -> Part:
    """The verdicts of a certificate, cell by cell and claim by claim."""
    said = sentences(certificate)
    tables = [
        table(content.headings, [_marked(row) for row in content.rows], caption=content.title)
        for content in certificate_tables(certificate)
    ]
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


def _marked(row: tuple[str, ...]) -> list[str | Raw]:
    *others, last = row
    kind = "yes" if last in GOOD else "no" if last in BAD else None
    return [*others, el("strong", last, class_=kind) if kind else last]
