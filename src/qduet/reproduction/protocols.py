"""What the differences between the paper's text and its released code do to the scores.

Two tables. *Protocols*: for each game and agent, ``protocol=paper`` against ``protocol=reference``.
*Ablation*: runs that change some of the differing settings (docs/differences.md, items 9–11),
against ``protocol=reference``. Both give the difference of mean returns with Welch's interval, in
published standard deviations too, and a Holm-corrected p-value.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from qduet import published
from qduet.agents import PROTOCOLS, make_agent
from qduet.certificate.cells import measure
from qduet.certificate.claims import signed
from qduet.certificate.tables import AGENTS, NOT_YET, Table
from qduet.published import title
from qduet.runs import Runs
from qduet.stats import Interval, holm, mean_interval, welch_interval, welch_test


class Shift(NamedTuple):
    """What a change of settings does to one agent's mean return in one game."""

    game: str
    agent: str
    changed: str
    step: int
    before: Interval
    """With ``protocol=reference``."""
    after: Interval
    difference: Interval
    p_value: float
    spread: float
    """Published standard deviation over seeds."""


def shifts(reference: Sequence[Runs], changed: Sequence[Runs]) -> list[Shift]:
    """Each agent of `changed` against the same one of `reference`, at their last common step."""
    before = {(runs.game, agent): runs for runs in reference for agent in runs.agents}
    found = []
    for runs in changed:
        for settings in runs.config["agents"]:
            base = before.get((runs.game, settings["name"]))
            if base is not None:
                found.append(_shift(base, runs, settings))
    corrected = holm([shift.p_value for shift in found])
    return [s._replace(p_value=float(p)) for s, p in zip(found, corrected, strict=True)]


def _shift(base: Runs, runs: Runs, settings: Mapping[str, Any]) -> Shift:
    step = min(base.config["steps"], runs.config["steps"])
    name = settings["name"]
    x = measure(runs.scores(settings["label"]), "return", step)
    y = measure(base.scores(name), "return", step)
    spread = measure(published.scores(runs.game, name), "return", step).std(ddof=1)
    return Shift(
        game=runs.game,
        agent=name,
        changed=changes(settings),
        step=step,
        before=mean_interval(y),
        after=mean_interval(x),
        difference=welch_interval(x, y),
        p_value=welch_test(x, y),
        spread=float(spread),
    )


def changes(settings: Mapping[str, Any]) -> str:
    """The settings of an agent that are not those of ``protocol=reference``."""
    reference = dataclasses.asdict(make_agent(settings["name"], protocol="reference"))
    changed = {key: settings[key] for key, value in reference.items() if settings[key] != value}
    if changed and changed == {k: v for k, v in PROTOCOLS["paper"].items() if k in changed}:
        return ", ".join(_WORDS.get(key, key) for key in changed)
    return ", ".join(f"{key} = {value}" for key, value in changed.items()) or "nothing"


_WORDS = {
    "epsilon_hold_steps": "ε held at 1 for 1,000 steps (9)",
    "initialisation": "LeCun initialisation everywhere (10)",
    "shared_bias": "a bias per action (11)",
}


def protocols_table(found: Sequence[Shift]) -> Table:
    """All 15 cells, ``paper`` against ``reference``."""
    there = {(shift.game, shift.agent): shift for shift in found}
    rows = [
        (title(game), AGENTS[agent], *_numbers(there.get((game, agent))))
        for game in published.GAMES
        for agent in published.AGENTS
    ]
    headings = ("game", "agent", "reference", "paper", "paper − reference")
    return Table("Protocols", (*headings, "in published sd", "p (equal, Holm)"), rows)


def ablation_table(found: Sequence[Shift]) -> Table:
    """One row per changed agent and game; none without data."""
    order = {name: i for i, name in enumerate((*published.GAMES, *published.AGENTS))}
    ordered = sorted(found, key=lambda s: (order[s.game], order[s.agent], s.changed))
    rows = [(title(s.game), AGENTS[s.agent], s.changed, *_numbers(s)) for s in ordered]
    headings = ("game", "agent", "changed", "reference", "changed to", "difference")
    empty = ("–", "–", NOT_YET, *("–",) * 5)
    return Table("Ablation", (*headings, "in published sd", "p (equal, Holm)"), rows or [empty])


def _numbers(shift: Shift | None) -> tuple[str, ...]:
    if shift is None:
        return ("–", NOT_YET, "–", "–", "–")
    share = shift.difference.mean / shift.spread if shift.spread else np.nan
    return (
        str(shift.before),
        str(shift.after),
        signed(shift.difference),
        f"{share:+.2f}".replace("-", "−"),
        f"{shift.p_value:.2g}",
    )
