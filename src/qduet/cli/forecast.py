"""What ``qduet sweep --dry-run`` shows: jobs, memory, disk and time, before anything is run."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from qduet.cli.options import print_json
from qduet.cli.overview import duration
from qduet.cluster import cutting, estimates
from qduet.cluster.cutting import Task
from qduet.cluster.estimates import Machine
from qduet.cluster.plan import Plan


def show_plan(plan: Plan, args: argparse.Namespace) -> int:
    """Prints the jobs of a plan, and what each will need on this machine; writes nothing."""
    machine = estimates.this_machine(args.device, args.cpus_per_task)
    machine = machine._replace(workers=machine.workers * (args.shard or (1, 1))[1])
    there = cutting.load(args.out) if args.out else None
    where = args.out or Path("OUT")
    tasks = cutting.extended(there, plan, machine, args.runs_per_job, where)
    rows = [_forecast(task, machine) for task in tasks]
    if args.json:
        print_json({"device": machine.device, "workers": machine.workers, "jobs": rows})
        return 0
    table = Table(title=None)
    table.add_column("job")
    for heading in ("runs", "memory", "disk", "time"):
        table.add_column(heading, justify="right")
    for row in rows[:40]:
        table.add_row(
            row["name"],
            f"{row['runs']:,}",
            _size(row["memory"]),
            _size(row["disk"]),
            duration(row["seconds"]),
        )
    console = Console()
    console.print(table)
    if len(rows) > 40:
        console.print(f"… and {len(rows) - 40:,} jobs more")
    known = [row["seconds"] for row in rows if row["seconds"] is not None]
    workers = "worker" if machine.workers == 1 else "workers"
    print(
        f"{len(rows):,} jobs, {sum(row['runs'] for row in rows):,} runs on {machine.device}, "
        f"{machine.workers} {workers}; disk {_size(sum(row['disk'] or 0 for row in rows))} at most"
    )
    if known:
        whole_time = max(max(known), sum(known) / machine.workers)
        left_out = len(rows) - len(known)
        beside = f", and {left_out} jobs of which no time is known" if left_out else ""
        print(f"about {duration(whole_time)}{beside}")
    print(
        "assumed: "
        + (
            f"{estimates.CPU_FRAMES:,.0f} frames/s a core"
            if not machine.gpu
            else f"max({estimates.FEW_RUNS:g} + {estimates.EACH_RUN:g} n, "
            f"{estimates.MANY_RUNS:g} n) µs per iteration of n runs, as measured on an H200"
        )
        + "; evaluations are not counted"
        + ("; this machine, not the Ray cluster" if args.engine == "ray" else "")
    )
    return 0


def _forecast(task: Task, machine: Machine) -> dict[str, Any]:
    if not task.trains:
        settings = task.settings
        runs = len(settings.get("actions", range(5))) * len(settings.get("rules", range(3)))
        runs *= len(settings.get("step_sizes", range(61))) * settings.get("seeds", 100)
        updates = runs * settings.get("steps", 20_000)
        return {"name": task.name, "runs": 0, "memory": None, "disk": 4 * runs * 201,
                "seconds": 5 + updates / estimates.CPU_UPDATES}  # fmt: skip
    env, agents = task.settings["env"], task.agents()
    each = estimates.bytes_per_run(env, agents[0][1], task.settings["episodes"], not machine.gpu)
    steps = task.settings["steps"]
    return {
        "name": task.name,
        "runs": task.runs,
        "memory": each and each * task.runs,
        "disk": estimates.bytes_on_disk(env, agents[0][1]) * task.runs,
        "seconds": estimates.seconds(env, agents[0][1], task.runs, steps, machine),
    }


def _size(count: int | None) -> str:
    if count is None:
        return "?"
    return f"{count / 2**30:.1f} GiB" if count >= 2**29 else f"{count / 2**20:.0f} MiB"
