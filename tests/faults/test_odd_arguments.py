"""Arguments that are odd but possible: ``--steps=--``, modules that fail or hide Python's own."""

import subprocess
import sys

import pytest

from qduet.show.report import sources


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["tabular", "q_learning", "--record-every=--"], "--record-every"),
        (["theory", "--mdps", "1", "--claim=--"], "--claim"),
        (["train", "rdq", "MinAtar/Breakout-v1", "--beta=--", "--out", "nowhere"], "--beta"),
        (["report", "--out=--"], "--out"),
        (["bench", "--games=--"], "--games"),
    ],
)
def test_two_dashes_are_no_value(arguments, option, refused):
    refused(arguments, f"{option}: needs a value")


def test_an_empty_text_is_no_plan(refused):
    refused(["sweep", ""], "PLAN or DIR is empty")
    refused(["sweep", "status", ""], "PLAN or DIR is empty")


def test_no_problem_is_as_small_as_that(refused):
    refused(["bench", "--scaling", "--states", "2"], "--states must be 10 or more")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["certify", "--at", "5"], "--at 5"),
        (["certify", "--markdown", "file/x.md"], "file"),
        (["compare", "--at", "5"], "--at 5"),
        (["compare", "--figures", "file/x", "--resamples", "100"], "file"),
        (["report", "-o", "file/x.html"], "file"),
    ],
)
def test_a_refusal_without_directories_is_one_line(arguments, told, refused, tmp_path, monkeypatch):
    """What is shown by default is said only once it is shown."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    refused(arguments, told)


@pytest.mark.parametrize(
    "command",
    ["train rdq MinAtar/Breakout-v1 --steps 1000", "sweep plan.toml", "watch dqn Freeway"],
)
def test_a_file_is_no_directory(command, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    plan = 'environments = ["MinAtar/Breakout-v1"]\nsteps = 1_000\n[[agents]]\nname = "rdq"\n'
    (tmp_path / "plan.toml").write_text(plan)
    refused([*command.split(), "--out", "file"], "file is a file; give a directory")


def test_a_report_of_the_whole_disk_is_refused(refused, tmp_path, monkeypatch):
    monkeypatch.setattr("qduet.show.report.sources.MOST_FOLDERS", 3)
    for name in "abc":
        (tmp_path / name).mkdir()
    refused(["report", str(tmp_path)], "holds more than 3 directories")


def test_the_folders_of_each_directory_are_counted_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("qduet.show.report.sources.MOST_FOLDERS", 3)
    for name in "ab":
        (tmp_path / name / "c").mkdir(parents=True)
    assert sources.find([tmp_path / "a", tmp_path / "b"]).empty


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("import no_such_package", "no_such_package"),
        ("1 +", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError"),
        ("raise SystemExit(0)", "SystemExit"),
    ],
)
def test_a_module_that_fails_is_one_line(content, told, refused, tmp_path, monkeypatch):
    (tmp_path / "game_that_fails.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    refused(["--import", "game_that_fails", "report"], told)


def test_imports_do_not_put_the_directory_before_python_itself(tmp_path):
    """A file that is called like a module of Python's is not imported in its place.

    These are not imported before the user's modules are.
    """
    for name in ("csv", "zipfile", "numpy"):
        (tmp_path / f"{name}.py").write_text("print('taken over'); raise SystemExit(3)")
    (tmp_path / "my_game.py").write_text("print('imported')")
    code = "import sys; del sys.path[0]; from qduet.cli import main; sys.exit(main(sys.argv[1:]))"
    ended = subprocess.run(
        [sys.executable, "-c", code, "--import", "my_game", "tabular", "no_rule"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout) == (2, "imported\n")
    assert "no_rule" in ended.stderr
