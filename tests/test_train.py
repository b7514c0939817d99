"""``qduet train`` from end to end, with small agents: results, seeds, interruptions, devices."""

import csv
import dataclasses
import errno
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import jax
import numpy as np
import pytest

import qduet.cli.train
from qduet import agents, checkpoint, program, provenance, resuming, runs, tensors, trainer, weights
from qduet.cli import main
from qduet.errors import InputError
from qduet.job import Job
from qduet.stopping import Stop

SMALL = {"capacity": 400, "learn_from": 100, "sync_every": 100}
JOB = ["train", "rdq", "dqn", "MinAtar/Breakout-v1", "--seeds", "2", "--steps", "1200"]
JOB += ["--evaluate-every", "600", "--episodes", "5"]
TIMES = ("elapsed_seconds", "frames_per_second")

SCRIPT = f"""
import dataclasses, sys, time
from qduet import agents, checkpoint, trainer
from qduet.cli import main
for name, agent in agents.AGENTS.items():
    agents.AGENTS[name] = dataclasses.replace(agent, **{SMALL})
trainer.CALL_SECONDS = 0.0
save = checkpoint.save
checkpoint.save = lambda *arguments: (save(*arguments), time.sleep(0.2))  # time to be interrupted
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
    programs = {}

    def build_once(job, devices):
        key = job.env_id, job.agents, job.seeds, job.episodes
        if key not in programs:
            programs[key] = program.build(job, devices)
        return programs[key]

    patch.setattr("qduet.cli.train.build", build_once)
    before = getattr(jax.config, "jax_compilation_cache_dir", None)
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
    built = qduet.cli.train.build(job, None)
    first, seen = jax.tree.map(np.asarray, built.start().params), {}
    blank = np.zeros((program.MAX_BLOCKS, 4), np.float32)

    def evaluate(params, step, check):
        seen[step] = params
        return {"return_mean": np.arange(4.0)}

    def advance(runs, step, count):
        scale = 1 if step < 600 else 10
        return runs, agents.Losses(*(blank + scale * loss for loss in (1, 2, 3)))

    planted = built._replace(
        warm_up=lambda runs: runs,
        advance=advance,
        settled=lambda runs, step: jax.tree.map(lambda x: x + step, runs.params),
        evaluate=evaluate,
    )
    rows = trainer.train(job, planted, tmp_path).rows
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
    built, counts = qduet.cli.train.build(job, None), []
    blank = np.zeros((program.MAX_BLOCKS, 4), np.float32)

    def advance(runs, step, count):
        counts.append(count)
        return runs, agents.Losses(blank, blank, blank)

    planted = built._replace(
        warm_up=lambda runs: runs,
        advance=advance,
        settled=lambda runs, step: runs.params,
        evaluate=lambda params, step, check: {"return_mean": np.zeros(4)},
    )
    assert trainer.train(job, planted, tmp_path).finished
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
        codes = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}
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
    """A deadline is a success, which says how to go on, unless nothing at all was done."""
    monkeypatch.setattr("qduet.trainer.CALL_SECONDS", 0.0)
    out, codes, before = place / "slots", [], (0, 0)
    while not (out / "weights").exists():
        stop = Impatient(len(codes) % 5)
        monkeypatch.setattr("qduet.cli.train.Stop", lambda _, stop=stop: stop)
        codes.append(main([*JOB, "--out", str(out), "--max-minutes", "9"]))
        told = capsys.readouterr().err
        if not (out / "weights").exists():
            now = standing(out)
            assert codes[-1] == (2 if now == before else 0)
            advice = "too short" if now == before else "run the same command again to continue"
            assert advice in told
            before = now
        assert len(codes) < 60
    assert codes.count(0) > 4
    assert codes.count(2) > 4
    assert_same(out, whole)


def standing(directory):
    """Step and number of rows of a directory's checkpoint."""
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


# --- What is refused, with nothing lost ----------------------------------------------------------


@pytest.fixture
def stopped(whole, tmp_path):
    """A directory with a checkpoint in the middle of the job: the end of its first half."""
    half = [*JOB, "--out", str(tmp_path / "half"), "--keep-checkpoint"]
    half[half.index("1200")] = "600"
    assert main(half) == 0
    return tmp_path / "half"


