"""From directories of runs to curves that may be compared: one vector per run, at the same steps.

    collection = collect([*sources("out/breakout"), *sources("out/seaquest")])
    collection.curves["Breakout", "rdq"].values[:, -1].mean()

Directories of one game are merged: agents side by side, and the seeds of one agent if its settings
are the same in all directories. Runs that must not be mixed are refused.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qduet.core.errors import InputError, unknown_name
from qduet.results import published, runs
from qduet.results.runs import Runs, Scores, joined

METRICS = runs.PUBLISHED + runs.DIAGNOSTICS
"""The columns of ``evaluations.csv`` that agents can be compared by."""


class Source(NamedTuple):
    """A directory of runs and the name the user gave it, if any."""

    runs: Runs
    name: str | None = None
    """If given, its agents are called ``rdq@name``."""


@dataclasses.dataclass(frozen=True)
class Collection:
    """The runs that are compared."""

    metric: str
    """The column that is compared, one of `METRICS`."""
    curves: dict[tuple[str, str], Scores]
    """By game and agent; all at the same steps, up to that of the comparison."""
    notes: tuple[str, ...] = ()
    """What a reader must know: what was left out, and why."""
    normalisable: bool = True
    """Whether all games are those of the published scores, in their version."""

    @property
    def steps(self) -> np.ndarray:
        """int[points]: where every run has a value."""
        return next(iter(self.curves.values())).steps

    @property
    def at(self) -> int:
        """The step of the comparison, the last of `steps`."""
        return int(self.steps[-1])

    @property
    def games(self) -> tuple[str, ...]:
        """The games, in alphabetical order."""
        return tuple(sorted({game for game, _ in self.curves}))

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents, in the order of their first directory."""
        return tuple(dict.fromkeys(agent for _, agent in self.curves))

    def agents_of(self, game: str) -> tuple[str, ...]:
        """The agents that have runs of `game`."""
        return tuple(agent for agent in self.agents if (game, agent) in self.curves)

    @property
    def everywhere(self) -> tuple[str, ...]:
        """The agents that have runs of every game."""
        return tuple(a for a in self.agents if all((g, a) in self.curves for g in self.games))


def sources(text: str) -> list[Source]:
    """The directories of runs that ``DIR`` or ``NAME=DIR`` names: DIR itself, or all in it."""
    if not text:
        raise InputError("an empty text names no file or directory")
    name, equals, rest = text.partition("=")
    named = bool(equals) and not Path(text).exists()
    if named and not (name and rest):
        raise InputError(f"'{text}' is neither a directory nor NAME=DIR")
    directories = runs.find([Path(rest if named else text)])
    return [Source(runs.load(directory), name if named else None) for directory in directories]


def collect(
    given: Sequence[Source], *, metric: str = "return_mean", at: int | None = None
) -> Collection:
    """The runs of all sources, at the steps that all of them have, up to `at` if it is given."""
    if metric not in METRICS:
        raise unknown_name("metric", metric, METRICS)
    parts: dict[tuple[str, str], list[tuple[Path, Scores]]] = {}
    settings: dict[str, tuple[Source, dict[str, Any]]] = {}
    protocols = {_protocol(source) for source in given if source.name is None}
    _check_games(given)
    for source in given:
        for agent in source.runs.config["agents"]:
            suffix = source.name or (_protocol(source) if len(protocols) > 1 else None)
            label = agent["label"] + (f"@{suffix}" if suffix else "")
            _check_settings(settings, label, source, agent)
            scores = source.runs.scores(agent["label"], metric)
            parts.setdefault((source.runs.game, label), []).append((source.runs.directory, scores))
    steps = _common_steps(parts, metric)
    if at is not None and at not in steps:
        known = ", ".join(f"{step:,}" for step in steps)
        raise InputError(f"--at {at}: not all runs have an evaluation there; they have {known}")
    steps = steps if at is None else steps[steps <= at]
    curves = {key: _merged(key, of_key, steps) for key, of_key in parts.items()}
    collection = Collection(metric, curves)
    notes = _notes_on_sources(given, settings, steps[-1] if at is None else None)
    return dataclasses.replace(
        collection,
        notes=notes + _notes_on_runs(collection),
        normalisable=all(published.covers(source.runs.config) for source in given),
    )


def _protocol(source: Source) -> str:
    return str(source.runs.config.get("protocol"))


