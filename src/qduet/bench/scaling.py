"""Cost against work: how fast each part of qduet is as its problem grows, in one figure.

    qduet bench --scaling --figure scaling.png --json > scaling.json

Each panel has its floor where one is known (drawn as *limit*), and peers where they are installed:

    tabular    an update against |S| and |A| (`updates`); floor: an update that copies one row
    games      steps of a game against games side by side; peers: gymnax, pgx, the original
    training   frames per second against runs of RDQ; floor: memory traffic (`deep`); peers: the
               scripts of benchmarks/, found if that folder is on PYTHONPATH
    memory     that training needs, as computed, against runs; floor: the runs' state, once
    evaluation against episodes; floor: the arithmetic of its greedy actions
    workers    seconds of a sweep against its workers (`workers`); floor: one job, shared out

`tabular` and `workers` are measured on CPUs alone.
"""

import argparse
import dataclasses
import functools
import importlib
import itertools
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from qduet.bench import deep, minatar, updates, workers
from qduet.core.errors import InputError
from qduet.core.tables import Table
from qduet.deep.board import SIDE, Params
from qduet.deep.replay import STRIDE
from qduet.jobs import program
from qduet.jobs.devices import bytes_per_run, checking_memory
from qduet.jobs.job import Job
from qduet.results.published import title
from qduet.show.chart import Axis, Chart, Panel, Series
from qduet.show.names import Style, rule_styles

DESCRIPTION = "cost against work: states, actions, games, runs, episodes, workers"

FLOOR = "floor"
SCRIPT, PFRL = "purejaxrl_style", "pfrl_comparison"
"""Peers in benchmarks/."""

SECONDS = 0.5
"""Of one reading of a game."""
EPISODES = (10, 100, 1000)
CELLS = SIDE * SIDE
"""Of the convolution's output."""
PRODUCT = 2048
"""Rows and columns of the matrices whose product gives the device's arithmetic."""

LINES = {
    **rule_styles(tuple(updates.RULES)),
    updates.WALK: Style("drawing and walking, per update", "#999999", "-."),
    "qduet": Style("qduet", "#000000"),
    "gymnax": Style("gymnax", "#CC79A7"),
    "pgx": Style("pgx", "#E69F00"),
    "minatar": Style("the original, one game", "#56B4E9"),
    SCRIPT: Style("DQN script, purejaxrl style", "#882255"),
    PFRL: Style("PFRL, tuned", "#7F7F00"),
    "local": Style("sweep, this machine", "#0072B2"),
    "ray": Style("sweep, Ray", "#8C564B"),
    FLOOR: Style("limit", "#000000", ":"),
}


class Axes(NamedTuple):
    """What a panel shows."""

    title: str
    x: str
    y: str


PANELS = {
    "maze": Axes("Update, maze, |A| = 4", "States |S|", "ns of CPU time"),
    "random": Axes("Update, random next states, |A| = 4", "States |S|", "ns of CPU time"),
    "actions": Axes(f"Update, |S| = {updates.STATES:,}", "Actions |A|", "ns of CPU time"),
    "games": Axes("Random play", "Games side by side", "steps per second"),
    "training": Axes("Training", "Runs", "frames per second, all runs"),
    "memory": Axes("Memory for training", "Runs", "MB"),
    "evaluation": Axes("Evaluation", "Episodes of each run", "seconds"),
    "workers": Axes(f"A sweep of {workers.JOBS} jobs", "Workers", "seconds"),
}


class Reading(NamedTuple):
    """A point of a line of a panel."""

    panel: str
    """A key of `PANELS`."""
    game: str
    """Or empty."""
    line: str
    """A key of `LINES`."""
    x: int
    y: float


def add_arguments(parser: Any) -> None:
    """The options of this section."""
    add = parser.add_argument
    add("--parts", nargs="+", choices=PARTS, help="what to measure; default: all that is possible")
    add("--states", type=int, default=10**6, help="the largest |S| (default 1,000,000)")
    add("--figure", metavar="FILE.png", help="draw the readings into this file")