def contents(directory):
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def refusal_keeps_everything(directory, refused, arguments, told):
    before = contents(directory)
    refused([*arguments, "--out", str(directory)], told)
    assert contents(directory) == before


def test_other_checkpoints_are_refused(stopped, refused, capsys, monkeypatch):
    capsys.readouterr()
    path = checkpoint.path_of(stopped)
    good = path.read_bytes()
    for bad, told in (
        (good[:-1000], "damaged"),
        (good[:-1] + bytes([good[-1] ^ 1]), "damaged"),
        (b"", "damaged"),
    ):
        path.write_bytes(bad)
        refusal_keeps_everything(stopped, refused, JOB, told)
    path.write_bytes(good)
    here = provenance.versions()
    for name in ("qduet", "jax", "device"):
        other = {**here, name: "0.0.1"}
        monkeypatch.setattr("qduet.checkpoint.versions", lambda other=other: other)
        told = f"{name} is {here[name]} there, 0.0.1 here"
        refusal_keeps_everything(stopped, refused, JOB, told)


def test_a_checkpoint_of_other_shapes_is_refused(stopped, refused, capsys, monkeypatch):
    capsys.readouterr()
    state = json.dumps({"step": 600, "blocks": 0, "stretch_seconds": 0, "elapsed": 1, "rows": []})
    arrays, metadata = checkpoint.tensors.read(checkpoint.path_of(stopped))
    arrays["runs.replay.actions"] = arrays["runs.replay.actions"][:, :-4]
    checkpoint.tensors.write(checkpoint.path_of(stopped), arrays, {**metadata, "state": state})
    told = "'runs.replay.actions' is int8(4, 400) there, int8(4, 404) here"
    refusal_keeps_everything(stopped, refused, JOB, told)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"dqn": "dueling_dqn"}, "other settings (agent dqn is there, not here)"),
        ({"5": "6"}, "episodes is 5 there, 6 here"),
        ({"2": "5,6"}, "seeds is [0, 1] there, [5, 6] here"),
        ({"1200": "1800", "600": "900"}, "evaluate_every is 600 there, 900 here"),
        ({"1200": "600"}, "has been trained to step 1,200 already"),
    ],
)
def test_other_settings_in_the_directory_are_refused(whole, refused, change, told):
    refusal_keeps_everything(whole, refused, [change.get(x, x) for x in JOB], told)


def test_agents_in_another_order_are_told_so(whole, refused):
    swapped = {"rdq": "dqn", "dqn": "rdq"}
    told = "its agents are rdq, dqn, in that order"
    refusal_keeps_everything(whole, refused, [swapped.get(x, x) for x in JOB], told)


def small_job(steps=1200):
    small = {name: agents.AGENTS[name] for name in ("rdq", "dqn")}
    return Job("MinAtar/Breakout-v1", small, range(2), steps, 600, 5, protocol="paper")


def stopped_from_python(number, out):
    """A job that is sent a signal during its first stretch of training."""
    job, sent = small_job(), []

    def tell(progress):
        if progress.doing == "training" and not sent:
            sent.append(progress.step)
            signal.raise_signal(number)

    trainer.train(job, qduet.cli.train.build(job, None), str(out), tell=tell)


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
    assert trainer.train(job, qduet.cli.train.build(job, None), tmp_path).finished
    assert_same(tmp_path, whole)


