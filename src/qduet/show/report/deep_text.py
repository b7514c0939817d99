"""The words around MinAtar's charts: headings, settings, warnings, numbers, facts."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from qduet import stats
from qduet.deep.agents import make_agent
from qduet.results import comparison, published
from qduet.results.runs import Runs
from qduet.show.figures.style import FEW_EVALUATIONS, FEW_SEEDS, look_of
from qduet.show.report.chart import Fact
from qduet.show.report.html import Raw, details, el, table
from qduet.show.report.sources import inside

NOTHING_OF_OURS = (
    "No runs at the paper’s scale were given: these are the authors’ released scores, and nothing "
    "of ours."
)


def is_figure6(found: list[Runs]) -> bool:
    """Whether these runs are the paper's experiment: its length, seeds, agents and settings."""
    return all(
        published.covers(runs.config)
        and runs.config["steps"] == published.STEPS
        and len(runs.config["seeds"]) >= published.SEEDS
        and set(published.AGENTS) <= set(runs.agents)
        and all(_as_published(runs, label) for label in published.AGENTS)
        for runs in found
    )


def on_minatar(found: list[Runs]) -> bool:
    """Whether all games are of the paper, and none of one's own."""
    return all(runs.game in published.GAMES for runs in found)


def _as_published(runs: Runs, label: str) -> bool:
    settings = next(agent for agent in runs.config["agents"] if agent["label"] == label)
    wanted = dataclasses.asdict(make_agent(label, protocol="reference"))
    return all(settings.get(key) == value for key, value in wanted.items())


Panel = list[Runs]
"""Directories of one game that are drawn together."""

ALIKE = ("env", "game_program", "protocol", "steps", "evaluate_every", "episodes")
"""What the directories of a panel have in common, besides the game."""


def panels(found: list[Runs]) -> list[Panel]:
    """The runs of each game in one panel, unless they were made differently or share a label."""
    panels: list[Panel] = []
    for runs in found:
        for panel in panels:
            there = {label for other in panel for label in other.agents}
            if _made(runs) == _made(panel[0]) and there.isdisjoint(runs.agents):
                panel.append(runs)
                break
        else:
            panels.append([runs])
    return panels


def _made(runs: Runs) -> tuple[Any, ...]:
    return runs.game, *(runs.config.get(key) for key in ALIKE)


def title(panel: Panel, panels: list[Panel]) -> str:
    """The name of a panel: the game, and the directories if two panels are of the same one."""
    game = published.title(panel[0].game)
    twice = sum(other[0].game == panel[0].game for other in panels) > 1
    return f"{game} ({', '.join(runs.directory.name for runs in panel)})" if twice else game


def heading(parent: Path, found: list[Runs]) -> str:
    """What these runs are."""
    if is_figure6(found):
        return "Figure 6: DQN, Dueling DQN and RDQ on MinAtar"
    return f"Training runs of {_steps(found)} steps{inside(_place(parent, found))}"


def _place(parent: Path, found: list[Runs]) -> Path:
    return found[0].directory if len(found) == 1 else parent


def _steps(found: list[Runs]) -> str:
    """How long they are, the shortest first: ``1,000, 6,000 and 1M``."""
    counts = sorted({runs.config["steps"] for runs in found})
    *others, last = [f"{n / 1e6:g}M" if n >= 1_000_000 else f"{n:,}" for n in counts]
    return f"{', '.join(others)} and {last}" if others else last


def setting(found: list[Runs]) -> str:
    """How they were made, once if all were made alike."""
    said = []
    for runs in found:
        config = runs.config
        seeds = len(config["seeds"])
        said.append(
            f"{len(runs.agents)} agent{'s' * (len(runs.agents) != 1)} × "
            f"{seeds if seeds > 1 else 'a single'} seed{'s' * (seeds != 1)}, {config['steps']:,} "
            f"steps, protocol={config.get('protocol', 'unknown')}, "
            f"{config.get('episodes', '?')} episodes per evaluation"
        )
    if len(set(said)) == 1:
        games = {runs.game for runs in found}
        which = "Each game" if len(games) == len(found) else "Each directory"
        which = published.title(found[0].game) if len(found) == 1 else which
        return f"{which}: {said[0]}."
    return " ".join(
        f"{runs.directory.name}: {text}." for runs, text in zip(found, said, strict=True)
    )


def share(found: list[Runs]) -> str:
    """What a short training is, and is not."""
    steps = max(runs.config["steps"] for runs in found)
    if steps >= published.EVALUATE_EVERY or not on_minatar(found):
        return ""
    return (
        f"A short training, {100 * steps / published.STEPS:.2g} % of the paper’s 10,000,000 steps: "
        "enough to see learning begin, not to compare agents."
    )


def notes(runs: Runs) -> list[str]:
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


