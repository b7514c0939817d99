"""Differences between agents: as conclusions in words, and as a table that is a picture.

    found = effects(collection, [("rdq", "dqn")])
    conclusions(found)               # ["RDQ ahead of DQN by 3.10 ± 1.20"]
    effects_table(found, caption="…")

The numbers are those of `qduet compare`: the difference of means over seeds with Welch's 95 %
interval, and Welch's test with Holm's correction.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from qduet.paper.agreement import ALPHA, holm_pairs, pair_of
from qduet.paper.claims import signed
from qduet.results import published
from qduet.results.collect import Collection
from qduet.show.names import Style, agent_styles
from qduet.show.report.html import Raw, el, table
from qduet.stats import Interval

Pairs = Sequence[Sequence[str]]
"""Of agents: the first one is compared with the second."""

FEW = 4
"""So many differences are named in a sentence; more are counted."""


class Effect(NamedTuple):
    """Agent x against agent y on one game."""

    game: str
    x: str
    y: str
    difference: Interval
    """mean(x) − mean(y)"""
    p_value: float
    """Of equal means; if one-sided, of no difference or one of the other sign. Holm-corrected. NaN
    if there is a single seed."""

    @property
    def shown(self) -> int:
        """1: x is ahead, −1: it is behind, 0: no difference is shown."""
        return int(np.sign(self.difference.mean)) if self.p_value < ALPHA else 0


def effects(
    collection: Collection, pairs: Pairs, *, games: int = 0, one_sided: bool = False
) -> list[Effect]:
    """The effects of all pairs in all games, as one family of tests.

    `games` is how many there are by design: those not run count as if they had shown nothing.
    If `one_sided`, the questions are whether x is ahead and whether y is, as in `paper.claims`.
    """
    last = lambda game, agent: collection.curves[game, agent].last
    names = [
        (game, x, y)
        for game in collection.games
        for x, y in pairs
        if {x, y} <= set(collection.agents_of(game))
    ]
    each = Counter(game for game, _, _ in names)
    tests = max(len(names), max(each.values(), default=0) * games)
    tested = holm_pairs([pair_of(last(game, x), last(game, y)) for game, x, y in names], tests)
    found = []
    for name, pair in zip(names, tested, strict=True):
        side = pair.ahead if pair.difference.mean > 0 else pair.behind
        found.append(Effect(*name, pair.difference, side if one_sided else pair.two_sided))
    return found


# --- Words ---------------------------------------------------------------------------------------


def styles_of(found: Sequence[Effect]) -> dict[str, Style]:
    """The names of the agents that are compared."""
    return agent_styles(tuple(dict.fromkeys(a for e in found for a in (e.x, e.y))))


def conclusions(found: Sequence[Effect]) -> list[str]:
    """A sentence for each pair."""
    styles = styles_of(found)
    lines = []
    for x, y in dict.fromkeys((e.x, e.y) for e in found):
        of_pair = [e for e in found if (e.x, e.y) == (x, y)]
        lines.append(_conclusion(styles[x].label, styles[y].label, of_pair))
    return lines


def _conclusion(x: str, y: str, found: Sequence[Effect]) -> str:
    if all(np.isnan(e.p_value) for e in found):
        return f"{x} and {y}: a single seed, so no difference can be shown"
    if len(found) == 1:
        (only,) = found
        by = f"{abs(only.difference.mean):.2f} ± {only.difference.half_width:.2f}"
        if only.shown:
            return f"{x} {'ahead of' if only.shown > 0 else 'behind'} {y} by {by}"
        return f"{x} and {y}: no difference shown ({signed(only.difference)})"
    clauses = [
        f"{word} in {_games([e.game for e in found if e.shown == sign])}"
        for word, sign in (("ahead", 1), ("behind", -1), ("no difference shown", 0))
        if any(e.shown == sign for e in found)
    ]
    return f"{x} against {y}: {'; '.join(clauses)}"


def _games(games: Sequence[str]) -> str:
    *others, last = map(published.title, games)
    return f"{', '.join(others)} and {last}" if others else last


def _names(found: Sequence[Effect]) -> tuple[str, Callable[[str, str], str]]:
    """What a column of comparisons is called, and what each of them is."""
    styles = styles_of(found)
    others = {e.y for e in found}
    family = lambda agent: re.split("[-@]", agent)[0]
    if len(others) == 1:
        return f"minus {styles[others.pop()].label}", lambda x, y: styles[x].label
    if all(family(e.x) == family(e.y) for e in found):
        return "minus the same agent, unchanged", lambda x, y: styles[x].label
    return "first − second", lambda x, y: f"{styles[x].label} − {styles[y].label}"


def tally(found: Sequence[Effect]) -> str:
    """All effects in a sentence."""
    shown = sum(e.shown != 0 for e in found)
    against = _names(found)[0].removeprefix("minus ")
    where = f"Against {against}, " if against != "first − second" else ""
    if not shown:
        return _sentence(f"{where}none of {len(found)} comparisons shows a difference.")
    name, clauses = _names(found)[1], []
    for word, sign in (("ahead", 1), ("behind", -1)):
        here = [e for e in found if e.shown == sign]
        which = [
            f"{name(*pair)} in {_games([e.game for e in here if (e.x, e.y) == pair])}"
            for pair in dict.fromkeys((e.x, e.y) for e in here)
        ]
        few = f" ({'; '.join(which)})" if 0 < len(here) <= FEW else ""
        clauses.append(f"{len(here)} {word}{few}")
    show = "shows" if shown == 1 else "show"
    counted = f"{shown} of {len(found)} comparisons {show} a difference"
    return _sentence(f"{where}{counted}: {', '.join(clauses)}.")


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


# --- Pictures ------------------------------------------------------------------------------------


MARKS = {"ahead": "yes", "behind": "no", "no difference shown": "open"}
"""How each outcome looks."""


def effects_table(found: Sequence[Effect], *, caption: str) -> Raw:
    """A row for each pair, a column for each game; each game has a scale of its own."""
    games = list(dict.fromkeys(e.game for e in found))
    extents = {game: _extent([e for e in found if e.game == game]) for game in games}
    pairs = list(dict.fromkeys((e.x, e.y) for e in found))
    first, name = _names(found)
    cells = {(e.x, e.y, e.game): e for e in found}
    rows = []
    for x, y in pairs:
        there = [cells.get((x, y, game)) for game in games]
        rows.append([name(x, y), *(_cell(e, extents[e.game]) if e else "not run" for e in there)])
    return table((first, *map(published.title, games)), rows, caption=caption, class_="effects")


def _extent(found: Sequence[Effect]) -> float:
    ends = [abs(x) for e in found for x in e.difference[:3] if np.isfinite(x)]
    return max(ends, default=1.0) or 1.0


def _cell(effect: Effect, extent: float) -> Raw:
    kind = {1: "yes", -1: "no", 0: "open"}[effect.shown]
    text = signed(effect.difference) if np.isfinite(effect.difference.low) else "one seed"
    return el("span", whisker(effect.difference, extent), el("span", text), class_=f"effect {kind}")


def whisker(interval: Interval, extent: float, band: float = 0.0) -> Raw:
    """An interval as a line with a dot, about zero in the middle; the ends are at ±extent."""
    place = lambda x: f"{50 + 47 * max(-1.0, min(1.0, x / extent)):.1f}%"
    lines = [el("line", x1="50%", x2="50%", y1="0", y2="14", class_="zero")]
    if band:
        width = f"{2 * 47 * min(1.0, band / extent):.1f}%"
        lines.insert(0, el("rect", x=place(-band), width=width, y="1", height="12", class_="band"))
    if np.isfinite([interval.low, interval.high]).all():
        ends = {"x1": place(interval.low), "x2": place(interval.high)}
        lines.append(el("line", **ends, y1="7", y2="7", class_="span"))
    if np.isfinite(interval.mean):
        lines.append(el("circle", cx=place(interval.mean), cy="7", r="3.2"))
    return el("svg", lines, class_="whisker", height="14", aria_hidden="true")


KEY = el(
    "p",
    [[el("span", word, class_=f"mark {kind}"), " "] for word, kind in MARKS.items()],
    "Line: 95 % interval over seeds of the difference of the mean returns; each game has its own "
    "scale. Marked if Welch’s test shows a difference at 5 %, Holm-corrected over the table. The "
    "intervals are not corrected, so one may leave out 0 and be unmarked.",
    class_="key",
)
"""How to read `effects_table`; stands above it."""
