"""``qduet train`` from end to end, with small agents: results, seeds, interruptions, devices."""

import dataclasses
import itertools
import json
import os
import signal
import time
import types

import jax
import numpy as np
import pytest
from small_jobs import JOB, assert_same, changed, small_job, start, untimed

from qduet import agents
from qduet.cli import main
from qduet.cli.options import UNFINISHED
from qduet.core import tensors
from qduet.deep.algorithms import Losses
from qduet.jobs import checkpoint, program, trainer, weights
from qduet.jobs.job import Job
from qduet.jobs.stopping import Stop
from qduet.results import runs


def test_the_directory_is_what_others_read(whole):
    found = runs.load(str(whole))
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


def plant_clock(monkeypatch, seconds):
    """Whatever the trainer times takes it so many seconds."""
    ticks = itertools.count(step=seconds).__next__
    planted = types.SimpleNamespace(perf_counter=ticks, monotonic=time.monotonic)
    monkeypatch.setattr(trainer, "time", planted)


def test_rows_and_weights_are_of_the_settled_weights_and_of_the_losses(
    place, tmp_path, monkeypatch
):
    """With planted programs and a planted clock.

    Losses are 1, 2, 3, and ten times that after step 600; an update adds the step to all weights;
    every call takes a second, hence one block.
    """
    small = tuple((name, agents.AGENTS[name]) for name in ("rdq", "dqn"))
    job = Job("MinAtar/Breakout-v1", small, (0, 1), 1200, 600, 5)
    plant_clock(monkeypatch, 1.0)
    built = trainer.Program(job, None)
    first, seen = jax.tree.map(np.asarray, built.start()[0].params), {}
    blank = np.zeros((program.MAX_BLOCKS, 4), np.float32)

    def evaluate(params, step, check):
        (seen[step],) = params
        return {"return_mean": np.arange(4.0)}

    def advance(runs, step, count):
        scale = 1 if step < 600 else 10
        return runs, Losses(*(blank + scale * loss for loss in (1, 2, 3)))

    planted = changed(
        built,
        warm_up=lambda runs: runs,
        advance=advance,
        weights_to_evaluate=lambda runs, step: jax.tree.map(lambda x: x + step, (runs[0].params,)),
        evaluate=evaluate,
    )
    monkeypatch.setattr(trainer, "Program", lambda job, devices: planted)
    rows = trainer.train(job, tmp_path).rows
    for step, params in seen.items():
        jax.tree.map(lambda a, b, s=step: np.testing.assert_allclose(a, b + s), params, first)
    assert [row["step"] for row in rows] == [0] * 4 + [600] * 4 + [1200] * 4
    for row in rows[4:]:
        names = ("train_total_loss_mean", "train_loss_mean", "train_q_mean")
        scale = 1 if row["step"] == 600 else 10
        assert [row[name] for name in names] == [scale, 2 * scale, 3 * scale]
        assert row["frames_per_second"] == 400  # 100 steps of 4 runs
    assert runs.load(tmp_path).table["step"].tolist() == [0, 600, 1200] * 4  # run by run
    found = weights.load(weights.path_of(tmp_path, "dqn", 1)).params
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b[3] + 1200), found, first)


def test_a_call_takes_no_more_blocks_than_it_can_record(place, tmp_path, monkeypatch):
    """119 blocks of a planted program, which are done at once."""
    plant_clock(monkeypatch, 1e-6)
    job = dataclasses.replace(small_job(), steps=12_000, evaluate_every=12_000)
    built, counts = trainer.Program(job, None), []
    blank = np.zeros((program.MAX_BLOCKS, 4), np.float32)

    def advance(runs, step, count):
        counts.append(count)
        return runs, Losses(blank, blank, blank)

    planted = changed(
        built,
        warm_up=lambda runs: runs,
        advance=advance,
        weights_to_evaluate=lambda runs, step: (runs[0].params,),
        evaluate=lambda params, step, check: {"return_mean": np.zeros(4)},
    )
    monkeypatch.setattr(trainer, "Program", lambda job, devices: planted)
    assert trainer.train(job, tmp_path).finished
    assert (sum(counts), max(counts)) == (119, program.MAX_BLOCKS)


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
    job = small_job()
    rows = trainer.train(job, str(whole)).rows
    assert [row["step"] for row in rows] == [0] * 4 + [600] * 4 + [1200] * 4  # as at first
    assert rows[0]["train_loss_mean"] is None
    assert type(rows[4]["train_loss_mean"]) is float
    assert main([*JOB, "--out", str(whole), "--json"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out)["finished"]
    rows = [row for row in untimed(whole) if row["agent"] == "rdq" and row["step"] == "1200"]
    mean = np.mean([float(row["return_mean"]) for row in rows])
    assert json.loads(out)["return_mean"]["rdq"]["mean"] == pytest.approx(mean)
    assert main([*JOB, "--out", str(whole)]) == 0
    assert "was finished before" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()} == before