def test_steps_can_be_lowered_while_they_are_not_taken(whole, place, tmp_path, monkeypatch):
    monkeypatch.setattr(trainer, "CALL_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt):
        stopped_from_python(signal.SIGINT, tmp_path)  # after 200 of 1,200 steps
    short = small_job(600)
    assert trainer.train(short, qduet.cli.train.build(short, None), tmp_path).finished
    assert runs.load(tmp_path).config["steps"] == 600
    first = [row for row in untimed(whole) if int(row["step"]) <= 600]
    assert untimed(tmp_path) == first


def test_steps_are_not_lowered_below_an_evaluation(whole, place, tmp_path, refused):
    """As after a kill: the checkpoint is older than the evaluations."""
    shutil.copytree(whole, tmp_path / "out")
    out = tmp_path / "out"
    arrays, metadata = checkpoint.tensors.read(checkpoint.path_of(out))
    state = {**json.loads(metadata["state"]), "step": 600}
    changed = {**metadata, "state": json.dumps(state)}
    checkpoint.tensors.write(checkpoint.path_of(out), arrays, changed)
    shorter = ["600" if x == "1200" else x for x in JOB]
    refusal_keeps_everything(out, refused, shorter, "trained to step 1,200 already")
    checkpoint.tensors.write(checkpoint.path_of(out), arrays, metadata)
    (out / runs.EVALUATIONS).unlink()  # then the checkpoint tells
    shorter += ["--max-minutes", "0.1"]  # there is no end to training that is beyond it
    refusal_keeps_everything(out, refused, shorter, "trained to step 1,200 already")


def test_a_state_comes_back_whole_and_only_to_its_job(place, tmp_path):
    job = small_job()
    built = qduet.cli.train.build(job, None)
    plain = {"step": 300, "blocks": 2, "stretch_seconds": 1.5, "elapsed": 7.25, "rows": [{"a": 1}]}
    state = checkpoint.State(built.start(), sums=np.arange(12.0).reshape(3, 4), **plain)
    checkpoint.save(tmp_path, job, state)
    found = checkpoint.load(tmp_path, job, built)
    assert {name: getattr(found, name) for name in plain} == plain
    states = (tensors.flatten((s.runs, s.sums)) for s in (found, state))
    jax.tree.map(np.testing.assert_array_equal, *states)
    with pytest.raises(InputError, match=r"other settings \(episodes is 5 there, 6 here"):
        checkpoint.load(tmp_path, dataclasses.replace(job, episodes=6), built)


def test_one_process_at_a_time(whole, refused):
    with resuming.claimed(whole):
        refusal_keeps_everything(whole, refused, JOB, "another qduet train is at work")


def test_a_lock_that_was_removed_is_no_lock(tmp_path, monkeypatch):
    """A process that waits for nothing opens the file, and only then its holder goes."""
    fcntl = pytest.importorskip("fcntl")
    path, flock, opened = tmp_path / "checkpoint" / "lock", fcntl.flock, []

    def late(file, how):
        opened.append(os.fstat(file.fileno()).st_ino)
        if len(opened) == 1:
            path.unlink()
            path.parent.rmdir()
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with resuming.claimed(tmp_path):
        assert len(opened) == 2
        with path.open() as file, pytest.raises(BlockingIOError):
            flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert not path.parent.exists()


@pytest.mark.parametrize(
    "path",
    [
        checkpoint.path_of(Path("x")),
        weights.path_of(Path("x"), "rdq", 1),
        *(Path("x", name) for name in (runs.CONFIG, runs.EVALUATIONS, runs.SUMS)),
    ],
    ids=lambda path: path.name,
)
def test_what_a_killed_process_had_begun_to_write_is_removed(tmp_path, monkeypatch, path):
    """A write that cannot tidy up: what it leaves is of its own making."""
    path = tmp_path / path

    def kill(*names):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", kill)
        patch.setattr(os, "unlink", lambda *names: None)
        with pytest.raises(Killed):
            tensors.write(path, {"a": np.zeros(3)}, {})
    (left,) = path.parent.iterdir()
    with resuming.claimed(tmp_path / "x"):
        assert not left.exists()


def test_where_there_are_no_locks_one_goes_on_without(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refuse(file, how):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with resuming.claimed(tmp_path):
        pass


def test_every_commit_that_worked_on_a_job_is_on_record(stopped):
    """The start stays the start; a change of commit is noted once, at its step."""
    start = runs.load(stopped).config["provenance"]
    assert main([*JOB, "--out", str(stopped), "--commit", "b" * 40]) == 0
    found = runs.load(stopped).config["provenance"]
    assert found == {**start, "continued": [{"commit": "b" * 40, "step": 600}]}
    config = {"provenance": found}
    assert resuming.continued(config, "b" * 40, 900) == config
    again = resuming.continued(config, start["commit"], 900)["provenance"]
    assert again["continued"][1:] == [{"commit": start["commit"], "step": 900}]
    assert again["commit"] == start["commit"]


def test_starting_over_the_record_is_of_the_new_start(whole, tmp_path, monkeypatch):
    killed_at(monkeypatch, (runs, "write_atomically"), 7, tmp_path, "--commit", "a" * 40)
    assert runs.load(tmp_path).config["provenance"]["commit"] == "a" * 40
    checkpoint.path_of(tmp_path).unlink()
    assert main([*JOB, "--out", str(tmp_path), "--commit", "b" * 40]) == 0
    found = runs.load(tmp_path).config["provenance"]
    assert found["commit"] == "b" * 40
    assert "continued" not in found


def test_a_start_that_failed_leaves_the_directory_to_other_settings(place, tmp_path):
    """Such as fewer seeds, after too many for the memory."""
    job = small_job()
    (tmp_path / runs.CONFIG).write_text(json.dumps({**job.config({}), "seeds": [0, 1, 2]}))
    found = resuming.examine(tmp_path, job, {})
    assert (found.config, found.resumes, found.finished) == (job.config({}), False, False)


@pytest.mark.parametrize(
    "change",
    [{"format": 2}, {"kind": "sweep"}, {"steps": None}, {"agents": [{}]}, {"provenance": None}],
    ids=lambda change: next(iter(change)),
)
def test_a_configuration_of_something_else_is_left_alone(place, tmp_path, change):
    job = small_job()
    (tmp_path / runs.CONFIG).write_text(json.dumps(job.config({}) | change))
    with pytest.raises(InputError, match="is not what this version of qduet train writes"):
        resuming.examine(tmp_path, job, {})


def test_a_checkpoint_without_its_configuration_is_left_alone(place, tmp_path):
    checkpoint.path_of(tmp_path).parent.mkdir()
    checkpoint.path_of(tmp_path).touch()
    with pytest.raises(InputError, match=r"has a checkpoint but no config.json; restore that"):
        resuming.examine(tmp_path, small_job(), {})


def test_a_finished_job_without_checkpoint_cannot_go_on(whole, place, refused):
    out = place / "without"
    shutil.copytree(whole, out)
    checkpoint.path_of(out).unlink()
    longer = [{"1200": "1800"}.get(x, x) for x in JOB]
    refusal_keeps_everything(out, refused, longer, "its checkpoint was not kept")


# --- Killed between two files, or robbed of one --------------------------------------------------


class Killed(BaseException):
    """Ends a command as a kill does: nothing catches it."""


def killed_at(monkeypatch, place, count, out, *options):
    """The job up to just before call `count` (from 1) of the function `place`."""
    module, name = place
    original, calls = getattr(module, name), []

    def counted(*arguments):
        calls.append(arguments)
        if len(calls) == count:
            raise Killed
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(module, name, counted)
        with pytest.raises(Killed):
            main([*JOB, "--out", str(out), *options])


@pytest.mark.parametrize(("count", "options"), [(1, ()), (3, ("--keep-checkpoint",))])
def test_killed_before_weights_are_written_they_are_written_later(
    count, options, whole, tmp_path, monkeypatch
):
    killed_at(monkeypatch, (weights, "save"), count, tmp_path, *options)
    assert checkpoint.path_of(tmp_path).exists()
    assert main([*JOB, "--out", str(tmp_path), *options]) == 0
    assert_same(tmp_path, whole)
    assert checkpoint.path_of(tmp_path).exists() == bool(options)


@pytest.mark.parametrize("count", [2, 3, 6, 9, 12])
def test_killed_between_two_files_it_ends_with_the_same_bits(count, whole, tmp_path, monkeypatch):
    """Four writings of three files: at the start, and the evaluations at 0, 600 and 1200."""
    killed_at(monkeypatch, (runs, "write_atomically"), count, tmp_path)
    assert main([*JOB, "--out", str(tmp_path)]) == 0
    assert_same(tmp_path, whole)
    assert runs.load(tmp_path).finished
    assert not (tmp_path / "checkpoint").exists()


@pytest.mark.parametrize("lost", ["weights/rdq-1.safetensors", runs.EVALUATIONS, runs.SUMS])
def test_lost_files_come_back_from_a_kept_checkpoint(lost, whole, tmp_path):
    out = shutil.copytree(whole, tmp_path / "out")
    (out / lost).unlink()
    assert main([*JOB, "--out", str(out), "--keep-checkpoint"]) == 0
    assert_same(out, whole)
    assert runs.load(out).finished


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        (runs.EVALUATIONS, lambda text: "not,a\ntable", "cannot be read"),
        (runs.EVALUATIONS, lambda text: text.replace("Breakout", "Breakouz", 1), "checksum"),
        (runs.EVALUATIONS, lambda text: "\0\ufffe" * 100_000, "cannot be read"),
        (runs.SUMS, lambda text: "", "checksum"),
        (runs.SUMS, None, "SHA256SUMS is missing"),
        (runs.CONFIG, None, "has evaluations.csv but no config.json"),
    ],
)
def test_results_that_cannot_be_read_are_left_alone(
    file, content, told, whole, tmp_path, refused, capsys
):
    out = shutil.copytree(whole, tmp_path / "out")
    checkpoint.path_of(out).unlink()
    path = out / file
    path.unlink() if content is None else path.write_text(content(path.read_text()))
    capsys.readouterr()
    refusal_keeps_everything(out, refused, JOB, told)


