"""Training runs on the page: charts, settings, warnings, facts.

    for parent, runs in grouped(paths).items():     # results/figure6 -> its five games
        part = show(parent, [load(path) for path in runs], "deep-0", "Figure 6")

Directories that lie side by side are one item. The text says which runs are unfinished, of a single
seed, or diverged.
"""

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from qduet.deep.agents import make_agent
from qduet.results import published
from qduet.results.runs import Runs
from qduet.show.charts.training import by_panel, published_chart, runs_chart
from qduet.show.report import deep_numbers
from qduet.show.report.html import Raw, details, el, table
from qduet.show.report.parts import Fact, Part, chart_data, figure, item, source
from qduet.show.report.sources import inside

NOTHING_OF_OURS = (
    "No runs at the paper’s scale were given: these are the authors’ released scores, and nothing "
    "of ours."
)

MANY_PANELS = 3
"""So many panels of two evaluations each are folded away."""


def grouped(paths: Iterable[Path]) -> dict[Path, list[Path]]:
    """Directories of runs by the directory they lie in."""
    groups: dict[Path, list[Path]] = {}
    for path in paths:
        groups.setdefault(path.parent, []).append(path)
    return groups


def show(parent: Path, runs: list[Runs], name: str, heading: str) -> Part:
    """The item of all runs below `parent`."""
    evaluated = [directory for directory in runs if len(directory.table["step"])]
    chart = runs_chart(runs) if evaluated else None
    short = _short(runs)
    numbers, stated = deep_numbers.show(runs)
    notes = [el("li", note) for directory in runs for note in _notes(directory)]
    html = item(
        name,
        heading,
        el("p", _setting(runs), class_="setting"),
        el("p", short, class_="missing") if short else None,
        el("ul", notes, class_="missing") if notes else None,
        figure(name, chart, folded=_straight(evaluated)) if chart else None,
        numbers,
        _agents_table(runs),
    )
    charts = {name: chart_data(chart)} if chart else {}
    return Part(html, charts, {name: {"numbers": stated}}, _facts(parent, runs, name))


def show_published(name: str) -> Part:
    """The published curves alone, for want of runs to put beside them."""
    chart = published_chart()
    html = item(
        name,
        "Figure 6, as published",
        el("p", NOTHING_OF_OURS, class_="missing"),
        figure(name, chart),
        source("qduet/data/published_scores.csv"),
    )
    return Part(html, {name: chart_data(chart)}, {})


def heading(parent: Path, runs: list[Runs]) -> str:
    """What these runs are."""
    if is_figure6(runs):
        return "Figure 6: DQN, Dueling DQN and RDQ on MinAtar"
    return f"Training runs of {_steps(runs)} steps{inside(_directory(parent, runs))}"


def is_figure6(runs: list[Runs]) -> bool:
    """Whether these runs are the paper's experiment: its length, seeds, agents and settings."""
    return all(
        published.covers(directory.config)
        and directory.config["steps"] == published.STEPS
        and len(directory.config["seeds"]) >= published.SEEDS
        and set(published.AGENTS) <= set(directory.agents)
        and all(_as_published(directory, label) for label in published.AGENTS)
        for directory in runs
    )


def on_minatar(runs: list[Runs]) -> bool:
    """Whether all games are of the paper, and none of one's own."""
    return all(directory.game in published.GAMES for directory in runs)


def _as_published(runs: Runs, label: str) -> bool:
    settings = next(agent for agent in runs.config["agents"] if agent["label"] == label)
    wanted = dataclasses.asdict(make_agent(label, protocol="reference"))
    return all(settings.get(key) == value for key, value in wanted.items())


def _directory(parent: Path, runs: list[Runs]) -> Path:
    return runs[0].directory if len(runs) == 1 else parent


# --- Words ---------------------------------------------------------------------------------------


def _steps(runs: list[Runs]) -> str:
    """How long they are, the shortest first: ``1,000, 6,000 and 1M``."""
    counts = sorted({directory.config["steps"] for directory in runs})
    *others, last = [f"{n / 1e6:g}M" if n >= 1_000_000 else f"{n:,}" for n in counts]
    return f"{', '.join(others)} and {last}" if others else last


def _setting(runs: list[Runs]) -> str:
    """How they were made, once if all were made alike."""
    texts = []
    for directory in runs:
        config = directory.config
        seeds, agents = len(config["seeds"]), len(directory.agents)
        texts.append(
            f"{agents} agent{'s' * (agents != 1)} × "
            f"{seeds if seeds > 1 else 'a single'} seed{'s' * (seeds != 1)}, {config['steps']:,} "
            f"steps, protocol={config.get('protocol', 'unknown')}, "
            f"{config.get('episodes', '?')} episodes per evaluation"
        )
    if len(set(texts)) > 1:
        names = [directory.directory.name for directory in runs]
        return " ".join(f"{name}: {text}." for name, text in zip(names, texts, strict=True))
    games = {directory.game for directory in runs}
    which = "Each game" if len(games) == len(runs) else "Each directory"
    return f"{published.title(runs[0].game) if len(runs) == 1 else which}: {texts[0]}."


