"""docs/results.md and the tables of docs/differences.md, from whole experiments run here.

At the paper's scale, 100 seeds × 20,000 steps × 61 step sizes, under both protocols: two minutes of
processor time. A number on a page may differ by one in its last digit, as processors round
differently.
"""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from qduet.paper.figures import FIGURES
from qduet.stats import best_difference, paired_difference
from qduet.tabular.running import run
from qduet.tabular.summary import summarise_all

DOCS = Path(__file__).parents[2] / "docs"
NUMBER = re.compile(r"[−+-]?\d[\d,]*(?:\.\d+)?")


@pytest.fixture(scope="module")
def summaries(tmp_path_factory):
    """By protocol and figure, then |A| and rule; of what the pages have."""
    found = {}
    for protocol in ("paper", "reference"):
        for name in ("figure2", "figure3", "figure5", "figure5-soft"):
            experiment = dataclasses.replace(FIGURES[name], protocol=protocol)
            if protocol == "reference" or name == "figure5-soft":
                experiment = dataclasses.replace(experiment, actions=(2, 10, 18))
            where = tmp_path_factory.mktemp("results")
            found[protocol, name] = summarise_all(run(experiment, where))
    return found


def rows(page, heading):
    """The cells of the table whose first line is `heading`, as lists of text."""
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


def test_figure2(summaries):
    for row in rows("results.md", "| \\|A\\| | Expected Sarsa"):
        by_rule = summaries["paper", "figure2"][int(row[0])]
        sarsa, qv = by_rule["expected_sarsa"], by_rule["qv_learning"]
        difference = paired_difference(qv.best_aucs, sarsa.best_aucs)
        here = [*best_at_one(sarsa), *best(qv), str(difference)]
        for cell, expected in zip(row[1:], here, strict=True):
            assert_same(cell, expected)


def test_figure3(summaries):
    for row in rows("results.md", "| \\|A\\| | Q-learning: AUC | final error | QVMAX"):
        by_rule = summaries["paper", "figure3"][int(row[0])]
        here = [x for r in ("q_learning", "qvmax", "bc_qvmax") for x in best_at_one(by_rule[r])]
        for cell, expected in zip(row[1:], here, strict=True):
            assert_same(cell, expected)


def test_figure5(summaries):
    for row in rows("results.md", "| \\|A\\| | Q-learning (α = 1): AUC | Dueling"):
        by_rule = summaries["paper", "figure5"][int(row[0])]
        q, dueling, hard = (by_rule[rule] for rule in ("q_learning", "dueling_q", "hard_rdq"))
        apart = best_difference(hard.aucs, dueling.aucs, np.random.default_rng(0))
        here = [
            best_at_one(q)[0],
            *best(dueling),
            *best(hard),
            " ".join(f"{x:+.2f}" for x in apart),
        ]
        for cell, expected in zip(row[1:], here, strict=True):
            assert_same(cell, expected)


def test_the_least_step_sizes_with_a_diverged_run(summaries):
    for row in rows("results.md", "| \\|A\\| | Dueling: least α"):
        for told, rule in zip(row[1:], ("dueling_q", "hard_rdq"), strict=True):
            summary = summaries["paper", "figure5"][int(row[0])][rule]
            sizes, counts = summary.step_sizes, summary.diverged
            first = min(np.flatnonzero(counts), key=lambda k: sizes[k])
            assert_same(told, f"{sizes[first]:.3f} ({counts[first]})")


def test_figure5_with_soft_rdq(summaries):
    rules = ("hard_rdq", "soft_rdq-beta-1e-05", "soft_rdq-beta-0.0001", "soft_rdq-beta-0.001")
    for row in rows("results.md", "| \\|A\\| | Hard RDQ | Soft RDQ"):
        for told, rule in zip(row[1:], rules, strict=True):
            summary = summaries["paper", "figure5-soft"][int(row[0])][rule]
            assert_same(told, f"{summary.best.auc} ({summary.final_error.mean:.1f})")


def test_what_the_protocols_do_to_tables(summaries):
    for figure, rule, *told in rows("differences.md", "| figure | rule |"):
        paper, reference = (
            [
                *(summaries[protocol, figure][n][rule].best.auc.mean for n in (2, 10, 18)),
                summaries[protocol, figure][18][rule].final_error.mean,
                summaries[protocol, figure][18][rule].best.auc.half_width,
            ]
            for protocol in ("paper", "reference")
        )
        for cell, before, after in zip(told, paper, reference, strict=True):
            assert_same(cell, f"{before:.2f} → {after:.2f}")
