"""A small version of each part of ``make torture``, and what its judges call a fault."""

import random
from pathlib import Path

import pytest
from torture import crowds, damage, kills, laboratory, places, readings
from torture.child import Plan
from torture.laboratory import Outcome, judge


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return laboratory.Laboratory(tmp_path_factory.mktemp("torture"), theory=False)


def faults_of(part, lab, number):
    counts, faults = part.case(lab, number, random.Random(f"ci-{number}"))
    assert counts
    return faults


@pytest.mark.parametrize("number", range(2))
def test_a_killed_command_ends_as_if_it_had_not_been_killed(lab, number):
    """One that needs fewer file operations than before may end before its kill: then another."""
    for case in range(number, 8, 2):
        counts, faults = kills.case(lab, case, random.Random(f"ci-{case}"))
        assert faults == []
        if counts:
            return
    pytest.fail("nothing was killed")


def test_every_file_operation_has_its_kill(lab):
    """Twice: before it, and after it."""
    counts = {name: what["operations"] for name, what in kills.undisturbed(lab).items()}
    assert min(counts.values()) >= 3  # a file is flushed, renamed, and its directory flushed
    assert len(kills.places(lab)) == 2 * sum(counts.values())


@pytest.mark.parametrize("name", [*readings.KINDS])
def test_a_damaged_file_is_refused_or_left_out(lab, name):
    kinds = [*readings.KINDS]
    if name == "theory.json":
        pytest.skip("takes too long to make")
    assert faults_of(readings, lab, kinds.index(name)) == []


@pytest.mark.parametrize("table", ["", "header", None], ids=["empty", "header only", "gone"])
def test_a_job_without_its_evaluations_is_not_taken_by_another(lab, table):
    """At 9c7af6e its config and weights were written over, with exit code 0."""
    room = readings.room_for(lab, Path("job"), [])
    path = room / "job" / "evaluations.csv"
    header = path.read_text().splitlines()[0]
    path.unlink()
    if table is not None:
        path.write_text(f"{header}\n" if table else "")
    before = laboratory.files_of(room)
    outcome = laboratory.run([*laboratory.OTHER, "job"], room)
    assert judge(outcome, codes=(2,)) == []
    assert laboratory.files_of(room) == before


@pytest.mark.parametrize("name", [*places.SCENARIOS])
def test_an_unkind_machine_does_no_harm(lab, name):
    assert faults_of(places, lab, [*places.SCENARIOS].index(name)) == []


def test_two_processes_share_no_directory(lab):
    assert faults_of(crowds, lab, 1) == []


def test_four_processes_that_claim_a_directory_have_it_one_at_a_time(tmp_path):
    counts = laboratory.claims(tmp_path / "made", 4, 50)
    assert (counts["claims"], counts["double holds"], counts["odd"]) == (200, 0, 0)
    assert counts["held"] > 0


# --- The judges ----------------------------------------------------------------------------------


def ended(code, err="", peak=0):
    return Outcome(code, "", err, 1.0, peak, [])


@pytest.mark.parametrize(
    ("outcome", "kinds"),
    [
        (ended(0), []),
        (ended(2, "qduet train: out is not a directory; choose another\n"), []),
        (ended(2, "step 0: evaluating 4 runs\nqduet train: no space left; free some\n"), []),
        (ended(2, "qduet train: one\nqduet train: two\n"), ["refusal"]),
        (ended(2, ""), ["refusal"]),
        (ended(2, "qduet train: a label \x1b[31mthat colours\n"), ["refusal"]),
        (ended(None), ["hang"]),
        (ended(70, "Traceback (most recent call last):\nKeyError: 1\n"), ["traceback"]),
        (ended(0, "Traceback (most recent call last):\nKeyError: 1\n"), ["traceback"]),
        (ended(1, ""), ["traceback"]),
        (ended(-11, ""), ["traceback"]),
        (ended(0, peak=3 * 2**30), ["memory"]),
    ],
)
def test_what_is_a_fault(outcome, kinds):
    assert [fault.kind for fault in judge(outcome)] == kinds


def test_numbers_are_results_without_dates_and_digests():
    text = '{"auc": 12.345, "seeds": 30, "at": "2026-01-02T03:04:05+00:00", "x": "00ab34ef56ab78"}'
    assert laboratory.numbers(text) == {"12.345"}


def test_a_command_is_killed_where_the_plan_says(lab):
    """A report flushes its file, renames it and flushes the directory."""
    room = kills.room(lab)
    before = laboratory.run(kills.COMMANDS["report"], room)
    (place,) = (i for i, name in enumerate(before.done, 1) if name == "replace")
    (room / "made" / "report.html").unlink()
    for after in (False, True):
        outcome = laboratory.run(kills.COMMANDS["report"], room, Plan(at=place, after=after))
        assert outcome.code == -9
        assert (room / "made" / "report.html").exists() == after
        for abandoned in (room / "made").glob(".report.html.*"):  # else the next write removes it
            abandoned.unlink()


@pytest.mark.parametrize("mutation", [*damage.RAW, damage.json_value])
def test_mutations_change_something(mutation):
    content = b'{"a": [1.25, "text"], "b": {"c": null}}'
    changed = {mutation(content, random.Random(seed)) for seed in range(20)}
    assert len(changed - {content}) >= 2
