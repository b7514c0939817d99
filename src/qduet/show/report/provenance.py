"""The end of the page: what was run where, every setting, what wrote the page."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from qduet.show.report.html import Raw, code, details, el, table
from qduet.show.report.parts import Origin


def show(
    origins: Sequence[Origin], settings: Sequence[tuple[Path, Any]], made: dict[str, Any]
) -> Raw:
    """The section, folded: few need it, but they need all of it."""
    file = lambda name: code(name) if name != "." else "here"
    ran = [[o.what, o.where, o.time, file(o.file)] for o in dict.fromkeys(origins)]
    here = [[key, str(value or "unknown")] for key, value in made.items()]
    files = []
    for path, document in settings:
        rows = [[key, code(value)] for key, value in _flat(document)]
        inner = table(("setting", "value"), rows, caption=str(path))
        files.append(details(code(str(path)), inner))
    headings = ("what", "where", "how long", "files")
    return el(
        "section",
        el("h2", "Provenance"),
        el("p", "Where every number comes from.", class_="finding"),
        details("What was run, where, for how long", table(headings, ran, caption="What was run")),
        details("Every setting, as it stands on disk", files),
        details("What wrote this page", table(("", "this page"), here, caption="This page")),
        id="provenance",
    )


def _flat(value: Any, prefix: str = "") -> Iterable[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _flat(item, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for i, item in enumerate(value):
            yield from _flat(item, f"{prefix}[{i}]")
    elif isinstance(value, list):
        yield prefix, ", ".join(map(str, value))
    else:
        yield prefix, str(value)
