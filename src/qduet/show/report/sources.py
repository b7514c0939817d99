"""What results lie in some directories.

    >>> found = find([Path("out"), Path("results")])
    >>> found.curves        # {Path("out/figure5"): [Path("out/figure5/actions-2/hard_rdq.npz"), …]}

Results are known by their files: curves of `qduet reproduce`, directories of `qduet train`, the
JSON that `qduet theory --out` and the figures leave, recordings of `qduet watch`.
"""

import dataclasses
import os
import re
from collections.abc import Iterable
from pathlib import Path

from qduet.core.errors import InputError
from qduet.paper.figures import FIGURES, figure_of
from qduet.results import runs

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
        figures = any(figure_of(folder) in FIGURES for folder in self.curves)
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
