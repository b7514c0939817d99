"""What results lie in some directories, and what they are about.

    >>> found = find([Path("out"), Path("results")])
    >>> found.curves        # {Path("out/figure5"): [Path("out/figure5/actions-2/hard_rdq.npz"), …]}
    >>> purpose_of(Path("results/beta")).title
    'β: how strong RDQ’s penalty should be'

Results are known by their files: curves of `qduet reproduce`, directories of `qduet train`, the
JSON that `qduet theory --out` and the figures leave, recordings of `qduet watch`. What they are
about stands in the ``experiment.json`` of their folder, if there is one (docs/report.md).
"""

import dataclasses
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from qduet.core.errors import InputError, unknown_name
from qduet.core.reading import as_input_error, damaged, read_json
from qduet.paper.figures import FIGURES
from qduet.results import runs
from qduet.show.report.effects import Pairs
from qduet.tabular.running import ABOUT

THEORY = "theory.json"
LAST_RUN = "last-run.json"
CHARTS = ("figure4.json", "rates.json", "ring.json")
RECORDING = re.compile(r".+-episode\d+\.json")
SKIPPED = ("checkpoint", "weights")
MOST_FOLDERS = 20_000
"""A directory with more folders than this is refused: it is not one of results."""


@dataclasses.dataclass
class Found:
    """Paths by what they hold; all in the order of their names."""

    curves: dict[Path, list[Path]] = dataclasses.field(default_factory=dict)
    """Curves files of tabular sweeps, by the folder of their figure."""
    runs: list[Path] = dataclasses.field(default_factory=list)
    """Directories of training runs."""
    theory: list[Path] = dataclasses.field(default_factory=list)
    charts: list[Path] = dataclasses.field(default_factory=list)
    """The charts of the theory."""
    last_runs: list[Path] = dataclasses.field(default_factory=list)
    recordings: list[Path] = dataclasses.field(default_factory=list)
    unreadable: list[str] = dataclasses.field(default_factory=list)
    """Directories that could not be listed, each with the reason."""

    @property
    def of_the_paper(self) -> bool:
        """Whether there is something that others' own experiments and runs do not make."""
        figures = any(folder.name in FIGURES for folder in self.curves)
        return bool(figures or self.theory or self.charts)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.curves or self.runs or self.theory or self.recordings)


def find(directories: Iterable[Path]) -> Found:
    """Everything in `directories` and below."""
    found = Found()
    seen: set[Path] = set()
    for directory in directories:
        if not directory.is_dir():
            raise InputError(f"{directory} is not a directory; give directories of results")
        before = len(seen)
        refused = lambda error: found.unreadable.append(
            f"cannot read {error.filename}: {error.strerror}"
        )
        for root, folders, names in os.walk(directory, followlinks=True, onerror=refused):
            real = Path(root).resolve()
            below = [] if real in seen else folders  # a link may lead back to where it is
            folders[:] = sorted(f for f in below if f[0] != "." and f not in SKIPPED)
            if real not in seen:
                _sort_in(found, Path(root), set(names))
            seen.add(real)
            if len(seen) - before > MOST_FOLDERS:
                many = f"{directory} holds more than {MOST_FOLDERS:,} directories"
                raise InputError(f"{many}; give those of results")
    return found


def _sort_in(found: Found, folder: Path, names: set[str]) -> None:
    if re.fullmatch(r"actions-\d+", folder.name):
        curves = sorted(folder / name for name in names if name.endswith(".npz"))
        if curves:
            found.curves.setdefault(folder.parent, []).extend(curves)
        return
    if {runs.CONFIG, runs.EVALUATIONS} <= names:
        found.runs.append(folder)
    found.theory += [folder / THEORY] if THEORY in names else []
    found.last_runs += [folder / LAST_RUN] if LAST_RUN in names else []
    found.recordings += sorted(folder / name for name in names if RECORDING.fullmatch(name))
    found.charts += [folder / name for name in CHARTS if name in names]


def inside(directory: Path) -> str:
    """Where something is, to follow its name; nothing is said of the current directory."""
    return "" if directory == Path() else f" in {directory}/"


# --- What they are about -------------------------------------------------------------------------

RUNS = PAPER, CHECKS, STUDY, OWN = "minatar", "checks", "study", "own"
"""The sections of the page that show training runs."""


class Purpose(NamedTuple):
    """What the results of a folder are for; the fields after `title` are of training runs."""

    title: str = ""
    """Their heading; if empty, the page makes one."""
    about: str = ""
    """What was asked, and what the names mean."""
    section: str = OWN
    """`CHECKS` of the paper's results, or `STUDY`: what goes beyond them."""
    order: int = 99
    """Where they stand in their section: the least first."""
    beside: Sequence[str] = ()
    """Folders next to this one; these runs are compared with theirs."""
    games: int = 0
    """How many games were planned: one that was not run counts as if it had shown nothing."""
    one_sided: bool = False
    """Whether the first family of tests asks if the first agent of each pair is ahead."""
    pairs: Sequence[Pairs] = ()
    """The agents that are compared, by family of tests; none: every pair."""


def purpose_of(folder: Path) -> Purpose:
    """What the ``experiment.json`` of a folder says, or `InputError` if that is damaged."""
    path = folder / ABOUT
    if not path.exists():
        return Purpose()
    document = read_json(path)
    for key, value in document.items():
        if key not in _FORM:
            raise InputError(f"{path}: {unknown_name('key', key, _FORM)}")
        if not _is_like(value, _FORM[key]):
            example = json.dumps(_FORM[key])
            raise damaged(path, f"its '{key}' is not like {example}", "see docs/report.md")
    if "title" not in document:
        raise damaged(path, "it has no title", "see docs/report.md")
    made = Purpose(**document | {"title": " ".join(document["title"].split())})
    if made.section not in RUNS[1:] or not 0 <= made.games <= 100:
        raise damaged(path, "its section or its games are not possible", "see docs/report.md")
    return made


_FORM: dict[str, Any] = {
    "title": "text",
    "about": "text",
    "section": STUDY,
    "order": 1,
    "beside": ["folder"],
    "games": 5,
    "one_sided": True,
    "pairs": [[("agent", "other")]],
}
"""The keys of ``experiment.json``, each with an example; a tuple is a list of just so many."""


def _is_like(value: Any, example: Any) -> bool:
    """Whether a value of JSON has the types of an example."""
    if not isinstance(example, list | tuple):
        return type(value) is type(example)
    exact = isinstance(example, tuple)
    fits = isinstance(value, list) and (not exact or len(value) == len(example))
    return fits and all(_is_like(item, example[0]) for item in value)


# --- Reading them --------------------------------------------------------------------------------


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
