"""Damaged files, read by every command that reads such a file.

With the checksum as it was, a command must refuse the file, leave it out, or show the same as
before (where the damage changes nothing that is read). With a checksum computed anew the numbers
may be others, but the command must end as it should. `qduet train` in a damaged directory either
refuses, and leaves every file as it is, or ends with the results of an undisturbed job.
"""

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from torture import damage
from torture.damage import Mutation
from torture.laboratory import (
    OTHER,
    TRAIN,
    Fault,
    Laboratory,
    Outcome,
    differing,
    files_of,
    judge,
    numbers,
    results_of,
    run,
)

REPORT = ["report", "{}", "-o", "seen.html"]
CERTIFY = ["certify", "figure6", "--reproduced", "out", "--json"]
COMPARE = ["compare", "figure6", "--resamples", "100", "--json"]
WATCH = ["watch", "{}", "--frames", "20", "--out", "seen", "--json"]
WATCH_FILE = ["watch", "watch/breakout-rdq-0-step400-episode0.json", "--out", "seen", "--json"]
SAME, TAKEN = [*TRAIN, "{}"], [*OTHER, "{}"]


class Kind(NamedTuple):
    """A kind of file: where specimens are, and how they are changed and read."""

    specimens: tuple[str, ...]
    """Paths below the laboratory's specimens; ``*`` stands for any name."""
    commands: tuple[list[str], ...]
    """``{}`` stands for the specimen's first folder."""
    structured: Mutation
    checksum: Callable[[bytes], bytes] | None
    """How its own checksum is made anew; None: it is in SHA256SUMS, or there is none."""


FULL, JOB, STOPPED = "figure6/breakout", "job", "stopped"
_JSON = (damage.json_value, damage.json_checksum)
_TENSORS = (damage.tensor_header, damage.tensor_checksum)

KINDS = {
    "config of full runs": Kind(
        (f"{FULL}/config.json",), (CERTIFY, COMPARE, REPORT), damage.json_value, None
    ),
    "evaluations of full runs": Kind(
        (f"{FULL}/evaluations.csv",), (CERTIFY, COMPARE, REPORT), damage.csv_cell, None
    ),
    "config of a job": Kind(
        (f"{JOB}/config.json", f"{STOPPED}/config.json"),
        (SAME, TAKEN, WATCH, REPORT),
        damage.json_value,
        None,
    ),
    "evaluations of a job": Kind(
        (f"{JOB}/evaluations.csv", f"{STOPPED}/evaluations.csv"),
        (SAME, TAKEN, WATCH, REPORT),
        damage.csv_cell,
        None,
    ),
    "SHA256SUMS": Kind(
        (f"{FULL}/SHA256SUMS", f"{JOB}/SHA256SUMS"), (REPORT, SAME, WATCH), damage.insert, None
    ),
    "weights": Kind((f"{JOB}/weights/rdq-0.safetensors",), (WATCH,), *_TENSORS),
    "checkpoint": Kind((f"{STOPPED}/checkpoint/state.safetensors",), (SAME, TAKEN), *_TENSORS),
    "curves": Kind(("out/figure5/actions-*/*.npz",), (REPORT,), damage.npz_array, lambda x: x),
    "experiment.json": Kind(("out/figure5/experiment.json",), (REPORT,), *_JSON),
    "settings.json": Kind(("out/settings.json",), (REPORT, CERTIFY), *_JSON),
    "summary.json": Kind(("out/figure5/summary.json",), (REPORT, CERTIFY), *_JSON),
    "last-run.json": Kind(("out/last-run.json",), (REPORT,), *_JSON),
    "charts": Kind(
        ("out/figure4.json", "theory/rates.json", "theory/ring.json"), (REPORT,), *_JSON
    ),
    "theory.json": Kind(("theory/theory.json",), (REPORT,), *_JSON),
    "recording": Kind(("watch/*-episode0.json",), (REPORT, WATCH_FILE), *_JSON),
}


