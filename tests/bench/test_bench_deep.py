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
    shapes = program.Program(deep.job("Breakout", 2, ["rdq"], 1)).shapes[0].params
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
    args = argparse.Namespace(games=None, runs=runs, steps=1_000, episodes=1)
    jobs = list(deep.measure(args))
    assert [len(job.members) for job in jobs] == runs
    assert {" ".join(label for label, _ in job.agents) for job in jobs} == {agents}


def test_a_reading_agrees_with_itself(capsys, monkeypatch):
    monkeypatch.setattr(deep, "COPIED", 4_000_000)
    arguments = ["--games", "Breakout", "--steps", "1_000", "--episodes", "2"]
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
    assert r["episodes"] == 2
    assert r["evaluation_seconds"] > 0
    deep.show([deep.Reading(**r)])
    assert "90 runs × 10,000,000 steps" in capsys.readouterr().out


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
