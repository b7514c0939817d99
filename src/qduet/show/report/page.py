"""The page put together: what was found, section by section, in one file."""

import datetime
import json
from collections import Counter
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from qduet.core.errors import InputError
from qduet.core.files import to_json
from qduet.core.provenance import provenance
from qduet.core.reading import read_json
from qduet.results.runs import CONFIG
from qduet.show.player import page as player
from qduet.show.report.html import Child, Raw, code, el, join, table
from qduet.show.report.parts import Part
from qduet.show.report.sections import Section, attempt, load_groups, sections
from qduet.show.report.sources import find

TITLE = "Temporal-difference methods that learn two value functions"


class Page(NamedTuple):
    """The finished page."""

    html: str
    data: dict[str, Any]
    """What the page states, by section; also embedded in it."""
    problems: list[str]
    """Files that could not be read, each with the reason; the page lists them too."""


def build(directories: Iterable[Path]) -> Page:
    """The page of everything that lies in `directories`."""
    given = list(directories)
    found = find(given)
    if found.empty:
        raise InputError(
            f"nothing to show in {', '.join(map(str, given))}: give directories that qduet "
            "reproduce, theory --out, train or watch wrote"
        )
    problems = list(found.unreadable)
    groups = load_groups(found, problems)
    logs = [file for path in found.last_runs for file in (path, path.with_name("settings.json"))]
    settings = [(file, attempt(problems, file, read_json, file)) for file in logs if file.exists()]
    settings = [(file, document) for file, document in settings if document is not None]
    settings += [(r.directory / CONFIG, r.config) for runs in groups.values() for r in runs]
    return _assemble(sections(found, groups, problems), settings, problems)


# --- Putting it together -------------------------------------------------------------------------


def _assemble(shown: list[Section], settings: list[tuple[Path, Any]], problems: list[str]) -> Page:
    parts = [part for section in shown for part in section.parts]
    stated = {key: value for part in parts for key, value in part.data.items()}
    data = json.loads(to_json(stated))
    charts = {key: value for part in parts for key, value in part.charts.items()}
    made = {
        **provenance(),
        "made": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    origins = _provenance(settings, made)
    charts_js = [_static(name) for name in ("draw.js", "picture.js", "panel.js", "charts.js")]
    scripts = (*charts_js, player.script(), _static("page.js"))
    body = el(
        "body",
        el("a", "Skip to the results", href="#main", class_="skip"),
        _header(shown, parts, problems, made),
        el("main", [_section(s) for s in shown if not s.empty], _absent(shown), origins, id="main"),
        Raw(player.embedded({"charts": charts, "data": data, "made": made}, "qduet-data")),
        *(Raw(f"<script>{text}</script>") for text in scripts),
    )
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=player.POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", f"qduet: {TITLE}"),
        el("link", rel="icon", href="data:,"),
        Raw(f"<style>{player.style()}\n{_static('page.css')}</style>"),
    )
    return Page("<!doctype html>\n" + el("html", head, body, lang="en") + "\n", data, problems)


def _static(name: str) -> str:
    return resources.files("qduet.show.report").joinpath("static", name).read_text(encoding="utf-8")


def _header(
    shown: list[Section], parts: list[Part], problems: list[str], made: dict[str, Any]
) -> Raw:
    links = [el("li", el("a", s.title, href=f"#{s.id}")) for s in shown if not s.empty]
    links.append(el("li", el("a", "Settings and provenance", href="#provenance")))
    options = [el("option", text, value=text) for text in ("auto", "light", "dark")]
    menu = el("select", options, id="theme")
    theme = el("span", el("label", "Colours", for_="theme"), menu, class_="select")
    about = (
        "An Analysis of Action-Value Temporal-Difference Methods That Learn State Values "
        "(Daley, Nagarajan, White and Machado, RLC 2025), tried with qduet "
    )
    warning = None
    if problems:
        items = [el("li", problem) for problem in problems]
        warning = el("div", el("p", "Could not be read:"), el("ul", items), class_="problems")
    return el(
        "header",
        el("div", el("h1", TITLE), theme, class_="top"),
        el("p", about, made["qduet"], ".", class_="lead"),
        el("nav", el("ul", links), aria_label="Sections"),
        warning,
        el("p", _verdict(parts), class_="lead"),
        _facts(parts),
        el("noscript", el("p", "The charts and the player need JavaScript; the text does not.")),
    )


def _verdict(parts: list[Part]) -> Child:
    """The page in one sentence: how many verdicts of each kind the list below has."""
    facts = dict.fromkeys(fact for part in parts for fact in part.facts)
    counts = Counter(fact.kind for fact in facts)
    words = {
        "agrees": "agree with the paper",
        "corrected": "agree once the paper is corrected",
        "undecided": "undecided",
        "differs": "differ from it",
    }
    total = sum(counts[kind] for kind in words)
    if not total:
        return "Nothing here is judged against the paper: too little was run, or other experiments."
    if total == counts["undecided"]:
        return "Nothing here is decided, for or against the paper: there are too few runs."
    text = ", ".join(f"{counts[kind] or 'none'} {meaning}" for kind, meaning in words.items())
    return el("strong", f"{total} verdict{'s' * (total != 1)} below: {text}.")


KINDS = {
    "run": "What was run",
    "where": "Where",
    "time": "How long",
    "agrees": "What agrees",
    "corrected": "What agrees once corrected",
    "undecided": "What is undecided",
    "differs": "What does not",
}


def _facts(parts: list[Part]) -> Raw:
    rows = []
    for kind, title in KINDS.items():
        facts = [fact for part in parts for fact in part.facts if fact.kind == kind]
        items = [
            el(
                "li",
                el("a", fact.text, href=f"#{fact.item}") if fact.item else fact.text,
                [" ", code(fact.file)] if fact.file not in (None, ".") else None,
            )
            for fact in dict.fromkeys(facts)
        ]
        if items:
            rows += [el("dt", title), el("dd", el("ul", items))]
    return el("dl", rows, class_="facts")


def _section(section: Section) -> Raw:
    heading = el("h2", section.title)
    return el(
        "section", heading, el("p", section.lead), [p.html for p in section.parts], id=section.id
    )


def _absent(shown: list[Section]) -> Raw | None:
    """What the page could show, and had nothing for."""
    lines = [el("li", el("b", s.title), ": ", s.lead) for s in shown if s.empty]
    return el("section", el("h2", "Not here"), el("ul", lines), id="absent") if lines else None


# --- Settings and provenance ---------------------------------------------------------------------


def _provenance(settings: list[tuple[Path, Any]], made: dict[str, Any]) -> Raw:
    here = [[key, str(value or "unknown")] for key, value in made.items()]
    parts = [table(("", "this page"), here, caption="What wrote this page")]
    for path, document in settings:
        rows = [[key, code(value)] for key, value in _flat(document)]
        inner = table(("setting", "value"), rows, caption=str(path))
        parts.append(el("details", el("summary", code(str(path))), inner))
    return el(
        "section",
        el("h2", "Settings and provenance"),
        el("p", "Every file that says how a result was made, as it stands on disk."),
        join(parts),
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
