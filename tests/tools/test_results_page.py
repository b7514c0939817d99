"""The rows of |A| = 2 in docs/results.md and docs/differences.md, from experiments run here.

At the paper's scale otherwise: 100 seeds × 20,000 steps × 61 step sizes, under both protocols. A
number on a page may differ by one in its last digit, as processors round differently.
"""

import dataclasses
import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from qduet.paper.figures import FIGURES
from qduet.stats import best_difference, paired_difference
from qduet.tabular.running import run
from qduet.tabular.summary import summarise_all

DOCS = Path(__file__).parents[2] / "docs"
SIZE = 2
"""The number of actions that is run."""
NUMBER = re.compile(r"[−+-]?\d[\d,]*(?:\.\d+)?")


@pytest.fixture(scope="module")
def summaries(tmp_path_factory):
    """By protocol and figure, then rule."""
    found = {}
    for protocol, (name, figure) in product(("paper", "reference"), FIGURES.items()):
        experiment = dataclasses.replace(figure, protocol=protocol, actions=(SIZE,))
        results = run(experiment, tmp_path_factory.mktemp("results"))
        found[protocol, name] = summarise_all(results)[SIZE]
    return found


def row_of_size(heading):
    """The entries of the row of |A| = 2 in the table of results.md that begins with `heading`."""
    (row,) = [row[1:] for row in rows("results.md", heading) if row[0] == str(SIZE)]
    return row


def rows(page, heading):
    """The entries of the table whose first line begins with `heading`, as lists of text."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    (start,) = [i for i, line in enumerate(lines) if line.startswith(heading)]
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split(" | ")])
    assert found
    return found


def assert_same(told, expected):
    """The same numbers in both texts, but for one unit of the last digit that is told."""
    pairs = zip(*(NUMBER.findall(text) for text in (told, expected)), strict=True)
    for ours, theirs in pairs:
        a, b = (float(x.replace("−", "-").replace(",", "")) for x in (ours, theirs))
        unit = 10.0 ** -len(ours.partition(".")[2])
        assert abs(a - b) < 1.01 * unit, f"{told!r} on the page, {expected!r} here"


def best(summary):
    """Step size, AUC and final error, a column each."""
    return f"{summary.best_step_size:.4f}", str(summary.best.auc), str(summary.final_error)


def best_at_one(summary):
    """The same where every best step size is 1, which the heading says."""
    size, *rest = best(summary)
    assert size == "1.0000"
    return rest


def assert_row(heading, expected):
    for told, here in zip(row_of_size(heading), expected, strict=True):
        assert_same(told, here)


def test_figure1(summaries):
    by_rule = summaries["paper", "figure1"]
    sarsa, qv = by_rule["expected_sarsa"], by_rule["qv_learning"]
    difference = paired_difference(qv.best_aucs, sarsa.best_aucs)
    assert_row("| \\|A\\| | Expected Sarsa", [*best_at_one(sarsa), *best(qv), str(difference)])


def test_figure3(summaries):
    by_rule = summaries["paper", "figure3"]
    here = [x for r in ("q_learning", "qvmax", "bc_qvmax") for x in best_at_one(by_rule[r])]
    assert_row("| \\|A\\| | Q-learning: AUC | final error | QVMAX", here)


def test_figure5(summaries):
    by_rule = summaries["paper", "figure5"]
    q, dueling, hard = (by_rule[rule] for rule in ("q_learning", "dueling_q", "hard_rdq"))
    apart = best_difference(hard.aucs, dueling.aucs, np.random.default_rng(0))
    interval = " ".join(f"{x:+.2f}" for x in apart)
    here = [best_at_one(q)[0], *best(dueling), *best(hard), interval]
    assert_row("| \\|A\\| | Q-learning (α = 1): AUC | Dueling", here)


def test_the_least_step_sizes_with_a_diverged_run(summaries):
    here = []
    for rule in ("dueling_q", "hard_rdq"):
        summary = summaries["paper", "figure5"][rule]
        sizes, counts = summary.step_sizes, summary.diverged
        first = min(np.flatnonzero(counts), key=lambda k: sizes[k])
        here.append(f"{sizes[first]:.3f} ({counts[first]})")
    assert_row("| \\|A\\| | Dueling: least α", here)


def test_hard_rdq_against_dueling_across_the_range_of_step_sizes(tmp_path):
    """With |A| = 18, at the step sizes at which no run of either diverges."""
    experiment = dataclasses.replace(FIGURES["figure5"], actions=(18,))
    curves = run(experiment, tmp_path).curves[18]
    hard, dueling = curves["hard_rdq"], curves["dueling_q"]
    stable = ((hard.diverged_at < 0) & (dueling.diverged_at < 0)).all(axis=0)
    aucs = [c.percent[:, stable].mean(axis=2, dtype=float) for c in (hard, dueling)]
    test = scipy.stats.ttest_rel(*aucs)
    ahead = (test.confidence_interval(0.95).high < 0).sum()
    lead = (aucs[1] - aucs[0]).mean(axis=0).max()
    text = (DOCS / "results.md").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if "across the range of step sizes" in line]
    told = f"{ahead} of the {stable.sum()} step sizes", f"of {len(stable)} in all", f"{lead:.1f}"
    assert [part for part in told if part not in line] == []


def test_figure5_with_soft_rdq(summaries):
    rules = ("hard_rdq", "soft_rdq-beta-1e-05", "soft_rdq-beta-0.0001", "soft_rdq-beta-0.001")
    by_rule = summaries["paper", "figure5-soft"]
    here = [f"{by_rule[r].best.auc} ({by_rule[r].final_error.mean:.1f})" for r in rules]
    assert_row("| \\|A\\| | Hard RDQ | Soft RDQ", here)


def test_what_the_protocols_do_to_tables(summaries):
    for figure, rule, told, *_ in rows("differences.md", "| figure | rule |"):
        paper, reference = (
            summaries[protocol, figure][rule].best.auc.mean for protocol in ("paper", "reference")
        )
        assert_same(told, f"{paper:.2f} → {reference:.2f}")
