"""The certificate on the page, as `qduet certify` prints it: cells and claims."""

from collections import Counter
from collections.abc import Sequence

from qduet.core.tables import Table
from qduet.paper.agreement import Cell
from qduet.paper.certificate import Certificate, as_document
from qduet.paper.certificate_tables import (
    certificate_tables,
    difference_line,
    explanation,
    sentences,
)
from qduet.paper.claims import (
    CORRECTED,
    FAILS,
    HOLDS,
    MINATAR,
    NO_DATA,
    UNDECIDED,
    Claim,
    rdq_outperforms,
)
from qduet.results import published
from qduet.results.published import AGENT_NAMES, title
from qduet.show.report.effects import whisker
from qduet.show.report.html import Child, Part, Raw, details, el, evidence, join, table

KINDS = {"agree": "yes", HOLDS: "yes", CORRECTED: "mended", "differ": "no", FAILS: "no"}
"""How a verdict looks; others are open."""

WORDS = {
    HOLDS: "hold",
    CORRECTED: "hold with a correction",
    UNDECIDED: "undecided",
    FAILS: "refuted",
}
"""How verdicts are counted."""


def mark(verdict: str) -> Raw:
    """A verdict as a word in its colour."""
    return el("span", verdict, class_=f"mark {KINDS.get(verdict, 'open')}")


# --- In short ------------------------------------------------------------------------------------


def counted(verdicts: Sequence[str], words: dict[str, str]) -> str:
    """How many there are of each verdict: ``30 hold, 1 undecided, 0 refuted``."""
    counts = Counter(verdicts)
    return ", ".join(f"{counts[verdict]} {word}" for verdict, word in words.items())


def tested(certificate: Certificate) -> list[Claim]:
    """The claims that there are data for."""
    return [claim for claim in certificate.claims if claim.verdict != NO_DATA]


def cells_of(certificate: Certificate) -> list[Cell]:
    """The cells in mean return."""
    return [cell for cell in certificate.cells if cell.measure == "return"]


def agreeing(certificate: Certificate) -> str:
    """How many cells agree, in words."""
    verdicts = [cell.verdict for cell in cells_of(certificate)]
    others = counted(verdicts, {"undecided": "undecided", "differ": "differ"})
    return f"{verdicts.count('agree')} of {len(verdicts)} cells agree, {others}"


def wins(certificate: Certificate) -> list[str]:
    """How often RDQ is shown to be ahead: ``DQN in 4 of 5 games``."""
    verdicts = {claim.statement: claim.verdict for claim in tested(certificate)}
    found = []
    for other in ("dueling_dqn", "dqn"):
        named = [verdicts.get(rdq_outperforms(game, other)) for game in published.GAMES]
        there = [verdict for verdict in named if verdict]
        if there:
            won = f"{there.count(HOLDS)} of {len(there)} games"
            found.append(f"{AGENT_NAMES[other]} in {won}")
    return found


def at_the_top(certificate: Certificate, runs_at: str) -> Child:
    """What came out, in numbers; and what did not come out as the paper says, by name."""
    tiles = []
    if ahead := " and of ".join(wins(certificate)):
        text = f"Regularized Dueling Q-learning, the paper’s agent, is ahead of {ahead}"
        tiles.append(_tile("RDQ", text, runs_at))
    claims = [claim.verdict for claim in tested(certificate)]
    if claims:
        text = f"claims of the paper tested: {counted(claims, WORDS)}"
        tiles.append(_tile(str(len(claims)), text, "#certificate", _bar(claims)))
    cells = [cell.verdict for cell in cells_of(certificate)]
    if cells:
        runs = sum(len(source.agents) * source.seeds for source in certificate.sources)
        agree = agreeing(certificate)
        text = f"runs, held against the published scores: {agree} (a cell: one agent in one game)"
        tiles.append(_tile(str(runs), text, runs_at, _bar(cells)))
    return [el("ul", tiles, class_="verdict") if tiles else None, _exceptions(certificate)]


def _tile(number: str, text: str, link: str, bar: Raw | None = None) -> Raw:
    return el("li", el("a", el("b", number), " ", el("span", text), href=link), bar)


def _bar(verdicts: Sequence[str]) -> Raw:
    """The shares of the verdicts, as a line of blocks."""
    order = ("yes", "mended", "open", "no")
    by_kind = sorted((KINDS.get(v, "open") for v in verdicts), key=order.index)
    return el("div", [el("i", class_=kind) for kind in by_kind], class_="bar", aria_hidden="true")


EXCEPTIONS = {
    FAILS: "What does not hold",
    UNDECIDED: "What is undecided",
    CORRECTED: "What holds with a correction",
}


