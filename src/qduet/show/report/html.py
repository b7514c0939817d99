"""HTML as nested calls, in which text is always escaped; and the items of the page.

>>> el("p", "1 < 2, said ", el("b", "she"), class_="note")
'<p class="note">1 &lt; 2, said <b>she</b></p>'
"""

import html
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

VOID = {"br", "hr", "img", "input", "link", "meta"}


class Raw(str):
    """Text that is HTML already; everything else is escaped."""


Child = str | Iterable["Child"] | None


def el(tag: str, *children: Child, **attributes: str | bool | None) -> Raw:
    """An element; ``class_`` is ``class``, ``aria_label`` is ``aria-label``, None is left out."""
    texts = []
    for name, value in attributes.items():
        key = name.rstrip("_").replace("_", "-")
        if value is True:
            texts.append(f" {key}")
        elif value is not None and value is not False:
            texts.append(f' {key}="{html.escape(value)}"')
    start = f"<{tag}{''.join(texts)}>"
    return Raw(start if tag in VOID else f"{start}{join(children)}</{tag}>")


def join(children: Child) -> Raw:
    """The children one after the other."""
    if children is None:
        return Raw("")
    if isinstance(children, Raw):
        return children
    if isinstance(children, str):
        return Raw(html.escape(children))
    return Raw("".join(join(child) for child in children))


def table(
    headings: Iterable[Child],
    rows: Iterable[Iterable[Child]],
    *,
    caption: str,
    numeric: int = 99,
    class_: str = "",
) -> Raw:
    """A table that scrolls by itself on a narrow screen; columns from `numeric` on hold numbers."""
    head = el(
        "tr",
        [
            el("th", h, scope="col", class_="number" if i >= numeric else None)
            for i, h in enumerate(headings)
        ],
    )
    body = [
        el("tr", [el("td", c, class_=_kind(c, i >= numeric)) for i, c in enumerate(row)])
        for row in rows
    ]
    inner = el("table", el("caption", caption), el("thead", head), el("tbody", body))
    kind = f"scroll {class_}".strip()
    return el("div", inner, class_=kind, tabindex="0", role="region", aria_label=caption)


def _kind(cell: Child, number: bool) -> str | None:
    """How a cell is set: numbers to the right, short text on one line, long text with room."""
    if number:
        return "number"
    if not isinstance(cell, str) or isinstance(cell, Raw):
        return None
    return "short" if len(cell) <= 26 else "long"


def details(summary: Child, *children: Child, class_: str | None = None) -> Raw:
    """What is folded away until asked for."""
    return el("details", el("summary", summary), children, class_=class_)


def code(text: str) -> Raw:
    """A file name or command."""
    return el("code", text)


# --- Items of the page ---------------------------------------------------------------------------


class Origin(NamedTuple):
    """Where and how something on the page was computed."""

    what: str
    file: str
    where: str = ""
    """The machine and versions."""
    time: str = ""


class Part(NamedTuple):
    """One item of the page."""

    name: str
    """Its id; links lead to it."""
    heading: str
    intro: Child
    """What was asked, and how it was run."""
    figure: Raw | None = None
    """Its chart; the opening of the page may take it."""
    rest: Child = None
    charts: Mapping[str, Any] = MappingProxyType({})
    """By the name that ``data-chart`` has in `figure` or `rest`."""
    data: Mapping[str, Any] = MappingProxyType({})
    """What the text and tables state, as values of JSON."""
    origins: tuple[Origin, ...] = ()
    found: tuple[str, ...] = ()
    """What came out, in sentences."""

    @property
    def opening(self) -> Child:
        """What stands under the heading."""
        return [[el("p", line, class_="finding") for line in self.found], self.intro]

    def html(self, *, figure_is_above: bool = False, intro_is_above: bool = False) -> Raw:
        """The element of the item."""
        intro = None if intro_is_above else self.opening
        number, _, _ = self.heading.partition(":")
        title = f"{number} in numbers" if figure_is_above else self.heading
        heading = el("h3", title) if title else None
        link = el("a", "The figure is at the top of the page.", href="#top")
        shown = el("p", link, class_="note") if figure_is_above else self.figure
        return el("section", heading, intro, shown, self.rest, id=self.name, class_="item")


def source(path: Path | str) -> Raw:
    """Where the numbers of an item come from."""
    return el("p", "Source: ", code(str(path)), class_="source")


def figure(name: str, alt: str) -> Raw:
    """The element that a chart is drawn in, and its text."""
    return el("figure", el("div", data_chart=name, class_="chart"), el("figcaption", alt))


def protocol(name: str) -> str:
    """The protocol, and what that word means."""
    means = {"reference": "as the released code does", "paper": "as the paper’s text says"}
    return f"protocol={name}" + (f" ({means[name]})" if name in means else "")


def evidence(text: str) -> list[Raw]:
    """The numbers that decide, one to a line; in a table where they are of several |A|."""
    lines, columns = [], {}
    for part in text.replace("; but ", "; ").split("; "):
        what, _, numbers = part.partition(": ")
        each = re.findall(r"([+−][\d.]+ \[[^]]*\]) at \|A\| = (\d+)", numbers)
        if len(each) > 1:
            columns[what] = {size: value for value, size in each}
        else:
            lines.append(el("li", part.strip()))
    shown = [el("ul", lines, class_="evidence")] if lines else []
    if columns:
        sizes = dict.fromkeys(size for column in columns.values() for size in column)
        rows = [[size, *(column.get(size, "") for column in columns.values())] for size in sizes]
        caption = "Difference, with its 95 % interval"
        headings = ("|A|", *columns)
        shown.append(table(headings, rows, caption=caption, numeric=1, class_="evidence"))
    return shown