# --- Interrupted ----------------------------------------------------------------------------------


def test_interrupted_in_every_way_it_ends_with_the_same_bits(whole, place):
    """SIGINT, SIGTERM and kill -9 soon after a checkpoint, and then to the end."""
    out, delays = place / "interrupted", iter((0.0, 0.1, 0.3))
    saved = checkpoint.path_of(out)
    for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
        process = start(*JOB, "--out", str(out), "--checkpoint-minutes", "0")
        before = saved.stat().st_mtime_ns if saved.exists() else 0
        while process.poll() is None:
            time.sleep(0.01)
            if saved.exists() and saved.stat().st_mtime_ns != before:
                break
        time.sleep(next(delays))
        process.send_signal(number)
        _, errors = process.communicate(timeout=100)
        codes = {signal.SIGINT: 130, signal.SIGTERM: UNFINISHED, signal.SIGKILL: -9}
        if process.returncode != codes[number]:  # on a busy machine the job may have ended first
            assert runs.load(out).finished, errors
            break
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


class Impatient(Stop):
    """Asks to stop after a few looks, sometimes in the middle of an evaluation."""

    def __init__(self, patience):
        super().__init__()
        self.patience = patience

    def asked(self, needs=0.0):
        self.patience -= 1
        self.reason = self.reason or ("deadline" if self.patience < 0 else None)
        return self.reason is not None


def test_short_slots_add_up_to_the_same_bits(whole, place, monkeypatch, capsys):
    """A deadline ends with the code of unfinished jobs, unless nothing at all was done."""
    monkeypatch.setattr(trainer, "CALL_SECONDS", 0.0)
    out, codes, before = place / "slots", [], (0, 0)
    while not (out / "weights").exists():
        stop = Impatient(len(codes) % 5)
        monkeypatch.setattr(trainer, "Stop", lambda _, stop=stop: stop)
        codes.append(main([*JOB, "--out", str(out), "--max-minutes", "9"]))
        told = capsys.readouterr().err
        if not (out / "weights").exists():
            now = standing(out)
            assert codes[-1] == (2 if now == before else UNFINISHED)
            advice = "too short" if now == before else "run the same command again to continue"
            assert advice in told
            before = now
        assert len(codes) < 60
    assert codes.count(UNFINISHED) > 4
    assert codes.count(2) > 4
    assert_same(out, whole)


def standing(directory):
    """Step and number of rows of a directory's checkpoint; 0 without one."""
    if not checkpoint.path_of(directory).exists():
        return 0, 0
    _, metadata = tensors.read(checkpoint.path_of(directory))
    state = json.loads(metadata["state"])
    return state["step"], len(state["rows"])


def test_a_deadline_and_signals_ask_to_stop():
    assert not Stop(time.monotonic() + 100).asked()
    assert Stop(time.monotonic() + 100).asked(needs=101)
    before = signal.getsignal(signal.SIGTERM)
    with Stop(time.monotonic()) as stop:  # a signal counts for more than the deadline
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)
        assert stop.asked()
        assert stop.reason == signal.SIGTERM
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.reason == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) == before
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with Stop() as stop:
            os.kill(os.getpid(), signal.SIGTERM)
            assert not stop.asked()
    finally:
        signal.signal(signal.SIGTERM, before)


