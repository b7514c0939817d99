"""Directories of runs that lack a column, or that cannot be read."""

import hashlib
import os
from pathlib import Path

import numpy as np
import planted
import pytest
from pages import read

from qduet.results import runs


@pytest.fixture
def directory(tmp_path):
    return planted.game(tmp_path / "runs", "Breakout", np.random.default_rng(0), seeds=(0, 1))


def without_column(directory, column):
    """Takes a column out of the table, and makes the checksums anew."""
    path = directory / runs.EVALUATIONS
    lines = [line.split(",") for line in path.read_text().splitlines()]
    at = lines[0].index(column)
    path.write_text("".join(",".join(line[:at] + line[at + 1 :]) + "\n" for line in lines))
    digest = lambda name: hashlib.sha256((directory / name).read_bytes()).hexdigest()
    sums = [f"{digest(name)}  {name}\n" for name in (runs.CONFIG, runs.EVALUATIONS)]
    (directory / runs.SUMS).write_text("".join(sums))


@pytest.mark.parametrize("column", ["game", "agent", "seed", "step", "return_mean"])
@pytest.mark.parametrize("command", ["compare", "certify", "watch"])
def test_a_table_without_a_column_is_refused_in_one_line(command, column, directory, refused):
    without_column(directory, column)
    refused([command, str(directory)], str(directory))


def test_a_directory_that_cannot_be_read_is_not_passed_over(directory, refused, monkeypatch):
    """A comparison without its runs would look complete."""
    (directory.parent / "closed").mkdir()
    exists = Path.exists

    def deny(path):
        if "closed" in path.parts:
            raise PermissionError(13, "Permission denied", str(path))
        return exists(path)

    monkeypatch.setattr(Path, "exists", deny)
    refused(["compare", str(directory.parent)], "closed")


def test_a_directory_that_cannot_be_listed_is_named_on_the_page(directory, monkeypatch):
    """At 9c7af6e the page said nothing of it."""
    closed = directory.parent / "closed"
    closed.mkdir()
    scandir = os.scandir

    def deny(path):
        if Path(path) == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", deny)
    (problem,) = read([directory.parent])[0].problems
    assert str(closed) in problem
