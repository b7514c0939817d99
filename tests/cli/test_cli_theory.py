"""The command ``qduet theory``: its outputs, exit codes and files; the figures it draws."""

import json

import numpy as np
import pytest

from qduet.cli import main
from qduet.show.charts import theory
from qduet.show.charts.figure2 import bootstrap_norms, figure2_norms
from qduet.show.figures import draw, draw_figure2, rendered
from qduet.tabular.mdp import four_state
from qduet.theory import CLAIMS, load_problem, problem_of, random_problem
from qduet.theory.check import conclude, equal

QUICK = ["--claim", "qvmax_fixed_point", "--claim", "minimum_norm"]


@pytest.fixture
def failing(monkeypatch):
    """A claim that is false where there are more than five actions."""
    check = lambda problem: conclude("fails", equal("few", max(problem.mdp.num_actions, 5), 5))
    monkeypatch.setitem(CLAIMS, "fails", CLAIMS["minimum_norm"]._replace(function=check))


def test_table_of_claims(capsys):
    assert main(["theory", "--mdps", "4", *QUICK]) == 0
    out, err = capsys.readouterr()
    assert "qvmax_fixed_point" in out
    assert "every claim holds" in out
    assert err == ""


def test_json_is_one_document_and_nothing_else(capsys):
    assert main(["theory", "--mdps", "4", "--json", *QUICK]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert document["holds"] is True
    assert [claim["claim"] for claim in document["claims"]] == QUICK[1::2]
    assert all(claim["problems"] == 4 for claim in document["claims"])
    assert all(claim["margin"] > 1 for claim in document["claims"])
    assert err == ""


def test_a_failed_claim_writes_its_counterexample(capsys, tmp_path, monkeypatch, failing):
    monkeypatch.chdir(tmp_path)
    assert main(["theory", "--mdps", "20", "--claim", "fails"]) == 1
    out = capsys.readouterr().out
    assert "NO" in out
    assert "counterexample written: qduet theory --mdp counterexample-fails.json" in out
    problem = load_problem(tmp_path / "counterexample-fails.json")
    assert problem.mdp.num_actions > 5
    again = random_problem(problem.seed)
    np.testing.assert_array_equal(problem.mdp.p, again.mdp.p)
    # The file can be checked again, and fails again.
    assert main(["theory", "--mdp", "counterexample-fails.json", "--claim", "fails"]) == 1
    assert main(["theory", "--mdp", "counterexample-fails.json", *QUICK]) == 0


def test_counterexamples_and_figures_go_to_out(capsys, tmp_path, monkeypatch, failing):
    monkeypatch.setattr("qduet.cli.theory._draw", lambda out: None)
    arguments = ["theory", "--mdps", "20", "--claim", "fails", "--out", str(tmp_path), "--json"]
    assert main(arguments) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["holds"] is False
    assert document["counterexamples"] == [str(tmp_path / "counterexample-fails.json")]
    written = json.loads((tmp_path / "theory.json").read_text(encoding="utf-8"))
    assert len(written.pop("sha256")) == 64
    assert written == document


def test_a_failed_claim_without_a_problem_of_its_own_writes_nothing(capsys, tmp_path, monkeypatch):
    fails = lambda *_: conclude(once, equal("one", 1, 2))
    once = next(name for name, claim in CLAIMS.items() if claim.once)
    monkeypatch.setitem(CLAIMS, once, CLAIMS[once]._replace(function=fails))
    monkeypatch.chdir(tmp_path)
    assert main(["theory", "--mdps", "2", "--workers", "1", "--claim", once]) == 1
    out = capsys.readouterr().out
    assert "NO" in out
    assert "counterexample" not in out
    assert main(["theory", "--mdps", "2", "--workers", "1", "--claim", once, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["counterexamples"] == []
    assert list(tmp_path.iterdir()) == []


def test_one_mdp_shows_where_each_rule_ends(capsys):
    assert main(["theory", "--mdp", "qvmax", "--actions", "6", "--json", *QUICK]) == 0
    rows = {row["rule"]: row for row in json.loads(capsys.readouterr().out)["rules"]}
    # QVMAX: γ (v_* − (1/n + γ)/(1 − γ²)) for γ = 0.99, n = 6.
    bias = 0.99 * (100 - (1 / 6 + 0.99) / (1 - 0.99**2))
    assert rows["qvmax"]["distance_to_optimum"] == pytest.approx(bias)
    assert rows["bc_qvmax"]["distance_to_optimum"] == pytest.approx(0, abs=1e-9)
    assert rows["dueling_q"]["slowest_mode"] == pytest.approx(0.01 / 4)
    assert all(row["stable"] for row in rows.values())


def test_the_ring_is_reported_as_unstable(capsys):
    assert main(["theory", "--mdp", "ring", "--actions", "10", "--claim", "minimum_norm"]) == 0
    out = capsys.readouterr().out
    unstable = [line.split()[0] for line in out.splitlines() if line.strip().endswith("NO")]
    assert unstable == ["dueling_q", "soft_rdq", "hard_rdq"]


def test_a_toy_text_problem(capsys):
    assert main(["theory", "--mdp", "FrozenLake-v1", *QUICK]) == 0
    assert "FrozenLake-v1: |S| = 16, |A| = 4" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--claim", "qvmax_bais"], "did you mean 'qvmax_bias'"),
        (["--mdp", "FrozenLak"], "did you mean 'FrozenLake-v1'"),
        (["--mdp", "absent.json"], "absent.json does not exist"),
        (["--mdp", "FrozenLake-v1", "--actions", "3"], "--actions belongs to on-policy"),
        (["--mdps", "0"], "not a whole number of at least 1"),
        (["--mdps", "many"], "not a whole number of at least 1"),
        (["--step-size", "-1"], "is not a number in"),
    ],
)
def test_bad_input_is_one_line_and_code_2(refused, arguments, message):
    refused(["theory", *arguments], message)


# --- Figures -------------------------------------------------------------------------------------


def test_figure_2_has_the_arrows_of_the_paper():
    problem = problem_of(four_state("qvmax", 4, 0.9))
    arrows = lambda name: {
        pair: round(norm, 9) for pair, norm in bootstrap_norms(name, problem).items() if norm > 0
    }
    assert arrows("qv_learning") == {("V", "V"): 0.9, ("V", "Q"): 0.9}
    assert arrows("qvmax") == {("V", "Q"): 0.9, ("Q", "V"): 0.9}
    assert arrows("bc_qvmax") == {("V", "Q"): 0.9, ("Q", "V"): 1.0}
    assert set(arrows("hard_rdq")) == {("V", "V"), ("V", "A"), ("A", "V"), ("A", "A")}
    # Dueling: |∂Q(s,a*)/∂A(s,·)| adds up to (1 − 1/4) + 3 · 1/4.
    assert arrows("dueling_q")["A", "V"] == pytest.approx(1.5 * 0.9)


@pytest.mark.parametrize(
    "figure",
    [
        lambda: draw_figure2(figure2_norms()),
        lambda: draw(theory.figure4_chart(steps=60)),
        lambda: draw(theory.rates_chart(steps=80, seeds=1)),
        lambda: draw(theory.ring_chart(steps=200, seeds=1)),
    ],
    ids=["figure2", "figure4", "rates", "ring"],
)
def test_figures_are_drawn(figure):
    first = rendered(figure())
    assert first["png"].startswith(b"\x89PNG")
    assert len(first["svg"]) > 5_000


def test_a_figure_is_the_same_bytes_each_time():
    assert rendered(draw_figure2(figure2_norms())) == rendered(draw_figure2(figure2_norms()))
