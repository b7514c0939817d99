"""`qduet bench --deep`: what is computed from the readings, and one small reading."""

import argparse
import json

import jax
import pytest

from qduet.bench import deep
from qduet.cli import main
from qduet.jobs import program


def test_the_whole_protocol_is_extrapolated_from_its_parts():
    # 90 runs at 480 µs: 2.5 million iterations are 1,200 s; 11 evaluations of 6 s, 24 s more.
    assert deep.whole_minutes(90, 480e-6, 1_000, 6.0, 24.0) == pytest.approx((1200 + 66 + 24) / 60)
    # 30 runs are a third of the work, 500 episodes half of an evaluation.
    assert deep.whole_minutes(30, 160e-6, 500, 1.0, 24.0) == pytest.approx((1200 + 66 + 24) / 60)


def test_traffic_is_counted_from_the_weights():
    """Breakout: 36×16+16, twice 1024×128+128, 128+1 for V, 128×3+3 for A; 4 bytes each."""
    conv, hidden, v, adv = 592, 131_200, 129, 387
    weights, acting = conv + 2 * hidden + v + adv, conv + hidden + adv
    shapes = program.build(deep.job("Breakout", 2, ["rdq"], 1)).shapes[0].params
    assert deep.traffic(shapes) == 2 * 4 * (9 * weights + 4 * acting)


def test_a_known_device_is_not_measured():
    device = type("Device", (), {"device_kind": "NVIDIA H200"})
    assert deep.bandwidth_of(device) == (4.3e12, "known")


def test_another_device_is_measured(monkeypatch):
    monkeypatch.setattr(deep, "COPIED", 4_000_000)
    bandwidth, how = deep.bandwidth_of(jax.devices()[0])
    assert how == "a large copy"
    assert 1e8 < bandwidth < 1e13


@pytest.mark.parametrize(
    ("runs", "agents"), [([3, 6], "dqn dueling_dqn rdq"), ([1, 3], "rdq"), ([2], "rdq")]
)
def test_all_readings_are_of_the_same_agents(runs, agents, monkeypatch):
    monkeypatch.setattr(deep, "bandwidth_of", lambda device: (1.0, "known"))
    monkeypatch.setattr(deep, "reading", lambda job, *rest: job)
    words = ["--runs", *map(str, runs), "--steps", "1000"]
    parser = argparse.ArgumentParser()
    deep.add_arguments(parser)
    jobs = list(deep.measure(argparse.Namespace(games=None, **vars(parser.parse_args(words)))))
    assert [len(job.members) for job in jobs] == runs
    assert {" ".join(label for label, _ in job.agents) for job in jobs} == {agents}


def test_a_reading_agrees_with_itself(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(deep, "COPIED", 4_000_000)
    arguments = ["--games", "Breakout", "--steps", "1_000", "--episodes", "2", "1"]
    arguments += ["--figure", str(tmp_path / "deep.png")]
    assert main(["bench", "--deep", *arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["section"] == "deep"
    assert document["whole"] == {
        "runs": 90, "steps": 10_000_000, "evaluations": 11, "episodes": 1_000,
    }  # fmt: skip
    assert {"device", "jax", "qduet", "python", "commit"} <= document.keys()
    (r,) = document["readings"]
    assert (r["game"], r["agents"], r["runs"], r["steps"]) == ("Breakout", "rdq", 1, 1_000)
    assert r["frames_per_second"] * r["us_per_iteration"] == pytest.approx(4e6)
    floor = r["bytes_per_iteration"] / r["bandwidth"] * 1e6
    assert r["floor_share"] == pytest.approx(floor / r["us_per_iteration"])
    assert r["compile_seconds"] > 0
    assert r["episodes"] == [1, 2]
    assert min(r["evaluation_seconds"]) > 0
    assert r["training_bytes"] > 4_000_000, "weights and Adam's moments, and their copy"
    assert (tmp_path / "deep.png").read_bytes().startswith(b"\x89PNG")
    deep.show([deep.Reading(**r)])
    assert "90 runs × 10,000,000 steps" in capsys.readouterr().out


def test_lines_against_runs_and_episodes_by_hand():
    """1 and 3 runs take 400 and 480 µs; 430 MB a run at 4.3 TB/s are 100 µs."""
    readings = [
        deep.Reading(
            "Breakout", "rdq", n, 1_000, us, n * 4e6 / us, n * 430_000_000, 4.3e12, "known",
            n * 100 / us, 9.0, (2, 20), (0.5, n * 0.9), n * 10**9, 1.0,
        )
        for n, us in ((3, 480.0), (1, 400.0))
    ]  # fmt: skip
    lines = [
        {s.detail or s.group: (s.x.tolist(), s.y.tolist()) for s in panel.series}
        for panel in deep.chart(readings).panels
    ]
    assert lines[0] == {"floor": ([1, 3], [100, 300]), "Breakout": ([1, 3], [400, 480])}
    assert lines[1] == {"floor": ([1, 3], [40_000, 40_000]), "Breakout": ([1, 3], [10_000, 25_000])}
    assert lines[2] == {"Breakout": ([1, 3], [1000, 3000])}, "MB"
    assert lines[3] == {"Breakout": ([2, 20], [0.5, 2.7])}, "of the three runs"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--games", "Pong"], "unknown game 'Pong'"),
        (["--steps", "1_500"], "--steps must be a multiple of 1,000; it is 1,500"),
        (["--runs", "0"], "--runs: '0' is not a whole number of at least 1"),
    ],
)
def test_bad_input(refused, arguments, told):
    refused(["bench", "--deep", *arguments], told)
