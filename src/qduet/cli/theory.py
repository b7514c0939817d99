"""``qduet theory``: every claim of the paper, checked; exit code 1 if one fails."""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from qduet.cli.options import add_json, add_out, print_json, real, whole
from qduet.cli.problems import MAX_ACTIONS, named_mdp, refuse_actions
from qduet.cli.progress import progress
from qduet.core.files import check_writable, write_atomically, write_json
from qduet.core.provenance import provenance
from qduet.core.tables import Table
from qduet.tabular.mdp import FOUR_STATE
from qduet.tabular.values import optimum
from qduet.theory.expected import TABLES, fixed_point, rate
from qduet.theory.problems import Problem, load_problem, problem_json, problem_of
from qduet.theory.qv import qvmax_biases
from qduet.theory.suite import CLAIMS, Result, claim_names, results_on, run_suite

EXAMPLE = """qduet theory --mdps 1000
qduet theory --claim qvmax_bias --mdps 200 --json
qduet theory --mdp FrozenLake-v1 --step-size 0.1
qduet theory --mdps 100 --out theory          # draws figures 2 and 4, the rates, the ring"""

PROBLEMS = (*FOUR_STATE, "ring")
"""The problems that --mdp knows by name, with any number of actions."""
LARGEST = 1_500
"""Spectra are computed for problems of at most so many values, |S| |A| + |S|."""


