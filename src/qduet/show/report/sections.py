"""The sections of the page: which results go where, and what is said where there are none.

A file that cannot be read costs the page that file: it is left out, and named.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from qduet.core.errors import InputError
from qduet.core.reading import as_input_error
from qduet.paper.certificate import Certificate, certify
from qduet.paper.figures import FIGURES, figure_of
from qduet.results.runs import Runs, load
from qduet.show.report import certificate, deep, experiments, play, tabular, theory
from qduet.show.report.html import el
from qduet.show.report.parts import Part
from qduet.show.report.sources import Found, inside


class Section(NamedTuple):
    """A heading with its items."""

    id: str
    title: str
    lead: str
    """What it shows; or, if it shows nothing, why."""
    parts: list[Part]

    @property
    def empty(self) -> bool:
        """Whether there is nothing to see."""
        return not any(part.html for part in self.parts)


def sections(found: Found, groups: "Groups", problems: list[str]) -> list[Section]:
    """All of them, in the order of the page; adds to `problems` what could not be read."""
    return [
        _tabular(found, problems),
        _theory(found, problems),
        _deep(found, groups, problems),
        _play(found, problems),
        _certificate(found, groups, problems),
    ]


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
    lead = "No tabular results were given; qduet reproduce makes them."
    if shown:
        lead = "An AUC is the mean of an error curve, in % of the initial error: less is better."
    parts += [attempt(problems, path, tabular.show_log, path) for path in found.last_runs]
    return Section("tabular", "Tabular experiments", lead, list(filter(None, parts)))


def _theory(found: Found, problems: list[str]) -> Section:
    parts = [theory.show_figure2("figure2")] if found.of_the_paper else []
    once = {path.stem: path for path in reversed(found.charts)}
    for stem in sorted(once):
        parts.append(attempt(problems, once[stem], theory.show_chart, once[stem], stem))
    for i, path in enumerate(found.theory):
        parts.append(attempt(problems, path, theory.show_claims, path, f"claims-{i}"))
    lead = "Every proved statement and remark of the paper as a measurement: error ≤ allowed."
    if not found.theory:
        lead = "The claims were not checked; qduet theory --out DIR does it."
    return Section("theory", "Theory", lead, list(filter(None, parts)))


Groups = dict[Path, list[Runs]]
"""Runs by the directory that theirs lie in; those of the paper first, then the longest."""


def load_groups(found: Found, problems: list[str]) -> Groups:
    """The runs that were found; adds to `problems` what could not be read."""
    groups = {}
    for parent, paths in deep.grouped(found.runs).items():
        loaded = [attempt(problems, path, load, path) for path in paths]
        if any(loaded):
            groups[parent] = [runs for runs in loaded if runs is not None]
    rank = lambda parent: (not deep.is_figure6(groups[parent]), -_longest(groups[parent]))
    return {parent: groups[parent] for parent in sorted(groups, key=rank)}


def _longest(runs: list[Runs]) -> int:
    return max(int(item.config["steps"]) for item in runs)


def _deep(found: Found, groups: Groups, problems: list[str]) -> Section:
    headings = distinct_headings(
        [deep.heading(parent, runs) for parent, runs in groups.items()], list(groups)
    )
    parts = [
        attempt(problems, parent, deep.show, parent, runs, f"deep-{i}", heading)
        for i, ((parent, runs), heading) in enumerate(zip(groups.items(), headings, strict=True))
    ]
    if found.of_the_paper and not any(map(deep.is_figure6, groups.values())):
        parts.insert(0, deep.show_published("published"))
    lead = (
        "DQN, Dueling DQN and RDQ read Q = w·V + A − c·mean(A) off one network, RDQ with a "
        "penalty β; DQV, DQV-Max and BC-QVMAX learn Q and V side by side. Each "
        "seed is a run of its own."
    )
    if not groups:
        none = "No training runs were given; qduet train makes them."
        lead = f"{lead} {none}" if parts else none
    name = "MinAtar" if all(map(deep.on_minatar, groups.values())) else "Training"
    return Section("minatar", name, lead, list(filter(None, parts)))


def _play(found: Found, problems: list[str]) -> Section:
    loaded = [(path, attempt(problems, path, play.load, path)) for path in found.recordings]
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
    figures = [folder for folder in found.curves if figure_of(folder) in FIGURES]
    whole = [folder.parent for folder in figures if (folder / "summary.json").exists()]
    reproduced = whole[0] if whole else None
    admitted: list[tuple[Path, Certificate]] = []
    for parent, runs in groups.items():
        made = attempt(refused, parent, certify, [item.directory for item in runs])
        if made is not None:
            admitted.append((parent, made))
    if admitted or found.theory or reproduced:
        first = [item.directory for item in groups[admitted[0][0]]] if admitted else []
        made = certify(first, reproduced=reproduced, problems=problems)
        title = "The paper’s claims" + (", and our runs beside the published ones" if first else "")
        parts.append(certificate.show(made, "certificate-0", title, first))
    for i, (parent, other) in enumerate(admitted[1:], 1):
        only_cells, name = other._replace(claims=()), f"certificate-{i}"
        parts.append(certificate.show(only_cells, name, f"The runs{inside(parent)}", [parent]))
    lead = (
        "A cell agrees if its difference to the published score is shown to be smaller than what "
        "another seed changes."
    )
    notes = [f"Not compared with the published scores: {reason}." for reason in refused]
    if not parts:
        lead = " ".join(("Nothing here can be compared with the paper.", *notes))
    elif notes:
        parts.append(Part(el("ul", [el("li", note) for note in notes], class_="setting"), {}, {}))
    return Section("certificate", "Certificate", lead, parts)
