"""The page put together: what was found, section by section, in one file."""

import datetime
import json
from collections.abc import Callable, Iterable
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from qduet.certificate import Certificate, certify
from qduet.errors import InputError
from qduet.player import page as player
from qduet.provenance import provenance
from qduet.report import certificate, deep, graph, play, tabular, theory
from qduet.report.chart import Part
from qduet.report.html import Child, Raw, code, el, join, table
from qduet.report.sources import Found, find, read_json
from qduet.runs import Runs
from qduet.runs import load as load_runs
from qduet.store import to_json

TITLE = "Temporal-difference methods that learn two value functions"


class Page(NamedTuple):
    """The finished page."""

    html: str
    data: dict[str, Any]
    """What the page states, by section; also embedded in it."""
    problems: list[str]
    """Files that could not be read, each with the reason; the page lists them too."""


class Section(NamedTuple):
    """A heading with its items."""

    id: str
    title: str
    lead: str
    parts: list[Part]


def build(directories: Iterable[Path]) -> Page:
    """The page of everything that lies in `directories`."""
    places = list(directories)
    found = find(places)
    if found.empty:
        raise InputError(
            f"nothing to show in {', '.join(map(str, places))}: give directories that qduet "
            "reproduce, theory --out, train or watch wrote"
        )
    problems: list[str] = []
    groups = _groups(found, problems)
    sections = [
        _tabular(found, problems),
        _theory(found, problems),
        _deep(groups),
        _play(found, problems),
        _certificate(found, groups, problems),
    ]
    return _assemble(sections, list(_settings_files(found)), problems)


def _try(problems: list[str], function: Callable[..., Any], *arguments: Any) -> Any:
    """What `function` returns; None, and a line in `problems`, if a file cannot be read."""
    try:
        return function(*arguments)
    except InputError as error:
        problems.append(str(error))
        return None


def _tabular(found: Found, problems: list[str]) -> Section:
    parts: list[Part] = []
    for folder, paths in found.cells.items():
        for loaded in _try(problems, tabular.load, folder, paths) or ():
            parts.append(tabular.show(loaded, f"tabular-{len(parts)}"))
    lead = (
        "Rules on the paper’s 4-state problem. An AUC is the mean of an error curve, in percent of "
        "the initial error: less is better."
    )
    if not parts:
        lead = "No tabular results were given; qduet reproduce makes them."
    for path in found.last_runs:
        log = _try(problems, read_json, path)
        if log is not None:
            parts.append(tabular.show_run(path, log))
    return Section("tabular", "Tabular experiments", lead, parts)


def _theory(found: Found, problems: list[str]) -> Section:
    parts = [graph.show("figure1")]
    once = {path.stem: path for path in reversed(found.drawn)}
    for stem in sorted(once):
        parts.append(_try(problems, theory.show_drawn, once[stem], stem))
    for i, path in enumerate(found.theory):
        parts.append(_try(problems, theory.show_claims, path, f"claims-{i}"))
    lead = "Every proved statement and remark of the paper as a measurement: error ≤ allowed."
    if not found.theory:
        lead = "The claims were not checked; qduet theory --out DIR does it."
    return Section("theory", "Theory", lead, [part for part in parts if part is not None])


Groups = dict[Path, list[Runs]]
"""Runs by the directory that theirs lie in; those of the paper first, then the longest."""


def _groups(found: Found, problems: list[str]) -> Groups:
    groups = {}
    for parent, paths in deep.grouped(found.runs).items():
        loaded = [_try(problems, load_runs, path) for path in paths]
        if any(loaded):
            groups[parent] = [runs for runs in loaded if runs is not None]
    rank = lambda parent: (not deep.is_figure6(groups[parent]), -_longest(groups[parent]))
    return {parent: groups[parent] for parent in sorted(groups, key=rank)}


def _longest(runs: list[Runs]) -> int:
    return max(int(item.config["steps"]) for item in runs)


def _deep(groups: Groups) -> Section:
    parts = [
        deep.show(parent, runs, f"deep-{i}") for i, (parent, runs) in enumerate(groups.items())
    ]
    if not any(deep.is_figure6(runs) for runs in groups.values()):
        parts.insert(0, deep.show_published("published"))
    lead = (
        "DQN, Dueling DQN and RDQ are one family, Q = w·V + A − c·mean(A) with a penalty β; each "
        "seed is a run of its own."
    )
    if not groups:
        lead += " No training runs were given; qduet train makes them."
    return Section("minatar", "MinAtar", lead, parts)