COLOURS = {"yes": "green", "NO": "bold red"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add = parser.add_argument
    add("--mdps", type=whole(1, 10**6), default=100, metavar="N", help="random MDPs (default 100)")
    add(
        "--mdp",
        metavar="NAME",
        help=f"one MDP instead: {', '.join(PROBLEMS)}, a toy-text id such as FrozenLake-v1, "
        "or a .json file that problem_json or a failed check wrote",
    )
    add("--actions", type=whole(1, MAX_ACTIONS), help="|A| of the named problems (default 18)")
    add("--claim", action="append", metavar="NAME", help="only this one; may be repeated")
    add(
        "--step-size",
        type=real(0, np.inf, open_below=True),
        default=0.1,
        help="α for the rates of --mdp (default 0.1)",
    )
    add("--workers", type=whole(1, 1_024), help="processes (default: one per core)")
    add_json(parser)
    add_out(parser, "for figures and theory.json (default: neither is written)")


def run(args: argparse.Namespace) -> int:
    """Checks the claims, draws figures if asked to, and reports."""
    names = claim_names(args.claim)
    problem = _problem(args.mdp, args.actions) if args.mdp else None
    if args.out is not None:
        check_writable(args.out)
    started = time.perf_counter()
    if problem is not None:
        results = results_on(problem, args.claim)
    else:
        with progress(args.mdps, "MDPs") as advance:
            done = lambda count: advance("checking MDPs", count)
            results = run_suite(range(args.mdps), names, workers=args.workers, on_progress=done)
    seconds = time.perf_counter() - started
    files = [
        _write_counterexample(result, result.problem, args.out)
        for result in results
        if not result.holds and result.problem is not None
    ]
    rule_rows = _rule_rows(problem, args.step_size) if problem is not None else []
    document = _document(results, rule_rows, files, seconds)
    if args.out is not None:
        _draw(args.out)
        write_json(args.out / "theory.json", document)
    if args.json:
        print_json(document)
    else:
        if problem is not None:
            _print_rules(problem, rule_rows, args.step_size)
        _print(results, seconds, problem)
        for path in files:
            print(f"counterexample written: qduet theory --mdp {path}")
    return 0 if all(result.holds for result in results) else 1


def _problem(name: str, num_actions: int | None) -> Problem:
    if name.endswith(".json"):
        refuse_actions(name, PROBLEMS, num_actions)
        return load_problem(Path(name))
    return problem_of(named_mdp(name, PROBLEMS, num_actions=num_actions))


def _write_counterexample(result: Result, problem: Problem, out: Path | None) -> str:
    """Writes the worst problem of a failed claim, and returns where."""
    path = (out or Path()) / f"counterexample-{result.claim}.json"
    worst = result.worst.worst
    notes = {"claim": result.claim, "what": worst.what, "error": worst.error}
    write_atomically(path, problem_json(problem, **notes))
    return str(path)


def _rule_rows(problem: Problem, step_size: float) -> list[dict[str, Any]]:
    """Where each rule ends up on one MDP, and how fast: a row each, for JSON and for people."""
    if problem.mdp.r.size + problem.mdp.num_states > LARGEST:
        return []
    best = optimum(problem.mdp)
    beta = 1e-3
    rows = []
    for name in TABLES:
        ratio = beta / step_size if name == "soft_rdq" else 0.0
        end = fixed_point(name, problem, ratio=ratio)
        speed = rate(name, problem, step_size, beta=beta if name == "soft_rdq" else 0.0)
        rows.append(
            {
                "rule": name,
                "distance_to_optimum": float(np.abs(end.q - best.q).max()),
                "slowest_mode": speed.slowest,
                "spectral_radius": speed.radius,
                "steps_per_fold": speed.steps_per_fold,
                "stable": speed.radius < 1,
            }
        )
    return rows


def _draw(out: Path) -> None:
    from qduet.show import chart
    from qduet.show.charts.figure2 import figure2_norms
    from qduet.show.charts.theory import CHARTS
    from qduet.show.figures import draw, draw_figure2, save

    print("drawing figure2", file=sys.stderr)
    save(draw_figure2(figure2_norms()), out / "figure2")
    for name, make in CHARTS.items():
        print(f"drawing {name}", file=sys.stderr)
        drawn = make()
        save(draw(drawn), out / name)
        chart.write(drawn, out / name)


# --- Reports -------------------------------------------------------------------------------------


def _document(
    results: list[Result], rule_rows: list[dict[str, Any]], files: list[str], seconds: float
) -> dict[str, Any]:
    claims = [
        {
            "claim": result.claim,
            "where": CLAIMS[result.claim].where,
            "statement": CLAIMS[result.claim].statement,
            "paper": CLAIMS[result.claim].paper,
            "holds": result.holds,
            "problems": result.problems,
            "failures": result.failures,
            "margin": result.worst.margin,
            "worst": result.worst.worst._asdict(),
            "worst_problem": result.problem.mdp.name if result.problem else None,
        }
        for result in results
    ]
    document: dict[str, Any] = {
        "holds": all(result.holds for result in results),
        "claims": claims,
        "counterexamples": files,
        "seconds": round(seconds, 2),
        "provenance": provenance(),
    }
    return document | ({"rules": rule_rows} if rule_rows else {})


def _print(results: list[Result], seconds: float, problem: Problem | None) -> None:
    headings = ("claim", "paper", "statement", "holds", "MDPs", "worst error", "margin")
    rows = []
    for result in results:
        claim, margin = CLAIMS[result.claim], result.worst.margin
        rows.append(
            (
                result.claim,
                claim.where,
                claim.statement + (f" (the paper: {claim.paper})" if claim.paper else ""),
                "yes" if result.holds else "NO",
                f"{result.problems:,}" + (f" ({result.failures} fail)" if result.failures else ""),
                f"{result.worst.worst.error:.1e}",
                "∞" if margin == np.inf else f"×{margin:.2g}",
            )
        )
    Table("", headings, rows).show(COLOURS)
    failed = sum(not result.holds for result in results)
    verdict = f"{failed} of {len(results)} claims FAIL" if failed else "every claim holds"
    on = f" on {problem.mdp.name}" if problem else ""
    print(f"{verdict}{on} ({seconds:.1f} s)")


def _print_rules(problem: Problem, rule_rows: list[dict[str, Any]], step_size: float) -> None:
    mdp = problem.mdp
    size = f"{mdp.name}: |S| = {mdp.num_states}, |A| = {mdp.num_actions}, γ = {mdp.discount:g}"
    if not rule_rows:
        print(f"{size}: too large for spectra (more than {LARGEST:,} values)")
        return
    headings = ("rule", "distance of its q to q_*", "slowest mode", "steps per e-fold", "stable")
    rows = [
        (
            row["rule"],
            f"{row['distance_to_optimum']:.4g}",
            f"{row['slowest_mode']:.3g}",
            f"{row['steps_per_fold']:,.0f}" if row["stable"] else "∞",
            "yes" if row["stable"] else "NO",
        )
        for row in rule_rows
    ]
    Table(f"{size}, α = {step_size:g}", headings, rows).show(COLOURS)
    for item in qvmax_biases(problem):
        print(
            f"QVMAX under (1−ε) π_* + ε b, ε = {item.epsilon:g}: bias of q {item.bias:.4g} "
            f"(shortfall of b {item.shortfall:.4g})"
        )
