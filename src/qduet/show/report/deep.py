"""Training runs on the page: what they are, what came out, charts, warnings, numbers.

    for parent, runs in grouped(paths).items():     # results/figure6 -> its five games
        part = show(Item(parent, [load(path) for path in runs], ...), "deep-0")

Directories that lie side by side are one item.
"""

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qduet.core.errors import InputError
from qduet.paper.certificate import Certificate, cost
from qduet.results import published
from qduet.results.collect import Collection
from qduet.results.runs import Runs
from qduet.show.chart import chart_data
from qduet.show.charts.study import beta_chart
from qduet.show.charts.training import published_chart, runs_chart
from qduet.show.names import agent_styles
from qduet.show.report import certificate as certified
from qduet.show.report.deep_numbers import (
    Collections,
    agents_table,
    collected,
    collections_of,
    numbers_of,
)
from qduet.show.report.effects import (
    KEY,
    Effect,
    Pairs,
    conclusions,
    effects,
    effects_table,
    tally,
)
from qduet.show.report.html import Child, details, el
from qduet.show.report.kinds import OWN, PAPER, Kind
from qduet.show.report.parts import Origin, Part, figure, protocol, source

NOTHING_OF_OURS = (
    "No runs at the paper’s scale were given: these are the authors’ released scores, and nothing "
    "of ours."
)
NO_COUNTERPART = "These runs have no counterpart in the paper"

MOST_PAIRS = 6
"""With more pairs than these, agents of one's own are compared with the first one alone."""

MOST_SENTENCES = 3
"""So many conclusions stand in sentences; of more there is a count."""


def grouped(paths: Iterable[Path]) -> dict[Path, list[Path]]:
    """Directories of runs by the directory they lie in."""
    groups: dict[Path, list[Path]] = {}
    for path in paths:
        groups.setdefault(path.parent, []).append(path)
    return groups


class Item(NamedTuple):
    """Runs that are shown together."""

    parent: Path
    runs: list[Runs]
    kind: Kind
    beside: list[Runs]
    """Runs of other items, which these are compared with."""
    certificate: Certificate | None
    """None if they cannot be compared with the published scores."""
    refused: str
    """Why, if so."""


def show(item: Item, name: str, heading: str) -> Part:
    """The item of all runs below a directory."""
    runs, kind = item.runs, item.kind
    collections, reasons = collections_of(runs)
    families = compared(item, collections)
    found = [effect for family in families for effect in family]
    chart = _chart(item, collections)
    sentences = []
    if item.certificate and item.certificate.step and kind.section != PAPER:
        sentences = [f"Beside the published runs, {certified.agreeing(item.certificate)}."]
    sentences += [line for family in families for line in _sentences(family)]
    if kind.section == OWN and not item.certificate:
        sentences.append(f"{NO_COUNTERPART}.")
    notes = [el("li", note) for directory in runs for note in _notes(directory)]
    intro = [
        el("p", kind.about, class_="about") if kind.about else None,
        el("p", _setting(runs), class_="setting"),
        el("ul", notes, class_="missing") if notes else None,
    ]
    numbers, stated = numbers_of(collections)
    why = []
    if item.refused and kind.section == OWN:
        why = [f"Not compared with the published scores: {item.refused}."]
    at = f"Difference of the mean returns at step {collections[0][1].at:,}" if found else ""
    asked = f"{at}. Is RDQ ahead? (one-sided tests)" if kind.one_sided else at
    tables = [
        effects_table(family, caption=at if i else asked) for i, family in enumerate(families)
    ]
    rest: list[Child] = [
        [KEY, *tables] if tables else None,
        certified.agreement(item.certificate) if item.certificate else None,
        details("Numbers and their files", numbers) if numbers else None,
        agents_table(runs),
        [el("p", note, class_="setting") for note in [*why, *reasons[:1]]],
    ]
    charts = {name: chart_data(chart)} if chart else {}
    data: dict[str, Any] = {"numbers": stated, "comparisons": [e._asdict() for e in found]}
    drawn = figure(name, chart.alt) if chart else None
    return Part(
        name, heading, intro, drawn, rest, charts, {name: data}, _origins(item), tuple(sentences)
    )


def _sentences(family: list[Effect]) -> list[str]:
    lines = conclusions(family)
    return [f"{line}." for line in lines] if len(lines) <= MOST_SENTENCES else [tally(family)]


def _chart(item: Item, collections: Collections) -> Any:
    """Learning curves; for the β study, returns against β."""
    if item.kind.id == "beta" and len(collections) == 1:
        return beta_chart(collections[0][1])
    evaluated = [r for r in item.runs if len(r.table["step"])]
    curves = any(len(set(r.table["step"].tolist())) > 2 for r in evaluated)
    return runs_chart(item.runs) if curves or (evaluated and item.kind.section == OWN) else None


def compared(item: Item, collections: Collections) -> list[list[Effect]]:
    """The differences between agents, by family of tests."""
    found: list[list[Effect]] = []
    try:
        every = collected([*item.runs, *item.beside])
    except InputError:
        every = None
    if every and item.kind.families:
        for i, pairs in enumerate(item.kind.families(every.agents)):
            one_sided = item.kind.one_sided and i == 0
            games = len(published.GAMES)
            found.append(effects(every, pairs, games=games, one_sided=one_sided))
    if not any(found):
        found = [effects(collection, _own_pairs(collection)) for _, collection in collections]
    return [family for family in found if family]


def _own_pairs(collection: Collection) -> Pairs:
    pairs = list(itertools.combinations(collection.agents, 2))
    first = collection.agents[0]
    return pairs if len(pairs) <= MOST_PAIRS else [(x, first) for x in collection.agents[1:]]


def show_published(name: str) -> Part:
    """The published curves alone, for want of runs to put beside them."""
    chart = published_chart()
    missing = el("p", NOTHING_OF_OURS, class_="missing")
    origin = source("qduet/results/data/published_scores.csv")
    title = "Figure 6, as published"
    return Part(name, title, missing, figure(name, chart.alt), origin, {name: chart_data(chart)})


def heading(runs: list[Runs], kind: Kind) -> str:
    """What these runs are."""
    if kind.title:
        return kind.title
    agents = tuple(dict.fromkeys(label for directory in runs for label in directory.agents))
    games = list(dict.fromkeys(published.title(directory.game) for directory in runs))
    few = " and ".join(games) if len(games) < 3 else f"{len(games)} games"
    names = ", ".join(agent_styles(agents)[a].label for a in agents)
    who = names if len(agents) <= 4 else f"{len(agents)} agents"
    return f"{few}: {who}, {_steps(runs)} steps"


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


def _origins(item: Item) -> tuple[Origin, ...]:
    """What was run, where and for how long."""
    runs = item.runs
    number = sum(len(directory.agents) * len(directory.config["seeds"]) for directory in runs)
    games = ", ".join(dict.fromkeys(published.title(directory.game) for directory in runs))
    text = f"{number} run{'s' * (number != 1)} of {_steps(runs)} steps: {games}"
    seconds = sum(cost(directory).seconds for directory in runs)
    time = f"{seconds / 60:.1f} min" if np.isfinite(seconds) else ""
    devices = {str((r.config.get("provenance") or {}).get("device", "unknown")) for r in runs}
    where = str(runs[0].directory if len(runs) == 1 else item.parent)
    return (Origin(text, where, ", ".join(sorted(devices)), time),)
