"""What a sweep costs on 1, 8 and 64 GPUs: the planner's own jobs, simulated with failures.

    python benchmarks/cluster_simulation.py            # prints the tables
    python benchmarks/cluster_simulation.py --write    # … and puts them into docs/cluster.md

`qduet.cluster` cuts each workload into jobs and estimates their training time on an H200, as
``qduet sweep --dry-run`` does. Here these jobs are run on paper: in their order, each on the next
free GPU, with evaluations, checkpoints through one shared disk, and GPUs that fail at random. What
is measured and what is assumed is said at each constant. Needs no GPU and no jax.
"""

import argparse
import heapq
import itertools
import math
import random
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from qduet.agents import make_agent
from qduet.cluster import cutting, estimates
from qduet.cluster.cutting import Task
from qduet.cluster.estimates import Machine
from qduet.cluster.plan import Plan
from qduet.env_ids import GAMES

PAGE = Path(__file__).parents[1] / "docs" / "cluster.md"
BEGIN, END = "<!-- simulation -->", "<!-- end -->"

GPUS = (1, 8, 64)
MEMORY = int(0.75 * 143_771 * 2**20)
"""Bytes of an H200 that jax takes by default."""

EVALUATION = {
    "Asterix": 0.8,
    "Breakout": 1.6,
    "Freeway": 2.3,
    "Seaquest": 2.2,
    "SpaceInvaders": 2.8,
}
"""Seconds of an evaluation of 90 trained runs on an H200: means of results/figure6, 2M to 10M."""

RUNS_OF_EVALUATION = 90
"""More runs take longer in proportion. Fewer are assumed to take as long: none were measured."""

HOURS_BETWEEN_FAILURES = (500.0, 24.0, 1.0)
"""Of one GPU, on average, at exponentially distributed times; assumed."""

REPEATS = 100
"""Simulations of each row with failures; the table has their means."""

RETRIES = 3
"""The default of ``--retries``."""

SIZES = (9, 30, 45, 60, 75, 90, 120)
"""Values of ``--runs-per-job`` that are tried beside the planner's own choice."""

DISKS = (1e9, 5e8, 3e8, 1e8)
"""Bytes per second of shared disks, for the last table."""


class Assumed(NamedTuple):
    """What is assumed of the cluster, in seconds and bytes."""

    restart: float = 60.0
    """A job is noticed to be lost, gets a new process, its programs from the cache, its state."""
    repair: float = 300.0
    """Until a GPU that failed is there again."""
    checkpoint: float = 300.0
    """``--checkpoint-minutes``, 5 by default."""
    disk: float = 1e9
    """Bytes per second of the shared disk, which writes one checkpoint at a time."""


class Job(NamedTuple):
    """A job of the planner as a sequence of stretches, each of which ends with a checkpoint."""

    stretches: tuple[float, ...]
    """Seconds of work before each checkpoint; the last one is written at the end."""
    size: float
    """Bytes of a checkpoint."""
    saving: float
    """Seconds of writing one, if the disk is free."""
    starting: float
    """Seconds of start-up, compilation included, which the stretches include, as the next two."""
    evaluating: float
    """Seconds of all its evaluations."""
    full_rate: float
    """Seconds that its training would take, if as many runs as one likes shared a program."""

    @property
    def seconds(self) -> float:
        """From its start to its end, if nothing happens."""
        return sum(self.stretches) + self.saving * len(self.stretches)


class Outcome(NamedTuple):
    """What a simulated sweep took; shares are of GPUs × wall time and add up to 1."""

    wall: float
    """Seconds."""
    training: float
    """Training as fast as in a job of many runs."""
    small_jobs: float
    """What training takes longer, because jobs have fewer runs than that."""
    starting: float
    evaluating: float
    saving: float
    """Writing checkpoints, and waiting for the disk."""
    failures: float
    """Work that was done twice, restarts and repairs."""
    idle: float
    """GPUs without a job."""
    bandwidth: float
    """Bytes per second of checkpoints, on average."""
    given_up: float
    """1 if a job was killed more often than it is retried."""


