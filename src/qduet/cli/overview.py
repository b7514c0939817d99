"""Where a sweep stands, on a screen or as JSON; and what a plan will need, before it is run."""

import argparse
import contextlib
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from qduet.cli.options import print_json
from qduet.cli.progress import LINE_SECONDS
from qduet.cluster import cutting, estimates, status
from qduet.cluster.cutting import Task
from qduet.cluster.estimates import Machine
from qduet.cluster.plan import Plan
from qduet.cluster.status import Overview
from qduet.core.errors import InputError, printable
from qduet.core.tables import Table


def show_status(directory: Path, as_json: bool) -> int:
    """Prints where the jobs of a sweep stand."""
    overview = status.look(directory)
    if as_json:
        jobs = [
            {**job.note, "name": job.task.name, "runs": job.task.runs, "state": job.state}
            | {"done": job.done}
            for job in overview.jobs
        ]
        counts = {state: overview.count(state) for state in status.STATES}
        rate, left = overview.frames_per_second, overview.seconds_left
        print_json({**counts, "frames_per_second": rate, "seconds_left": left, "jobs": jobs})
        return 0
    print(_summary(overview))
    speed = lambda note: f"{float(note.get('frames_per_second', 0.0)):,.0f}"
    rows = [
        (job.task.name, f"{job.done:.0%}", speed(job.note), str(job.note.get("host", "")))
        for job in overview.of("running")[:30]
    ]
    if rows:
        Table("", ("job", "done", "frames/s", "node"), rows).show()
    for job in overview.of("failed")[:30]:
        print(printable(f"{job.task.name} failed: {job.note.get('reason', '')}"))
    return 0


def _summary(overview: Overview) -> str:
    """A line: how many jobs are in each state, how fast, how long still."""
    counts = ", ".join(f"{overview.count(state):,} {state}" for state in status.STATES)
    rate, left = overview.frames_per_second, overview.seconds_left
    told = counts + (f"; {rate:,.0f} frames/s" if rate else "")
    return told + (f"; about {_duration(left)} left" if left else "")


class Display(contextlib.ExitStack):
    """The state of a sweep while it runs: one line, which is drawn again in a terminal."""

    def __init__(self, directory: Path, quiet: bool) -> None:
        super().__init__()
        self.directory, self.line = directory, None
        if sys.stderr.isatty() and not quiet:
            self.line = self.enter_context(Console(stderr=True).status("starting"))
        self.next = time.monotonic() + (0.0 if self.line else LINE_SECONDS)

    def __call__(self) -> None:
        """Shows the state, if the last time was a while ago and it can be read."""
        now = time.monotonic()
        if now < self.next:
            return
        with contextlib.suppress(InputError, OSError):
            told = _summary(status.look(self.directory))
            if self.line:
                self.line.update(told)
            else:
                print(told, file=sys.stderr, flush=True)
        cost = time.monotonic() - now  # of reading thousands of files, perhaps
        self.next = now + (max(2.0, 20 * cost) if self.line else LINE_SECONDS)


# --- Before it is run ----------------------------------------------------------------------------


def show_plan(plan: Plan, args: argparse.Namespace) -> int:
    """Prints the jobs of a plan, and what each will need on this machine; writes nothing."""
    machine = estimates.this_machine(args.device, args.cpus_per_task)
    machine = machine._replace(workers=machine.workers * (args.shard or (1, 1))[1])
    there = cutting.load(args.out) if args.out else None
    tasks = cutting.extended(there, plan, machine, args.runs_per_job, args.out or Path("OUT"))
    done = {job.task.name for job in status.look(args.out).of("finished")} if there else set()
    rows = [_forecast(task, machine) for task in tasks if task.name not in done]
    if args.json:
        about = {"device": machine.device, "workers": machine.workers, "finished": len(done)}
        print_json({**about, "jobs": rows})
        return 0
    if done:
        print(f"{len(done):,} of {len(tasks):,} jobs are finished already")
    if not rows:
        return 0
    sizes = lambda row: (_size(row["memory"]), _size(row["disk"]), _duration(row["seconds"]))
    shown = [(row["name"], f"{row['runs']:,}", *sizes(row)) for row in rows[:40]]
    Table("", ("job", "runs", "memory", "disk", "time"), shown).show()
    if len(rows) > 40:
        print(f"… and {len(rows) - 40:,} jobs more")
    workers = "worker" if machine.workers == 1 else "workers"
    print(
        f"{len(rows):,} jobs, {sum(row['runs'] for row in rows):,} runs on {machine.device}, "
        f"{machine.workers} {workers}; disk {_size(sum(row['disk'] for row in rows))} at most"
    )
    if known := [row["seconds"] for row in rows if row["seconds"] is not None]:
        left_out = len(rows) - len(known)
        beside = f", and {left_out} jobs of which no time is known" if left_out else ""
        print(f"about {_duration(max(max(known), sum(known) / machine.workers))}{beside}")
    assumed = f"{estimates.CPU_FRAMES:,.0f} frames/s a core"
    if machine.gpu:
        few, each, many = estimates.FEW_RUNS, estimates.EACH_RUN, estimates.MANY_RUNS
        assumed = f"max({few:g} + {each:g} n, {many:g} n) µs per iteration of n runs, as measured"
        assumed += " on an H200"
    elsewhere = "; this machine, not the Ray cluster" if args.engine == "ray" else ""
    print(f"assumed: {assumed}; evaluations are not counted{elsewhere}")
    return 0


def _forecast(task: Task, machine: Machine) -> dict[str, Any]:
    settings = task.settings
    if not task.trains:
        curves = len(settings.get("actions", range(5))) * len(settings.get("rules", range(3)))
        curves *= len(settings.get("step_sizes", range(61))) * settings.get("seeds", 100)
        seconds = 5 + curves * settings.get("steps", 20_000) / estimates.CPU_UPDATES
        disk = 4 * curves * 201
        return {"name": task.name, "runs": 0, "memory": None, "disk": disk, "seconds": seconds}
    env, (_, agent) = settings["env"], task.agents()[0]
    each = estimates.bytes_per_run(env, agent, settings["episodes"], not machine.gpu)
    return {
        "name": task.name,
        "runs": task.runs,
        "memory": each and each * task.runs,
        "disk": estimates.bytes_on_disk(env, agent) * task.runs,
        "seconds": estimates.seconds(env, agent, task.runs, settings["steps"], machine),
    }


def _duration(seconds: float | None) -> str:
    """A time in the unit that people would say it in; ``?`` if it is not known."""
    if seconds is None:
        return "?"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _size(count: int | None) -> str:
    if count is None:
        return "?"
    return f"{count / 2**30:.1f} GiB" if count >= 2**29 else f"{count / 2**20:.0f} MiB"
