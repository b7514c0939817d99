"""The rules a port is examined for, and what was found about each."""

import re
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from qduet.minatar.conformance import statistics
from qduet.minatar.conformance.ports import OriginalGame, Port
from qduet.minatar.conformance.statistics import LEVEL, Episodes
from qduet.minatar.conformance.watch import Difference, Seen, watch_game
from qduet.minatar.registry import GAMES

STICKY = 0.1
LONG = 1500
"""An episode this long without truncation is taken to show that there is no time limit."""

FREEWAY_LENGTH = 2501


class Verdict(StrEnum):
    """What can be said about a rule."""

    CONFORMS = "conforms"
    DIFFERS = "differs"
    NOT_CHECKED = "not checked"


class Finding(NamedTuple):
    """One rule of one game."""

    game: str
    rule: str
    verdict: Verdict
    evidence: str


class Material(NamedTuple):
    """What the rules are judged by."""

    game: str
    num_actions: int
    shape: tuple[int, ...]
    dtype: str
    seen: Seen
    played: Episodes
    original: Episodes


def judged(conforms: bool, evidence: str) -> tuple[Verdict, str]:
    """The verdict of a rule that could be checked."""
    return (Verdict.CONFORMS if conforms else Verdict.DIFFERS), evidence


def unchecked(why: str) -> tuple[Verdict, str]:
    """The verdict of a rule that could not."""
    return Verdict.NOT_CHECKED, why


def action_set(found: Material) -> tuple[Verdict, str]:
    """As many actions as the original's minimal set; `transitions` shows what they do."""
    expected = len(GAMES[found.game].MINIMAL_ACTIONS)
    return judged(
        found.num_actions == expected, f"{found.num_actions} actions, original {expected}"
    )


def observation(found: Material) -> tuple[Verdict, str]:
    """bool[10, 10, channels]."""
    expected = (10, 10, len(GAMES[found.game].CHANNELS))
    same = found.shape == expected and found.dtype == "bool"
    return judged(same, f"{found.dtype}{list(found.shape)}, original bool{list(expected)}")


def start(found: Material) -> tuple[Verdict, str]:
    """Episodes begin as the original's can."""
    wrong = found.seen.wrong_starts
    if wrong:
        return judged(False, f"{len(wrong)} impossible; first: {wrong[0]}")
    return judged(True, f"{found.seen.episodes + 1} starts, all possible in the original")


def transitions(found: Material) -> tuple[Verdict, str]:
    """Every step's picture, reward and end is one the original can produce."""
    seen = found.seen
    if not seen.steps:
        return unchecked("no episode began as the original's do")
    if seen.impossible:
        count = f"{len(seen.impossible)} of {seen.steps} steps impossible in the original"
        kinds = ", ".join(f"{times} × {what}" for what, times in most_common(seen.impossible))
        return judged(False, f"{count} ({kinds}); first: {seen.impossible[0]}")
    return judged(True, f"{seen.steps} steps in {seen.episodes} episodes, all possible")


def most_common(differences: list[Difference]) -> list[tuple[str, int]]:
    """The three most frequent kinds of difference, wherever on the board they are."""
    kinds = (re.sub(r" at row \d+, column \d+", "", one.what) for one in differences)
    return Counter(kinds).most_common(3)


def sticky_actions(found: Material) -> tuple[Verdict, str]:
    """The last action is repeated with probability 0.1."""
    repeated, total = found.seen.repeated, found.seen.repeated + found.seen.as_chosen
    if total < 50:
        return unchecked(f"only {total} steps could tell")
    p_value = statistics.binomial_p_value(repeated, total, STICKY)
    evidence = f"{repeated} of {total} actions repeated ({repeated / total:.3f}); p = {p_value:.2g}"
    return judged(p_value > LEVEL, evidence)


def last_action_survives(found: Material) -> tuple[Verdict, str]:
    """A new episode's first action may be the last one of the episode before."""
    kept, cleared = found.seen.kept, found.seen.cleared
    evidence = f"survived {kept} times, cleared {cleared} times"
    return judged(cleared == 0, evidence) if kept + cleared else unchecked("no step could tell")


def no_time_limit(found: Material) -> tuple[Verdict, str]:
    """Episodes end when the game is over, and never for another reason."""
    seen, lengths = found.seen, found.played.lengths
    if seen.cut:
        return judged(False, f"truncated {len(seen.cut)} times; first: {seen.cut[0]}")
    if found.played.truncated.any():
        cut = lengths[found.played.truncated]
        return judged(False, f"{len(cut)} episodes of random play cut, at {cut.min()} steps")
    longest = max(seen.longest, int(lengths.max()))
    evidence = f"longest episode {longest} steps, none truncated"
    return judged(True, evidence) if longest >= LONG else unchecked(evidence)


def freeway_length(found: Material) -> tuple[Verdict, str]:
    """Freeway ends, as terminated, in step 2501."""
    lengths = sorted({int(length) for length in found.played.lengths})
    played = found.played
    if played.terminated.all():
        how = "terminated"
    else:
        how = "truncated" if played.truncated.any() else "not ended"
    same = lengths == [FREEWAY_LENGTH] and how == "terminated"
    return judged(same, f"lengths {lengths}, {how}; original {FREEWAY_LENGTH}, terminated")


def random_return(found: Material) -> tuple[Verdict, str]:
    """Returns of random play are distributed as the original's."""
    result = statistics.compare(found.played.returns, found.original.returns)
    return judged(result.p_value > LEVEL, result.evidence)


def random_length(found: Material) -> tuple[Verdict, str]:
    """Lengths of random play are distributed as the original's."""
    result = statistics.compare(found.played.lengths, found.original.lengths)
    return judged(result.p_value > LEVEL, result.evidence)


RULES: dict[str, Callable[[Material], tuple[Verdict, str]]] = {
    "action set": action_set,
    "observation": observation,
    "start": start,
    "transitions": transitions,
    "sticky actions": sticky_actions,
    "last action survives reset": last_action_survives,
    "no time limit": no_time_limit,
    "freeway length": freeway_length,
    "return of random play": random_return,
    "length of random play": random_length,
}
"""Every rule, by its name."""


def examine(
    port: Port, game: str, *, steps: int = 6000, episodes: int = 400, seed: int = 0
) -> list[Finding]:
    """Follows `steps` steps of the port's game and plays `episodes` at random (Freeway fewer)."""
    batch = max(24, episodes // 10) if game == "Freeway" else episodes
    single = port.make(game, 1)
    first = np.asarray(single.reset(seed))
    found = Material(
        game,
        int(single.num_actions),
        first.shape[1:],
        str(first.dtype),
        watch_game(game, single, steps, seed=seed),
        statistics.random_episodes(port.make(game, batch), batch, seed=seed),
        statistics.random_episodes(OriginalGame(game, batch), batch, seed=seed + 1),
    )
    rules = {name: rule for name, rule in RULES.items() if applies(name, game)}
    return [Finding(game, name, *rule(found)) for name, rule in rules.items()]


def applies(rule: str, game: str) -> bool:
    """Whether the rule is about this game."""
    return (rule == "freeway length") == (game == "Freeway") or rule not in (
        "freeway length",
        "length of random play",
    )