def stopped_from_python(number, out):
    """A job that is sent a signal during its first stretch of training."""
    job, sent = small_job(), []

    def on_progress(progress):
        if progress.doing == "training" and not sent:
            sent.append(progress.step)
            signal.raise_signal(number)

    trainer.train(job, str(out), on_progress=on_progress)


def test_a_signal_in_python_comes_through_after_a_checkpoint(whole, place, tmp_path, monkeypatch):
    monkeypatch.setattr(trainer, "CALL_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt):
        stopped_from_python(signal.SIGINT, tmp_path)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    seen = []
    before = signal.signal(signal.SIGTERM, lambda *_: seen.append(checkpoint.path_of(other)))
    other = tmp_path / "other"
    stopped_from_python(signal.SIGTERM, other)
    signal.signal(signal.SIGTERM, before)
    assert [path.exists() for path in seen] == [True]
    job = small_job()
    assert trainer.train(job, tmp_path).finished
    assert_same(tmp_path, whole)


def test_steps_can_be_lowered_while_they_are_not_taken(whole, place, tmp_path, monkeypatch):
    monkeypatch.setattr(trainer, "CALL_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt):
        stopped_from_python(signal.SIGINT, tmp_path)  # after 200 of 1,200 steps
    short = small_job(600)
    assert trainer.train(short, tmp_path).finished
    assert runs.load(tmp_path).config["steps"] == 600
    first = [row for row in untimed(whole) if int(row["step"]) <= 600]
    assert untimed(tmp_path) == first


# --- Runs in other company ------------------------------------------------------------------------


def test_four_devices_and_another_order_give_the_same_runs(whole, place):
    """Every run is then alone on its device: the same streams, and values but for rounding."""
    other = [{"rdq": "dqn", "dqn": "rdq", "2": "1,0"}.get(x, x) for x in JOB]
    flag = "--xla_force_host_platform_device_count=4"
    process = start(*other, "--out", str(place / "four"), XLA_FLAGS=flag)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert runs.load(place / "four").config["provenance"]["devices"] == 4
    for path in (whole / "weights").iterdir():
        a, b = (weights.load(d / "weights" / path.name).params for d in (whole, place / "four"))
        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-5), a, b)
    name = lambda row: (row["agent"], row["seed"], row["step"])
    pairs = zip(*(sorted(untimed(d), key=name) for d in (whole, place / "four")), strict=True)
    for one, two in pairs:
        assert name(one) == name(two)
        assert one["return_mean"] == two["return_mean"]
        assert one["episode_length_mean"] == two["episode_length_mean"]
        assert float(one["q_value_mean"]) == pytest.approx(float(two["q_value_mean"]), rel=1e-4)


def test_the_length_of_a_call_changes_no_bit(whole):
    """One block at a time, and five at once."""
    small = tuple((name, agents.AGENTS[name]) for name in ("rdq", "dqn"))
    built = trainer.Program(Job("MinAtar/Breakout-v1", small, (0, 1), 1200, 600, 5), None)
    one = built.warm_up(built.start())
    assert one[0].replay.observations[:, 103].any()  # the last of 100 steps, and none after it
    assert not one[0].replay.observations[:, 104:].any()
    for i in range(5):
        one, _ = built.advance(one, 100 + 100 * i, 1)
    five, losses = built.advance(built.warm_up(built.start()), 100, 5)
    for a, b in zip(jax.tree.leaves(one[0].params), jax.tree.leaves(five[0].params), strict=True):
        np.testing.assert_array_equal(a, b)
    saved = {name: np.asarray(x) for name, x in tensors.flatten(five).items()}
    read = built.to_devices(tensors.fit(built.shapes, saved, whole))
    types = [jax.tree.map(lambda x: x.aval, state) for state in (five, one, read, built.start())]
    assert types.count(types[0]) == 4  # one program serves them all, weak types included
    assert losses.td.shape == (program.MAX_BLOCKS, 4)
    assert (losses.td[:5] > 0).all()
    assert (losses.td[5:] == 0).all()
