"""The page put together: what was found, section by section, in one file."""

import datetime
import json
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
from qduet.show.report import opening
from qduet.show.report import provenance as origins
from qduet.show.report.html import Raw, el
from qduet.show.report.sections import Content, Section, attempt, content, load_groups
from qduet.show.report.sources import find


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
    title = title or (names if shown.own else opening.TITLE)
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
    top = opening.show(
        title,
        own=shown.own,
        certificate=shown.certificate,
        headline=shown.headline,
        plays=any(section.id == "play" and section.parts for section in shown.sections),
        problems=problems,
    )
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
            top,
            sections,
            _absent(shown.sections),
            origins.show(ran, settings, made),
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
