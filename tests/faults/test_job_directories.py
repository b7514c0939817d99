"""Directories of jobs after kills, losses and hostile files: nothing is lost, one is at work."""

import errno
import os
import shutil
import subprocess
import sys

import jax
import numpy as np
import pytest

from qduet.agents import AGENTS, make_agent
from qduet.core import files, machine, tensors
from qduet.core.errors import InputError
from qduet.jobs import Job, checkpoint, program, resuming, train, trainer, weights
from qduet.results import runs

SMALL = {"capacity": 200, "learn_from": 100, "sync_every": 100}


def small(agent="rdq", **settings):
    agents = {agent: AGENTS[agent].replace(**SMALL)}
    return Job("MinAtar/Breakout-v1", agents, (0,), 200, 200, 2, **settings)


@pytest.fixture(scope="module", autouse=True)
def one_program(tmp_path_factory):
    """The job is compiled once for all tests here."""
    built, before = {}, getattr(jax.config, "jax_compilation_cache_dir", None)
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    build = lambda job, devices: built.setdefault(job.agents, program.Program(job, devices))
    patch.setattr(trainer, "Program", build)
    yield
    jax.config.update("jax_compilation_cache_dir", before)
    patch.undo()


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A finished job with its checkpoint."""
    out = tmp_path_factory.mktemp("kept") / "out"
    assert train(small(), out, keep_checkpoint=True).finished
    return out


@pytest.fixture
def finished(kept, tmp_path):
    """A finished job."""
    out = shutil.copytree(kept, tmp_path / "out")
    checkpoint.remove(out)
    return out


def contents(directory):
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


# --- Whose directory it is ------------------------------------------------------------------------


@pytest.mark.parametrize("left", [None, b"", "header"], ids=["gone", "empty", "header"])
@pytest.mark.parametrize("agent", ["rdq", "dqn"])
def test_without_evaluations_a_finished_directory_is_not_taken_over(finished, left, agent):
    """Neither by another job nor by the same, which would lose its weights."""
    table = finished / runs.EVALUATIONS
    header = table.read_bytes().splitlines(keepends=True)[0]
    table.unlink() if left is None else table.write_bytes(header if left == "header" else left)
    before = contents(finished)
    with pytest.raises(InputError):
        train(small(agent), finished)
    assert contents(finished) == before


@pytest.mark.parametrize("gone", [[runs.CONFIG], [runs.CONFIG, runs.EVALUATIONS, runs.SUMS]])
def test_weights_without_settings_are_left_alone(finished, gone):
    for name in gone:
        (finished / name).unlink()
    before = contents(finished)
    with pytest.raises(InputError, match=r"but no config\.json"):
        train(small(), finished)
    assert contents(finished) == before


def test_a_start_that_was_killed_leaves_the_directory_to_any_job(tmp_path, monkeypatch):
    """Before the first evaluation is done, nothing says whose it is."""
    with monkeypatch.context() as patch:
        patch.setattr(trainer._Loop, "_evaluate", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(small(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [resuming.LOCK]
    assert resuming.examine(tmp_path, small("dqn"), {}).resumes is False


def test_killed_between_settings_and_evaluations_one_is_told_to_go_on(tmp_path, monkeypatch):
    def write_one(path, content, written=[]):  # noqa: B006
        if written:
            raise ZeroDivisionError
        written.append(files.write_atomically(path, content))

    with monkeypatch.context() as patch:
        patch.setattr(runs, "write_atomically", write_one)
        with pytest.raises(ZeroDivisionError):
            train(small(), tmp_path)
    with pytest.raises(InputError, match="command again"):
        runs.load(tmp_path)
    with pytest.raises(InputError, match="other settings"):
        train(small("dqn"), tmp_path)
    assert train(small(), tmp_path).finished


def test_rows_that_a_kill_left_are_made_again(kept, tmp_path):
    out = shutil.copytree(kept, tmp_path / "out")
    (out / runs.SUMS).write_text("")
    with pytest.raises(InputError, match="command again"):
        runs.load(out)
    assert train(small(), out, keep_checkpoint=True).finished
    assert runs.load(out).finished


@pytest.mark.parametrize("keep", [True, False])
def test_killed_just_before_its_checkpoint_is_removed(keep, kept, tmp_path, monkeypatch):
    """A later call removes it, unless it was to be kept."""
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "remove", lambda directory: 1 / 0)
        if keep:
            train(small(), tmp_path, keep_checkpoint=True)
        else:
            with pytest.raises(ZeroDivisionError):
                train(small(), tmp_path)
    assert checkpoint.path_of(tmp_path).exists()
    assert train(small(), tmp_path).was_finished
    assert checkpoint.path_of(tmp_path).exists() == keep
    assert (tmp_path / checkpoint.FOLDER).exists() == keep


def test_another_number_of_threads_is_refused(kept, monkeypatch):
    """It would change the rounding of products; the line says how to have the same number."""
    built = trainer.Program(small(), None)
    here = machine.threads()
    monkeypatch.setenv("NPROC", str(here + 1))
    with pytest.raises(InputError, match=rf"{here} CPU threads.*{here + 1}.*NPROC={here} "):
        checkpoint.load(kept, small(), built)
    monkeypatch.setenv("NPROC", str(here))
    assert checkpoint.load(kept, small(), built).step == 200
    assert runs.load(kept).config["provenance"]["threads"] == here


def test_a_table_from_before_a_column_was_added_is_shown(finished):
    """At c84f437 the command ended with a KeyError."""
    job, found = small(), runs.load(finished)
    rows = train(job, finished).rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "COLUMNS", runs.KEYS + runs.PUBLISHED)
        runs.write(finished, found.config, rows)
    again = train(job, finished).rows
    assert [row["return_mean"] for row in again] == [row["return_mean"] for row in rows]
    assert {row["episodes_cut"] for row in again} == {None}


# --- Locks and temporary files --------------------------------------------------------------------

CLAIMS = """
import os, sys
from pathlib import Path
from qduet.core.errors import InputError
from qduet.jobs.resuming import claimed
directory, inside = Path(sys.argv[1]), sys.argv[1] + "-inside"

