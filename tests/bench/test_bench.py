"""`qduet bench`: readings are taken, absent implementations are named."""

import json
import sys

import pytest

from qduet.bench import minatar
from qduet.cli import main


@pytest.mark.parametrize("terminal", [False, True])
def test_json_has_every_reading(terminal, capsys, monkeypatch):
    """With nothing else installed: ours twice, the three others absent."""
    monkeypatch.setattr("qduet.bench.minatar.installed_version", lambda package: None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    arguments = ["--games", "Breakout", "--batch", "4e0", "--seconds", "0.01"]
    assert main(["bench", "--minatar", *arguments, "--json"]) == 0
    printed = capsys.readouterr()
    counts = ["1 reading", *(f"{n} readings" for n in (2, 3, 4, 5)), ""]
    assert printed.err == ("\r".join(counts) if terminal else "")
    document = json.loads(printed.out)
    assert document["section"] == "minatar"
    speeds = {
        (r["implementation"], r["observation"]): r["steps_per_second"] for r in document["readings"]
    }
    assert speeds[("qduet", "packed")] > 1000
    assert speeds[("qduet", "dense")] > 1000
    assert [name for (name, _), speed in speeds.items() if speed is None] == [
        "minatar", "gymnax", "pgx",
    ]  # fmt: skip
    compiled = [r["compile_seconds"] for r in document["readings"] if r["compile_seconds"]]
    assert len(compiled) == 2


@pytest.mark.parametrize("name", ["gymnax", "minatar"])
def test_a_peer_that_is_installed_is_read(name):
    taken = minatar.read(name, "dense", "Breakout", 1, 0.01)
    assert taken.steps_per_second > 100
    assert taken.version[0].isdigit()


def test_rows_compare_with_the_faster_port(capsys):
    reading = lambda name, form, batch, speed, seconds: minatar.Reading(
        name, "1", form, "Breakout", batch, speed, seconds
    )
    taken = [
        reading("minatar", "dense", 1, 100e3, None),
        reading("qduet", "packed", 1024, 6e6, 1.5),
        reading("qduet", "dense", 1024, 3e6, 1.0),
        reading("gymnax", "dense", 1024, 2e6, 3.0),
        reading("pgx", "dense", 1024, 1e6, 9.0),
    ]
    minatar.show(taken)
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "Breakout" in line]
    shown = ["Breakout", "1,024", "6,000", "3,000", "2,000", "1,000", "100", "3.0×", "1.5", "s"]
    assert row.split() == shown, "the compilation is of our own"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--games", "Pong"], "unknown game 'Pong'"),
        (["--batch", "0"], "--batch: '0' is not a whole number of at least 1"),
        (["--seconds", "0"], "--seconds: '0' is not a number in (0, inf)"),
        (["--trials", "1.5"], "--trials: '1.5' is not a whole number of at least 1"),
    ],
)
def test_bad_input(refused, arguments, told):
    refused(["bench", "--minatar", *arguments], told)
