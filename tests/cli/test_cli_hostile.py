"""The command where the machine is unkind: no room, no memory, no terminal, odd names and files."""

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from qduet.cli import command, main

TINY = ["tabular", "q_learning", "--actions", "2", "--seeds", "1", "--steps", "100"]
LONG = "x" * 300
NESTED = "[" * 200_000


def run_qduet(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "qduet", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        **options,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "rdq", "MinAtar/Breakout-v1", "--out", ""],
        ["reproduce", "figure2", "--out", ""],
        ["certify", ""],
        ["watch", ""],
        ["compare", ""],
        ["report", ""],
        ["report", "--out", ""],
    ],
)
def test_an_empty_text_is_no_directory(refused, tmp_path, monkeypatch, arguments):
    """Such as a variable that a script did not set; and not the current directory."""
    monkeypatch.chdir(tmp_path)
    refused(arguments, "an empty text names no file or directory")
    assert not [*tmp_path.iterdir()]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_output_that_finds_no_room_is_one_line():
    with open("/dev/full", "w") as full:
        ended = run_qduet(*TINY, stdout=full)
    assert ended.returncode == 2
    assert ended.stderr == "qduet tabular: [Errno 28] No space left on device\n"


def test_an_error_of_its_own_has_a_code_of_its_own(monkeypatch, capsys):
    """1 is what qduet certify says where something differs."""

    def fails(argv=None):
        raise KeyError("a fault")

    monkeypatch.setattr("qduet.cli.main", fails)
    with pytest.raises(SystemExit) as ended:
        command()
    assert ended.value.code == 70
    assert "KeyError: 'a fault'" in capsys.readouterr().err


@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_a_closed_output_is_no_error(extra):
    closing = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "qduet", *TINY, *extra]
    ended = subprocess.run(closing, stderr=subprocess.PIPE, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [TINY, ["tabular", "--help"]])
def test_what_the_encoding_lacks_is_replaced(arguments):
    ended = run_qduet(
        *arguments, stdout=subprocess.PIPE, env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "?" in ended.stdout


@pytest.mark.parametrize(
    "arguments",
    [["watch", LONG], ["compare", LONG], ["certify", LONG], ["report", LONG]],
    ids=lambda arguments: arguments[0],
)
def test_a_name_too_long_for_a_file_is_one_line(arguments, refused):
    refused(arguments, "File name too long")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 7 EiB"),
        RuntimeError("RESOURCE_EXHAUSTED: Unable to allocate 7 EiB"),
        RuntimeError("INTERNAL: Out of memory; Unable to allocate 7 EiB"),
    ],
)
def test_too_little_memory_is_one_line(error, refused, monkeypatch):
    def run(args):
        raise error

    monkeypatch.setattr("qduet.cli.tabular.run", run)
    refused(TINY, "not enough memory")


def test_other_errors_are_not_hidden(monkeypatch):
    def run(args):
        raise RuntimeError("a bug")

    monkeypatch.setattr("qduet.cli.tabular.run", run)
    with pytest.raises(RuntimeError, match="a bug"):
        main(TINY)


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "no room"), PermissionError(13, "no room", "some/file")]
)
def test_what_the_system_refuses_is_one_line(error, refused, monkeypatch):
    def run(args):
        raise error

    monkeypatch.setattr("qduet.cli.tabular.run", run)
    refused(TINY, error.filename or "no room")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["theory", "--mdps", "1e30"], "--mdps: '1e30' is more than 1,000,000"),
        (["watch", "w", "--episode-seed", "1e40"], "--episode-seed: '1e40' is more than"),
        (["watch", "w", "--fps", "0.001"], "--fps: '0.001' is not a number in [0.1, 50]"),
        (["play", "MinAtar/Breakout-v1", "--fps", "0.001"], "is not a number in [0.1, 60]"),
        (["conformance", "qduet", "--seed", "1e10"], "--seed: '1e10' is more than"),
        (["tabular", "q_learning", "--mdp", "nosuch:Lake-v1"], "No module named 'nosuch'"),
        (["train", "rdq", "MinAtar/Breakout-v1", "--seeds", "1e20"], "--seeds: '1e20'"),
        (["train", "rdq", "MinAtar/Breakout-v1", "--seeds", "0-9" + "9" * 30], "--seeds"),
        (["bench", "--games", "Seaquest"], "--games is an option of --minatar"),
        (["bench", "--minatar", "--runs", "3"], "leave it out, or measure --deep"),
    ],
)
def test_numbers_and_options_that_cannot_be_meant(arguments, told, refused):
    refused(arguments, told)


def test_json_nested_without_end_is_refused(refused, tmp_path):
    problem = tmp_path / "problem.json"
    problem.write_text(NESTED)
    refused(["theory", "--mdp", str(problem)], "problem.json is damaged")
    (tmp_path / "config.json").write_text(NESTED)
    (tmp_path / "evaluations.csv").write_text("")
    (tmp_path / "theory.json").write_text(NESTED)
    page = tmp_path / "page.html"
    refused(["report", str(tmp_path), "-o", str(page)], "nothing could be read")
    assert not page.exists()


def test_a_name_in_a_problem_is_text(tmp_path, capsys):
    from qduet.tabular.mdp import four_state
    from qduet.theory.problems import problem_json, problem_of

    written = json.loads(problem_json(problem_of(four_state("dueling", 2))))
    path = tmp_path / "problem.json"
    path.write_text(json.dumps({**written, "name": "[/]"}))
    assert main(["theory", "--mdp", str(path), "--claim", "qvmax_bias"]) == 0
    assert "every claim holds on [/] (" in capsys.readouterr().out
    path.write_text(json.dumps({**written, "seed": -1}))
    assert main(["theory", "--mdp", str(path)]) == 2
    assert "seed must be at least 0" in capsys.readouterr().err


CHILDREN = Path(f"/proc/self/task/{os.getpid()}/children")


@pytest.mark.skipif(not CHILDREN.exists(), reason="reads Linux's list of children")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_workers_leave_with_their_parent(number):
    """They hold its standard error: that is at its end only when all of them are gone."""
    process = subprocess.Popen(
        [sys.executable, "-m", "qduet", "theory", "--mdps", "3000", "--workers", "2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        deadline = time.monotonic() + 120
        while len(started := children.read_text().split()) < 3 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(started) == 3, "two workers, and what multiprocessing starts with them"
        time.sleep(1.0)  # so that they are up
        process.send_signal(number)
        process.communicate(timeout=60)
        assert process.returncode == (130 if number == signal.SIGINT else -number)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
