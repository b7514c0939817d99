"""The tabular experiments on the page: chart, settings, verdicts, numbers, facts."""

import re
from pathlib import Path
from typing import Any

from qduet.core.reading import as_input_error, read_json
from qduet.show.charts.tabular import best_step_size, tabular_chart
from qduet.show.report.experiments import Loaded
from qduet.show.report.html import Raw, code, details, el, table
from qduet.show.report.parts import Fact, Part, chart_data, figure, item
from qduet.show.report.sources import inside
from qduet.tabular.experiments import TabularExperiment
from qduet.tabular.mdp import FOUR_STATE
from qduet.tabular.summary import first_rule
from qduet.tabular.summary import table as summary_table


def show(loaded: Loaded, name: str, heading: str) -> Part:
    """The figure `name` of the page: chart, what the paper says, table, sources."""
    chart = tabular_chart(loaded.results, loaded.summary)
    missing = _missing(loaded)
    html = item(
        name,
        heading,
        el("p", _setting(loaded.results.experiment), class_="setting"),
        el("p", missing, class_="missing") if missing else None,
        figure(name, chart),
        _verdicts(loaded),
        _numbers(loaded),
    )
    data = {"table": summary_table(loaded.summary), "source": str(loaded.folder)}
    return Part(html, {name: chart_data(chart)}, {name: data}, _facts(loaded, name))


def heading(loaded: Loaded) -> str:
    """The figure by its number and title."""
    experiment = loaded.results.experiment
    number = experiment.figure.removeprefix("figure")
    return f"Figure {number}: {experiment.title}" if loaded.declared else experiment.title


def _setting(experiment: TabularExperiment) -> str:
    """How the experiment was run."""
    seeds = f"{experiment.seeds} seeds" if experiment.seeds > 1 else "a single seed (no intervals)"
    sizes = ", ".join(map(str, experiment.actions))
    of_the_paper = experiment.problem_id in FOUR_STATE
    return (
        f"Problem “{_name(experiment.problem_id)}”, "
        f"|A| {f'∈ {{{sizes}}}' if len(experiment.actions) > 1 else f'= {sizes}'}; "
        f"{seeds}, {experiment.steps:,} steps, {len(experiment.step_sizes)} step sizes"
        f"{f'; protocol={experiment.protocol}' if of_the_paper else ''}."
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
    items = []
    for finding in loaded.findings:
        verdict = "holds" if finding.holds else "does not hold"
        mark = el("strong", verdict, class_="yes" if finding.holds else "no")
        items.append(el("li", mark, f" {finding.claim}. ", el("span", finding.evidence + ".")))
    return el("div", el("h4", "What the paper says of it"), el("ul", items, class_="verdicts"))


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


def _facts(loaded: Loaded, name: str) -> tuple[Fact, ...]:
    """What was run and what agrees, for the summary of the page."""
    scale = ", at the paper’s scale" if loaded.known else ", not at the paper’s scale"
    runs = sum(
        curves.diverged_at.size for by in loaded.results.curves.values() for curves in by.values()
    )
    what = f"{heading(loaded)}: {runs:,} runs{scale if loaded.declared else ''}"
    run = Fact("run", what, name, str(loaded.folder))
    if not loaded.findings:
        return (run,)
    held = sum(finding.holds for finding in loaded.findings)
    total = len(loaded.findings)
    kind = "agrees" if held == total else "differs"
    figure = heading(loaded).partition(":")[0]
    return run, Fact(kind, f"{figure}: {held} of {total} statements of the paper hold", name)


def show_log(path: Path) -> Part:
    """What the log of the last ``qduet reproduce`` says: how long, and on what machine."""
    log = read_json(path)
    with as_input_error(path):
        return Part(Raw(""), {}, {}, tuple(_log_facts(path, log)))


def _log_facts(path: Path, log: dict[str, Any]) -> list[Fact]:
    facts = []
    if "seconds" in log:
        what = f"The last qduet reproduce, {len(log.get('figures', ()))} figures"
        facts.append(Fact("time", f"{what}: {log['seconds']:.1f} s", None, str(path)))
    known = [f"{key} {log[key]}" for key in ("device", "qduet", "jax", "python") if log.get(key)]
    facts.append(Fact("where", f"Tabular experiments: {', '.join(known)}", None, str(path)))
    return facts
