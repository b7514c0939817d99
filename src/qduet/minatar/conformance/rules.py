"""The rules a port is examined for: each gives a verdict and its evidence."""

import math
import re
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from qduet.minatar.conformance.ports import OriginalGame, Port
from qduet.minatar.conformance.random_play import Episodes, random_episodes
from qduet.minatar.conformance.tracker import Difference, Tally, track
from qduet.minatar.registry import GAMES

LEVEL = 1e-4
"""A test says "differs" if the original would give what was seen, or worse, at most this often."""

STICKY = 0.1
"""The original's probability that the last action is repeated."""

LONG = 1500
"""An episode this long without truncation is taken to show that there is no time limit."""

FREEWAY_LENGTH = 2501
"""Steps of an episode of Freeway."""


class Verdict(StrEnum):
    """What can be said about a rule."""

    CONFORMS = "conforms"
    DIFFERS = "differs"
    NOT_CHECKED = "not checked"


class Finding(NamedTuple):
    """What was found about one rule of one game."""

    game: str
    """One of `qduet.minatar.GAMES`."""
    rule: str
    """One of `RULES`."""
    verdict: Verdict
    evidence: str
    """The numbers behind the verdict, in words."""


class Measured(NamedTuple):
    """What was measured of one game of a port."""

    game: str
    num_actions: int
    shape: tuple[int, ...]
    """Of one observation."""
    dtype: str
    """Of its elements."""
    tally: Tally
    """What the tracker saw."""
    played: Episodes
    """Random play of the port."""
    original: Episodes
    """Random play of the original."""


def _judged(conforms: bool, evidence: str) -> tuple[Verdict, str]:
    """The verdict of a rule that could be checked."""
    return (Verdict.CONFORMS if conforms else Verdict.DIFFERS), evidence


def _not_checked(why: str) -> tuple[Verdict, str]:
    """The verdict of a rule that could not be checked."""
    return Verdict.NOT_CHECKED, why


def action_set(measured: Measured) -> tuple[Verdict, str]:
    """As many actions as the original's minimal set; `transitions` shows what they do."""
    expected = len(GAMES[measured.game].MINIMAL_ACTIONS)
    return _judged(
        measured.num_actions == expected, f"{measured.num_actions} actions, original {expected}"
    )


def observation(measured: Measured) -> tuple[Verdict, str]:
    """bool[10, 10, channels]."""
    expected = (10, 10, len(GAMES[measured.game].CHANNELS))
    same = measured.shape == expected and measured.dtype == "bool"
    return _judged(same, f"{measured.dtype}{list(measured.shape)}, original bool{list(expected)}")


def start(measured: Measured) -> tuple[Verdict, str]:
    """Episodes begin as the original's can."""
    wrong = measured.tally.wrong_starts
    if wrong:
        return _judged(False, f"{len(wrong)} impossible; first: {wrong[0]}")
    return _judged(True, f"{measured.tally.episodes + 1} starts, all possible in the original")


def transitions(measured: Measured) -> tuple[Verdict, str]:
    """Every step's picture, reward and end is one the original can produce."""
    tally = measured.tally
    if not tally.steps:
        return _not_checked("no episode began as the original's do")
    if tally.impossible:
        count = f"{len(tally.impossible)} of {tally.steps} steps impossible in the original"
        kinds = ", ".join(f"{times} × {what}" for what, times in _most_common(tally.impossible))
        return _judged(False, f"{count} ({kinds}); first: {tally.impossible[0]}")
    return _judged(True, f"{tally.steps} steps in {tally.episodes} episodes, all possible")


def _most_common(differences: list[Difference]) -> list[tuple[str, int]]:
    """The three most frequent kinds of difference, wherever on the board they are."""
    kinds = (re.sub(r" at row \d+, column \d+", "", one.what) for one in differences)
    return Counter(kinds).most_common(3)


