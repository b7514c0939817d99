"""What the page is put together from: items and facts."""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from qduet.show.report.html import Child, Raw, code, el, table


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
