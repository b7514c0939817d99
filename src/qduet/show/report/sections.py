"""The sections of the page: which results go where, and what is said where there are none.

A file that cannot be read costs the page that file: it is left out, and named.
"""

import itertools
from pathlib import Path
from typing import Any, NamedTuple

from qduet.jobs.recording_file import read_document
from qduet.paper.certificate import Certificate, as_document
from qduet.results import published
from qduet.show.player.page import embedded
from qduet.show.report import certificate, deep, experiments, tabular, theory
from qduet.show.report.html import Origin, Part, Raw, code, details, el, table
from qduet.show.report.sources import (
    CHECKS,
    OWN,
    PAPER,
    STUDY,
    Found,
    Purpose,
    attempt,
    distinct_headings,
    purpose_of,
)


class Section(NamedTuple):
    """A heading with its items."""

    id: str
    title: str
    finding: str
    """What came out, in a sentence."""
    parts: list[Part]
    absent: str = ""
    """What is said if there are no parts."""

    @property
    def shows_results(self) -> bool:
        """Whether something of the given directories is in it, and not only of the paper."""
        items = {name for part in self.parts for name in (*part.charts, *part.data)}
        return self.id != "certificate" and not items <= {"figure2"}


class Content(NamedTuple):
    """What the page shows."""

    sections: list[Section]
    own: bool
    """Whether this is a page of the reader's runs: no run is the paper's or of the study."""
    certificate: Certificate | None
    """Of the runs that are most like the paper's, and of the claims."""
    headline: Part | None
    """The item whose figure stands at the top."""
    origins: list[Origin]
    """Of what has no item."""


def content(found: Found, groups: deep.Groups, problems: list[str]) -> Content:
    """All sections, in the order of the page; adds to `problems` what could not be read."""
    certificates, refused = deep.certificates_of(found, groups, problems)
    main = next(iter(certificates.values()), None)
    deep_parts = deep.items(groups, certificates, refused, problems)
    claims = []
    if main is not None:
        claims = [certificate.show_claims(main, "certificate-0")]
    for i, other in enumerate(list(certificates.values())[1:], 1):
        only_cells = other._replace(claims=())
        name = f"certificate-{i}"
        claims.append(Part(name, "", None, data={name: as_document(only_cells)}))
    theirs = deep_parts[PAPER] or deep_parts[CHECKS] or deep_parts[STUDY]
    own = not theirs and bool(deep_parts[OWN] or not found.of_the_paper)
    sections = [
        Section(PAPER, "Deep agents", _deep_finding(main), deep_parts[PAPER]),
        _play(found, problems),
        _tabular(found, problems),
        _theory(found, problems, with_figure2=found.of_the_paper and not own),
        Section(STUDY, "Beyond the paper", _led(deep_parts[STUDY], STUDY_LEAD), deep_parts[STUDY]),
        Section(CHECKS, "Checks", _led(deep_parts[CHECKS], CHECKS_LEAD), deep_parts[CHECKS]),
    ]
    title = "Training runs" if own else "Other runs"
    lead = "" if own else "Runs that are neither the paper’s nor part of the study."
    absent = "" if groups else "No training runs were given; qduet train makes them."
    others = Section(OWN, title, lead, deep_parts[OWN], absent)
    sections.insert(0 if own else len(sections), others)
    finding = certificate.in_a_sentence(main) if main and main.claims else ""
    if main is not None:
        sections.append(Section("certificate", "Every claim", finding, claims))
    logs = [attempt(problems, path, tabular.log_origin, path) for path in found.last_runs]
    return Content(sections, own, main, _headline(sections), [log for log in logs if log])


def _led(parts: list[Part], lead: str) -> str:
    """What came out first, and what the section is about."""
    if not (parts and parts[0].found):
        return lead
    what, _, _ = parts[0].heading.partition(":")
    found = parts[0].found[0]
    if found[1:2].islower():  # DQV-Max and RDQ keep their capitals
        found = found[0].lower() + found[1:]
    return f"{what}: {found} {lead}"


def _headline(sections: list[Section]) -> Part | None:
    """The first figure of the page, whose section is then told without it."""
    drawn = [part for section in sections for part in section.parts if part.figure]
    return drawn[0] if drawn else None


STUDY_LEAD = (
    "What the paper did not measure: how much RDQ depends on its penalty β, and how the QV family "
    "does with deep networks. Its plan was written before the runs that answer it (docs/study.md)."
)
CHECKS_LEAD = (
    "Does the result change with other runs, or with the settings that the paper’s text and its "
    "released code disagree on?"
)


