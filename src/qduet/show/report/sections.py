"""The sections of the page: which results go where, and what is said where there are none.

A file that cannot be read costs the page that file: it is left out, and named.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from qduet.core.errors import InputError
from qduet.core.reading import as_input_error
from qduet.jobs.recording_file import read_document
from qduet.paper.certificate import Certificate, as_document, certify
from qduet.paper.figures import FIGURES, figure_of
from qduet.results.runs import Runs, load
from qduet.show.report import certificate, deep, experiments, play, tabular, theory
from qduet.show.report.kinds import CHECKS, KINDS, OWN, PAPER, STUDY, is_figure6, kind_of
from qduet.show.report.parts import Origin, Part
from qduet.show.report.sources import Found, inside


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
        return self.id != "certificate" and not items <= {"figure2", "published"}


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


Groups = dict[Path, list[Runs]]
"""Runs by the directory that theirs lie in; those of the paper first, then the longest."""


def content(found: Found, groups: Groups, problems: list[str]) -> Content:
    """All sections, in the order of the page; adds to `problems` what could not be read."""
    certificates, refused = _certificates(groups)
    main = _main_certificate(found, certificates, problems)
    deep_parts = _deep(found, groups, certificates, refused, problems)
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
    others = Section(OWN, title, lead, deep_parts[OWN])
    sections.insert(0 if own else len(sections), others)
    finding = certificate.in_a_sentence(main) if main and main.claims else ""
    if main is not None:
        sections.append(Section("certificate", "Every claim", finding, claims))
    if not groups:
        absent = "No training runs were given; qduet train makes them."
        sections[-1 if main is None else -2] = others._replace(absent=absent)
    logs = [attempt(problems, path, tabular.log_origin, path) for path in found.last_runs]
    return Content(sections, own, main, _headline(sections), [log for log in logs if log])


def _led(parts: list[Part], lead: str) -> str:
    """What came out first, and what the section is about."""
    if not (parts and parts[0].found):
        return lead
    what, _, _ = parts[0].heading.partition(":")
    found = parts[0].found[0]
    return f"{what}: {found[0].lower()}{found[1:]} {lead}"


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


def attempt(problems: list[str], path: Path, function: Callable[..., Any], *arguments: Any) -> Any:
    """What `function` makes of `path`; None, and a line in `problems`, if that is not sound."""
    try:
        with as_input_error(path):
            return function(*arguments)
    except InputError as error:
        if str(error) not in problems:
            problems.append(str(error))
        return None


def distinct_headings(headings: Sequence[str], directories: Sequence[Path]) -> list[str]:
    """The headings; those that are there twice with their directories."""
    twice = [heading for heading in headings if headings.count(heading) > 1]
    return [
        heading + inside(directory) if heading in twice else heading
        for heading, directory in zip(headings, directories, strict=True)
    ]


def _tabular(found: Found, problems: list[str]) -> Section:
    shown: list[experiments.Loaded] = []
    for folder, paths in found.curves.items():
        read = [attempt(problems, path, experiments.read, path) for path in paths]
        files = [file for file in read if file is not None]
        title = attempt(problems, folder, experiments.title, folder)
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


def load_groups(found: Found, problems: list[str]) -> Groups:
    """The runs that were found; adds to `problems` what could not be read."""
    groups = {}
    for parent, paths in deep.grouped(found.runs).items():
        loaded = [attempt(problems, path, load, path) for path in paths]
        if any(loaded):
            groups[parent] = [runs for runs in loaded if runs is not None]
    rank = lambda parent: (not is_figure6(groups[parent]), -_longest(groups[parent]))
    return {parent: groups[parent] for parent in sorted(groups, key=rank)}


def _longest(runs: list[Runs]) -> int:
    return max(int(item.config["steps"]) for item in runs)


def _certificates(groups: Groups) -> tuple[dict[Path, Certificate], dict[Path, str]]:
    """The certificates of all runs that may be compared with the published ones; else why not."""
    made, refused = {}, {}
    for parent, runs in groups.items():
        try:
            with as_input_error(parent):
                made[parent] = certify([item.directory for item in runs])
        except InputError as error:
            refused[parent] = str(error)
    return made, refused


def _main_certificate(
    found: Found, certificates: dict[Path, Certificate], problems: list[str]
) -> Certificate | None:
    """The certificate of the first runs, with the claims on what was reproduced."""
    figures = [folder for folder in found.curves if figure_of(folder) in FIGURES]
    whole = [folder.parent for folder in figures if (folder / "summary.json").exists()]
    whole += [path.parent.parent for path in found.theory if path.parent.name == "theory"]
    if not (certificates or found.theory or whole):
        return None
    first = [Path(s.directory) for c in list(certificates.values())[:1] for s in c.sources]
    return certify(first, reproduced=whole[0] if whole else None, problems=problems)


def _deep(
    found: Found,
    groups: Groups,
    certificates: dict[Path, Certificate],
    refused: dict[Path, str],
    problems: list[str],
) -> dict[str, list[Part]]:
    """The items of all training runs, by section."""
    kinds = {parent: kind_of(runs) for parent, runs in groups.items()}
    headings = distinct_headings(
        [deep.heading(runs, kinds[parent]) for parent, runs in groups.items()], list(groups)
    )
    sections: dict[str, list[Part]] = {PAPER: [], CHECKS: [], STUDY: [], OWN: []}
    order = [KINDS.index(kind) if kind in KINDS else len(KINDS) for kind in kinds.values()]
    for i, parent in sorted(enumerate(groups), key=lambda each: order[each[0]]):
        kind, runs = kinds[parent], groups[parent]
        beside = [r for other, k in kinds.items() if k.id in kind.beside for r in groups[other]]
        item = deep.Item(
            parent, runs, kind, beside, certificates.get(parent), refused.get(parent, "")
        )
        part = attempt(problems, parent, deep.show, item, f"deep-{i}", headings[i])
        sections[kind.section] += [part] if part else []
    if found.of_the_paper and not sections[PAPER] and not sections[OWN]:
        sections[PAPER].append(deep.show_published("published"))
    return sections


def _deep_finding(main: Certificate | None) -> str:
    """What came out in Figure 6, in a sentence."""
    lead = (
        "DQN learns Q alone. Dueling DQN and RDQ add up V and A in one network, and RDQ also keeps "
        "both small."
    )
    wins = certificate.wins(main) if main else []
    if main is None or not wins:
        return lead
    ahead = " and ".join(f"{other} in {n} of {total} games" for other, n, total in wins)
    return f"RDQ beats {ahead}; beside the published runs, {certificate.agreeing(main)}. {lead}"


def _play(found: Found, problems: list[str]) -> Section:
    read = [(path, attempt(problems, path, read_document, path)) for path in found.recordings]
    documents = [(path, checked[0]) for path, checked in read if checked is not None]
    lead = (
        "Two value functions at work: V says how good the board is, A which action is better than "
        "the others, and the agent takes the action with the largest Q."
    )
    parts = [play.show(documents, "recordings")] if documents else []
    absent = "No recorded play was given; qduet watch records it."
    return Section("play", "At play", lead, parts, absent)
