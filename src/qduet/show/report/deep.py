"""Training runs on the page: what they are, what came out, charts, warnings, numbers.

    groups = load_groups(find([Path("results")]), problems)    # results/figure6 -> its five games
    items(groups, *certificates_of(...), problems)["study"]    # what the page shows, by section

Directories that lie side by side are one item.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from qduet.core.errors import InputError
from qduet.core.reading import as_input_error
from qduet.paper.admission import is_figure6
from qduet.paper.certificate import Certificate, certify
from qduet.paper.figures import FIGURES
from qduet.results.collect import Collection
from qduet.results.published import GAMES
from qduet.results.runs import Runs, load
from qduet.show.chart import chart_data
from qduet.show.charts.study import beta_chart
from qduet.show.charts.training import runs_chart
from qduet.show.names import agent_styles
from qduet.show.report import certificate as certified
from qduet.show.report.deep_numbers import (
    Collections,
    agents_table,
    collected,
    collections_of,
    heading,
    notes_on,
    numbers_of,
    origin,
    setting,
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
from qduet.show.report.html import Child, Part, details, el, figure
from qduet.show.report.sources import (
    CHECKS,
    OWN,
    PAPER,
    STUDY,
    Found,
    Purpose,
    attempt,
    distinct_headings,
    purpose_of,
)

NO_COUNTERPART = "These runs have no counterpart in the paper"

MOST_PAIRS = 6
"""With more pairs than these, agents of one's own are compared with the first one alone."""

MOST_SENTENCES = 3
"""So many conclusions stand in sentences; of more there is a count."""


class Item(NamedTuple):
    """Runs that are shown together."""

    parent: Path
    runs: list[Runs]
    purpose: Purpose
    beside: list[Runs]
    """Runs of other items, which these are compared with."""
    certificate: Certificate | None
    """None if they cannot be compared with the published scores."""
    refused: str
    """Why, if so."""


def show(item: Item, name: str, heading: str) -> Part:
    """The item of all runs below a directory."""
    runs, purpose = item.runs, item.purpose
    collections, reasons = collections_of(_trained(runs))
    families, missing = compared(item, collections)
    found = [effect for family in families for effect in family.effects]
    chart = _chart(item, collections)
    sentences = []
    if item.certificate and item.certificate.step and purpose.section != PAPER:
        sentences = [f"Beside the published runs, {certified.agreeing(item.certificate)}."]
    sentences += [line for family in families for line in _sentences(family.effects)]
    if purpose.section == OWN and not item.certificate:
        sentences.append(f"{NO_COUNTERPART}.")
    notes = [el("li", note) for directory in runs for note in notes_on(directory)]
    notes += [el("li", missing)] if missing else []
    played = len({directory.game for directory in runs})
    if families and played < purpose.games:
        planned = f"{played} of {purpose.games} planned games have been run"
        notes.append(el("li", f"{planned}; tests count the others as if they showed nothing."))
    intro = [
        el("p", purpose.about, class_="about") if purpose.about else None,
        el("p", setting(runs), class_="setting"),
        el("ul", notes, class_="missing") if notes else None,
    ]
    numbers, stated = numbers_of(collections)
    why = []
    if item.refused and purpose.section == OWN:
        why = [f"Not compared with the published scores: {item.refused}."]
    tables = [effects_table(f.effects, caption=f.question) for f in families]
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
        name,
        heading,
        intro,
        drawn,
        rest,
        charts,
        {name: data},
        (origin(item.parent, runs),),
        tuple(sentences),
    )


def _trained(runs: list[Runs]) -> list[Runs]:
    """Those that have an evaluation after step 0; all, if none has."""
    return [directory for directory in runs if directory.table["step"].any()] or runs


def _sentences(family: list[Effect]) -> list[str]:
    lines = conclusions(family)
    return [f"{line}." for line in lines] if len(lines) <= MOST_SENTENCES else [tally(family)]


def _chart(item: Item, collections: Collections) -> Any:
    """Learning curves; for RDQ with several β, evaluated at the end alone, returns against β."""
    evaluated = [r for r in item.runs if len(r.table["step"])]
    curves = any(len(set(r.table["step"].tolist())) > 2 for r in evaluated)
    if len(collections) == 1 and not curves and _is_of_betas(collections[0][1]):
        return beta_chart(collections[0][1])
    return runs_chart(item.runs) if curves or (evaluated and item.purpose.section == OWN) else None


def _is_of_betas(collection: Collection) -> bool:
    """Whether all agents are RDQ with a β of its own, each on every game."""
    agents = collection.agents
    named = all(re.fullmatch(r"rdq-beta-\d+(\.\d+)?(e-\d+)?", agent) for agent in agents)
    return named and len(agents) > 1 and collection.everywhere == agents


