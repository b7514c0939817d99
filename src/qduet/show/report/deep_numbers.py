"""The numbers of MinAtar's runs as tables: what `qduet compare` says of them.

Runs that `qduet compare` would refuse to put together (two versions of a game, a seed that comes
twice, one label for two agents) stand in tables of their own.
"""

from typing import Any

import numpy as np

from qduet import stats
from qduet.core.errors import InputError
from qduet.results.by_game import AgentSummary, Resampling, agent_summaries
from qduet.results.collect import Collection, Source, collect
from qduet.results.published import title
from qduet.results.runs import Runs
from qduet.show.report.html import Child, Raw, code, details, el, table

HEADINGS = ("game", "agent", "seeds", "mean", "median", "IQM", "mean over training", "file")


def show(directories: list[Runs]) -> tuple[Raw, list[dict[str, Any]]]:
    """The tables of all runs, and what they state."""
    groups, reasons, alone = _comparable(directories)
    parts = [el("p", f"No numbers: {reason}.", class_="setting") for reason in alone]
    stated = []
    if groups:
        tables: list[Child] = []
        for group in groups:
            collection = _collected(group)
            summaries = agent_summaries(collection, Resampling())
            stated.append({"step": collection.at, "by_game": [a._asdict() for a in summaries]})
            tables.append(_table(group, collection, summaries))
        if reasons:
            note = f"More than one table, since not all runs can be compared: {reasons[0]}."
            tables.append(el("p", note, class_="setting"))
        parts.append(details("Numbers and their files", tables))
    return el("div", parts), stated


def _collected(group: list[Runs]) -> Collection:
    return collect([Source(runs) for runs in group])


def _comparable(directories: list[Runs]) -> tuple[list[list[Runs]], list[str], list[str]]:
    """Runs by what can be compared, why there is more than one such group, and what has none."""
    groups: list[list[Runs]] = []
    reasons, alone = [], []
    for runs in directories:
        try:
            _collected([runs])
        except InputError as error:
            alone.append(str(error))
            continue
        for group in groups:
            try:
                _collected([*group, runs])
            except InputError as error:
                reasons.append(str(error))
            else:
                group.append(runs)
                break
        else:
            groups.append([runs])
    return groups, reasons if len(groups) > 1 else [], alone


def _table(
    group: list[Runs], collection: Collection, summaries: tuple[AgentSummary, ...]
) -> list[Raw]:
    files = {(r.game, label): r.directory for r in group for label in r.agents}
    rows = [
        [
            title(a.game),
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
