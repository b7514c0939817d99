"""Two and four processes at once in one directory: the same job, another job, reports.

One process at a time works in a directory. The others are refused in one line, or find the job
finished. What is there in the end is the whole of one job.
"""

import random
import shutil
from collections import Counter
from pathlib import Path

from torture import kills
from torture.laboratory import (
    OTHER,
    REPRODUCE,
    TRAIN,
    Fault,
    Laboratory,
    claims,
    differing,
    judge,
    left_behind,
    results_of,
    run,
    together,
)


def case(lab: Laboratory, number: int, generator: random.Random) -> tuple[Counter, list[Fault]]:
    """Two or four commands at once; then the one that won is run to its end."""
    size = 2 if number % 2 else 4
    room = lab.room()
    counts = Counter({f"directories with {size} processes": 1})
    if number % 5 == 4:
        return _claimed(room, 4)
    if number % 5 == 3:
        return counts, _reproduced(lab, room, size)
    begun = generator.random() < 0.5
    if begun:
        shutil.copytree(lab.specimens / "stopped", room / "made")
    extra = [[*OTHER, "made"], ["report", "made", "-o", "seen.html"]]
    crowd = [[*TRAIN, "made"], *generator.sample([[*TRAIN, "made"], *extra], size - 1)]
    generator.shuffle(crowd)
    faults = [fault for outcome in together(crowd, room) for fault in judge(outcome)]
    outcome = run([*TRAIN, "made"], room)
    wanted = lab.specimens / "job"
    if outcome.code == 2 and not begun:  # the other job was first
        outcome = run([*OTHER, "made"], room)
        wanted = lab.specimens / "other"
        with lab.only_one("other"):
            if not wanted.exists():
                run([*OTHER, "other"], lab.specimens)
    faults += judge(outcome, codes=(0,))
    if different := differing(results_of(room / "made"), results_of(wanted)):
        faults.append(Fault("wrong number", different))
    return counts, faults + [Fault("left behind", path) for path in left_behind(room)]


def _claimed(room: Path, processes: int, times: int = 2_000) -> tuple[Counter, list[Fault]]:
    """Processes that claim one directory again and again: never do two have it."""
    counted = claims(room / "made", processes, times)
    double, odd = counted["double holds"], counted["odd"]
    faults = [Fault("wrong number", "two processes held one directory")] * double
    faults += [Fault("traceback", "a claim ended its process")] * odd
    return Counter({"claims of a directory by 4 processes": counted["claims"]}), faults


def _reproduced(lab: Laboratory, room: Path, size: int) -> list[Fault]:
    """Several ``qduet reproduce`` write the same files."""
    faults = [
        fault
        for outcome in together([[*REPRODUCE, "made"]] * size, room)
        for fault in judge(outcome)
    ]
    faults += judge(run([*REPRODUCE, "made"], room), codes=(0,))
    with lab.only_one("undisturbed"):
        wanted = kills.undisturbed(lab)["reproduce"]["results"]
    if different := differing(kills.results(room / "made"), wanted):
        faults.append(Fault("wrong number", different))
    return faults + [Fault("left behind", path) for path in left_behind(room)]
