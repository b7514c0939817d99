"""The page put together: what was found, section by section, in one file."""

import datetime
import json
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from qduet.core.errors import InputError
from qduet.core.files import to_json
from qduet.core.provenance import provenance
from qduet.core.reading import read_json
from qduet.results.runs import CONFIG
from qduet.show.player import page as player
from qduet.show.report import certificate
from qduet.show.report.deep import load_groups
from qduet.show.report.html import Child, Origin, Raw, code, details, el, table
from qduet.show.report.sections import Content, Section, content
from qduet.show.report.sources import RUNS, attempt, find

TITLE = "Learning with two value functions"
IDEA = (
    "An agent usually learns one value function: Q(s, a), how good an action is. The methods here "
    "learn a second one with it: V(s), how good the situation is, whatever one does. Every action "
    "teaches it something, so it is learned sooner, and helps to learn the rest."
)
REFERENCE = (
    "After “An Analysis of Action-Value Temporal-Difference Methods That Learn State Values” "
    "(Daley, Nagarajan, White and Machado, RLC 2025): its experiments and theorems, reproduced."
)


class Page(NamedTuple):
    """The finished page."""

    html: str
    data: dict[str, Any]
    """What the page states, by section; also embedded in it."""
    problems: list[str]
    """Files that could not be read, each with the reason; the page lists them too."""


def build(directories: Iterable[Path], *, title: str | None = None) -> Page:
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
    shown = content(found, groups, problems)
    if problems and not any(section.shows_results for section in shown.sections):
        more = f" (and {len(problems) - 1} more)" if problems[1:] else ""
        raise InputError(f"nothing could be read: {problems[0]}{more}")
    names = " and ".join(dict.fromkeys(path.resolve().name or str(path) for path in given))
    title = title or (names if shown.own else TITLE)
    return _assemble(title, shown, settings, problems)


# --- Putting it together -------------------------------------------------------------------------


def _assemble(
    title: str, shown: Content, settings: list[tuple[Path, Any]], problems: list[str]
) -> Page:
    parts = [part for section in shown.sections for part in section.parts]
    stated = {key: value for part in parts for key, value in part.data.items()}
    data = json.loads(to_json(stated))
    charts = {key: value for part in parts for key, value in part.charts.items()}
    made = {
        **provenance(),
        "made": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    ran = [*shown.origins, *(origin for part in parts for origin in part.origins)]
    sections = [_section(section, shown) for section in shown.sections if section.parts]
    charts_js = [_static(name) for name in ("draw.js", "picture.js", "panel.js", "charts.js")]
    scripts = (*charts_js, player.script(), _static("page.js"))
    body = el(
        "body",
        el("a", "Skip to the results", href="#main", class_="skip"),
        _contents(shown.sections),
        el(
            "main",
            _top(title, shown, problems),
            sections,
            _absent(shown.sections),
            _provenance(ran, settings, made),
            id="main",
        ),
        Raw(player.embedded({"charts": charts, "data": data, "made": made}, "qduet-data")),
        *(Raw(f"<script>{text}</script>") for text in scripts),
    )
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=player.POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", f"qduet: {title}"),
        el("link", rel="icon", href="data:,"),
        Raw(f"<style>{player.style()}\n{_static('page.css')}</style>"),
    )
    return Page("<!doctype html>\n" + el("html", head, body, lang="en") + "\n", data, problems)


def _top(title: str, shown: Content, problems: Sequence[str]) -> Raw:
    """The first screen: what this is about, what came out, the headline figure, agents at play."""
    headline = shown.headline
    words: list[Child] = [el("h1", title)]
    if not shown.own:
        words += [el("p", IDEA, class_="lead"), el("p", REFERENCE, class_="note")]
    figure: Child = None
    if headline and shown.own:
        words += [el("p", headline.heading, class_="lead"), headline.opening, headline.figure]
    elif headline:
        figure = [el("h2", headline.heading, class_="small"), headline.figure]
    if shown.certificate:
        runs_at = [s.id for s in shown.sections if s.id in RUNS and s.parts]
        words.append(certificate.at_the_top(shown.certificate, f"#{next(iter(runs_at), '')}"))
    plays = any(section.id == "play" and section.parts for section in shown.sections)
    beside = el("div", id="qduet-glimpse") if plays else None
    return el(
        "header",
        el("div", el("div", words), beside, class_="opening"),
        _unreadable(problems),
        figure,
        el("noscript", el("p", "The charts and the player need JavaScript; the text does not.")),
        id="top",
    )


def _unreadable(problems: Sequence[str]) -> Raw | None:
    if not problems:
        return None
    items = [el("li", problem) for problem in problems]
    return el("div", el("p", "Could not be read:"), el("ul", items), class_="problems")


def _static(name: str) -> str:
    return resources.files("qduet.show.report").joinpath("static", name).read_text(encoding="utf-8")


def _contents(sections: list[Section]) -> Raw:
    """The navigation, which stays in view; a menu on phones."""
    named = [("top", "In short"), *((s.id, s.title) for s in sections if s.parts)]
    named.append(("provenance", "Provenance"))
    links = [el("li", el("a", title, href=f"#{id_}")) for id_, title in named]
    options = [el("option", text, value=text) for text in ("auto", "light", "dark")]
    theme = el("span", el("label", "Colours", for_="theme"), el("select", options, id="theme"))
    return el(
        "nav",
        el("a", "qduet", href="#top", class_="brand"),
        el("button", "Contents", type="button", aria_expanded="false", aria_controls="contents"),
        el("div", el("ul", links), theme, id="contents"),
        aria_label="Sections",
    )


def _section(section: Section, shown: Content) -> Raw:
    headline = shown.headline
    taken = lambda part: headline is not None and part.name == headline.name
    return el(
        "section",
        el("h2", section.title),
        el("p", section.finding, class_="finding") if section.finding else None,
        [
            part.html(figure_is_above=taken(part), intro_is_above=shown.own and taken(part))
            for part in section.parts
        ],
        id=section.id,
    )


def _absent(sections: list[Section]) -> Raw | None:
    """What the page could show, and had nothing for."""
    lines = [el("li", s.absent) for s in sections if not s.parts and s.absent]
    return el("section", el("h2", "Not here"), el("ul", lines), id="absent") if lines else None


def _provenance(
    origins: Sequence[Origin], settings: Sequence[tuple[Path, Any]], made: dict[str, Any]
) -> Raw:
    """What was run where, every setting, what wrote the page: folded, for the few who need it."""
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
