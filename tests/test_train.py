"""``qduet train`` from end to end, with small agents: results, seeds, interruptions, devices."""

import csv
import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest

from qduet import agents, checkpoint, runs, weights
from qduet.cli import main

SMALL = {"capacity": 400, "learn_from": 100, "sync_every": 100}
JOB = ["train", "rdq", "dqn", "MinAtar/Breakout-v1", "--seeds", "2", "--steps", "1200"]
JOB += ["--evaluate-every", "600", "--episodes", "5"]
TIMES = ("elapsed_seconds", "frames_per_second")

SCRIPT = f"""
import dataclasses, sys
from qduet import agents, trainer
from qduet.cli import main
for name, agent in agents.AGENTS.items():
    agents.AGENTS[name] = dataclasses.replace(agent, **{SMALL})
trainer.CALL_SECONDS = 0.0
raise SystemExit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Small agents, and a cache of compiled programs that all tests here share."""
    folder = tmp_path_factory.mktemp("train")
    patch = pytest.MonkeyPatch()
    small = {name: dataclasses.replace(a, **SMALL) for name, a in agents.AGENTS.items()}
    patch.setattr(agents, "AGENTS", small)
    patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    before = jax.config.values["jax_compilation_cache_dir"]
    yield folder
    jax.config.update("jax_compilation_cache_dir", before)
    patch.undo()


@pytest.fixture(scope="module")
def whole(place):
    """The job without interruption, its last checkpoint kept."""
    assert main([*JOB, "--out", str(place / "whole"), "--keep-checkpoint"]) == 0
    return place / "whole"


def untimed(directory):
    """The evaluations without their times."""
    with (directory / "evaluations.csv").open() as file:
        return [{k: v for k, v in row.items() if k not in TIMES} for row in csv.DictReader(file)]


def assert_same(one, other):
    """All results but times are equal to the last bit."""
    assert untimed(one) == untimed(other)
    names = sorted(path.name for path in (one / "weights").iterdir())
    assert names == sorted(path.name for path in (other / "weights").iterdir())
    for name in names:
        assert (one / "weights" / name).read_bytes() == (other / "weights" / name).read_bytes()


def start(*arguments, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu", **environment},
    )


def test_the_directory_is_what_others_read(whole):
    found = runs.load(whole)
    assert found.finished
    assert found.agents == ("rdq", "dqn")
    assert found.config["agents"][0]["capacity"] == 400
    assert found.config["provenance"]["jax"] == jax.__version__
    scores = found.scores("dqn")
    np.testing.assert_array_equal(scores.seeds, [0, 1])
    np.testing.assert_array_equal(scores.steps, [0, 600, 1200])
    assert np.isfinite(scores.values).all()
    assert np.isnan(found.scores("rdq", "train_loss_mean").values[:, 0]).all()
    for column in ("train_loss_mean", "train_q_mean", "v_rms", "frames_per_second"):
        assert np.isfinite(found.scores("rdq", column).values[:, 1:]).all()
    elapsed = found.scores("rdq", "elapsed_seconds").values
    assert (np.diff(elapsed, axis=1) > 0).all()


def test_seeds_and_agents_differ(whole):
    found = [weights.load(path) for path in sorted((whole / "weights").iterdir())]
    assert [(w.label, w.seed, w.step) for w in found] == [
        (label, seed, 1200) for label in ("dqn", "rdq") for seed in (0, 1)
    ]
    for i, one in enumerate(found):
        for other in found[i + 1 :]:
            assert np.abs(one.params.adv_hidden.w - other.params.adv_hidden.w).max() > 1e-3


def test_running_again_says_that_it_is_finished(whole, capsys):
    before = {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()}
    assert main([*JOB, "--out", str(whole), "--json"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out)["finished"]
    rows = [row for row in untimed(whole) if row["agent"] == "rdq" and row["step"] == "1200"]
    mean = np.mean([float(row["return_mean"]) for row in rows])
    assert json.loads(out)["return_mean"]["rdq"]["mean"] == pytest.approx(mean)
    assert main([*JOB, "--out", str(whole)]) == 0
    assert "was finished before" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()} == before


def test_interrupted_in_every_way_it_ends_with_the_same_bits(whole, place):
    """SIGINT, SIGTERM and kill -9 at random moments, and then to the end."""
    out = place / "interrupted"
    saved = checkpoint.path_of(out)
    for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
        process = start(*JOB, "--out", str(out), "--checkpoint-minutes", "0")
        before = saved.stat().st_mtime_ns if saved.exists() else 0
        while process.poll() is None:
            time.sleep(0.01)
            if saved.exists() and saved.stat().st_mtime_ns != before:
                break
        time.sleep(random.random() / 3)
        process.send_signal(number)
        _, errors = process.communicate(timeout=100)
        codes = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}
        assert process.returncode == codes[number], errors
        assert number == signal.SIGKILL or "run the same command again to continue" in errors
        assert "Traceback" not in errors
    assert main([*JOB, "--out", str(out)]) == 0
    assert not (out / "checkpoint").exists()
    assert_same(out, whole)


def test_more_steps_continue_a_kept_checkpoint(whole, place):
    """The first half alone, then the whole: the same as at once."""
    out, half = place / "extended", [*JOB]
    half[half.index("1200")] = "600"
    assert main([*half, "--out", str(out), "--keep-checkpoint"]) == 0
    assert main([*JOB, "--out", str(out)]) == 0
    assert_same(out, whole)
    assert runs.load(out).config["steps"] == 1200


def test_a_deadline_stops_cleanly(whole, place, capsys):
    out = place / "slots"
    for _ in range(20):
        assert main([*JOB, "--out", str(out), "--max-minutes", "0.2"]) == 0
    assert_same(out, whole)
