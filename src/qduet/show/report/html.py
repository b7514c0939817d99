"""HTML as nested calls, in which text is always escaped.

>>> el("p", "1 < 2, said ", el("b", "she"), class_="note")
'<p class="note">1 &lt; 2, said <b>she</b></p>'
"""

import html
from collections.abc import Iterable

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