def caption(found: list[Runs], *, with_published: bool) -> Raw:
    """The text alternative of the chart: where each agent ends."""
    said = []
    drawn_together = panels(found)
    for panel in drawn_together:
        ends = [end for runs in panel for end in _ends(runs)]
        if ends:
            said.append(f"{title(panel, drawn_together)}: {', '.join(ends)}.")
    drawn = "Shading: 95 % intervals over seeds."
    if any(1 < len(runs.config["seeds"]) < FEW_SEEDS for runs in found):
        drawn += " Panels end where the seeds do: intervals of so few go on beyond."
    if with_published:
        drawn += " Solid: these runs; dashed: the published scores of the same agents and games."
    drawn += _evaluations(found)
    return el("figcaption", "Mean return at the last evaluation. ", " ".join(said), " ", drawn)


def _ends(runs: Runs) -> list[str]:
    """The mean return of each agent at its last evaluation."""
    last = {label: runs.scores(label).values for label in runs.agents}
    return [
        f"{look_of(label, runs.agents).label} {_finite(stats.mean_interval(values[:, -1]))}"
        for label, values in last.items()
        if values.shape[1]
    ]


def _evaluations(found: list[Runs]) -> str:
    """What dots are, and whose two dots are no curve."""
    drawn = panels(found)
    steps = [np.unique(np.concatenate([runs.table["step"] for runs in panel])) for panel in drawn]
    if min(map(len, steps)) > FEW_EVALUATIONS:
        return ""
    whose: dict[str, list[str]] = {}
    for panel, at in zip(drawn, steps, strict=True):
        for note in comparison.note_on_steps(at):
            whose.setdefault(note, []).append(title(panel, drawn))
    text = " Dots: evaluations."
    for note, titles in whose.items():
        few = "" if len(titles) == len(drawn) else f"{', '.join(titles)}: "
        text += f" {few}{note}"
    return text


MANY_PANELS = 3
"""So many panels of two evaluations each are folded away."""


def straight(found: list[Runs]) -> str:
    """What is drawn, if it is many panels of two evaluations each; else nothing."""
    number = len(panels(found))
    steps = [np.unique(runs.table["step"]) for runs in found]
    if number < MANY_PANELS or max(map(len, steps)) > 2:
        return ""
    ends = {int(at[-1]) for at in steps}
    until = f" to {min(ends):,} steps" if len(ends) == 1 else ""
    return f"Charts: {number} panels of straight lines, from the first evaluation{until}"


def published_caption() -> Raw:
    """Where the published curves end."""
    said = []
    for game in published.GAMES:
        ends = {a: published.scores(game, a).values[:, -1] for a in published.AGENTS}
        agents = (
            f"{look_of(a, published.AGENTS).label} {stats.mean_interval(end)}"
            for a, end in ends.items()
        )
        said.append(f"{published.title(game)}: {', '.join(agents)}.")
    text = "Mean return at 10,000,000 steps, with 95 % intervals over seeds. "
    return el("figcaption", text + " ".join(said))


def _finite(interval: stats.Interval) -> str:
    return str(interval) if np.isfinite(interval.mean) else "diverged"


def agents_table(found: list[Runs]) -> Raw:
    """How each agent is set, told by what differs from the published setting."""
    rows = []
    for runs in found:
        for agent in runs.config["agents"]:
            rows.append([runs.directory.name, agent["label"], _differences(agent)])
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


def facts(parent: Path, found: list[Runs], name: str) -> tuple[Fact, ...]:
    """What was run, where and for how long, for the summary of the page."""
    number = sum(len(runs.agents) * len(runs.config["seeds"]) for runs in found)
    games = ", ".join(dict.fromkeys(published.title(runs.game) for runs in found))
    other = "MinAtar" if on_minatar(found) else "Training"
    what = "Figure 6" if is_figure6(found) else other
    place = _place(parent, found)
    told = f"{what}: {number} run{'s' * (number != 1)} of {_steps(found)} steps, {games}"
    facts = [Fact("run", told, name, str(place))]
    seconds = [_seconds(runs) for runs in found]
    if all(np.isfinite(s) for s in seconds):
        facts.append(Fact("time", f"{what}: {sum(seconds) / 60:.1f} min", name, str(place)))
    devices = {str((r.config.get("provenance") or {}).get("device", "unknown")) for r in found}
    facts.append(Fact("where", f"{what}: {', '.join(sorted(devices))}", name, str(place)))
    return tuple(facts)


def _seconds(runs: Runs) -> float:
    """Wall clock of the command; all runs of a directory train side by side."""
    elapsed = runs.table.get("elapsed_seconds", np.zeros(0))
    known = elapsed[np.isfinite(elapsed)]
    return float(known.max()) if known.size else float("nan")
