"""``python -m torture [PART …]``: the parts one after the other, and their figures.

    python -m torture                          # all parts, about an hour on two cores
    python -m torture kills --count 50         # one part, shorter
    python -m torture kills --only 17          # one case again, as it was

Each part keeps its figures in ``out/torture/PART.json``. A part that was finished with the same
seed and count is not run again, unless --fresh is given. When all parts are done, their figures
are written to docs/reliability.json and into the table of docs/reliability.md.
"""

import argparse
import json
import random
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from qduet.core.machine import cores
from qduet.core.provenance import commit
from torture import commands, crowds, kills, places, readings
from torture.laboratory import FAULTS, Fault, Laboratory

Case = Callable[[Laboratory, int, random.Random], tuple[Counter[str], list[Fault]]]


class Part(NamedTuple):
    """A part of the torture: what it does in one line, a case, and how many of them."""

    title: str
    case: Case
    count: int


PARTS = {
    "kills": Part("train, reproduce, report and sweep killed and run again", kills.case, 320),
    "readings": Part(
        "damaged files, read by each command", readings.case, 1_000 * len(readings.KINDS)
    ),
    "commands": Part("random command lines", commands.case, 100),
    "places": Part("full disks, failing operations, odd files, closed streams", places.case, 400),
    "crowds": Part("two and four processes in one directory", crowds.case, 20),
}
PAGE, FIGURES = Path("docs/reliability.md"), Path("docs/reliability.json")
_DETAIL = re.compile("cases$|of |read by ")
"""Counts that are in the JSON file alone."""

MARKED = re.compile(r"(<!-- torture -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def perform(name: str, lab: Laboratory, args: argparse.Namespace) -> dict[str, Any]:
    """Runs the cases of a part, and returns its figures."""
    part, begun = PARTS[name], time.monotonic()
    count = args.count or part.count
    counts: Counter[str] = Counter()
    failures: list[dict[str, str]] = []
    last_line = [begun]

    def one(number: int) -> None:
        if args.seconds and time.monotonic() - begun > args.seconds:
            return
        generator = random.Random(f"{args.seed}-{name}-{number}")
        try:
            counted, faults = part.case(lab, number, generator)
        except Exception:
            counted, faults = Counter(), [Fault("broken case", traceback.format_exc())]
        counts.update({"cases": 1, **counted})
        again = f"python -m torture {name} --seed {args.seed} --only {number}"
        for fault in faults:
            failures.append({"kind": fault.kind, "detail": fault.detail, "again": again})
            print(f"{fault.kind}: {fault.detail}\n    {again}", flush=True)
        if time.monotonic() - last_line[0] > 60:
            last_line[0] = time.monotonic()
            print(f"{name}: {counts['cases']:,} of {count:,} cases", flush=True)

    numbers = [args.only] if args.only is not None else range(count)
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(one, numbers))
    found = Counter(failure["kind"] for failure in failures)
    return {
        "part": part.title,
        "seed": args.seed,
        "asked": count,
        "counts": dict(sorted(counts.items())),
        "faults": {kind: found[kind] for kind in sorted({*FAULTS, *found})},
        "failures": failures,
        "minutes": round((time.monotonic() - begun) / 60, 1),
        "commit": re.sub("(?<=^.{7})[0-9a-f]+", "", commit() or "unknown"),
        "cores": cores(),
    }


def table(figures: dict[str, dict[str, Any]]) -> str:
    """The figures of all parts as Markdown."""
    head = ["what was done", "how often", *(f"{kind}" for kind in FAULTS)]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for figure in figures.values():
        done = figure["counts"]
        shown = "; ".join(f"{n:,} {name}" for name, n in done.items() if not _DETAIL.match(name))
        kinds = [n for name, n in done.items() if name.startswith("of ")]
        if kinds:
            shown += f"; {len(kinds)} kinds of files, each at least {min(kinds):,} times"
        cells = [figure["part"], shown, *(str(figure["faults"][kind]) for kind in FAULTS)]
        lines.append(f"| {' | '.join(cells)} |")
    minutes = sum(figure["minutes"] for figure in figures.values())
    of = lambda key: ", ".join(
        sorted({str(figure.get(key, "unknown")) for figure in figures.values()})
    )
    about = f"Commit {of('commit')}, {of('cores')} cores, {minutes:.0f} minutes, seed {of('seed')}."
    return "\n".join([*lines, "", about])


def main() -> int:
    """Runs the parts; code 1 if there was a fault."""
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--count", type=int, help="cases of each part")
    parser.add_argument("--seconds", type=float, help="at most so long for each part")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, metavar="CASE", help="this case alone")
    parser.add_argument("--jobs", type=int, default=2, help="cases at once (default 2)")
    parser.add_argument("--fresh", action="store_true", help="run finished parts again")
    parser.add_argument("--out", type=Path, default=Path("out/torture"))
    parser.add_argument("--no-record", action="store_true", help="leave docs/ as it is")
    args = parser.parse_args()
    if unknown := set(args.parts) - set(PARTS):
        parser.error(f"unknown part {unknown.pop()}: one of {', '.join(PARTS)}")
    chosen = args.parts or [*PARTS]
    lab = Laboratory(args.out.resolve())
    for name in chosen:
        kept = args.out / f"{name}.json"
        asked = args.count or PARTS[name].count
        if kept.exists() and not args.fresh and args.only is None:
            before = json.loads(kept.read_text("utf-8"))
            if (before["seed"], before["asked"]) == (args.seed, asked):
                print(f"{name}: done before ({kept}); --fresh runs it again")
                continue
        figure = perform(name, lab, args)
        print(json.dumps({k: v for k, v in figure.items() if k != "failures"}, indent=1))
        if args.only is None:
            kept.write_text(json.dumps(figure, indent=1))
    done = {name: args.out / f"{name}.json" for name in PARTS}
    figures = {
        name: json.loads(path.read_text("utf-8")) for name, path in done.items() if path.exists()
    }
    if set(figures) == set(PARTS) and not args.no_record and args.only is None:
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
        text = PAGE.read_text("utf-8")
        PAGE.write_text(MARKED.sub(lambda m: f"{m[1]}\n{table(figures)}\n\n{m[3]}", text), "utf-8")
        print(f"{FIGURES} and {PAGE} written")
    return int(any(figures[name]["failures"] for name in chosen if name in figures))


if __name__ == "__main__":
    sys.exit(main())
