"""Commands killed at random moments and at each of their file operations, and run again.

A case is a command in a new directory. It is killed one to four times, each time in the run that
continues from the last kill. At last it runs to its end, and its results are compared with those
of a run that nobody disturbed. Between two kills, now and then, other commands look at the
directory: a report is made of it, and another job tries to take it.
"""

import json
import random
import re
import shutil
import time
from collections import Counter
from pathlib import Path

from torture.child import Plan
from torture.laboratory import (
    OTHER,
    REPRODUCE,
    TRAIN,
    Fault,
    Laboratory,
    differing,
    files_of,
    judge,
    left_behind,
    results_of,
    run,
)

COMMANDS = {
    "train": [*TRAIN, "made"],
    "reproduce": [*REPRODUCE, "made"],
    "report": ["report", "job", "out", "-o", "made/report.html"],
    "sweep": ["sweep", "plan.toml", "--out", "made", "--checkpoint-minutes", "0"],
}
PLAN = """
environments = ["MinAtar/Breakout-v1"]
steps = 400
evaluate_every = 200
episodes = 2
[[agents]]
name = "rdq"
capacity = 200
learn_from = 100
sync_every = 100
[[tabular]]
figure = "figure5"
seeds = 2
steps = 200
step_sizes = [0.1, 1.0]
actions = [2]
"""


def undisturbed(lab: Laboratory) -> dict[str, dict]:
    """By command: how it ends when nothing happens, and how many file operations it needs."""
    kept = lab.root / "undisturbed.json"
    if not kept.exists():
        found = {}
        for name, arguments in COMMANDS.items():
            empty = room(lab)
            outcome = run(arguments, empty)
            if outcome.code != 0:
                raise RuntimeError(f"qduet {name}: {outcome.code}\n{outcome.err}")
            found[name] = {
                "operations": len(outcome.done),
                "seconds": outcome.seconds,
                "results": results(empty / "made"),
            }
        kept.write_text(json.dumps(found))
    return json.loads(kept.read_text())


def room(lab: Laboratory) -> Path:
    """A room with results to report on, and a plan."""
    empty = lab.room()
    for name in ("job", "out"):
        shutil.copytree(lab.specimens / name, empty / name)
    (empty / "plan.toml").write_text(PLAN)
    return empty


def results(made: Path) -> dict[str, str]:
    """What must be the same however often the command was killed."""
    page = made / "report.html"
    if page.exists():
        return {"report.html": re.sub(r"\d{4}-\d\d-\d\dT[\d:+]+", "", page.read_text("utf-8"))}
    return results_of(made)


def places(lab: Laboratory) -> list[tuple[str, Plan]]:
    """Every file operation of every command, before and after it."""
    counts = {name: what["operations"] for name, what in undisturbed(lab).items()}
    return [
        (name, Plan(at=n, after=after))
        for name, operations in counts.items()
        for n in range(1, operations + 1)
        for after in (False, True)
    ]


def case(lab: Laboratory, number: int, generator: random.Random) -> tuple[Counter, list[Fault]]:
    """One command; its first kill is at place `number`, or at random when all had their turn."""
    with lab.only_one("undisturbed"):
        usual, exact = undisturbed(lab), places(lab)
    counts: Counter[str] = Counter()
    if number < len(exact):
        # In an order that is random, but the same for every run of this part.
        name, plan = random.Random(0).sample(exact, len(exact))[number]
    else:
        name, plan = generator.choices([*COMMANDS], (6, 3, 1, 2))[0], None
    here, faults = room(lab), []
    for _ in range(generator.randint(1, 4)):
        after = generator.uniform(0, 1.2 * usual[name]["seconds"]) if plan is None else None
        outcome = run(COMMANDS[name], here, plan or Plan(), kill_after=after)
        if outcome.code != -9:
            faults += judge(outcome)
            break
        counts[f"kills of {name}"] += 1
        counts["kills at a file operation" if plan else "kills at a random moment"] += 1
        if generator.random() < 0.15:
            faults += _others_look(here, name, counts)
        spot = Plan(at=generator.randint(1, usual[name]["operations"]), after=True)
        plan = spot if generator.random() < 0.3 else None
    outcome = run(COMMANDS[name], here)
    faults += judge(outcome, codes=(0,))
    different = differing(results(here / "made"), usual[name]["results"])
    if different:
        faults.append(Fault("wrong number", f"{name}: {different}"))
    faults += [Fault("left behind", f"{name}: {path}") for path in left_behind(here)]
    if (here / "made" / "checkpoint" / "state.safetensors").exists():
        faults.append(Fault("left behind", "the checkpoint of a finished job"))
    return counts, faults


def _others_look(room: Path, name: str, counts: Counter) -> list[Fault]:
    """A report of what a kill left, and another job that tries to take the directory."""
    made = room / "made"
    if not made.is_dir():
        return []
    before = _at_rest(made) if name == "sweep" else files_of(made)
    faults = judge(run(["report", "made", "-o", "seen.html"], room))
    counts["reports of what a kill left"] += 1
    trained = any(file.endswith(".safetensors") for file in before)
    if name == "train" and trained:
        faults += judge(run([*OTHER, "made"], room), codes=(2,))
        counts["other jobs that tried the directory"] += 1
    if files_of(made) != before:
        faults.append(Fault("lost bytes", differing(files_of(made), before)))
    return faults


def _at_rest(made: Path) -> dict[str, str]:
    """The files, when the jobs of a sweep whose driver was killed have saved and ended."""
    before, now = None, files_of(made)
    while now != before:
        time.sleep(3)
        before, now = now, files_of(made)
    return now
