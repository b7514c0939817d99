"""Training runs on the page: charts, settings, warnings, facts.

    for parent, runs in grouped(paths).items():     # results/figure6 -> its five games
        part = show(parent, [load(path) for path in runs], "deep-0", "Figure 6")

Directories that lie side by side are one item. Runs that `qduet compare` would refuse to put
together (two versions of a game, a seed that comes twice, one label for two agents) have tables of
their own.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from qduet import stats
from qduet.agents import completed, make_agent
from qduet.core.errors import InputError
from qduet.results import published
from qduet.results.by_game import AgentSummary, Resampling, agent_summaries
from qduet.results.collect import Collection, Source, collect
from qduet.results.runs import Runs
from qduet.show.charts.training import published_chart, runs_chart
from qduet.show.report.html import Child, Raw, code, details, el, table
from qduet.show.report.parts import Fact, Part, chart_data, figure, item, source
from qduet.show.report.sources import inside

NOTHING_OF_OURS = (
    "No runs at the paper’s scale were given: these are the authors’ released scores, and nothing "
    "of ours."
)


def grouped(paths: Iterable[Path]) -> dict[Path, list[Path]]:
    """Directories of runs by the directory they lie in."""
    groups: dict[Path, list[Path]] = {}
    for path in paths:
        groups.setdefault(path.parent, []).append(path)
    return groups


def show(parent: Path, runs: list[Runs], name: str, heading: str) -> Part:
    """The item of all runs below `parent`."""
    chart = runs_chart(runs) if any(len(r.table["step"]) for r in runs) else None
    numbers, stated = _numbers(runs)
    notes = [el("li", note) for directory in runs for note in _notes(directory)]
    html = item(
        name,
        heading,
        el("p", _setting(runs), class_="setting"),
        el("ul", notes, class_="missing") if notes else None,
        figure(name, chart) if chart else None,
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
        source("qduet/results/data/published_scores.csv"),
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
    there, wanted = completed(settings), make_agent(label, protocol="reference").fields()
    return all(there.get(key) == value for key, value in wanted.items())


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
    which = published.title(runs[0].game) if len(runs) == 1 else "Each directory"
    return f"{which}: {texts[0]}."


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


# --- Numbers -------------------------------------------------------------------------------------

HEADINGS = ("game", "agent", "seeds", "mean", "median", "IQM", "mean over training", "file")


def _numbers(directories: list[Runs]) -> tuple[Raw, list[dict[str, Any]]]:
    """The tables of all runs, and what they state."""
    groups: list[list[Runs]] = []
    reasons = []
    for runs in directories:
        alone: list[Runs] = []
        for group in (*groups, alone):
            try:
                _collected([*group, runs])
            except InputError as error:
                reasons.append(str(error))
            else:
                group.append(runs)
                break
        groups += [alone] if alone else []
    tables: list[Child] = []
    stated = []
    for group in groups:
        collection = _collected(group)
        summaries = agent_summaries(collection, Resampling())
        stated.append({"step": collection.at, "by_game": [a._asdict() for a in summaries]})
        tables.append(_table(group, collection, summaries))
    notes = [el("p", f"Not compared: {reason}.", class_="setting") for reason in reasons[:1]]
    return el("div", details("Numbers and their files", tables) if tables else None, notes), stated


def _collected(group: list[Runs]) -> Collection:
    return collect([Source(runs) for runs in group])


def _table(
    group: list[Runs], collection: Collection, summaries: tuple[AgentSummary, ...]
) -> list[Raw]:
    files = {(r.game, label): r.directory for r in group for label in r.agents}
    rows = [
        [
            published.title(a.game),
            a.agent,
            str(a.seeds),
            str(a.mean),
            stats.number(a.median),
            stats.number(float(a.iqm.value)),
            str(a.auc) if np.isfinite(a.auc.mean) else "–",
            code(str(files.get((a.game, a.agent.partition("@")[0]), "")) + "/evaluations.csv"),
        ]
        for a in summaries
    ]
    caption = f"Return at step {collection.at:,}, ± half of the 95 % interval over seeds"
    notes = [el("p", note, class_="setting") for note in collection.notes]
    return [table(HEADINGS, rows, caption=caption, numeric=2), *notes]


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
    there, usual = completed(agent), make_agent(str(name), protocol="reference").fields()
    changed = [f"{k} = {there.get(k)} (there {v})" for k, v in usual.items() if there.get(k) != v]
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
    elapsed = runs.table["elapsed_seconds"]
    known = elapsed[np.isfinite(elapsed)]
    return float(known.max()) if known.size else float("nan")
