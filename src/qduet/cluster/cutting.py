"""A plan cut into jobs, and the file of a sweep that keeps them: ``sweep.json``.

Runs that can share a compiled program form a job: as many as the device's memory and the number of
workers allow. A job is a directory of the sweep, named by a digest of its settings. The cut is made
once and kept. If a plan has more runs later, the new ones are cut into new jobs; if it lacks some
that the directory has, it is refused.
"""

import hashlib
import heapq
import itertools
import socket
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import qduet
from qduet.agents import Agent, from_fields, shared_settings
from qduet.cluster import estimates
from qduet.cluster.estimates import Machine
from qduet.cluster.plan import Plan
from qduet.core.errors import InputError
from qduet.core.files import first_difference, to_json, write_json
from qduet.core.reading import MissingError, as_input_error, read_json
from qduet.env_ids import game_of

FILE, FORMAT = "sweep.json", 1

GPU_RUNS, CPU_RUNS = range(30, 121), range(1, 9)
"""Runs of a job, if the choice is free: fewer on a GPU take nearly as long, more gain nothing."""


class Task(NamedTuple):
    """One job of a sweep."""

    name: str
    """Its directory in the sweep's: ``breakout-3f09c2a1b7``."""
    kind: str
    """``train`` or ``tabular``"""
    settings: dict[str, Any]
    """As plain values; of ``train`` env, agents, seeds, steps, evaluate_every, episodes."""

    @property
    def runs(self) -> int:
        """Runs of training; 0 for a tabular experiment."""
        return len(self.settings["agents"]) * len(self.settings["seeds"]) if self.trains else 0

    @property
    def trains(self) -> bool:
        """Whether it is a job of training."""
        return self.kind == "train"

    def agents(self) -> list[tuple[str, Agent]]:
        """Pairs (label, agent) of a job of training."""
        named = [dict(fields) for fields in self.settings["agents"]]
        return [(fields.pop("label"), from_fields(fields)) for fields in named]


class Sweep(NamedTuple):
    """What ``sweep.json`` holds."""

    tasks: tuple[Task, ...]
    versions: dict[str, str]
    """The software that the sweep was begun with, which all its jobs need."""
    threads: int
    """CPU threads of a job, which decide the last bits of its results."""
    modules: tuple[str, ...]
    """What ``--import`` named."""


def versions() -> dict[str, str]:
    """The releases that decide results."""
    return {"qduet": qduet.__version__, "jax": metadata.version("jax")}


def version_problem(expected: dict[str, str]) -> str:
    """What is installed here and differs from what a sweep was begun with; or nothing."""
    for package, version in versions().items():
        if expected.get(package) != version:
            return (
                f"{socket.gethostname()} has {package} {version}, and the sweep was begun with "
                f"{expected.get(package)}: install that one, or begin another sweep"
            )
    return ""


def load(directory: Path) -> Sweep | None:
    """The sweep of a directory; None if there is none."""
    path = directory / FILE
    try:
        document = read_json(path)
    except MissingError:
        return None
    with as_input_error(path):
        if document["format"] != FORMAT:
            raise ValueError("another version of qduet wrote it")
        tasks = tuple(Task(x["name"], x["kind"], x["settings"]) for x in document["jobs"])
        for task in tasks:
            if not _is_sound(task):
                raise ValueError(f"the settings of {task.name} are others")
        known = {key: str(value) for key, value in document["versions"].items()}
        return Sweep(tasks, known, int(document["threads"]), tuple(map(str, document["modules"])))


def _is_sound(task: Task) -> bool:
    """Whether its name is that of its settings, and these are what every reader relies on."""
    settings = task.settings
    if task.kind not in ("train", "tabular") or task.name != _named(task.kind, settings).name:
        return False
    if not task.trains:
        return True
    numbers = (*settings["seeds"], *(settings[x] for x in ("steps", "evaluate_every", "episodes")))
    labels = [agent["label"] for agent in settings["agents"]]
    return all(type(x) is int for x in numbers) and all(type(x) is str for x in labels)


def save(directory: Path, sweep: Sweep) -> None:
    """Writes ``sweep.json``."""
    jobs = [task._asdict() for task in sweep.tasks]
    rest = {"versions": sweep.versions, "threads": sweep.threads, "modules": sweep.modules}
    write_json(directory / FILE, {"format": FORMAT, "jobs": jobs, **rest})


def extended(
    there: Sweep | None, plan: Plan, machine: Machine, runs_per_job: int | None, where: Path
) -> tuple[Task, ...]:
    """The tasks of a directory, and new ones for what the plan has and they have not."""
    old = there.tasks if there else ()
    wanted = dict(_runs_of_plan(plan))
    for task in old:
        if task.trains:
            _take(wanted, task, where)
    named = [_named("tabular", settings) for settings in plan.tabular]
    tabular = {task.name: task for task in named}
    for task in old:
        if not task.trains and tabular.pop(task.name, None) is None:
            raise _changed(where, f"its tabular experiment {task.name} is not in the plan")
    new = [(env, *found) for env in plan.environments for found in _rectangles(plan, env, wanted)]
    size = runs_per_job or _usual_size([(len(a), len(s)) for _, a, s in new], machine)
    fresh: list[Task] = []
    for env, agents, seeds in new:
        asked = min(size, len(agents) * len(seeds))
        most = _most(env, agents[0], plan.episodes, machine, asked if runs_per_job else 1)
        parts = _parts(agents, seeds, asked if most is None else min(asked, most))
        fresh += [_named("train", _settings(plan, env, some, few)) for some, few in parts]
    return (*old, *fresh, *tabular.values())