def _play(found: Found, problems: list[str]) -> Section:
    loaded = [(path, _try(problems, play.load, path)) for path in found.recordings]
    documents = [(path, document) for path, document in loaded if document is not None]
    lead = (
        "Recorded episodes, with what the two value functions say at each step: V of the state, A "
        "of each action, and the Q that they make."
    )
    if not documents:
        lead = "No recorded play was given; qduet watch records it."
        return Section("play", "At play", lead, [])
    return Section("play", "At play", lead, [play.show(documents, "recordings")])


def _certificate(found: Found, groups: Groups, problems: list[str]) -> Section:
    """The paper’s claims, and our runs against the published ones."""
    parts: list[Part] = []
    refused: list[str] = []
    reproduced = next((folder.parent for folder in found.cells), None)
    admitted: list[tuple[Path, Certificate]] = []
    for parent, runs in groups.items():
        made = _try(refused, certify, [item.directory for item in runs])
        if made is not None:
            admitted.append((parent, made))
    if admitted or found.theory or reproduced:
        first = [item.directory for item in groups[admitted[0][0]]] if admitted else []
        whole = _try(problems, _certify_all, first, reproduced)
        title = "The paper’s claims" + (", and our runs beside the published ones" if first else "")
        if whole is not None:
            parts.append(certificate.show(whole, "certificate-0", title, first))
    for i, (parent, made) in enumerate(admitted[1:], 1):
        cells = made._replace(claims=())
        name = f"certificate-{i}"
        parts.append(certificate.show(cells, name, f"The runs in {parent}", [parent]))
    lead = (
        "A cell agrees if its difference to the published score is shown to be smaller than what "
        "another seed changes."
    )
    notes = " ".join(f"Not compared with the published scores: {reason}." for reason in refused)
    if not parts:
        lead = "Nothing here can be compared with the paper."
    return Section("certificate", "Certificate", f"{lead} {notes}".strip(), parts)


def _certify_all(directories: list[Path], reproduced: Path | None) -> Certificate:
    return certify(directories, reproduced=reproduced)


# --- Putting it together -------------------------------------------------------------------------


def _assemble(sections: list[Section], files: list[Path], problems: list[str]) -> Page:
    parts = [part for section in sections for part in section.parts]
    stated = {key: value for part in parts for key, value in part.data.items()}
    data = json.loads(to_json(stated))
    charts = {key: value for part in parts for key, value in part.charts.items()}
    made = {
        **provenance(),
        "made": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    scripts = (_static("charts.js"), player.script(), _static("page.js"))
    body = el(
        "body",
        el("a", "Skip to the results", href="#main", class_="skip"),
        _header(sections, parts, problems, made),
        el("main", [_section(s) for s in sections], _provenance(files, problems, made), id="main"),
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
    return resources.files("qduet.report").joinpath("static", name).read_text(encoding="utf-8")


def _header(
    sections: list[Section], parts: list[Part], problems: list[str], made: dict[str, Any]
) -> Raw:
    links = [el("li", el("a", s.title, href=f"#{s.id}")) for s in sections]
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
        warning,
        el("p", _verdict(parts), class_="lead"),
        _facts(parts),
        el("nav", el("ul", links), aria_label="Sections"),
        el("noscript", el("p", "The charts and the player need JavaScript; the text does not.")),
    )


def _verdict(parts: list[Part]) -> Child:
    """The page in one sentence."""
    kinds = [fact.kind for part in parts for fact in part.facts]
    if "differs" in kinds:
        return el("strong", "Not everything agrees with the paper; the list below says what.")
    if "agrees" in kinds:
        return el("strong", "Everything that could be decided here agrees with the paper.")
    return "Nothing here is judged against the paper: too little was run, or something else."


KINDS = {
    "run": "What was run",
    "where": "Where",
    "time": "How long",
    "agrees": "What agrees",
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
                [" ", code(fact.file)] if fact.file else None,
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


# --- Settings and provenance ---------------------------------------------------------------------


def _settings_files(found: Found) -> Iterable[Path]:
    for path in found.last_runs:
        yield from (p for p in (path, path.with_name("settings.json")) if p.exists())
    yield from (folder / "config.json" for folder in found.runs)


def _provenance(files: list[Path], problems: list[str], made: dict[str, Any]) -> Raw:
    here = [[key, str(value)] for key, value in made.items()]
    parts = [table(("", "this page"), here, caption="What wrote this page")]
    for path in files:
        document = _try(problems, read_json, path)
        if isinstance(document, dict):
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
