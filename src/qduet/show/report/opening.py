"""The first screen: what this is about, what came out, the headline figure, an agent at play."""

from collections.abc import Sequence

from qduet.paper.certificate import Certificate
from qduet.paper.claims import CORRECTED, FAILS, UNDECIDED
from qduet.show.report import certificate as certified
from qduet.show.report import kinds
from qduet.show.report.html import Child, Raw, details, el
from qduet.show.report.parts import Part

TITLE = "Learning with two value functions"
IDEA = (
    "An agent usually learns one value function: Q(s, a), how good an action is. The methods here "
    "learn a second one with it: V(s), how good the situation is, whatever one does. Every action "
    "teaches it something, so it is learned sooner, and helps to learn the rest."
)
PAPER = (
    "After “An Analysis of Action-Value Temporal-Difference Methods That Learn State Values” "
    "(Daley, Nagarajan, White and Machado, RLC 2025): its experiments and theorems, reproduced."
)


def show(
    title: str,
    *,
    own: bool,
    certificate: Certificate | None,
    headline: Part | None,
    plays: bool,
    problems: Sequence[str],
) -> Raw:
    """The top of the page."""
    words: list[Child] = [el("h1", title)]
    if not own:
        words += [el("p", IDEA, class_="lead"), el("p", PAPER, class_="note")]
    figure: Child = None
    if headline and own:
        words += [el("p", headline.heading, class_="lead"), headline.opening, headline.figure]
    elif headline:
        figure = [el("h2", headline.heading, class_="small"), headline.figure]
    verdict = _verdict(certificate, f"#{kinds.OWN if own else kinds.PAPER}")
    beside = el("div", id="qduet-glimpse") if plays else None
    return el(
        "header",
        el("div", el("div", words, verdict), beside, class_="opening"),
        _unreadable(problems),
        figure,
        el("noscript", el("p", "The charts and the player need JavaScript; the text does not.")),
        id="top",
    )


def _unreadable(problems: Sequence[str]) -> Raw | None:
    if not problems:
        return None
    items = [el("li", problem) for problem in problems]
    return el("div", el("p", "Could not be read:"), el("ul", items), class_="problems")


def _verdict(certificate: Certificate | None, runs_at: str) -> Child:
    """What came out, in numbers; and what did not come out as the paper says, by name.

    `runs_at` is the link to the section of the runs.
    """
    if certificate is None:
        return None
    tiles = []
    wins = certified.wins(certificate)
    if wins:
        ahead = " and of ".join(f"{other} in {n} of {total} games" for other, n, total in wins)
        text = f"Regularized Dueling Q-learning, the paper’s agent, is ahead of {ahead}"
        tiles.append(_tile("RDQ", text, runs_at))
    claims = [claim.verdict for claim in certified.tested(certificate)]
    if claims:
        text = f"claims of the paper tested: {certified.counted(claims, certified.WORDS)}"
        tiles.append(_tile(str(len(claims)), text, "#certificate", _bar(claims)))
    cells = [cell.verdict for cell in certified.cells_of(certificate)]
    if cells:
        runs = sum(len(source.agents) * source.seeds for source in certificate.sources)
        agree = certified.agreeing(certificate)
        text = f"runs, held against the published scores: {agree} (a cell: one agent in one game)"
        tiles.append(_tile(str(runs), text, runs_at, _bar(cells)))
    return [el("ul", tiles, class_="verdict") if tiles else None, _exceptions(certificate)]


def _tile(number: str, text: str, link: str, bar: Raw | None = None) -> Raw:
    return el("li", el("a", el("b", number), " ", el("span", text), href=link), bar)


def _bar(verdicts: Sequence[str]) -> Raw:
    """The shares of the verdicts, as a line of blocks."""
    order = ("yes", "mended", "open", "no")
    by_kind = sorted((certified.KINDS.get(v, "open") for v in verdicts), key=order.index)
    return el("div", [el("i", class_=kind) for kind in by_kind], class_="bar", aria_hidden="true")


def _exceptions(certificate: Certificate) -> Raw | None:
    """What is undecided, refuted or corrected: named here, so that nobody has to look for it."""
    found = certified.exceptions(certificate)
    titles = {
        FAILS: "What does not hold",
        UNDECIDED: "What is undecided",
        CORRECTED: "What holds with a correction",
    }
    lists = [
        [el("h4", titles[kind]), el("ul", [el("li", line) for line in found[kind]])]
        for kind in titles
        if kind in found
    ]
    if not lists:
        return None
    return details("Which claims and cells are not plain agreement", lists, class_="exceptions")