def workloads() -> dict[str, list[Plan]]:
    """The paper's Figure 6, and ten times the runs of docs/study.md, (d) and the family of (a)."""
    games = tuple(f"MinAtar/{game}-v1" for game in GAMES)

    def plan(agents: Sequence, seeds: int, steps: int) -> Plan:
        return Plan(games, tuple(agents), tuple(range(seeds)), steps, 1_000_000, 1_000, ())

    named = lambda *names: [(name, make_agent(name, protocol="reference")) for name in names]
    values = (0, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1)
    (_, rdq), *_ = named("rdq")
    betas = [(f"rdq-beta-{beta:g}", rdq.replace(beta=beta)) for beta in values]
    family = named("dqv", "dqv_max", "bc_qvmax_double")
    return {
        "paper": [plan(named("dqn", "dueling_dqn", "rdq"), 30, 10_000_000)],
        "10 × study": [plan(family, 300, 10_000_000), plan(betas, 300, 1_000_000)],
    }


def tasks_of(plans: Sequence[Plan], gpus: int, runs_per_job: int | None = None) -> list[Task]:
    """The jobs that ``qduet sweep`` makes of these plans, one directory each, in their order."""
    machine = Machine("NVIDIA H200", gpus, MEMORY)
    cut = lambda plan: cutting.extended(None, plan, machine, runs_per_job, Path("out"))
    return [task for plan in plans for task in cut(plan)]


def jobs_of(tasks: Sequence[Task], assumed: Assumed) -> list[Job]:
    """The jobs of tasks; those of the same game, steps and number of runs are alike."""
    alike = lambda task: (task.settings["env"], task.settings["steps"], task.runs)
    known = {alike(task): task for task in tasks}
    jobs = {key: _job_of(task, assumed) for key, task in known.items()}
    return [jobs[alike(task)] for task in tasks]


def _job_of(task: Task, assumed: Assumed) -> Job:
    """A job with its evaluations, and with checkpoints as `qduet.jobs.trainer` writes them."""
    env, agent, steps = task.settings["env"], task.agents()[0][1], task.settings["steps"]

    def seconds(runs: int, steps: int) -> float:
        found = estimates.seconds(env, agent, runs, steps, Machine("NVIDIA H200", 1, MEMORY))
        assert found is not None
        return found

    game = estimates.game(env)
    assert game is not None
    many, start = 1_000, seconds(task.runs, 0)
    count = steps // task.settings["evaluate_every"]
    training = (seconds(task.runs, steps) - start) / count
    evaluation = EVALUATION[game] * max(1.0, task.runs / RUNS_OF_EVALUATION)
    weights = 4 * estimates.parameters(game, agent)
    size = task.runs * (estimates.bytes_on_disk(env, agent) - weights)
    return Job(
        tuple(_stretches(start, training, evaluation, count, assumed.checkpoint)),
        size=size,
        saving=size / assumed.disk,
        starting=start,
        evaluating=evaluation * (count + 1),
        full_rate=(seconds(many, steps) - seconds(many, 0)) * task.runs / many,
    )


def _stretches(
    start: float, training: float, evaluation: float, count: int, every: float
) -> list[float]:
    """Work between checkpoints, for `count` times training and evaluation after the first one.

    A checkpoint is written after `every` seconds, after the first evaluation that follows training,
    after another one if the last checkpoint is older than a fifth of that, and at the end.
    """
    found, since = [], start + evaluation
    for i in range(count):
        since += training
        while since > every:
            found.append(every)
            since -= every
        since += evaluation
        if not found or since >= every / 5 or i == count - 1:
            found.append(since)
            since = 0.0
    return found


