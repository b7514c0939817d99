"""Directories that ``qduet train`` continues, and those that it refuses, with nothing lost."""

import dataclasses
import json
import shutil

import jax
import numpy as np
import pytest
from small_jobs import JOB, assert_same, small_job, untimed

from qduet.cli import main
from qduet.core import provenance, tensors
from qduet.core.errors import InputError
from qduet.jobs import checkpoint, resuming, trainer, weights
from qduet.results import runs


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
        monkeypatch.setattr("qduet.jobs.checkpoint.versions", lambda other=other: other)
        told = f"{name} is {here[name]} there, 0.0.1 here"
        refusal_keeps_everything(stopped, refused, JOB, told)


def test_a_checkpoint_of_other_shapes_is_refused(stopped, refused, capsys, monkeypatch):
    capsys.readouterr()
    state = json.dumps({"step": 600, "blocks": 0, "stretch_seconds": 0, "elapsed": 1, "rows": []})
    arrays, metadata = checkpoint.tensors.read(checkpoint.path_of(stopped))
    arrays["runs.0.replay.actions"] = arrays["runs.0.replay.actions"][:, :-4]
    checkpoint.tensors.write(checkpoint.path_of(stopped), arrays, {**metadata, "state": state})
    told = "'runs.0.replay.actions' is int8(4, 400) there, int8(4, 404) here"
    refusal_keeps_everything(stopped, refused, JOB, told)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"dqn": "dueling_dqn"},
            "other settings (agents is rdq, dqn there, rdq, dueling_dqn here)",
        ),
        ({"rdq": "dqn", "dqn": "rdq"}, "agents is rdq, dqn there, dqn, rdq here"),
        ({"5": "6"}, "episodes is 5 there, 6 here"),
        ({"2": "5,6"}, "seeds is [0, 1] there, [5, 6] here"),
        ({"1200": "1800", "600": "900"}, "evaluate_every is 600 there, 900 here"),
        ({"1200": "600"}, "has been trained to step 1,200 already"),
    ],
)
def test_other_settings_in_the_directory_are_refused(whole, refused, change, told):
    refusal_keeps_everything(whole, refused, [change.get(x, x) for x in JOB], told)


def test_the_record_stays_that_of_the_start(stopped):
    """What the agents' settings go by does not matter, and is not written anew."""
    config = json.loads((stopped / runs.CONFIG).read_text())
    (stopped / runs.CONFIG).write_text(json.dumps(config | {"protocol": "reference"}))
    assert main([*JOB, "--out", str(stopped)]) == 0
    assert runs.load(stopped).config["protocol"] == "reference"


def test_a_state_comes_back_whole_and_only_to_its_job(place, tmp_path):
    job = small_job()
    built = trainer.Program(job, None)
    known = {"game": "Breakout", "agent": "rdq", "seed": 1, "step": 0, "return_mean": 0.5}
    row = dict.fromkeys(runs.COLUMNS) | known
    plain = {"step": 300, "blocks": 2, "stretch_seconds": 1.5, "elapsed": 7.25, "rows": [row]}
    state = checkpoint.State(built.start(), sums=np.arange(12.0).reshape(3, 4), **plain)
    checkpoint.save(tmp_path, job, state)
    found = checkpoint.load(tmp_path, job, built)
    assert {name: getattr(found, name) for name in plain} == plain
    states = (tensors.flatten((s.runs, s.sums)) for s in (found, state))
    jax.tree.map(np.testing.assert_array_equal, *states)
    with pytest.raises(InputError, match=r"other settings \(episodes is 5 there, 6 here"):
        checkpoint.load(tmp_path, dataclasses.replace(job, episodes=6), built)
    forged = {"step": "300", "blocks": 0.5, "elapsed": None, "rows": [{"a": 1}]}
    rows = [row | {"seed": 7}, row | {"episodes_cut": "3"}, known]
    forged_rows = [("rows", [each]) for each in rows]
    for name, value in [*forged.items(), *forged_rows, ("stretch_seconds", 0)]:
        checkpoint.save(tmp_path, job, dataclasses.replace(state, **{name: value}))
        with pytest.raises(InputError, match="is damaged"):
            checkpoint.load(tmp_path, job, built)


def test_a_configuration_alone_belongs_to_its_job(place, tmp_path):
    job = small_job()
    (tmp_path / runs.CONFIG).write_text(json.dumps(job.config({})))
    found = resuming.examine(tmp_path, job, {})
    assert (found.config, found.resumes, found.finished) == (job.config({}), False, False)
    with pytest.raises(InputError, match=r"seeds is \[0, 1\] there, \[0, 1, 2\] here"):
        resuming.examine(tmp_path, dataclasses.replace(job, seeds=(0, 1, 2)), {})


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"kind": "sweep"},
        {"steps": None},
        {"steps": "1200"},
        {"evaluate_every": None},
        {"agents": [{}]},
        {"agents": [{"label": ["x"]}]},
        {"provenance": None},
    ],
    ids=str,
)
def test_a_configuration_of_something_else_is_left_alone(place, tmp_path, change):
    job = small_job()
    (tmp_path / runs.CONFIG).write_text(json.dumps(job.config({}) | change))
    with pytest.raises(InputError, match="is not what this version of qduet train writes"):
        resuming.examine(tmp_path, job, {})


def test_a_start_that_did_nothing_leaves_the_directory_to_other_settings(place, tmp_path, refused):
    out = str(tmp_path / "out")
    refused([*JOB, "--out", out, "--max-minutes", "1e-9"], "is too short")
    assert main([*JOB, "--out", out, "--seeds", "5-6"]) == 0


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


# --- One process at a time ------------------------------------------------------------------------


def test_one_process_at_a_time(whole, refused):
    with resuming.claimed(whole):
        refusal_keeps_everything(whole, refused, JOB, "another qduet train is at work")


# --- What is on record ----------------------------------------------------------------------------


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
    killed_at(monkeypatch, (runs, "write_atomically"), 4, tmp_path, "--commit", "a" * 40)
    assert runs.load(tmp_path).config["provenance"]["commit"] == "a" * 40
    checkpoint.path_of(tmp_path).unlink()
    assert main([*JOB, "--out", str(tmp_path), "--commit", "b" * 40]) == 0
    found = runs.load(tmp_path).config["provenance"]
    assert found["commit"] == "b" * 40
    assert "continued" not in found


# --- Killed between two files, or robbed of one ---------------------------------------------------


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


@pytest.mark.parametrize("count", [2, 3, 4, 6, 9])
def test_killed_between_two_files_it_ends_with_the_same_bits(count, whole, tmp_path, monkeypatch):
    """Three writings of three files: the evaluations at 0, 600 and 1200."""
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
