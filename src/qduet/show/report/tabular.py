"""The tabular experiments on the page: chart, settings, verdicts, numbers, facts."""

import re
from pathlib import Path

from qduet.core.reading import as_input_error, read_json
from qduet.paper.claims import FAILS, HOLDS
from qduet.show.chart import chart_data
from qduet.show.charts.tabular import best_step_size, tabular_chart
from qduet.show.report.certificate import mark
from qduet.show.report.experiments import Loaded
from qduet.show.report.html import (
    Origin,
    Part,
    Raw,
    code,
    details,
    el,
    evidence,
    figure,
    join,
    protocol,
    table,
)
from qduet.show.report.sources import inside
from qduet.tabular.experiments import TabularExperiment
from qduet.tabular.mdp import FOUR_STATE
from qduet.tabular.summary import first_rule
from qduet.tabular.summary import table as summary_table


def show(loaded: Loaded, name: str, heading: str) -> Part:
    """The figure `name` of the page: chart, what the paper says, table, sources."""
    chart = tabular_chart(loaded.results, loaded.summary)
    missing = _missing(loaded)
    intro = [
        el("p", _setting(loaded.results.experiment), class_="setting"),
        el("p", missing, class_="missing") if missing else None,
    ]
    data = {"table": summary_table(loaded.summary), "source": str(loaded.folder)}
    return Part(
        name,
        heading,
        intro,
        figure(name, chart.alt),
        [_verdicts(loaded), _numbers(loaded)],
        {name: chart_data(chart)},
        {name: data},
        _origins(loaded),
        (_found(loaded),) if loaded.findings else (),
    )


def _found(loaded: Loaded) -> str:
    """Whether the paper is right about the figure, in a sentence."""
    if loaded.results.experiment.figure in FOUND and all(f.holds for f in loaded.findings):
        return FOUND[loaded.results.experiment.figure]
    held = sum(f.holds for f in loaded.findings)
    return f"{held} of {len(loaded.findings)} statements of the paper hold here."


FOUND = {
    "figure1": "Learning V as well pays off when there are many actions: QV-learning’s error grows "
    "little with them, Expected Sarsa’s a lot.",
    "figure3": "Off-policy, QVMAX learns wrong values. Its bias-corrected form does not, but then "
    "gains nothing over Q-learning.",
    "figure5": "V and A together learn far faster than Q-learning, and RDQ, which regularises "
    "them, mostly a little faster than the dueling form.",
    "figure5-soft": "RDQ’s penalty in its soft form is noisier, and biased, in tables.",
}
"""What each figure shows, if all its statements hold."""


def heading(loaded: Loaded) -> str:
    """The figure by its number and title."""
    experiment = loaded.results.experiment
    number = experiment.figure.removeprefix("figure")
    of_the_paper = loaded.declared is not None and number.isdigit()
    return f"Figure {number}: {experiment.title}" if of_the_paper else experiment.title


def _setting(experiment: TabularExperiment) -> str:
    """How the experiment was run."""
    seeds = f"{experiment.seeds} seeds" if experiment.seeds > 1 else "a single seed (no intervals)"
    sizes = ", ".join(map(str, experiment.actions))
    of_the_paper = experiment.problem_id in FOUR_STATE
    return (
        f"Problem “{_name(experiment.problem_id)}”, "
        f"|A| {f'∈ {{{sizes}}}' if len(experiment.actions) > 1 else f'= {sizes}'}; "
        f"{seeds}, {experiment.steps:,} steps, {len(experiment.step_sizes)} step sizes"
        f"{f'; {protocol(experiment.protocol)}' if of_the_paper else ''}."
    )


def _name(problem: str) -> str:
    """What a problem is called, without the digest that tells it from others."""
    return re.sub(r"(?<=.)#[0-9a-f]{12}$", "", problem)


def _missing(loaded: Loaded) -> str:
    """What the reader might expect to see here, and will not."""
    experiment, notes = loaded.results.experiment, []
    declared = loaded.declared
    wanted = {spec.id for spec in declared.rules} if declared else set()
    absent = [
        f"{rule} at |A| = {n}"
        for n in experiment.actions
        for rule in dict.fromkeys((*loaded.results.rules, *sorted(wanted)))
        if (n, rule) not in loaded.files
    ]
    if absent:
        notes.append(f"No results of {', '.join(absent)}.")
    own = [rule for rule in loaded.results.rules if declared and rule not in wanted]
    if own:
        notes.append(f"Not in the paper: {', '.join(own)}.")
    if declared and not loaded.known:
        notes.append(
            "Not the paper's full experiment, so its statements are not judged on these data."
        )
    return " ".join(notes)


def _verdicts(loaded: Loaded) -> Raw | None:
    """What the paper says of the figure, and whether it holds here."""
    if not loaded.findings:
        return None
    items = [
        el(
            "li",
            details(join([mark(HOLDS if f.holds else FAILS), " ", f.claim]), evidence(f.evidence)),
        )
        for f in loaded.findings
    ]
    return el("div", el("h4", "What the paper says of it"), el("ul", items, class_="claims"))


def _numbers(loaded: Loaded) -> Raw:
    """The numbers of `qduet reproduce`, with the file of each."""
    rows = []
    for row in summary_table(loaded.summary):
        file = loaded.files[row["actions"], row["rule"]]
        rows.append(
            [
                str(row["actions"]),
                row["rule"],
                best_step_size(loaded.summary[row["actions"]][row["rule"]]),
                str(row["auc"]),
                str(row["auc_held_out"] or "–"),
                str(row["auc_minus_first_rule"] or "–"),
                str(row["final_error"]),
                str(row["diverged_runs"]),
                code(str(file.relative_to(loaded.folder))),
            ]
        )
    headings = (
        "|A|",
        "rule",
        "best α",
        "AUC",
        "AUC, α from other seeds",
        f"AUC − that of {first_rule(loaded.summary)}",
        "final error",
        "diverged runs",
        "file",
    )
    caption = (
        f"In % of the initial error, ± half of the 95 % interval. Files{inside(loaded.folder)}"
    )
    return details("Numbers and their files", table(headings, rows, caption=caption, numeric=2))


def _origins(loaded: Loaded) -> tuple[Origin, ...]:
    scale = ", at the paper’s scale" if loaded.known else ", not at the paper’s scale"
    runs = sum(
        curves.diverged_at.size for by in loaded.results.curves.values() for curves in by.values()
    )
    what = f"{heading(loaded)}: {runs:,} runs{scale if loaded.declared else ''}"
    return (Origin(what, str(loaded.folder)),)


def log_origin(path: Path) -> Origin:
    """What the log of the last ``qduet reproduce`` says: how long, and on what machine."""
    log = read_json(path)
    with as_input_error(path):
        known = [f"{k} {log[k]}" for k in ("device", "qduet", "jax", "python") if log.get(k)]
        time = f"{log['seconds']:.1f} s" if "seconds" in log else ""
        what = f"The last qduet reproduce, {len(log.get('figures', ()))} figures"
    return Origin(what, str(path), ", ".join(known), time)