def test_without_its_checkpoint_an_unfinished_job_is_left_alone(
    whole, tmp_path, monkeypatch, refused, capsys
):
    killed_at(monkeypatch, (weights, "save"), 1, tmp_path)
    assert {row["step"] for row in untimed(tmp_path)} == {"0", "600"}
    checkpoint.path_of(tmp_path).unlink()
    capsys.readouterr()
    refusal_keeps_everything(tmp_path, refused, JOB, "the checkpoint to continue from is gone")


# --- Runs in other company -----------------------------------------------------------------------


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


def test_compiler_options_that_xla_does_not_know_are_left_out(monkeypatch):
    options = {"xla_cpu_no_such_option": "1", "xla_cpu_prefer_vector_width": "256"}
    monkeypatch.setattr(program, "CPU_OPTIONS", options)
    found = program.compiler_options(jax.devices("cpu")[0])
    assert found == {"xla_cpu_prefer_vector_width": "256"}


def test_five_runs_use_one_of_four_devices():
    assert [len(program.dividing([None] * 4, n)) for n in (1, 2, 3, 5, 6, 8, 90)] == [
        *(1, 2, 3, 1, 3, 4, 3)
    ]


def test_the_length_of_a_call_changes_no_bit(whole):
    """One block at a time, and five at once."""
    small = tuple((name, agents.AGENTS[name]) for name in ("rdq", "dqn"))
    built = qduet.cli.train.build(Job("MinAtar/Breakout-v1", small, (0, 1), 1200, 600, 5), None)
    one = built.warm_up(built.start())
    assert one.replay.observations[:, 103].any()  # the last of 100 steps, and none after it
    assert not one.replay.observations[:, 104:].any()
    for i in range(5):
        one, _ = built.advance(one, 100 + 100 * i, 1)
    five, losses = built.advance(built.warm_up(built.start()), 100, 5)
    for a, b in zip(jax.tree.leaves(one.params), jax.tree.leaves(five.params), strict=True):
        np.testing.assert_array_equal(a, b)
    saved = {name: np.asarray(x) for name, x in tensors.flatten(five).items()}
    read = built.place(tensors.fit(built.shapes, saved, whole))
    types = [jax.tree.map(lambda x: x.aval, state) for state in (five, one, read, built.start())]
    assert types.count(types[0]) == 4  # one program serves them all, weak types included
    assert losses.td.shape == (program.MAX_BLOCKS, 4)
    assert (losses.td[:5] > 0).all()
    assert (losses.td[5:] == 0).all()