def measure(args: argparse.Namespace) -> Iterator[Reading]:
    """The readings of the chosen parts."""
    here = [name for name in PARTS if _on_cpu() or name not in ON_CPUS]
    if not hasattr(os, "sched_setaffinity") and "workers" in here:
        here.remove("workers")
    for name in args.parts or here:
        if name not in here:
            needs = "it needs JAX_PLATFORMS=cpu, and workers need Linux"
            raise InputError(f"--parts {name} cannot be measured here: {needs}")
    used = {option for name in args.parts or here for option in USES[name]}
    for option in ("games", "runs", "steps"):
        if getattr(args, option) is not None and option not in used:
            raise InputError(f"--{option} is for other parts than {' and '.join(args.parts)}")
    if args.states < 10:
        raise InputError(f"--states must be 10 or more; it is {args.states}")
    games, runs, steps = deep.sizes(
        args, games=["Breakout"], runs=[1, 2, 4, 8] if _on_cpu() else [1, 3, 10, 30, 90, 240]
    )
    for name in args.parts or here:
        yield from PARTS[name](args.states, games, runs, steps)


def _on_cpu() -> bool:
    return jax.default_backend() == "cpu"


# --- Parts ---------------------------------------------------------------------------------------


def tabular(states: int, *_: Any) -> Iterator[Reading]:
    """The cost of an update."""
    for r in updates.readings(states):
        if r.num_actions == 4:
            yield Reading(r.problem, "", r.what, r.num_states, r.ns)
        if r.problem == "random" and r.num_states == updates.STATES:
            yield Reading("actions", "", r.what, r.num_actions, r.ns)


def playing(states: int, games: Sequence[str], *_: Any) -> Iterator[Reading]:
    """The speed of random play."""
    for game in games:
        for batch in (1, 32, 1024) if _on_cpu() else (1, 1024, 65_536):
            for name in ("qduet", "gymnax", "pgx", *["minatar"] * (batch == 1)):
                form = "packed" if name == "qduet" else "dense"
                speed = minatar.read(name, form, game, batch, SECONDS).steps_per_second
                if speed:
                    yield Reading("games", game, name, batch, speed)


def training(
    states: int, games: Sequence[str], numbers: Sequence[int], steps: int
) -> Iterator[Reading]:
    """Speed and memory of training, and seconds of an evaluation."""
    device = jax.local_devices()[0]
    bandwidth, _ = deep.bandwidth_of(device)
    script, pfrl = (_importable(name) for name in (SCRIPT, PFRL))
    evaluated = min(numbers, key=lambda runs: abs(runs - (1 if _on_cpu() else deep.RUNS)))
    for game, runs in itertools.product(games, numbers):
        job = deep.job(game, runs, ["rdq"], 1)
        built = program.Program(job)
        try:
            with checking_memory(built, [device], job.episodes):
                trained = deep.train(job, built, steps)
        except InputError as error:  # the other readings are kept
            print(f"left out: {error}", file=sys.stderr)
            continue
        speed, memory = (
            functools.partial(Reading, panel, game, x=runs) for panel in ("training", "memory")
        )
        yield speed("qduet", y=runs * steps / trained.seconds)
        least = deep.traffic(built.shapes[0].params) / (bandwidth * built.devices)
        yield speed(FLOOR, y=STRIDE * runs / least)
        yield memory("qduet", y=runs * bytes_per_run(built, 0) / 1e6)
        yield memory(FLOOR, y=_bytes(built.shapes) / 1e6)
        if script:
            sizes = {"seeds": runs, "steps": steps, "repeats": 1}
            name = f"{game}-MinAtar"
            yield speed(SCRIPT, y=script.frames_per_second(name, form="tuned", **sizes))
        if pfrl and runs == 1 and game == "Breakout":
            yield speed(PFRL, y=pfrl.frames_per_second(steps))
        if runs == evaluated:
            yield from _evaluations(job, trained, built.shapes[0].params)


