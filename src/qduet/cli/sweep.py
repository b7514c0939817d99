"""``qduet sweep``: a plan of many runs, on this machine or on a Ray cluster."""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from qduet.cli.options import UNFINISHED, add_json, add_out, print_json, real, whole
from qduet.cli.overview import Display, show_plan, show_status
from qduet.cluster import cutting, local, on_ray, status
from qduet.cluster.collecting import collect
from qduet.cluster.cutting import Sweep, Task
from qduet.cluster.engine import Options, Outcome
from qduet.cluster.estimates import Machine
from qduet.cluster.plan import Plan, read_plan
from qduet.core.errors import InputError
from qduet.core.files import check_not_file, check_writable, lock, open_lock

EXAMPLE = """qduet sweep plan.toml --out out/sweep --dry-run
qduet sweep plan.toml --out out/sweep
qduet sweep plan.toml --out /shared/sweep --engine ray
qduet sweep status out/sweep
qduet sweep collect out/sweep --out out/collected"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add = parser.add_argument
    add(
        "words",
        nargs="+",
        metavar="PLAN",
        help="a TOML file (docs/cluster.md); or: status DIR, collect DIR",
    )
    add_out(parser, "for the jobs; the same command continues (there is no default)")
    add("--dry-run", action="store_true", help="show jobs, memory, disk and time; write nothing")
    add("--engine", choices=("local", "ray"), default="local", help="who runs the jobs")
    add("--device", choices=("auto", "cpu", "gpu"), default="auto")
    add("--runs-per-job", type=whole(1), metavar="N", help="at most so many runs in one program")
    add(
        "--shard", type=_shard, metavar="I/N", help="of all jobs only the Ith of N shares, I from 1"
    )
    cores = "CPU cores of a job (default 1); on CPUs they decide the last bits of results"
    add("--cpus-per-task", type=whole(1, 1024), default=1, metavar="N", help=cores)
    share = "GPUs of a job on Ray (default 1)"
    add("--gpus-per-task", type=real(0, 64, open_below=True), default=1.0, metavar="N", help=share)
    again = "starts of a job whose process was killed, or whose machine was lost (default 3)"
    add("--retries", type=whole(0, 1000), default=3, metavar="N", help=again)
    add(
        "--address",
        metavar="HOST:PORT",
        help="of the Ray cluster, or local for a new one (default: the one that runs)",
    )
    minutes = "time between checkpoints, which a lost machine costs at most (default 5)"
    positive = real(0, float("inf"))
    add("--checkpoint-minutes", type=positive, default=5.0, metavar="M", help=minutes)
    add("--commit", metavar="SHA", help="for the record, where qduet is not in a git checkout")
    add_json(parser)


def _shard(text: str) -> tuple[int, int]:
    """``2/8``: the second of eight shares."""
    first, _, last = text.partition("/")
    if not (first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last)):
        raise argparse.ArgumentTypeError(f"'{text}' is not I/N with I from 1 to N")
    return int(first), int(last)


def run(args: argparse.Namespace) -> int:
    """Runs a sweep, or shows or collects one."""
    first, *rest = args.words
    if "" in args.words:
        raise InputError("PLAN or DIR is empty; give a path")
    if first in ("status", "collect") and len(rest) == 1:
        directory = Path(rest[0])
        return show_status(directory, args.json) if first == "status" else _collect(directory, args)
    if first in ("status", "collect") and not rest and not Path(first).exists():
        raise InputError(f"DIR is missing: qduet sweep {first} DIR")
    if rest:
        raise InputError(f"one PLAN is wanted, or status DIR, or collect DIR; not '{rest[0]}' too")
    if args.out is None and not args.dry_run:
        raise InputError("--out DIR is missing: where to put the jobs")
    plan = read_plan(Path(first))
    options = Options(
        retries=args.retries,
        checkpoint_minutes=args.checkpoint_minutes,
        commit=args.commit,
        address=args.address,
        gpus=args.gpus_per_task,
        cpus=args.cpus_per_task,
    )
    if args.dry_run:
        return show_plan(plan, args)
    return _sweep(plan, args, options)


def _sweep(plan: Plan, args: argparse.Namespace, options: Options) -> int:
    from qduet.jobs.stopping import Stop

    engine: Any = on_ray if args.engine == "ray" else local
    machine = engine.machine_at_hand(args.device, options)
    part, parts = args.shard or (1, 1)
    out = args.out.resolve()
    all_shares = machine._replace(workers=machine.workers * parts)
    sweep = _begun(out, plan, all_shares, args, options)
    engine.check(out, sweep.versions)
    mine = sweep.tasks[part - 1 :: parts]
    finished = {job.task.name for job in status.look(out).of("finished")}
    names = [task.name for task in mine if task.name not in finished]
    with Stop() as stop, Display(out, args.json) as show:

        def asked_to_stop() -> bool:
            show()
            return stop.asked()

        outcomes = engine.run(out, names, machine, options, asked_to_stop)
    return _ended(args, out, mine, outcomes, stop.reason)


def _begun(
    out: Path, plan: Plan, machine: Machine, args: argparse.Namespace, options: Options
) -> Sweep:
    """The sweep of the directory with all runs of the plan, written if something is new."""
    import jax

    from qduet.cluster import work

    jax.config.update("jax_platforms", "cpu")  # the GPUs are for the jobs
    check_not_file(out)
    there = cutting.load(out)
    if there is not None:
        _check_same(there, machine, options, out)
    known = there.tasks if there else ()
    work.check(cutting.extended(there, plan, machine, args.runs_per_job, out)[len(known) :])
    check_writable(out)  # from here on, something is written
    with open(open_lock(out / ".sweep.lock"), "rb+", buffering=0) as file:
        while lock(file.fileno()) is False:  # another driver is writing
            time.sleep(0.1)
        there = cutting.load(out)
        if there is None:
            there = Sweep((), cutting.versions(), options.cpus, tuple(args.modules))
        _check_same(there, machine, options, out)
        tasks = cutting.extended(there, plan, machine, args.runs_per_job, out)
        modules = tuple(dict.fromkeys((*there.modules, *args.modules)))
        if (tasks, modules) != (there.tasks, there.modules) or not known:
            there = there._replace(tasks=tasks, modules=modules)
            cutting.save(out, there)
    return there


def _check_same(there: Sweep, machine: Machine, options: Options, out: Path) -> None:
    if there.threads != options.cpus and not machine.gpu:
        raise InputError(
            f"{out} was begun with --cpus-per-task {there.threads}, which decides the last bits of "
            "its results; continue with that"
        )
    if problem := cutting.version_problem(there.versions):
        raise InputError(f"{out}: {problem}")


def _ended(
    args: argparse.Namespace,
    out: Path,
    mine: tuple[Task, ...],
    outcomes: dict[str, Outcome],
    reason: Any,
) -> int:
    names = {task.name for task in mine}
    finished = {job.task.name for job in status.look(out).of("finished")} & names
    failed = {
        name: outcome
        for name, outcome in outcomes.items()
        if outcome.state == "failed" and name not in finished  # by another driver
    }
    done = len(finished)
    if args.json:
        print_json(
            {
                "directory": str(args.out),
                "jobs": len(mine),
                "finished": done,
                "failed": {name: outcome.reason for name, outcome in failed.items()},
            }
        )
    else:
        print(f"{done:,} of {len(mine):,} jobs finished; results in {args.out}/")
    for name, outcome in failed.items():
        print(f"qduet sweep: {name} failed: {outcome.reason}", file=sys.stderr)
    if done == len(mine):
        return 0
    if reason is not None:
        print("qduet sweep: stopped, everything is saved; run the same command again to continue",
              file=sys.stderr)  # fmt: skip
        return 130 if reason == 2 else UNFINISHED
    return 1 if failed else UNFINISHED


def _collect(directory: Path, args: argparse.Namespace) -> int:
    if args.out is None:
        raise InputError("--out DIR is missing: where to put the collected runs")
    counts = collect(directory, args.out)
    missing = [job for job in status.look(directory).jobs if job.state != "finished"]
    if missing:
        told = f"{len(missing)} jobs are not finished, such as {missing[0].task.name}"
        print(f"qduet sweep: {told}: what they have so far is in", file=sys.stderr)
    if tabular := [job.task.name for job in status.look(directory).jobs if not job.task.trains]:
        print(f"left out: {', '.join(tabular)} (tabular; in {directory})", file=sys.stderr)
    if args.json:
        print_json({"directory": str(args.out), "rows": counts})
    else:
        total = sum(counts.values())
        of = f"{len(counts)} environment{'s' * (len(counts) != 1)}"
        print(f"{total:,} evaluations of {of} in {args.out}/ (and all.csv)")
    return 0