def case(lab: Laboratory, number: int, generator: random.Random) -> tuple[Counter, list[Fault]]:
    """One damaged file, read by one command; the kinds take turns."""
    name = [*KINDS][number % len(KINDS)]
    kind = KINDS[name]
    found = [path for pattern in kind.specimens for path in sorted(lab.specimens.glob(pattern))]
    if not found:
        return Counter(), []
    path = generator.choice(found).relative_to(lab.specimens)
    arguments = generator.choice(kind.commands)
    anew = generator.random() < 0.4
    mutation = (
        kind.structured if anew and generator.random() < 0.8 else generator.choice(damage.RAW)
    )
    room = room_for(lab, path, arguments)
    arguments = [word.format(path.parts[0]) for word in arguments]
    content = (room / path).read_bytes()
    changed = mutation(content, generator)
    if anew and kind.checksum is not None:
        changed = kind.checksum(changed)
    (room / path).write_bytes(changed)
    if anew and kind.checksum is None and path.name != "SHA256SUMS":
        damage.sums((room / path).parent)
    before = files_of(room / path.parts[0])
    outcome = run(arguments, room)
    counts = Counter({f"mutations, checksum {'made anew' if anew else 'as it was'}": 1})
    counts.update([f"of {name}", f"read by {arguments[0]}"])
    taken = arguments[: len(OTHER)] == OTHER  # another job never gets the directory
    codes = (0, 1, 2) if arguments[0] == "certify" else (2,) if taken else (0, 2)
    faults = judge(outcome, codes=codes)
    if arguments[0] != "train" or taken or outcome.code == 2:
        different = differing(files_of(room / path.parts[0]), before)
        if different:
            faults.append(Fault("lost bytes", different))
    if changed != content and not anew and outcome.code in codes:
        faults += _wrong(lab, room, path, arguments, outcome)
    where = f"{path} ({mutation.__name__}{', anew' if anew else ''}), qduet {' '.join(arguments)}"
    return counts, [Fault(fault.kind, f"{where}: {fault.detail}") for fault in faults]


def room_for(lab: Laboratory, path: Path, arguments: list[str]) -> Path:
    """A room with copies of what the command reads."""
    room = lab.room()
    needed = {path.parts[0], *(word for word in arguments if (lab.specimens / word).is_dir())}
    for name in needed:
        shutil.copytree(lab.specimens / name, room / name)
    return room


def _wrong(
    lab: Laboratory, room: Path, path: Path, arguments: list[str], outcome: Outcome
) -> list[Fault]:
    """Faults in the numbers that a command shows of a file whose checksum does not fit."""
    if outcome.code == 2:
        return []
    if arguments[0] == "train":
        wanted, got = results_of(lab.specimens / "job"), results_of(room / path.parts[0])
        for each in (wanted, got):
            each.pop("checkpoint/state.safetensors", None)
            if path.parts[0] == "job":  # finished before: its files are as they were
                each.pop(path.relative_to("job").as_posix(), None)
        different = differing(wanted, got)
        return [Fault("wrong number", different)] if different else []
    shown = numbers(_shown(room, arguments, outcome)) - numbers(outcome.err)
    extra = shown - _allowed(lab, path, arguments)
    return [Fault("wrong number", f"shows {sorted(extra)[:3]}")] if extra else []


def _shown(room: Path, arguments: list[str], outcome: Outcome) -> str:
    page = room / "seen.html"
    return page.read_text("utf-8") if arguments[0] == "report" and page.exists() else outcome.out


def _allowed(lab: Laboratory, path: Path, arguments: list[str]) -> set[str]:
    """The numbers that a command shows of the sound file, or when the file is left out."""
    key = f"{path}-{'-'.join(arguments)}".replace("/", "_")
    kept = lab.root / "shown" / f"{key}.json"
    with lab.only_one(key):
        _note_allowed(lab, path, arguments, kept)
    return set(json.loads(kept.read_text()))


def _note_allowed(lab: Laboratory, path: Path, arguments: list[str], kept: Path) -> None:
    if not kept.exists():
        allowed: set[str] = set()
        for missing in (None, path, path.parent):
            room = room_for(lab, path, arguments)
            if missing is not None and len(missing.parts) > (missing == path.parent):
                target = room / missing
                shutil.rmtree(target) if target.is_dir() else target.unlink()
            allowed |= numbers(_shown(room, arguments, run(arguments, room)))
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps(sorted(allowed)))
