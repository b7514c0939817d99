"""``qduet reproduce``: the paper's figures, computed here."""

import argparse
import dataclasses
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from qduet.cli.options import add_out, nonempty_path
from qduet.cli.progress import progress
from qduet.core import shipped
from qduet.core.errors import unknown_name
from qduet.core.files import check_settings, check_writable, write_atomically, write_json
from qduet.core.provenance import provenance, versions
from qduet.core.tables import Table
from qduet.paper.figures import FIGURES
from qduet.paper.findings import Finding, findings
from qduet.results.published import GAMES
from qduet.results.runs import Runs
from qduet.show import chart
from qduet.show.charts.figure2 import figure2_norms
from qduet.show.charts.tabular import tabular_chart
from qduet.show.charts.theory import figure4_chart
from qduet.show.figures import draw, draw_figure2, save
from qduet.tabular.experiments import PROTOCOLS, TabularExperiment
from qduet.tabular.running import Results
from qduet.tabular.running import run as run_experiment
from qduet.tabular.summary import Summary, first_rule, summarise_all, table

EXAMPLE = """qduet reproduce
qduet reproduce figure5 --scale smoke --out /tmp/try
qduet reproduce figure1 figure3 --protocol reference --out out-reference"""

THEORY = ("figure2", "figure4")
"""Figures of the theory, which are drawn without an experiment."""

MINATAR = "figure6"
"""Drawn from finished training runs."""

NAMES = sorted({*FIGURES, *THEORY, MINATAR})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add = parser.add_argument
    add("figures", nargs="*", metavar="FIGURE", help=f"of {', '.join(NAMES)}; all by default")
    add(
        "--scale",
        choices=("paper", "smoke"),
        default="paper",
        help="paper: the full tabular protocol (default); smoke: seconds, to see that it works",
    )
    add(
        "--protocol",
        choices=PROTOCOLS,
        default="paper",
        help="the paper as written (default), or what its released code does (docs/differences.md)",
    )
    add(
        "--deep-results",
        type=nonempty_path,
        metavar="DIR",
        help=f"of the runs of {MINATAR}, by qduet train --protocol reference (default: "
        f"results/{MINATAR}, which comes with qduet)",
    )
    add_out(parser, "for figures, tables and what was computed", "out")


def run(args: argparse.Namespace) -> int:
    """Runs, draws and reports the chosen figures."""
    for name in args.figures:
        if name not in NAMES:
            raise unknown_name("figure", name, NAMES)
    names = args.figures or NAMES
    chosen = [FIGURES[name] for name in names if name in FIGURES]
    chosen = [dataclasses.replace(figure, protocol=args.protocol) for figure in chosen]
    if args.scale == "smoke":
        chosen = [figure.small() for figure in chosen]
    deep: list[Runs] = []
    if MINATAR in names:
        from qduet.paper.admission import admit

        deep = admit([args.deep_results or shipped.directory("results") / MINATAR])
    check_writable(args.out)
    scale = "smoke" if args.scale == "smoke" else "full"
    settings = {"protocol": args.protocol, "tabular_scale": scale, "versions": versions()}
    check_settings(args.out / "settings.json", settings)
    started = time.perf_counter()
    found = _reproduce(chosen, args.out, judged=scale == "full")
    if "figure2" in names:
        save(draw_figure2(figure2_norms()), args.out / "figure2")
    if "figure4" in names:
        drawn = figure4_chart()
        save(draw(drawn), args.out / "figure4")
        chart.write(drawn, args.out / "figure4")
    if MINATAR in names:
        from qduet.show.charts.figure6 import figure6_charts

        for stem, drawn in figure6_charts(deep).items():
            save(draw(drawn), args.out / stem)
        shown = f"published scores of {len(GAMES)} games, runs of ours of {len(deep)} of them"
        print(f"{MINATAR}: {shown}")
    seconds = time.perf_counter() - started
    log = {"figures": names, "seconds": round(seconds, 1), **provenance()}
    write_json(args.out / "last-run.json", log)
    if found:
        print("What the paper says of its figures, in these data (numbers in */summary.md):")
    for finding in found:
        mark = "holds         " if finding.holds else "DOES NOT HOLD "
        print(f"  {mark}{finding.figure}: {finding.claim}")
    print(f"{seconds:.1f} s; figures (png, pdf, svg) and tables in {args.out}/")
    return 0


def _reproduce(chosen: list[TabularExperiment], out: Path, *, judged: bool) -> list[Finding]:
    """Computes the figures in turn; each is summarised and drawn while the next is computed."""
    artist = ThreadPoolExecutor(1)
    try:
        with progress(sum(figure.updates for figure in chosen), "updates") as advance:
            drawn: list[Future[list[Finding]]] = []
            for figure in chosen:
                tell = lambda n, updates, name=figure.figure: advance(f"{name}, |A| = {n}", updates)
                results = run_experiment(figure, out, on_progress=tell)
                if drawn:
                    drawn[-1].result()  # raises now what went wrong while it was drawn
                drawn.append(artist.submit(_show, results, out, judged=judged))
        return [finding for each in drawn for finding in each.result()]
    finally:
        artist.shutdown(cancel_futures=True)


def _show(results: Results, out: Path, *, judged: bool) -> list[Finding]:
    """Summarises and draws a figure; if `judged`, tests what the paper says of it.

    A smoke run has too few seeds and steps to be judged.
    """
    figure, summary = results.experiment, summarise_all(results)
    found = findings(results, summary) if judged else []
    folder = out / figure.figure
    document = {"experiment": figure.settings(), "table": table(summary), "findings": found}
    write_json(folder / "summary.json", document)
    write_atomically(folder / "summary.md", _markdown(figure, summary, found).encode())
    save(draw(tabular_chart(results, summary)), out / figure.figure)
    if not sys.stderr.isatty():
        print(f"{figure.figure} done", file=sys.stderr, flush=True)
    return found


def _markdown(figure: TabularExperiment, summary: Summary, found: list[Finding]) -> str:
    replication = "over seeds"
    if figure.protocol != "paper":
        replication += " (AUC: seeds and time points pooled, as the released code does)"
    held_out = "AUC, step size chosen on the other half of the seeds"
    paired = f"AUC − that of {first_rule(summary)} (paired, at these α)"
    headings = ("|A|", "rule", "best α", "AUC", held_out, paired, "final error", "diverged runs")
    columns = ("actions", "rule", "best_step_size", "auc", "auc_held_out", "auc_minus_first_rule",
               "final_error", "diverged_runs")  # fmt: skip
    text = lambda x: "–" if x is None else f"{x:.4f}" if isinstance(x, float) else str(x)
    rows = [[text(row[name]) for name in columns] for row in table(summary)]
    lines = [
        f"# {figure.figure}: {figure.title}",
        "",
        f"{figure.seeds} seeds, {figure.steps:,} steps, {len(figure.step_sizes)} step sizes, "
        f"protocol={figure.protocol}. AUCs and errors in % of the initial error, ± the half-width "
        f"of the 95 % interval {replication}.",
        "",
        Table("", headings, rows).markdown(),
    ]
    if found:
        lines += ["", "## What the paper says of it", ""]
    for finding in found:
        verdict = "Holds" if finding.holds else "Does **not** hold"
        lines.append(f"- {verdict}: {finding.claim}. {finding.evidence}.")
    return "\n".join(lines) + "\n"