def _evaluations(job: Job, trained: deep.Trained, shapes: Params) -> Iterator[Reading]:
    """Evaluations of all runs of a job."""
    conv, hidden, head = (
        math.prod(layer.w.shape[1:]) for layer in (shapes.conv, shapes.adv_hidden, shapes.adv)
    )
    operations = 2 * (CELLS * conv + hidden + head)  # of a greedy action
    per_second = _operations_per_second()
    for episodes in EPISODES:
        own = dataclasses.replace(job, episodes=episodes)
        deep.evaluate(own, trained)  # compiles
        done = deep.evaluate(own, trained)
        yield Reading("evaluation", job.game, "qduet", episodes, done.seconds)
        least = operations * done.frames / per_second
        yield Reading("evaluation", job.game, FLOOR, episodes, least)


def _operations_per_second() -> float:
    """Of a product of large matrices."""
    x = jax.random.normal(jax.random.key(0), (PRODUCT, PRODUCT))
    product = jax.jit(lambda x: x @ x)
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        product(x).block_until_ready()
        times.append(time.perf_counter() - begun)
    return 2 * PRODUCT**3 / min(times)


def _bytes(tree: Any) -> int:
    """Of all arrays, or shapes, in a tree."""
    return sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(tree))


def _importable(name: str) -> Any:
    """A module of benchmarks/, or None if it or a package that it needs is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("qduet"):
            raise
        return None


def sweeping(*_: Any) -> Iterator[Reading]:
    """Seconds of a sweep."""
    return (Reading("workers", "", r.engine, r.workers, r.seconds) for r in workers.readings())


PARTS: dict[str, Callable[..., Iterator[Reading]]] = {
    "tabular": tabular,
    "games": playing,
    "training": training,
    "workers": sweeping,
}
ON_CPUS = ("tabular", "workers")
USES = {"tabular": (), "games": ("games",), "training": ("games", "runs", "steps"), "workers": ()}
"""The options that are of use to each part."""


# --- What is shown -------------------------------------------------------------------------------


def _panels(readings: Iterable[Reading]) -> Iterator[tuple[str, Axes, list[Reading]]]:
    """Title, axes and readings of each panel."""
    key = lambda r: (r.panel, r.game)
    order = list(PANELS)
    for (name, game), own in itertools.groupby(
        sorted(readings, key=lambda r: (order.index(r.panel), r.game)), key
    ):
        axes = PANELS[name]
        yield axes.title + (f", {title(game)}" if game else ""), axes, list(own)


def chart(readings: Sequence[Reading]) -> Chart:
    """A panel for each kind of cost and game."""
    there = {r.line for r in readings}
    panels = []
    for name, axes, own in _panels(readings):
        series = []
        for line in LINES:
            points = sorted((r.x, r.y) for r in own if r.line == line)
            if points:
                x, y = np.array(points, float).T
                series.append(Series(line, x, y, marker="" if line == FLOOR else "o"))
        places = tuple(sorted({r.x for r in own}))
        ticks = places if places[-1] < 10_000 else ()
        across = Axis(axes.x, log=True, ticks=ticks, names=tuple(f"{n:,}" for n in ticks))
        panels.append(Panel(name, across, Axis(axes.y, log=True), tuple(series)))
    groups = {line: style for line, style in LINES.items() if line in there}
    return Chart(f"Cost against work, {jax.devices()[0].device_kind}", groups, tuple(panels))


def show(readings: Sequence[Reading]) -> None:
    """Prints a table for each panel."""
    for name, axes, own in _panels(readings):
        lines = [line for line in LINES if any(r.line == line for r in own)]
        values = {(r.line, r.x): r.y for r in own}
        rows = [
            (f"{x:,}", *(_text(values.get((line, x))) for line in lines))
            for x in sorted({r.x for r in own})
        ]
        headings = (axes.x, *(LINES[line].label for line in lines))
        Table(f"{name}: {axes.y}", headings, rows).show()


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