def _check_games(given: Sequence[Source]) -> None:
    """Refuses two versions of one game: their actions differ, so they are two tasks."""
    first: dict[str, Source] = {}
    for source in given:
        other = first.setdefault(source.runs.game, source)
        envs = [s.runs.config.get("env") for s in (other, source)]
        if envs[0] != envs[1]:
            raise InputError(
                f"{other.runs.directory} is of {envs[0]} and {source.runs.directory} of {envs[1]}; "
                "compare runs of one version of a game"
            )


def _check_settings(
    known: dict[str, tuple[Source, dict[str, Any]]], label: str, source: Source, agent: Any
) -> None:
    """Refuses a label that stands for two different agents, or for two kinds of evaluation."""
    config = source.runs.config
    settings = {**agent, "protocol": config.get("protocol"), "episodes": config.get("episodes")}
    first, there = known.setdefault(label, (source, settings))
    for key in sorted(there.keys() | settings.keys()):
        if there.get(key) != settings.get(key):
            a, b = first.runs.directory, source.runs.directory
            raise InputError(
                f"{a} and {b} both hold '{label}', but {key} is {there.get(key)} there and "
                f"{settings.get(key)} here; tell them apart: qduet compare first={a} second={b}"
            )


def _common_steps(
    parts: dict[tuple[str, str], list[tuple[Path, Scores]]], metric: str
) -> np.ndarray:
    """The steps at which every run has a finite value."""
    common: set[int] | None = None
    told, trained = "step 0 is the only step that all runs have", False
    for (game, label), of_key in parts.items():
        for directory, scores in of_key:
            here = set(scores.steps[np.isfinite(scores.values).all(axis=0)].tolist())
            if not len(scores.seeds) or not here:
                raise InputError(
                    f"{directory} has no evaluation of '{label}' on {game} with a value "
                    f"of {metric} for every seed; train it further, or leave it out"
                )
            common = here if common is None else common & here
            trained |= max(here) > 0
            if max(here) == 0:
                told = f"{directory} has no {metric} of every seed of '{label}' after step 0"
    if not common:
        raise InputError(f"no evaluation has a value of {metric} for all runs: steps differ")
    if trained and max(common) == 0:
        raise InputError(f"{told}, and others were trained: nothing is compared before training")
    return np.array(sorted(common))


def _merged(key: tuple[str, str], parts: list[tuple[Path, Scores]], steps: np.ndarray) -> Scores:
    """The runs of all parts, by seed; a seed that comes twice is refused."""
    where: dict[int, Path] = {}
    for directory, scores in parts:
        for seed in scores.seeds.tolist():
            if seed in where:
                raise InputError(
                    f"seed {seed} of '{key[1]}' on {key[0]} is both in {where[seed]} and in "
                    f"{directory}; give every run once"
                )
            where[seed] = directory
    return joined([scores.where(np.isin(scores.steps, steps)) for _, scores in parts])


def _notes_on_sources(
    given: Sequence[Source], settings: dict[str, tuple[Source, dict[str, Any]]], at: int | None
) -> tuple[str, ...]:
    notes = []
    for job in (source.runs for source in given):
        last, end = int(job.table["step"].max()), job.config["steps"]
        if not job.finished:
            done = int((job.table["step"] == end).sum())
            count = len(job.agents) * len(job.config["seeds"])
            notes.append(
                f"{job.directory} is unfinished: {done} of its {count} runs have reached "
                f"step {end:,}."
            )
        if at is not None and last > at:
            notes.append(
                f"{job.directory} goes on to step {last:,}; step {at:,} is the last that all "
                "runs have."
            )
    episodes = sorted({str(setting.get("episodes")) for _, setting in settings.values()})
    if len(episodes) > 1:
        notes.append(f"Numbers of episodes per evaluation differ: {', '.join(episodes)}.")
    return tuple(notes)


def _notes_on_runs(collection: Collection) -> tuple[str, ...]:
    notes = []
    partial = [agent for agent in collection.agents if agent not in collection.everywhere]
    if partial:
        notes.append(f"Not in every game, so not in the aggregates: {', '.join(partial)}.")
    for agent in collection.everywhere:
        counts = [len(collection.curves[game, agent].seeds) for game in collection.games]
        if len(set(counts)) > 1:
            notes.append(
                f"'{agent}' has {min(counts)} to {max(counts)} seeds per game; pooled aggregates "
                "(IQM, profile) count runs, not games."
            )
    if len(collection.steps) == 2:
        first, last = collection.steps
        notes.append(
            f"Two evaluations only (at {first:,} and {last:,} steps): what is between is a "
            "straight line, and the mean over training the mean of the two."
        )
    if any(len(curves.seeds) < 2 for curves in collection.curves.values()):
        notes.append("A single seed gives no interval and no test; they are left empty.")
    return tuple(notes)