def claims():
    for _ in range(2500):
        try:
            with claimed(directory):
                os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
                os.unlink(inside)
        except InputError as error:
            assert "another qduet train is at work" in str(error), error

for _ in range(4):
    if os.fork() == 0:
        try:
            claims()
        except BaseException as error:
            print(repr(error))
            os._exit(1)
        os._exit(0)
sys.exit(sum(os.wait()[1] for _ in range(4)))
"""


def test_four_processes_never_hold_one_directory_at_once(tmp_path):
    """10,000 claims."""
    command = [sys.executable, "-W", "ignore", "-c", CLAIMS, str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, "")
    assert os.listdir(tmp_path / "out") == [resuming.LOCK]


@pytest.mark.parametrize(
    ("code", "goes_on"),
    [
        *[(code, True) for code in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)],
        *[(code, False) for code in (errno.EACCES, errno.EAGAIN, errno.EIO, errno.EINVAL)],
    ],
)
def test_only_a_file_system_without_locks_means_no_lock(tmp_path, monkeypatch, code, goes_on):
    fcntl = pytest.importorskip("fcntl")

    def refuse(file, how):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuse)
    if goes_on:
        with resuming.claimed(tmp_path):
            return
    with pytest.raises(InputError), resuming.claimed(tmp_path):
        pytest.fail("it began")


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path):
    (tmp_path / "precious").write_text("all of it")
    (tmp_path / resuming.LOCK).symlink_to("precious")
    with pytest.raises(InputError, match=r"cannot lock"), resuming.claimed(tmp_path):
        pytest.fail("it began")
    assert (tmp_path / "precious").read_text() == "all of it"


def test_what_a_killed_process_had_begun_to_write_is_removed_by_the_next(tmp_path):
    """A living one keeps its own."""
    path = tmp_path / "state.safetensors"
    script = f"import os; from qduet.core.files import replacing; from pathlib import Path\n\
with replacing(Path({str(path)!r})) as file: file.write(b'x' * 99); file.flush(); os.abort()"
    subprocess.run([sys.executable, "-c", script], capture_output=True)
    assert len(os.listdir(tmp_path)) == 1
    with files.replacing(path) as file:
        (begun,) = tmp_path.iterdir()
        tensors.write(path, {"a": np.zeros(3)}, {})
        assert begun.exists()
        file.write(b"later")
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"later"


# --- Labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["../x", "a/b", "x" * 201, "ä" * 101, "\x1b[2J", ""])
def test_a_label_that_no_file_can_have_is_refused_before_training(label, finished):
    with pytest.raises(InputError) as told:
        Job("MinAtar/Breakout-v1", {label: make_agent("rdq")}, (0,))
    assert str(told.value).isprintable()
    found = runs.load(finished)
    agents = [{**found.config["agents"][0], "label": label}]
    rows = [{"game": "Breakout", "agent": label, "seed": 0, "step": 200}]
    runs.write(finished, {**found.config, "agents": agents}, rows)
    with pytest.raises(InputError):
        runs.load(finished)


def test_the_longest_label_can_be_written(tmp_path):
    path = weights.path_of(tmp_path, "x" * runs.LONGEST_LABEL, 2**32 - 1)
    files.write_atomically(path, b"all of it")
    assert path.read_bytes() == b"all of it"


def test_terminal_escapes_are_shown_in_errors_and_tables(capsys):
    from qduet.core.tables import Table

    assert str(InputError("label '\x1b[2J\n'")) == r"label '\x1b[2J\n'"
    Table("t", ("agent", "x"), [("\x1b[31mred", "1")]).show()
    assert "\x1b" not in (out := capsys.readouterr().out)
    assert r"\x1b[31mred" in out
