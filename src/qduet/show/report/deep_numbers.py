"""The numbers of training runs on the page: tables by game and agent, settings of the agents.

Runs that `qduet compare` would refuse to put together (two versions of a game, a seed that comes
twice, one label for two agents) have tables of their own.
"""

from typing import Any

import numpy as np

from qduet import stats
from qduet.agents import completed, make_agent
from qduet.core.errors import InputError
from qduet.results import published
from qduet.results.by_game import AgentSummary, Resampling, agent_summaries
from qduet.results.collect import Collection, Source, collect
from qduet.results.runs import Runs
from qduet.show.report.html import Child, Raw, code, details, el, table

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
