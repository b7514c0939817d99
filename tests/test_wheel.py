"""The wheel is complete: its commands have their data where there is no repository."""

import json
import os
import subprocess
import sys
import zipfile

import pytest
from examples_by_path import ROOT

from qduet.core import shipped

pytest.importorskip("hatchling", reason="hatchling is not installed")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    place = tmp_path_factory.mktemp("dist")
    options = "wheel --quiet --no-deps --no-build-isolation --no-index --wheel-dir"
    command = [sys.executable, "-m", "pip", *options.split(), str(place), str(ROOT)]
    subprocess.run(command, check=True)
    (built,) = place.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def qduet(wheel, tmp_path_factory):
    """Runs the wheel's command in an empty directory, and gives what it printed."""
    place, empty = tmp_path_factory.mktemp("installed"), tmp_path_factory.mktemp("empty")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(place)
    environment = {**os.environ, "PYTHONPATH": str(place)}

    def run(*words):
        command = [sys.executable, "-m", "qduet", *words]
        done = subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True)
        assert "Traceback" not in done.stderr
        assert str(ROOT) not in done.stdout + done.stderr
        return done

    run.directory = empty
    return run


def test_every_result_and_example_is_in_it(wheel):
    """What git tracks in the two folders, and nothing that lies about there."""
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard",
         *shipped.NAMES], capture_output=True, text=True,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("not a git checkout")
    with zipfile.ZipFile(wheel) as file:
        there = {name for name in file.namelist() if name.startswith("qduet/shipped/")}
    assert there == {f"qduet/shipped/{name}" for name in listed.stdout.split()}


def test_certify_and_compare_have_the_runs_of_the_paper(qduet):
    told = qduet("certify", "--json")
    assert told.returncode == 0
    assert len(told.stderr.splitlines()) == 1
    scores = [x for x in json.loads(told.stdout)["cells"] if x["measure"] == "return"]
    assert sum(cell["ours"]["n"] for cell in scores) == 5 * 3 * 30
    compared = json.loads(qduet("compare", "--json", "--resamples", "100").stdout)
    assert len(compared["games"]) == 5
    assert compared["step"] == 10_000_000


def test_watch_lists_what_there_is_and_plays_it(qduet):
    known = json.loads(qduet("watch", "--json").stdout)
    assert {"weights", "recording"} == {one["kind"] for one in known}
    played = json.loads(qduet("watch", "rdq", "Breakout", "--frames", "20", "--json").stdout)
    assert (played["label"], played["frames"]) == ("rdq", 20)
    assert (qduet.directory / played["html"]).is_file()


def test_an_example_is_listed_and_copied(qduet):
    assert "own_game" in qduet("example").stdout
    assert qduet("example", "own_game", "--out", "mine.py").returncode == 0
    original = (ROOT / "examples" / "own_game.py").read_bytes()
    assert (qduet.directory / "mine.py").read_bytes() == original
    (qduet.directory / "mine.py").write_text("edited")
    assert qduet("example", "own_game", "--out", "mine.py").returncode == 2
    assert (qduet.directory / "mine.py").read_text() == "edited"
