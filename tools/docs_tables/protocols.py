"""What the differences between the paper's text and its released code do to the scores.

Three tables. *Protocols*: for each game and agent, ``protocol=paper`` against
``protocol=reference``. *Leads*: how far RDQ is ahead of the others under each. *Ablation*: runs
that change some of the differing settings (docs/differences.md, items 9–11), against
``protocol=reference``, and what is then left to ``protocol=paper``: a setting is the likely cause
where it makes a difference and no remainder is seen. Differences are of mean returns, with Welch's
interval, p-values Holm-corrected.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from docs_tables.cells import NOT_YET
from qduet.agents import PROTOCOLS, completed, make_agent
from qduet.core.tables import Table
from qduet.paper.agreement import Cell, holm_among, measure
from qduet.paper.claims import signed
from qduet.results import published
from qduet.results.published import AGENT_NAMES, title
from qduet.results.runs import Runs
from qduet.stats import Interval, mean_interval, welch_interval, welch_test


class Shift(NamedTuple):
    """What a change of settings does to one agent's mean return in one game."""

    game: str
    agent: str
    changed: str
    """Which settings, in words."""
    step: int
    """The training step of the comparison."""
    before: Interval
    """With ``protocol=reference``."""
    after: Interval
    """With the changed settings."""
    difference: Interval
    """`after` − `before`, with Welch's interval."""
    p_value: float
    """Of equal means, Holm-corrected."""
    spread: float
    """Published standard deviation over seeds."""
    left: Interval | None
    """``protocol=paper`` − `after`, if there are runs of it: what the change does not explain."""


def shifts(
    reference: Sequence[Runs], changed: Sequence[Runs], paper: Sequence[Runs] = ()
) -> list[Shift]:
    """Each agent of `changed` against the same one of `reference`, at their last common step.

    Where `paper` has it too, also what is left to that, at the step that all three have. p-values
    are corrected for the number of tests of a full design: all settings in five games, run or not.
    """
    before, whole = (
        {(runs.game, agent): runs for runs in whose for agent in runs.agents}
        for whose in (reference, paper)
    )
    found = []
    for runs in changed:
        for settings in runs.config["agents"]:
            which = runs.game, settings["name"]
            if which in before:
                found.append(_shift(before[which], runs, settings, whole.get(which)))
    most = max(Counter(shift.game for shift in found).values(), default=0)
    corrected = holm_among([shift.p_value for shift in found], most * len(published.GAMES))
    return [s._replace(p_value=float(p)) for s, p in zip(found, corrected, strict=True)]


def _shift(base: Runs, runs: Runs, settings: Mapping[str, Any], paper: Runs | None) -> Shift:
    step = min(r.config["steps"] for r in (base, runs, paper) if r is not None)
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
        left=welch_interval(measure(paper.scores(name), "return", step), x)
        if paper is not None
        else None,
    )


def changes(settings: Mapping[str, Any]) -> str:
    """The settings of an agent that are not those of ``protocol=reference``."""
    reference = make_agent(settings["name"], protocol="reference").fields()
    own = completed(settings)
    changed = {key: own[key] for key, value in reference.items() if own[key] != value}
    if changed and changed == {k: v for k, v in PROTOCOLS["paper"].items() if k in changed}:
        return ", ".join(WORDS.get(key, key) for key in changed)
    return ", ".join(f"{key} = {value}" for key, value in changed.items()) or "nothing"


WORDS = {
    "epsilon_hold_steps": "ε held at 1 for 1,000 steps (9)",
    "initialisation": "LeCun initialisation everywhere (10)",
    "shared_bias": "a bias per action (11)",
}


def protocols_table(found: Sequence[Shift], cells: Sequence[Cell]) -> Table:
    """All 15 cells, ``paper`` against ``reference``.

    And `cells` of ``paper`` against the published scores, which are not of it: what the rule that
    judges our ``reference`` runs says of runs that are known to be made otherwise.
    """
    there = {(shift.game, shift.agent): shift for shift in found}
    judged = {(c.game, c.agent): c.verdict for c in cells if c.measure == "return"}
    rows = [
        (
            title(game),
            AGENT_NAMES[agent],
            *_numbers(there.get((game, agent))),
            judged.get((game, agent), "–"),
        )
        for game in published.GAMES
        for agent in published.AGENTS
    ]
    headings = ("game", "agent", "reference", "paper", "paper − reference", "in published sd")
    return Table("Protocols", (*headings, "p (equal, Holm)", "paper against published"), rows)


def leads_table(reference: Sequence[Runs], paper: Sequence[Runs]) -> Table:
    """RDQ − the other agents under both protocols, at the last step that both have."""
    before, after = ({runs.game: runs for runs in whose} for whose in (reference, paper))
    rows = []
    for game in published.GAMES:
        row = [title(game)]
        for other in ("dueling_dqn", "dqn"):
            for whose in (before, after):
                there = game in before and game in after
                step = min(r[game].config["steps"] for r in (before, after)) if there else 0
                row.append(_lead(whose[game], other, step) if there else NOT_YET)
        rows.append(tuple(row))
    names = product(("dueling_dqn", "dqn"), ("reference", "paper"))
    headings = [f"RDQ − {AGENT_NAMES[other]}, {protocol}" for other, protocol in names]
    return Table("Leads", ("game", *headings), rows)


def _lead(runs: Runs, other: str, step: int) -> str:
    if not {"rdq", other} <= set(runs.agents):
        return NOT_YET
    rdq, theirs = (measure(runs.scores(agent), "return", step) for agent in ("rdq", other))
    return signed(welch_interval(rdq, theirs))


def ablation_table(found: Sequence[Shift]) -> Table:
    """One row per changed agent and game; none without data."""
    order = {name: i for i, name in enumerate((*published.GAMES, *published.AGENTS))}
    ordered = sorted(found, key=lambda s: (order[s.game], order[s.agent], s.changed))
    rows = []
    for s in ordered:
        left = signed(s.left) if s.left else "–"
        rows.append((title(s.game), AGENT_NAMES[s.agent], s.changed, *_numbers(s), left))
    headings = ("game", "agent", "changed", "reference", "changed to", "difference")
    tests = ("in published sd", "p (equal, Holm)", "left to paper")
    return Table("Ablation", (*headings, *tests), rows or [("–", "–", NOT_YET, *("–",) * 6)])


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