def simulate(
    jobs: Sequence[Job],
    gpus: int,
    hours_between_failures: float = math.inf,
    seed: int = 0,
    assumed: Assumed | None = None,
) -> Outcome:
    """Runs the jobs in their order, each on the next free GPU.

    A GPU that fails loses what its job did since the last checkpoint, and the job waits behind all
    others. Idle GPUs do not fail.
    """
    assumed = assumed or Assumed()
    chance, order = random.Random(seed), itertools.count()
    queue, free, running = deque(range(len(jobs))), gpus, 0
    safe, kills = [0] * len(jobs), [0] * len(jobs)
    events: list[tuple[float, int, str, _Attempt | None]] = []
    now = disk_free = idle = waited = written = 0.0

    def schedule(at: float, what: str, attempt: _Attempt) -> None:
        event = (attempt.fails, "fail") if attempt.fails <= at else (at, what)
        heapq.heappush(events, (event[0], next(order), event[1], attempt))

    while True:
        while free and queue:
            number = queue.popleft()
            mean = 3600 * hours_between_failures
            fails = now + chance.expovariate(1 / mean) if math.isfinite(mean) else math.inf
            restart = assumed.restart if kills[number] else 0.0
            work = jobs[number].stretches[safe[number]]
            schedule(now + restart + work, "save", _Attempt(number, fails))
            free, running = free - 1, running + 1
        if not (queue or running):
            break
        before = now
        now, _, what, attempt = heapq.heappop(events)
        idle += free * (now - before)
        if attempt is None:  # a GPU is there again
            free += 1
            continue
        number, job = attempt.number, jobs[attempt.number]
        if what == "save":
            disk_free = max(now, disk_free) + job.saving
            attempt.waited = disk_free - now - job.saving
            schedule(disk_free, "saved", attempt)
        elif what == "saved":
            safe[number] += 1
            waited += attempt.waited
            written += job.size
            if safe[number] < len(job.stretches):
                schedule(now + job.stretches[safe[number]], "save", attempt)
            else:
                free, running = free + 1, running - 1
        else:
            kills[number] += 1
            queue.append(number)
            running -= 1
            heapq.heappush(events, (now + assumed.repair, next(order), "repaired", None))
    return _outcome(jobs, gpus, now, idle, waited, written / now, max(kills))


class _Attempt:
    """A job on a GPU, until it is finished or killed."""

    def __init__(self, number: int, fails: float) -> None:
        self.number, self.fails, self.waited = number, fails, 0.0


def _outcome(
    jobs: Sequence[Job],
    gpus: int,
    wall: float,
    idle: float,
    waited: float,
    bandwidth: float,
    kills: int,
) -> Outcome:
    """The time of all GPUs by what it went to; what is left over went to failures."""
    training = sum(job.full_rate for job in jobs)
    starting, evaluating = sum(job.starting for job in jobs), sum(job.evaluating for job in jobs)
    saving = sum(job.saving * len(job.stretches) for job in jobs) + waited
    small_jobs = sum(sum(job.stretches) for job in jobs) - training - starting - evaluating
    parts = (training, small_jobs, starting, evaluating, saving)
    failures = max(0.0, gpus * wall - sum(parts) - idle)
    shares = [part / (gpus * wall) for part in (*parts, failures, idle)]
    return Outcome(wall, *shares, bandwidth=bandwidth, given_up=float(kills > RETRIES))


def mean(outcomes: Sequence[Outcome]) -> Outcome:
    """The mean of several simulations."""
    return Outcome(*(sum(values) / len(outcomes) for values in zip(*outcomes, strict=True)))


# --- The tables ----------------------------------------------------------------------------------