def _usual_size(shapes: Sequence[tuple[int, int]], machine: Machine) -> int:
    """Runs of a job, if memory and the user leave the choice: those that end the sweep soonest.

    `shapes` are the numbers of agents and of seeds that can share a program.
    """

    def end(size: int) -> float:
        """When the last worker is done, if the next one that is free takes the longest job left."""
        parts = [x for a, s in shapes for x in _parts(range(a), range(s), size)]
        runs = [len(some) * len(few) for some, few in parts]
        workers = [0.0] * machine.workers
        for cost in sorted((estimates.relative_cost(n, machine) for n in runs), reverse=True):
            heapq.heapreplace(workers, workers[0] + cost)
        return max(workers)

    return min(GPU_RUNS if machine.gpu else CPU_RUNS, key=lambda size: (end(size), -size))


RunKey = tuple[str, str, int]
"""environment, label, seed"""


def _runs_of_plan(plan: Plan) -> Iterable[tuple[RunKey, str]]:
    """Each run of a plan, with its settings as JSON."""
    for env in plan.environments:
        for label, agent in plan.agents:
            settings = _of_run(_settings(plan, env, [], []), {"label": label, **agent.fields()})
            for seed in plan.seeds:
                yield (env, label, seed), settings


def _take(wanted: dict[RunKey, str], task: Task, where: Path) -> None:
    """Removes the runs of a task from what is wanted; raises if one is not wanted."""
    env, seeds = task.settings["env"], task.settings["seeds"]
    for agent in task.settings["agents"]:
        settings = _of_run(task.settings, agent)
        for seed in seeds:
            mine = wanted.pop((env, agent["label"], seed), None)
            if mine is None:
                run = f"{agent['label']} with seed {seed} in {env}"
                raise _changed(where, f"it has {run}, and the plan has not")
            if mine != settings:
                raise _changed(where, first_difference(settings, mine))


def _of_run(settings: dict[str, Any], agent: dict[str, Any]) -> str:
    """The settings of each run of an agent, as JSON."""
    common = {name: settings[name] for name in ("steps", "evaluate_every", "episodes")}
    return to_json({**agent, **common})


def _changed(where: Path, what: str) -> InputError:
    return InputError(
        f"{where} was begun with another plan ({what}); a plan may only grow: choose another "
        "directory for this one"
    )


def _settings(
    plan: Plan, env: str, agents: Sequence[tuple[str, Agent]], seeds: Sequence[int]
) -> dict[str, Any]:
    return {
        "env": env,
        "agents": [{"label": label, **agent.fields()} for label, agent in agents],
        "seeds": [*seeds],
        "steps": plan.steps,
        "evaluate_every": plan.evaluate_every,
        "episodes": plan.episodes,
    }


def _rectangles(
    plan: Plan, env: str, wanted: dict[RunKey, str]
) -> list[tuple[list[tuple[str, Agent]], list[int]]]:
    """Agents that can share a program and lack the same seeds, with these seeds."""
    found: dict[Any, list[tuple[str, Agent]]] = {}
    for label, agent in plan.agents:
        seeds = tuple(seed for seed in plan.seeds if (env, label, seed) in wanted)
        if seeds:
            found.setdefault((shared_settings(agent), seeds), []).append((label, agent))
    return [(agents, list(seeds)) for (_, seeds), agents in found.items()]


def _most(
    env: str, labelled: tuple[str, Agent], episodes: int, machine: Machine, asked: int
) -> int | None:
    """Runs that fit into memory, if that is known; `InputError` if these are less than `asked`."""
    label, agent = labelled
    each = estimates.bytes_per_run(env, agent, episodes, not machine.gpu)
    if each is None or machine.memory is None:
        return None
    most = machine.memory // each
    if most < asked:
        what = "a single run" if asked == 1 else f"{asked} runs per job"
        raise InputError(
            f"{what} of {label} in {env} at {each / 2**20:.0f} MiB each need more than the "
            f"{machine.memory / 2**30:.1f} GiB of a worker: "
            + (f"at most {most} fit" if most else "use a smaller replay")
        )
    return most


def _parts(agents: Sequence[Any], seeds: Sequence[Any], size: int) -> list[tuple[Any, Any]]:
    """Agents × seeds in parts of at most `size` pairs, nearly equal."""
    return [
        (some, few)
        for some in _evenly(agents, min(size, len(agents)))
        for few in _evenly(seeds, max(1, size // len(some)))
    ]


def _evenly(items: Sequence[Any], most: int) -> list[Sequence[Any]]:
    """`items` in the fewest parts of at most `most`, nearly equal."""
    parts = -(-len(items) // most)
    bounds = [len(items) * i // parts for i in range(parts + 1)]
    return [items[a:b] for a, b in itertools.pairwise(bounds)]


def _named(kind: str, settings: dict[str, Any]) -> Task:
    """A task whose name is a digest of its settings, after a word for people."""
    digest = hashlib.sha256(to_json({"kind": kind, **settings}).encode()).hexdigest()[:10]
    word = (
        game_of(settings["env"])
        if kind == "train"
        else settings.get("name", settings.get("figure"))
    )
    plain = "".join(x if x.isalnum() else "-" for x in str(word).lower())[:40]
    return Task(f"{plain}-{digest}", kind, settings)
