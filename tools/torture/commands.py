"""Random command lines, a hundred at a time in a process of their own (tests/faults)."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

from torture.laboratory import ENVIRONMENT, LONGEST, Fault, Laboratory

EACH = 100
KINDS = {"tracebacks": "traceback", "hangs": "hang", "not one line": "refusal"}
"""Counts of faults, and what we call them."""
TESTS = Path(__file__).parents[2] / "tests"

SCRIPT = """
import json, sys
import command_lines
print("@counts@" + json.dumps(command_lines.main(int(sys.argv[1]), int(sys.argv[2]))))
"""


def case(lab: Laboratory, number: int, generator: random.Random) -> tuple[Counter, list[Fault]]:
    """A hundred command lines."""
    seed = str(generator.randrange(2**31))
    paths = [str(TESTS / "faults"), str(TESTS), ENVIRONMENT["PYTHONPATH"]]
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(EACH), seed],
        cwd=lab.room(),
        env={**os.environ, **ENVIRONMENT, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=LONGEST * EACH,
    )
    *printed, last = ended.stdout.strip().splitlines() or [""]
    if ended.returncode or not last.startswith("@counts@"):
        return Counter(), [Fault("traceback", f"code {ended.returncode}: {ended.stderr[-400:]}")]
    counts = json.loads(last.removeprefix("@counts@"))
    shown = "; ".join(printed)[:1_000]
    faults = [Fault(kind, shown) for name, kind in KINDS.items() for _ in range(counts[name])]
    return Counter({name: n for name, n in counts.items() if name not in KINDS}), faults
