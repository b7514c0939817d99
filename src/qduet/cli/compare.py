"""`qduet compare`: tables, tests and figures between agents, from one or more directories."""

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from qduet import stats
from qduet.cli.options import (
    add_json,
    nonempty_path,
    print_json,
    shipped_figure6,
    tell_default,
    whole,
)
from qduet.core.files import check_writable
from qduet.core.tables import Table
from qduet.results import published
from qduet.results.by_game import Resampling
from qduet.results.collect import METRICS
from qduet.results.comparison import Summary, compare, unit

EXAMPLE = """qduet compare                     # the paper's 450 runs, which come with qduet
qduet compare out/breakout out/seaquest --at 1_000_000 --figures out/figures
qduet compare small=out/lr1e-4 large=out/lr1e-3 --baseline rdq@small --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `qduet compare`."""
    add = parser.add_argument
    add(
        "directories",
        nargs="*",
        metavar="[NAME=]DIR",
        help="of qduet train, or one that holds several; a NAME tells its agents from others' "
        "(default: results/figure6, which comes with qduet)",
    )
    add(
        "--at",
        type=whole(0),
        metavar="STEP",
        help="compare at this step (default: the last that all runs have)",
    )
    add(
        "--metric",
        default="return_mean",
        help=f"column to compare (default return_mean): {', '.join(METRICS)}",
    )
    add("--baseline", metavar="AGENT", help="compare each agent with this one only")
    add("--figures", type=nonempty_path, metavar="DIR", help="draw figures there")
    add(
        "--resamples",
        type=whole(100, 1_000_000),
        default=Resampling().resamples,
        help=f"of the bootstrap (default {Resampling().resamples:,})",
    )
    add("--seed", type=whole(0), default=0, help="of bootstrap and permutations (default 0)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Compares, draws and prints."""
    resampling = Resampling(args.seed, args.resamples)
    directories = args.directories or shipped_figure6()
    summary = compare(
        *map(str, directories),
        metric=args.metric,
        at=args.at,
        baseline=args.baseline,
        resampling=resampling,
    )
    if args.figures:
        from qduet.show.charts.comparison import comparison_charts
        from qduet.show.figures import draw, save

        check_writable(args.figures)
        charts = comparison_charts(summary.collection, summary)
        for stem, chart in charts.items():
            save(draw(chart), args.figures / stem)
        print(f"wrote {', '.join(charts)} to {args.figures}/ (PNG, PDF, SVG)", file=sys.stderr)
    if not args.directories:
        tell_default("compare", directories)
    if args.json:
        print_json(document(summary, resampling))
    else:
        show(summary)
    return 0


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
    for table in _tables(summary):
        if table.rows:
            table.show()
    for note in summary.notes:
        print(f"Note: {note}")
    if "rdq" in summary.collection.agents and summary.pairs:
        print(
            "p-values are two-sided: do X and Y differ? qduet certify asks one-sided whether RDQ "
            "is ahead; p Welch with --baseline rdq is its two-sided p."
        )
    print("docs/comparing.md says what each number means.")


def _tables(summary: Summary) -> Iterator[Table]:
    collection = summary.collection
    yield Table(
        f"{collection.metric} at step {collection.at:,}, 95 % intervals over seeds",
        ("game", "agent", "seeds", "mean", "median", "IQM", "mean over training"),
        [
            (published.title(a.game), a.agent, str(a.seeds), _plus_minus(a.mean),
             _number(a.median), _bracketed(a.iqm), _plus_minus(a.auc))
            for a in summary.agents
        ],
    )  # fmt: skip
    count = len(summary.pairs)
    after = f" after Holm's correction for {count} comparisons" if count > 1 else ""
    yield Table(
        f"X against Y; p-values{after}",
        ("game", "X", "Y", "X − Y", "P(X > Y)", "p Welch", "p paired", "correlation"),
        [
            (published.title(p.game), p.x, p.y, _plus_minus(p.difference),
             _bracketed(p.improvement), _p_value(p.welch_holm), _p_value(p.paired_holm),
             _number(p.correlation))
            for p in summary.pairs
        ],
    )  # fmt: skip
    games = "1 game" if len(collection.games) == 1 else f"{len(collection.games)} games"
    yield Table(
        f"{games}, normalised scores (1 = published DQN at 10M steps), bootstrap intervals",
        ("agent", "IQM", "mean", "IQM of mean over training"),
        [
            (o.agent, _bracketed(o.iqm), _bracketed(o.mean), _bracketed(o.auc))
            for o in summary.overall
        ],
    )
    if len(collection.games) > 1:
        rows = [(f"{p.x} > {p.y}", _bracketed(p.improvement)) for p in summary.overall_pairs]
        yield Table("Averaged over games", ("", "P(X > Y)"), rows)


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