def _tabular(found: Found, problems: list[str]) -> Section:
    shown: list[experiments.Loaded] = []
    for folder, paths in found.curves.items():
        read = [attempt(problems, path, experiments.read, path) for path in paths]
        files = [file for file in read if file is not None]
        title = (attempt(problems, folder, purpose_of, folder) or Purpose()).title
        shown += attempt(problems, folder, experiments.load, folder, files, title) or ()
    headings = distinct_headings(
        [tabular.heading(loaded) for loaded in shown], [loaded.folder for loaded in shown]
    )
    parts = [
        attempt(problems, loaded.folder, tabular.show, loaded, f"tabular-{i}", heading)
        for i, (loaded, heading) in enumerate(zip(shown, headings, strict=True))
    ]
    judged = [finding.holds for loaded in shown for finding in loaded.findings]
    lead = "AUC is the mean of an error curve, in % of the initial error: less is better."
    if judged:
        held = "All" if all(judged) else f"{sum(judged)} of"
        lead = f"{held} {len(judged)} statements of the paper about these figures hold. {lead}"
    absent = "No tabular results were given; qduet reproduce makes them."
    return Section("tabular", "Tabular experiments", lead, list(filter(None, parts)), absent)


def _theory(found: Found, problems: list[str], *, with_figure2: bool) -> Section:
    parts = [
        attempt(problems, path, theory.show_claims, path, f"claims-{i}")
        for i, path in enumerate(found.theory)
    ]
    parts += [theory.show_figure2("figure2")] if with_figure2 else []
    once = {path.stem: path for path in reversed(found.charts)}
    for stem in sorted(once):
        parts.append(attempt(problems, once[stem], theory.show_chart, once[stem], stem))
    lead = (
        "Every proved statement and remark of the paper, computed on random decision processes: "
        "where it gives an equation or a bound, the worst error found must be rounding."
    )
    absent = "The claims were not checked; qduet theory --out DIR does it."
    if not found.theory:
        lead = absent
    return Section("theory", "Theory", lead, list(filter(None, parts)), absent)


def _deep_finding(main: Certificate | None) -> str:
    """What came out in Figure 6, in a sentence."""
    lead = (
        "DQN learns Q alone. Dueling DQN and RDQ add up V and A in one network, and RDQ also keeps "
        "both small."
    )
    ahead = " and ".join(certificate.wins(main)) if main else ""
    if main is None or not ahead:
        return lead
    return f"RDQ beats {ahead}; beside the published runs, {certificate.agreeing(main)}. {lead}"


# --- Recorded play -------------------------------------------------------------------------------

LARGEST = 9_000_000
"""Bytes of recordings that the page takes; it must stay below 15 MB."""


def _play(found: Found, problems: list[str]) -> Section:
    read = [(path, attempt(problems, path, read_document, path)) for path in found.recordings]
    documents = [(path, checked[0]) for path, checked in read if checked is not None]
    lead = (
        "Two value functions at work: V says how good the board is, A which action is better than "
        "the others, and the agent takes the action with the largest Q."
    )
    parts = [_player(sorted(documents, key=_rank))] if documents else []
    absent = "No recorded play was given; qduet watch records it."
    return Section("play", "At play", lead, parts, absent)


def _rank(item: tuple[Path, dict[str, Any]]) -> tuple[Any, ...]:
    """Long training before short, Breakout before other games, RDQ before other agents."""
    _, document = item
    game, label, order = document["game"], document["label"], published.AGENTS[::-1]
    agent = order.index(label) if label in order else len(order)
    return -document["step"], game != "Breakout", game, agent


def _player(documents: list[tuple[Path, dict[str, Any]]]) -> Part:
    """The player, and the table of what it plays."""
    sizes = itertools.accumulate(len(document["data"]) for _, document in documents)
    fitting = sum(size <= LARGEST for size in sizes)
    kept = documents[:fitting]
    too_large = ", ".join(str(path) for path, _ in documents[fitting:])
    rows = [
        [
            published.title(d["game"]),
            d["label"],
            str(d["seed"]),
            f"{d['step']:,}",
            f"{d['score']:.7g}",
            code(str(path)),
        ]
        for path, d in kept
    ]
    headings = ("game", "agent", "run", "trained for", "score", "file")
    listed = table(headings, rows, caption="The recordings in this page")
    rest = [
        el("div", id="qduet-player", class_="player"),
        el("p", f"Too large to take along: {too_large}.", class_="missing") if too_large else None,
        details("Recordings and their files", listed, class_="aside"),
        Raw(embedded([document for _, document in kept], "qduet-replays")),
    ]
    files = ", ".join(sorted({str(path.parent) for path, _ in kept}))
    origin = Origin(f"{len(kept)} recorded episodes", files)
    keys = ("game", "label", "seed", "step", "score", "sha256")
    data = [{k: d[k] for k in keys} for _, d in kept]
    return Part("recordings", "", None, None, rest, {}, {"recordings": data}, (origin,))
