"""`qduet compare`: tables, tests and figures between agents, from one or more directories."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qduet import stats
from qduet.cli.options import add_json, nonempty_path, print_json, whole
from qduet.core.files import check_writable
from qduet.results import published
from qduet.results.comparison import METRICS, Resampling, Summary, compare, unit

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLE = """qduet compare results/figure6
qduet compare out/breakout out/seaquest --at 1_000_000 --figures out/figures
qduet compare small=out/lr1e-4 large=out/lr1e-3 --baseline rdq@small --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `qduet compare`."""
    parser.add_argument(
        "directories",
        nargs="+",
        metavar="[NAME=]DIR",
        help="of qduet train, or one that holds several; a NAME tells its agents from others'",
    )
    parser.add_argument(
        "--at",
        type=whole(0),
        metavar="STEP",
        help="compare at this step (default: the last that all runs have)",
    )
    parser.add_argument(
        "--metric",
        default="return_mean",
        help=f"column to compare (default return_mean): {', '.join(METRICS)}",
    )
    parser.add_argument("--baseline", metavar="AGENT", help="compare each agent with this one only")
    parser.add_argument("--figures", type=nonempty_path, metavar="DIR", help="draw figures there")
    parser.add_argument(
        "--resamples",
        type=whole(100),
        default=Resampling().resamples,
        help=f"of the bootstrap (default {Resampling().resamples:,})",
    )
    parser.add_argument(
        "--seed", type=whole(0), default=0, help="of bootstrap and permutations (default 0)"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Compares, draws and prints."""
    resampling = Resampling(args.seed, args.resamples)
    summary = compare(
        *args.directories,
        metric=args.metric,
        at=args.at,
        baseline=args.baseline,
        resampling=resampling,
    )
    paths = draw(summary, args.figures) if args.figures else []
    if args.json:
        print_json(document(summary, resampling))
    else:
        show(summary)
    if paths:
        print(
            f"wrote {', '.join(str(path) for path in paths if path.suffix == '.png')} "
            "(and as PDF and SVG)",
            file=sys.stderr,
        )
    return 0


def draw(summary: Summary, directory: Path) -> list[Path]:
    """Writes the figures; returns their paths."""
    from qduet.show import figures
    from qduet.show.charts.comparison import comparison_charts

    check_writable(directory)
    charts = comparison_charts(summary.collection, summary)
    drawn = {directory / stem: figures.draw(chart) for stem, chart in charts.items()}
    return [path for stem, figure in drawn.items() for path in figures.save(figure, stem)]


def document(summary: Summary, resampling: Resampling) -> dict[str, Any]:
    """The JSON document."""
    collection = summary.collection
    units = {game: unit(game) for game in collection.games} if summary.overall else None
    return {
        "metric": collection.metric,
        "step": collection.at,
        "steps": collection.steps,
        "games": collection.games,
        "agents": collection.agents,
        "notes": summary.notes,
        "level": 0.95,
        "resampling": resampling,
        "return_with_normalised_score_1": units,
        "by_game": summary.agents,
        "pairs": summary.pairs,
        "overall": summary.overall,
        "overall_pairs": summary.overall_pairs,
        "profile": summary.profile,
        "sample_efficiency": summary.sample_efficiency,
    }


# --- Tables --------------------------------------------------------------------------------------


def show(summary: Summary) -> None:
    """Prints the tables."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 150, highlight=False)
    _show_agents(console, summary)
    if summary.pairs:
        _show_pairs(console, summary)
    if summary.overall:
        _show_overall(console, summary)
    if summary.overall_pairs and len(summary.collection.games) > 1:
        rows = [[f"{p.x} > {p.y}", _bracketed(p.improvement)] for p in summary.overall_pairs]
        _table(console, "Averaged over games", ["", "P(X > Y)"], rows)
    for note in summary.notes:
        console.print(f"Note: {note}", markup=False)
    console.print("docs/comparing.md says what each number means.", style="dim")


def _show_agents(console: "Console", summary: Summary) -> None:
    collection = summary.collection
    title = f"{collection.metric} at step {collection.at:,}, 95 % intervals over seeds"
    headings = ["game", "agent", "seeds", "mean", "median", "IQM", "mean over training"]
    rows = [
        [published.title(a.game), a.agent, str(a.seeds), _plus_minus(a.mean), _number(a.median),
         _bracketed(a.iqm), _plus_minus(a.auc)]
        for a in summary.agents
    ]  # fmt: skip
    _table(console, title, headings, rows)


def _show_pairs(console: "Console", summary: Summary) -> None:
    count = len(summary.pairs)
    after = f" after Holm's correction for {count} comparisons" if count > 1 else ""
    title = f"X against Y; p-values{after}"
    headings = ["game", "X", "Y", "X − Y", "P(X > Y)", "p Welch", "p paired", "correlation"]
    rows = [
        [published.title(p.game), p.x, p.y, _plus_minus(p.difference), _bracketed(p.improvement),
         _p_value(p.welch_holm), _p_value(p.paired_holm), _number(p.correlation)]
        for p in summary.pairs
    ]  # fmt: skip
    _table(console, title, headings, rows)


def _show_overall(console: "Console", summary: Summary) -> None:
    count = len(summary.collection.games)
    games = "1 game" if count == 1 else f"{count} games"
    title = f"{games}, normalised scores (1 = published DQN at 10M steps), bootstrap intervals"
    headings = ["agent", "IQM", "mean", "IQM of mean over training"]
    rows = [
        [o.agent, _bracketed(o.iqm), _bracketed(o.mean), _bracketed(o.auc)] for o in summary.overall
    ]
    _table(console, title, headings, rows)


def _table(console: "Console", title: str, headings: list[str], rows: list[list[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading)
    for before, row in zip([None, *rows], rows, strict=False):
        shown = row
        if headings[0] == "game" and before and before[0] == row[0]:
            shown = ["", *row[1:]]
        elif headings[0] == "game" and before:
            table.add_section()
        table.add_row(*(Text(cell) for cell in shown))
    console.print(table)


def _number(value: float) -> str:
    return "–" if np.isnan(value) else stats.number(value, ".4g" if abs(value) >= 1000 else ".2f")


def _plus_minus(interval: Any) -> str:
    if not np.isfinite(interval.low):
        return _number(interval.mean)
    return f"{_number(interval.mean)} ± {_number(interval.half_width)}"


def _bracketed(estimate: Any) -> str:
    if not np.isfinite(estimate.low):
        return _number(estimate.value)
    return f"{_number(estimate.value)} [{_number(estimate.low)}, {_number(estimate.high)}]"


def _p_value(p: float) -> str:
    return "–" if np.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"
