"""Tabular experiments as they lie on disk, whatever rules they hold.

    for loaded in load(Path("out/figure5"), [read(path) for path in paths]):
        loaded.summary[18]["hard_rdq"].best.auc

A curves file brings its own settings. So an experiment can hold rules that nobody here has heard
of, lack some of its files, or not be in the paper at all.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple

from qduet.core.files import open_arrays
from qduet.core.reading import as_input_error
from qduet.paper.figures import FIGURES
from qduet.paper.findings import Finding, findings
from qduet.tabular.experiments import SHARED, TabularExperiment
from qduet.tabular.rules import RULES
from qduet.tabular.running import Results
from qduet.tabular.summary import Summary, summarise_all
from qduet.tabular.sweeps import Curves


class Loaded(NamedTuple):
    """One tabular experiment as it was found."""

    folder: Path
    results: Results
    summary: Summary
    findings: list[Finding]
    """What the paper says of it; none unless `known`."""
    files: dict[tuple[int, str], Path]
    """By |A| and rule."""
    declared: TabularExperiment | None
    """The figure of the paper that it is, at whatever scale."""
    known: bool
    """Whether it is one of the paper's figures, complete and at the paper's scale."""


class CurvesFile(NamedTuple):
    """One file of a sweep: the curves of one rule at one |A|."""

    path: Path
    curves: Curves
    settings: dict[str, Any]


def read(path: Path) -> CurvesFile:
    """The curves in a file, or `InputError`."""
    arrays, settings = open_arrays(path)
    with as_input_error(path):
        curves = Curves(**arrays)
        experiment = _declare(settings, figure="", title="", actions=(settings["num_actions"],))
        counts = (experiment.seeds, experiment.steps, experiment.record_every, *experiment.actions)
        known = all(type(x) is int and x > 0 for x in counts) and type(settings["rule"]) is str
        points = experiment.steps // experiment.record_every + 1
        shape = (experiment.seeds, len(experiment.step_sizes), points)
        shapes = [x.shape for x in curves if x.dtype.kind in "if"]
        if not known or shapes != [shape, shape[:1], shape[:2]]:
            raise ValueError("its arrays or settings are not those of a tabular sweep")
    return CurvesFile(path, curves, settings)


def _declare(settings: dict[str, Any], **own: Any) -> TabularExperiment:
    """The experiment that the settings of a curves file belong to."""
    return TabularExperiment(**{"rules": (), **{key: settings[key] for key in SHARED}, **own})


def load(folder: Path, files: list[CurvesFile], title: str = "") -> list[Loaded]:
    """The experiments that `files` belong to: one for each set of shared settings.

    One that is not the paper's is called `title`, or what its folder is called.
    """
    kinds: dict[str, list[CurvesFile]] = {}
    for file in files:
        kinds.setdefault(json.dumps([file.settings[k] for k in SHARED]), []).append(file)
    return [_experiment(folder, of_a_kind, title) for of_a_kind in kinds.values()]


def _experiment(folder: Path, files: list[CurvesFile], title: str) -> Loaded:
    declared = FIGURES.get(folder.resolve().name)  # "." has no name
    if declared and declared.problem != files[0].settings["problem"]:
        declared = None
    figure = declared.figure if declared else folder.resolve().name
    experiment = _declare(
        files[0].settings,
        figure=figure,
        title=declared.title if declared else f"{title or figure} (not in the paper)",
        rules=declared.rules if declared else (),
        actions=tuple(sorted({file.settings["num_actions"] for file in files})),
    )
    by_key = {(file.settings["num_actions"], file.settings["rule"]): file for file in files}
    known = [spec.id for spec in experiment.rules]
    present = {rule for _, rule in by_key}
    rules = (*(r for r in known if r in present), *sorted(present - set(known), key=_rank))
    curves = {
        n: {rule: by_key[n, rule].curves for rule in rules if (n, rule) in by_key}
        for n in experiment.actions
    }
    results = Results(experiment, rules, curves)
    summary = summarise_all(results)
    whole = declared is not None and _is_whole(results, declared)
    return Loaded(
        folder,
        results,
        summary,
        findings(results, summary) if whole else [],
        {key: file.path for key, file in by_key.items()},
        declared,
        whole,
    )


def _rank(rule: str) -> tuple[int, str]:
    """Built-in rules first, in the order in which they build on each other; then by name."""
    family, names = rule.partition("-beta-")[0], list(RULES)
    return names.index(family) if family in names else len(names), rule


def _is_whole(results: Results, declared: TabularExperiment) -> bool:
    """Whether `results` are the declared experiment with every file of it, at full scale."""
    here = results.experiment
    same = here == dataclasses.replace(declared, protocol=here.protocol)
    return same and all(
        spec.id in by_rule for by_rule in results.curves.values() for spec in declared.rules
    )