def sticky_actions(measured: Measured) -> tuple[Verdict, str]:
    """The last action is repeated with probability 0.1 (exact two-sided binomial test)."""
    from scipy.stats import binomtest

    repeated, total = measured.tally.repeated, measured.tally.repeated + measured.tally.as_chosen
    if total < 50:
        return _not_checked(f"only {total} steps could tell")
    p_value = float(binomtest(repeated, total, STICKY).pvalue)
    evidence = f"{repeated} of {total} actions repeated ({repeated / total:.3f}); p = {p_value:.2g}"
    return _judged(p_value > LEVEL, evidence)


def last_action_survives(measured: Measured) -> tuple[Verdict, str]:
    """A new episode's first action may be the last one of the episode before."""
    kept, cleared = measured.tally.kept, measured.tally.cleared
    evidence = f"survived {kept} times, cleared {cleared} times"
    return _judged(cleared == 0, evidence) if kept + cleared else _not_checked("no step could tell")


def no_time_limit(measured: Measured) -> tuple[Verdict, str]:
    """Episodes end when the game is over, and never for another reason."""
    tally, lengths = measured.tally, measured.played.lengths
    if tally.truncated:
        return _judged(
            False, f"truncated {len(tally.truncated)} times; first: {tally.truncated[0]}"
        )
    if measured.played.truncated.any():
        cut = lengths[measured.played.truncated]
        return _judged(False, f"{len(cut)} episodes of random play cut, at {cut.min()} steps")
    longest = max(tally.longest, int(lengths.max()))
    evidence = f"longest episode {longest} steps, none truncated"
    return _judged(True, evidence) if longest >= LONG else _not_checked(evidence)


def freeway_length(measured: Measured) -> tuple[Verdict, str]:
    """Freeway ends, as terminated, in step 2501."""
    lengths = sorted({int(length) for length in measured.played.lengths})
    played = measured.played
    if played.terminated.all():
        how = "terminated"
    else:
        how = "truncated" if played.truncated.any() else "not ended"
    same = lengths == [FREEWAY_LENGTH] and how == "terminated"
    return _judged(same, f"lengths {lengths}, {how}; original {FREEWAY_LENGTH}, terminated")


def random_return(measured: Measured) -> tuple[Verdict, str]:
    """Returns of random play are distributed as the original's."""
    return _same_distribution(measured.played.returns, measured.original.returns)


def random_length(measured: Measured) -> tuple[Verdict, str]:
    """Lengths of random play are distributed as the original's."""
    return _same_distribution(measured.played.lengths, measured.original.lengths)


def _same_distribution(port: np.ndarray, original: np.ndarray) -> tuple[Verdict, str]:
    """A two-sample Kolmogorov-Smirnov test; for numbers with ties it is conservative."""
    from scipy.stats import ks_2samp

    p_value = float(ks_2samp(port, original, method="asymp").pvalue)
    evidence = f"{_mean_text(port)}, original {_mean_text(original)}; KS p = {p_value:.2g}"
    return _judged(p_value > LEVEL, evidence)


def _mean_text(sample: np.ndarray) -> str:
    """Mean and standard error: ``0.39 ± 0.012``."""
    error = sample.std(ddof=1) / math.sqrt(len(sample))
    return f"{sample.mean():.3g} ± {error:.2g}"


RULES: dict[str, Callable[[Measured], tuple[Verdict, str]]] = {
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
    """Tracks `steps` steps of the port, and plays `episodes` at random (fewer in Freeway)."""
    batch = max(24, episodes // 10) if game == "Freeway" else episodes
    single = port.make(game, 1)
    first = np.asarray(single.reset(seed))
    measured = Measured(
        game,
        int(single.num_actions),
        first.shape[1:],
        str(first.dtype),
        track(game, single, steps, seed=seed),
        random_episodes(port.make(game, batch), batch, seed=seed),
        random_episodes(OriginalGame(game, batch), batch, seed=seed + 1),
    )
    # All episodes of Freeway have one length; it has a rule of its own.
    not_of_this_game = "length of random play" if game == "Freeway" else "freeway length"
    return [
        Finding(game, name, *rule(measured))
        for name, rule in RULES.items()
        if name != not_of_this_game
    ]