def tables() -> str:
    """All tables in Markdown: cost, where the time goes, with failures, with other disks."""
    cost, shares, failing = [], [], []
    for name, plans in workloads().items():
        by_size = {size: jobs_of(tasks_of(plans, 1, size), Assumed()) for size in SIZES}
        for gpus in GPUS:
            tasks = tasks_of(plans, gpus)
            jobs = jobs_of(tasks, Assumed())
            calm = simulate(jobs, gpus)
            hours = f"{gpus * calm.wall / 3600:.1f}"
            best = _best(by_size, gpus)
            cost.append([name, gpus, _sizes(tasks), _time(calm.wall), hours, _bound(calm), best])
            parts = calm.training, calm.small_jobs, calm.starting, calm.evaluating
            parts += calm.saving, calm.idle
            shares.append([name, gpus, *map(_percent, parts), f"{calm.bandwidth / 1e9:.2f}"])
            rough = [
                mean([simulate(jobs, gpus, hours, seed) for seed in range(REPEATS)])
                for hours in HOURS_BETWEEN_FAILURES
            ]
            told = [f"{_time(x.wall)}, {_percent(x.failures)}" for x in rough]
            failing.append([name, gpus, *told, " / ".join(_percent(x.given_up, 0) for x in rough)])
    every = [f"every {hours:g} h: wall time, lost" for hours in HOURS_BETWEEN_FAILURES]
    shortest = "shortest with `--runs-per-job`"
    return "\n\n".join(
        [
            _table("workload|GPUs|jobs × runs|wall time|GPU-hours|bound by|" + shortest, cost),
            "Where the time of the GPUs goes, without failures:",
            _table(
                "workload|GPUs|training at full rate|small jobs|start-up|evaluations|checkpoints|"
                "idle|checkpoints, GB/s",
                shares,
            ),
            "With failures of each GPU:",
            _table(
                "|".join(["workload|GPUs", *every, f"a job killed more than {RETRIES} times"]),
                failing,
            ),
            "The second workload on 64 GPUs with other disks:",
            _table("disk, GB/s|wall time|checkpoints|bound by", _disks()),
        ]
    )


def _best(by_size: dict[int, list[Job]], gpus: int) -> str:
    """The shortest time that some ``--runs-per-job`` gives."""
    times = {size: simulate(jobs, gpus).wall for size, jobs in by_size.items()}
    size = min(times, key=lambda size: (round(times[size]), size))
    return f"{size}: {_time(times[size])}"


def _disks() -> list[list[str]]:
    rows = []
    tasks = tasks_of(list(workloads().values())[-1], GPUS[-1])
    for disk in DISKS:
        assumed = Assumed(disk=disk)
        found = simulate(jobs_of(tasks, assumed), GPUS[-1], assumed=assumed)
        rows.append([f"{disk / 1e9:g}", _time(found.wall), _percent(found.saving), _bound(found)])
    return rows


def _bound(outcome: Outcome) -> str:
    """Training, if four fifths of the time go to it; otherwise what takes most of the rest."""
    if outcome.training + outcome.starting >= 0.8:
        return "training"
    rest = {
        "small jobs": outcome.small_jobs,
        "idle GPUs": outcome.idle,
        "evaluations": outcome.evaluating,
        "the disk": outcome.saving,
    }
    return max(rest, key=lambda name: rest[name])


def _sizes(tasks: Sequence[Task]) -> str:
    """``40 × 111–114 + 100 × 120``: jobs of each number of steps, and their runs."""
    parts = []
    for steps in dict.fromkeys(task.settings["steps"] for task in tasks):
        runs = [task.runs for task in tasks if task.settings["steps"] == steps]
        span = f"{min(runs)}" if min(runs) == max(runs) else f"{min(runs)}–{max(runs)}"
        parts.append(f"{len(runs)} × {span}")
    return " + ".join(parts)


def _table(headings: str, rows: Sequence[Sequence[object]]) -> str:
    lines = [headings.split("|"), ["---" for _ in headings.split("|")], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _time(seconds: float) -> str:
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.2f} h"


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * max(0.0, share):.{digits}f} %"


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the tables, and writes them where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--write", action="store_true", help=f"put them into docs/{PAGE.name}")
    args = parser.parse_args(argv)
    made = tables()
    print(made)
    if args.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        _, _, after = rest.partition(END)
        PAGE.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
