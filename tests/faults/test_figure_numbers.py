"""Figures 1 and 2 have the paper's numbers, also where results were made under the former ones."""

import json
import re

import planted_cells
from pages import read

from qduet.cli import main
from qduet.paper import FIGURES, certify
from qduet.theory.suite import CLAIMS

RULES = ("expected_sarsa", "qv_learning")


def curves_of_before(out):
    planted_cells.experiment(out / "figure2", rules=RULES, problem="on-policy")


def test_the_numbers_are_those_of_the_papers_source():
    """In paper.tex: on-policy_prediction, qv_flowchart, qvmax, rdq_geometry, dueling, minatar."""
    problems = {name: figure.problem for name, figure in FIGURES.items()}
    assert problems["figure1"] == "on-policy"
    assert "figure2" not in problems
    assert (problems["figure3"], problems["figure5"]) == ("qvmax", "dueling")
    assert CLAIMS["bootstrapping"].where == "Fig 2"


def test_curves_of_before_are_shown_under_the_papers_number(tmp_path):
    curves_of_before(tmp_path)
    page, _ = read([tmp_path])
    headings = re.findall("<h3>(.*?)</h3>", page.html)
    assert "Figure 1: On-policy prediction" in headings
    assert "Figure 2: who bootstraps from whom" in headings


def test_another_experiment_of_that_name_keeps_it(tmp_path):
    planted_cells.experiment(tmp_path / "figure2", rules=("mine",), problem="own", actions=(3,))
    assert ">figure2 (not in the paper)<" in read([tmp_path])[0].html


def test_claims_of_before_are_certified_under_the_papers_number(tmp_path):
    finding = {"figure": "figure2", "claim": "C", "holds": True, "evidence": "E"}
    diagram = {"claim": "bootstrapping", "where": "Fig 1", "statement": "T", "holds": True}
    for path, document in (
        ("figure2/summary.json", {"findings": [finding]}),
        ("theory/theory.json", {"claims": [{**diagram, "failures": 0, "problems": 7}]}),
    ):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(json.dumps(document), encoding="utf-8")
    found = {c.statement: c.where for c in certify([], reproduced=tmp_path).claims}
    assert (found["C"], found["T"]) == ("Fig 1", "Fig 2")


def test_reproduce_does_not_put_figures_beside_those_of_before(tmp_path, capsys):
    curves_of_before(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    for figure in ("figure1", "figure2"):
        assert main(["reproduce", figure, "--scale", "smoke", "--out", str(tmp_path)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "rename" in line
    assert sorted(tmp_path.rglob("*")) == before