class Family(NamedTuple):
    """Differences that are tested, and corrected, together."""

    effects: list[Effect]
    at: int
    """The step that they are of."""
    one_sided: bool = False

    @property
    def question(self) -> str:
        """What was tested, and when; of one-sided tests also what they ask."""
        tested = f"Difference of the mean returns at step {self.at:,}"
        if not self.one_sided:
            return tested
        first = self.effects[0].x
        return f"{tested}. Is {agent_styles([first])[first].label} ahead? (one-sided tests)"


def compared(item: Item, collections: Collections) -> tuple[list[Family], str]:
    """The differences between agents by family of tests, and what of `pairs` is not there."""
    purpose, found = item.purpose, list[Family]()
    try:
        every = collected(_trained([*item.runs, *item.beside]))
    except InputError:
        every = None
    if every:
        for i, pairs in enumerate(purpose.pairs):
            one_sided = purpose.one_sided and i == 0
            own = effects(every, pairs, games=purpose.games, one_sided=one_sided)
            found.append(Family(own, every.at, one_sided))
    missing = ""
    if not any(family.effects for family in found):
        if every and purpose.pairs:
            missing = "No pair of experiment.json is on this page; all pairs are compared instead."
        own_pairs = lambda c: effects(c, _own_pairs(c), games=purpose.games)
        found = [Family(own_pairs(c), c.at) for _, c in collections]
    return [family for family in found if family.effects], missing


def _own_pairs(collection: Collection) -> Pairs:
    pairs = list(itertools.combinations(collection.agents, 2))
    first = collection.agents[0]
    return pairs if len(pairs) <= MOST_PAIRS else [(x, first) for x in collection.agents[1:]]


# --- All training runs ---------------------------------------------------------------------------

Groups = dict[Path, list[Runs]]
"""Runs by the directory that theirs lie in; those of the paper first, then the longest."""

FIGURE6 = Purpose(
    "Figure 6: DQN, Dueling DQN and RDQ on MinAtar",
    section=PAPER,
    games=len(GAMES),
    one_sided=True,
    pairs=([("rdq", "dueling_dqn"), ("rdq", "dqn")], [("dueling_dqn", "dqn")]),
)
"""The paper's runs, wherever they lie: they are known by their settings (`is_figure6`)."""


def load_groups(found: Found, problems: list[str]) -> Groups:
    """The runs that were found; adds to `problems` what could not be read."""
    groups, by_parent = {}, defaultdict(list)
    for path in found.runs:
        by_parent[path.parent].append(path)
    for parent, paths in by_parent.items():
        loaded = [attempt(problems, path, load, path) for path in paths]
        if any(loaded):
            groups[parent] = [runs for runs in loaded if runs is not None]
    rank = lambda parent: (not is_figure6(groups[parent]), -_longest(groups[parent]))
    return {parent: groups[parent] for parent in sorted(groups, key=rank)}


def _longest(runs: list[Runs]) -> int:
    return max(int(item.config["steps"]) for item in runs)


def certificates_of(
    found: Found, groups: Groups, problems: list[str]
) -> tuple[dict[Path | None, Certificate], dict[Path, str]]:
    """The certificates of all runs that may be compared with the published ones; else why not.

    The first one has the claims on what was reproduced, and stands alone (None) without runs.
    """
    figures = [folder for folder in found.curves if folder.name in FIGURES]
    whole = [folder.parent for folder in figures if (folder / "summary.json").exists()]
    whole += [path.parent.parent for path in found.theory if path.parent.name == "theory"]
    reproduced: dict[str, Any] = {"reproduced": whole[0] if whole else None, "problems": problems}
    made: dict[Path | None, Certificate] = {}
    refused = {}
    for parent, runs in groups.items():
        try:
            with as_input_error(parent):
                made[parent] = certify([r.directory for r in runs], **({} if made else reproduced))
        except InputError as error:
            refused[parent] = str(error)
    if not made and (found.theory or whole):
        made[None] = certify([], **reproduced)
    return made, refused


def items(
    groups: Groups,
    certificates: Mapping[Path | None, Certificate],
    refused: dict[Path, str],
    problems: list[str],
) -> dict[str, list[Part]]:
    """The items of all training runs, by section."""
    read = lambda parent: attempt(problems, parent, purpose_of, parent) or Purpose()
    purposes = [FIGURE6 if is_figure6(runs) else read(at) for at, runs in groups.items()]
    titles = [p.title or heading(r) for p, r in zip(purposes, groups.values(), strict=True)]
    headings = distinct_headings(titles, list(groups))
    sections: dict[str, list[Part]] = {PAPER: [], CHECKS: [], STUDY: [], OWN: []}
    by_place = {parent.resolve(): runs for parent, runs in groups.items()}
    for i, parent in sorted(enumerate(groups), key=lambda each: purposes[each[0]].order):
        folder = parent.resolve().parent
        beside = [r for name in purposes[i].beside for r in by_place.get(folder / name, ())]
        item = Item(
            parent,
            groups[parent],
            purposes[i],
            beside,
            certificates.get(parent),
            refused.get(parent, ""),
        )
        part = attempt(problems, parent, show, item, f"deep-{i}", headings[i])
        sections[purposes[i].section] += [part] if part else []
    return sections
