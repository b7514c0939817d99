"""The numbers of training runs on the page: tables by game and agent, settings of the agents.

Runs that `qduet compare` would refuse to put together (two versions of a game, a seed that comes
twice, one label for two agents) have tables of their own.
"""

from pathlib import Path
from typing import Any

import numpy as np

from qduet import stats
from qduet.agents import completed, make_agent
from qduet.core.errors import InputError
from qduet.paper.certificate import cost
from qduet.results import published
from qduet.results.by_game import AgentSummary, Resampling, agent_summaries
from qduet.results.collect import Collection, Source, collect
from qduet.results.runs import Runs
from qduet.show.names import agent_styles
from qduet.show.report.html import Child, Origin, Raw, code, details, el, protocol, table

Collections = list[tuple[list[Runs], Collection]]
"""Runs that may be compared, and their curves."""

HEADINGS = (
    *("game", "agent", "seeds", "mean", "median"),
    *("IQM (mean of the middle half)", "mean over training", "file"),
)


def collections_of(directories: list[Runs]) -> tuple[Collections, list[str]]:
    """The runs that may be compared, together; and why others may not."""
    groups: list[list[Runs]] = []
    reasons = []
    for runs in directories:
        alone: list[Runs] = []
        for group in (*groups, alone):
            try:
                collected([*group, runs])
            except InputError as error:
                reasons.append(f"Not compared: {error}.")
            else:
                group.append(runs)
                break
        groups += [alone] if alone else []
    return [(group, collected(group)) for group in groups], reasons


def numbers_of(
    collections: Collections,
) -> tuple[list[Child], list[dict[str, Any]]]:
    """The tables of all runs, and what they state."""
    tables: list[Child] = []
    stated = []
    for group, collection in collections:
        summaries = agent_summaries(collection, Resampling())
        stated.append({"step": collection.at, "by_game": [a._asdict() for a in summaries]})
        tables.append(_table(group, collection, summaries))
    return tables, stated


def collected(group: list[Runs]) -> Collection:
    """The curves of these runs, or `InputError` if they must not be compared."""
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
    return [*notes, table(HEADINGS, rows, caption=caption, numeric=2)]


def agents_table(runs: list[Runs]) -> Raw:
    """How each agent is set, where that differs from the published setting."""
    where: dict[tuple[str, str], list[str]] = {}
    for directory in runs:
        for agent in directory.config["agents"]:
            key = agent["label"], _differences(agent)
            where.setdefault(key, []).append(directory.directory.name)
    rows = [
        [label, settings, "all" if len(names) == len(runs) else ", ".join(names)]
        for (label, settings), names in where.items()
    ]
    caption = "Settings of the agents, where they are not those of the released code"
    listed = table(("agent", "settings", "runs"), rows, caption=caption)
    return details("Settings of the agents", listed, class_="aside")


def _differences(agent: dict[str, Any]) -> str:
    name = agent.get("name")
    if name not in published.AGENTS:
        return ", ".join(f"{k} = {v}" for k, v in agent.items() if k != "label")
    there, usual = completed(agent), make_agent(str(name), protocol="reference").fields()
    changed = [f"{k} = {there.get(k)} (there {v})" for k, v in usual.items() if there.get(k) != v]
    return ", ".join(changed) or "as in the released code"


# --- Words ---------------------------------------------------------------------------------------


def heading(runs: list[Runs]) -> str:
    """What these runs are, for want of a title."""
    agents = tuple(dict.fromkeys(label for directory in runs for label in directory.agents))
    games = list(dict.fromkeys(published.title(directory.game) for directory in runs))
    few = " and ".join(games) if len(games) < 3 else f"{len(games)} games"
    names = ", ".join(agent_styles(agents)[a].label for a in agents)
    who = names if len(agents) <= 4 else f"{len(agents)} agents"
    return f"{few}: {who}, {_steps(runs)} steps"


def _steps(runs: list[Runs]) -> str:
    """How long they are, the shortest first: ``1,000, 6,000 and 1M``."""
    counts = sorted({directory.config["steps"] for directory in runs})
    *others, last = [f"{n / 1e6:g}M" if n >= 1_000_000 else f"{n:,}" for n in counts]
    return f"{', '.join(others)} and {last}" if others else last


def setting(runs: list[Runs]) -> str:
    """How they were made, once if all were made alike."""
    texts = []
    for directory in runs:
        config, seeds = directory.config, len(directory.config["seeds"])
        texts.append(
            f"{seeds if seeds > 1 else 'a single'} seed{'s' * (seeds != 1)}, {config['steps']:,} "
            f"steps, {protocol(config.get('protocol', 'unknown'))}, "
            f"{config.get('episodes', '?')} episodes per evaluation"
        )
    counts = [len(directory.agents) for directory in runs]
    agents = lambda n: f"{n} agent{'s' * (n != 1)} × "
    if len(set(texts)) > 1:
        each = zip(runs, counts, texts, strict=True)
        return " ".join(f"{r.directory.name}: {agents(n)}{text}." for r, n, text in each)
    games = {directory.game for directory in runs}
    which = "Each game" if len(games) == len(runs) else "Each directory"
    which = published.title(runs[0].game) if len(runs) == 1 else which
    several = f"{min(counts)} to {agents(max(counts))}"
    alike = len(set(counts)) == 1
    return f"{which}: {agents(counts[0]) if alike else several}{texts[0]}."


def notes_on(runs: Runs) -> list[str]:
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


def origin(parent: Path, runs: list[Runs]) -> Origin:
    """What was run, where and for how long."""
    number = sum(len(directory.agents) * len(directory.config["seeds"]) for directory in runs)
    games = ", ".join(dict.fromkeys(published.title(directory.game) for directory in runs))
    text = f"{number} run{'s' * (number != 1)} of {_steps(runs)} steps: {games}"
    seconds = sum(cost(directory).seconds for directory in runs)
    time = f"{seconds / 60:.1f} min" if np.isfinite(seconds) else ""
    devices = {str((r.config.get("provenance") or {}).get("device", "unknown")) for r in runs}
    where = str(runs[0].directory if len(runs) == 1 else parent)
    return Origin(text, where, ", ".join(sorted(devices)), time)