def _exceptions(certificate: Certificate) -> Raw | None:
    """What is undecided, refuted or corrected: named here, so that nobody has to look for it."""
    found: dict[str, list[str]] = {verdict: [] for verdict in EXCEPTIONS}
    for claim in tested(certificate):
        if claim.verdict in found:
            where = "Figure 6" if claim.where == MINATAR else claim.where
            why = claim.theirs if claim.verdict == CORRECTED else claim.ours
            found[claim.verdict].append(f"{where}: {claim.statement} ({why})")
    for cell in certificate.cells:
        if cell.verdict != "agree":
            found[{"differ": FAILS}.get(cell.verdict, UNDECIDED)].append(difference_line(cell))
    lists = [
        [el("h4", EXCEPTIONS[verdict]), el("ul", [el("li", line) for line in lines])]
        for verdict, lines in found.items()
        if lines
    ]
    if not lists:
        return None
    return details("Which claims and cells are not plain agreement", lists, class_="exceptions")


# --- Cells ---------------------------------------------------------------------------------------


def agreement(certificate: Certificate) -> list[Child]:
    """Our runs beside the published ones: a picture of the cells, and all numbers."""
    key = el(
        "p",
        "Each cell, a game with an agent: published → ours, and the difference of the means with "
        "its 95 % interval. The grey band is what another seed changes, one published standard "
        "deviation. ",
        mark("agree"),
        " the difference is shown to lie inside it.",
        class_="key",
    )
    found = {(cell.game, cell.agent): cell for cell in cells_of(certificate)}
    games = [game for game in published.GAMES if any(key[0] == game for key in found)]
    rows = [
        [title(game), *(_cell(found.get((game, agent))) for agent in AGENT_NAMES)] for game in games
    ]
    caption = f"Mean return at {certificate.step or 0:,} steps, published → ours"
    picture = table(("game", *AGENT_NAMES.values()), rows, caption=caption, class_="effects")
    how = [el("p", explanation(), class_="setting")]
    how += [el("ul", [el("li", line) for line in sentences(certificate)], class_="setting")]
    cells_only = certificate._replace(claims=(), sources=())
    how += [_numbers(content) for content in certificate_tables(cells_only)]
    return [key, picture, details("How this was judged, and all its numbers", how)]


def _cell(cell: Cell | None) -> Child:
    if cell is None:
        return "not run"
    picture = whisker(cell.difference, 2 * cell.margin, cell.margin)
    return el(
        "span",
        picture,
        el("span", f"{cell.theirs.mean:.1f} → {cell.ours.mean:.1f}\u2002{cell.verdict}"),
        class_=f"effect {KINDS.get(cell.verdict, 'open')}",
    )


def _numbers(content: Table) -> Raw:
    """A table of `certificate_tables`; p-values are left out where all are 1."""
    name, headings, rows = content
    kept = [
        i
        for i, heading in enumerate(headings)
        if not heading.startswith("p (") or any(row[i] != "1" for row in rows)
    ]
    pick = lambda row: [row[i] for i in kept]
    return table(pick(headings), [pick(row) for row in rows], caption=name, numeric=2)


# --- Claims --------------------------------------------------------------------------------------

GROUPS = {
    "Deep agents (Figure 6)": lambda claim: claim.where == MINATAR,
    "Tabular experiments (Figures 1, 3 and 5)": lambda claim: claim.theirs == "its text",
    "Theory": lambda claim: True,
}


def show_claims(certificate: Certificate, name: str) -> Part:
    """Every claim with its verdict; its evidence on demand."""
    left = list(certificate.claims)
    groups = []
    for heading, belongs in GROUPS.items():
        here = [claim for claim in left if belongs(claim)]
        left = [claim for claim in left if claim not in here]
        if here:
            groups += [el("h4", heading), el("ul", [_claim(c) for c in here], class_="claims")]
    key = el(
        "p",
        "Open a claim for its evidence. ",
        mark(HOLDS),
        " shown in our data. ",
        mark(CORRECTED),
        " what holds is a little other than the paper’s words. ",
        mark(UNDECIDED),
        " neither shown nor refuted. ",
        mark(FAILS),
        " refuted.",
        class_="key",
    )
    return Part(name, "", key, None, groups, {}, {name: as_document(certificate)})


def _claim(claim: Claim) -> Raw:
    summary = join([mark(claim.verdict), " ", claim.statement, " ", el("small", claim.where)])
    theirs = None
    if claim.theirs not in ("its text", "proof or text", "proofs"):
        theirs = [el("p", "The paper", class_="who"), evidence(claim.theirs)]
    return el("li", details(summary, el("p", "Ours", class_="who"), evidence(claim.ours), theirs))


def in_a_sentence(certificate: Certificate) -> str:
    """The finding of the list of claims."""
    claims = [claim.verdict for claim in tested(certificate)]
    missing = len(certificate.claims) - len(claims)
    more = f" {missing} more need data that are not here." if missing else ""
    return f"{len(claims)} claims tested: {counted(claims, WORDS)}.{more}"
