import json

import pytest

from qduet.bench.tabular import Reading, reading, show, summary
from qduet.cli import main
from qduet.tabular.rules import RULES


def test_a_reading_compares_equal_results():
    r = reading("qvmax", 2, seeds=2, cores=1)
    assert r.largest_difference < 0.01
    assert min(r.sweep_ns, r.numpy_side_by_side_ns, r.numpy_one_run_ns) > 0
    assert r.compile_seconds > 0


def test_the_whole_job_is_the_sum_of_its_parts(monkeypatch, capsys):
    # 2 ns at |A| = 2 and 18 ns at |A| = 18, hence |A| ns in between: 2 + 6 + 10 + 14 + 18 = 50 for
    # each of 8 rule/experiment pairs of 61 × 100 × 20,000 updates per |A|, on 2 cores.
    monkeypatch.setattr("qduet.core.machine.cores", lambda: 2)
    each = 61 * 100 * 20_000
    readings = [
        Reading(name, n, 1e9, n, 10 * n, 100 * n, 0.5, 0.0) for name in RULES for n in (2, 18)
    ]
    job = summary(readings)["whole_job_seconds"]
    assert job["updates"] == 4_880_000_000
    assert job["cores"] == 2
    assert job["sweep"] == pytest.approx(8 * 50 * each * 1e-9 / 2)
    assert job["numpy_side_by_side"] == pytest.approx(10 * job["sweep"])
    assert job["numpy_one_run"] == pytest.approx(100 * job["sweep"])
    assert job["compilation"] == pytest.approx(8 * 5 * 0.5 / 2)
    show(readings)
    text = capsys.readouterr().out
    assert "4,880,000,000 updates" in text
    assert "hard_rdq" in text


def test_bench_prints_one_document(capsys):
    assert main(["bench", "--tabular", "--rules", "td0", "--trials", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["section"] == "tabular"
    assert [(r["rule"], r["num_actions"]) for r in document["readings"]] == [
        ("td0", 2),
        ("td0", 18),
    ]
    assert all(r["updates_per_second"] > 0 for r in document["readings"])
    assert "whole_job_seconds" not in document  # not from one rule


def test_bench_names_an_unknown_rule(capsys):
    assert main(["bench", "--tabular", "--rules", "hard_rqd"]) == 2
    assert "did you mean 'hard_rdq'" in capsys.readouterr().err