def _short(runs: list[Runs]) -> str:
    """What a short training is, and is not."""
    steps = max(directory.config["steps"] for directory in runs)
    if steps >= published.EVALUATE_EVERY or not on_minatar(runs):
        return ""
    return (
        f"A short training, {100 * steps / published.STEPS:.2g} % of the paper’s 10,000,000 steps: "
        "enough to see learning begin, not to compare agents."
    )


def _notes(runs: Runs) -> list[str]:
    """What a reader must know before trusting the curves."""
    notes, steps = [], runs.table["step"]
    if not len(steps):
        notes.append(f"{runs.directory} has no evaluation yet: there is nothing to show.")
    elif not runs.finished:
        last = int(steps.max())
        notes.append(
            f"{runs.directory} is unfinished: evaluated up to step {last:,} of "
            f"{runs.config['steps']:,}; what all seeds have is shown."
        )
    if len(runs.config["seeds"]) == 1:
        notes.append(f"{runs.directory} has a single seed: a curve, but no interval.")
    for agent in runs.agents:
        lost = ~np.isfinite(runs.table["return_mean"]) & (runs.table["agent"] == agent)
        seeds = sorted(set(runs.table["seed"][lost].tolist()))
        if seeds:
            first = int(steps[lost].min())
            notes.append(
                f"{runs.directory}: no finite return of {agent}, seed "
                f"{', '.join(map(str, seeds))}, from step {first:,} on: diverged. There the mean "
                "is not drawn."
            )
    return notes


def _straight(runs: list[Runs]) -> str:
    """What is drawn, if it is many panels of two evaluations each; else nothing."""
    number = len(by_panel(runs))
    steps = [np.unique(directory.table["step"]) for directory in runs]
    if number < MANY_PANELS or max(map(len, steps)) > 2:
        return ""
    ends = {int(at[-1]) for at in steps}
    until = f" to {min(ends):,} steps" if len(ends) == 1 else ""
    return f"Charts: {number} panels of straight lines, from the first evaluation{until}"


def _agents_table(runs: list[Runs]) -> Raw:
    """How each agent is set, where that differs from the published setting."""
    rows = [
        [directory.directory.name, agent["label"], _differences(agent)]
        for directory in runs
        for agent in directory.config["agents"]
    ]
    caption = "Settings of the agents, where they are not those of the released code"
    return details(
        "Settings of the agents", table(("runs", "agent", "settings"), rows, caption=caption)
    )


def _differences(agent: dict[str, Any]) -> str:
    name = agent.get("name")
    if name not in published.AGENTS:
        return ", ".join(f"{k} = {v}" for k, v in agent.items() if k != "label")
    usual = dataclasses.asdict(make_agent(str(name), protocol="reference"))
    changed = [f"{k} = {agent.get(k)} (there {v})" for k, v in usual.items() if agent.get(k) != v]
    return ", ".join(changed) or "as in the released code"


def _facts(parent: Path, runs: list[Runs], name: str) -> tuple[Fact, ...]:
    """What was run, where and for how long, for the summary of the page."""
    number = sum(len(directory.agents) * len(directory.config["seeds"]) for directory in runs)
    games = ", ".join(dict.fromkeys(published.title(directory.game) for directory in runs))
    other = "MinAtar" if on_minatar(runs) else "Training"
    what = "Figure 6" if is_figure6(runs) else other
    where = str(_directory(parent, runs))
    text = f"{what}: {number} run{'s' * (number != 1)} of {_steps(runs)} steps, {games}"
    facts = [Fact("run", text, name, where)]
    seconds = sum(_seconds(directory) for directory in runs)
    if np.isfinite(seconds):
        facts.append(Fact("time", f"{what}: {seconds / 60:.1f} min", name, where))
    devices = {str((r.config.get("provenance") or {}).get("device", "unknown")) for r in runs}
    facts.append(Fact("where", f"{what}: {', '.join(sorted(devices))}", name, where))
    return tuple(facts)


def _seconds(runs: Runs) -> float:
    """Wall clock of the command; all runs of a directory train side by side. NaN: not known."""
    elapsed = runs.table.get("elapsed_seconds", np.zeros(0))
    known = elapsed[np.isfinite(elapsed)]
    return float(known.max()) if known.size else float("nan")
