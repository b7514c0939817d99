"""The rules a port is examined for: each gives a verdict and its evidence."""

import functools
import math
import re
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from qduet.minatar.conformance.ports import OriginalGame, Port, PortGame
from qduet.minatar.conformance.tracker import Tally, track
from qduet.minatar.registry import GAMES

LEVEL = 1e-4
"""A test says "differs" if the original would give what was seen, or worse, at most this often."""

STICKY = 0.1
"""The original's probability that the last action is repeated."""

LONG = 1500
"""An episode this long without truncation is taken to show that there is no time limit."""

FREEWAY_LENGTH = 2501
"""Steps of an episode of Freeway."""

LONGEST = 4000
"""Steps after which an episode of random play is left unfinished, whatever the port does."""


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


class Episodes(NamedTuple):
    """The first episode of each game of a batch."""

    returns: np.ndarray
    """float[batch]: the sum of rewards."""
    lengths: np.ndarray
    """int[batch]: steps."""
    terminated: np.ndarray
    """bool[batch]: the game was over."""
    truncated: np.ndarray
    """bool[batch]: the port cut it. Neither flag is set where it went on after `LONGEST` steps."""


class Measured(NamedTuple):
    """What was measured of one game of a port."""

    game: str
    num_actions: int
    observation: str
    """Type and shape of one, such as ``bool[10, 10, 4]``."""
    tally: Tally
    """What the tracker saw."""
    played: Episodes
    """Random play of the port."""
    original: Episodes
    """Random play of the original."""


def random_episodes(played: PortGame, batch: int, *, seed: int) -> Episodes:
    """One episode of each game with uniform actions, so that short episodes count no more."""
    rng = np.random.default_rng(seed)
    played.reset(seed)
    returns, lengths = np.zeros(batch), np.zeros(batch, int)
    running = np.ones(batch, bool)
    terminated, truncated = np.zeros(batch, bool), np.zeros(batch, bool)
    for _ in range(LONGEST):
        frame = played.step(rng.integers(0, played.num_actions, batch))
        returns[running] += np.asarray(frame.reward, float)[running]
        lengths[running] += 1
        terminated |= running & frame.terminated
        truncated |= running & frame.truncated & ~frame.terminated
        running &= ~(terminated | truncated)
        if not running.any():
            break
    return Episodes(returns, lengths, terminated, truncated)


Judgement = tuple[bool | None, str]
"""Whether the port follows a rule (None: it could not be checked), and the evidence."""


def action_set(measured: Measured) -> Judgement:
    """As many actions as the original's minimal set; `transitions` shows what they do."""
    expected = len(GAMES[measured.game].MINIMAL_ACTIONS)
    evidence = f"{measured.num_actions} actions, original {expected}"
    return measured.num_actions == expected, evidence


def observation(measured: Measured) -> Judgement:
    """bool[10, 10, channels]."""
    expected = f"bool{[10, 10, len(GAMES[measured.game].CHANNELS)]}"
    return measured.observation == expected, f"{measured.observation}, original {expected}"


def start(measured: Measured) -> Judgement:
    """Episodes begin as the original's can."""
    wrong = measured.tally.wrong_starts
    if wrong:
        return False, f"{len(wrong)} impossible; first: {wrong[0]}"
    return True, f"{measured.tally.episodes + 1} starts, all possible in the original"


def transitions(measured: Measured) -> Judgement:
    """Every step's picture, reward and end is one the original can produce."""
    tally = measured.tally
    if not tally.steps:
        return None, "no episode began as the original's do"
    if not tally.impossible:
        return True, f"{tally.steps} steps in {tally.episodes} episodes, all possible"
    count = f"{len(tally.impossible)} of {tally.steps} steps impossible in the original"
    anywhere = (re.sub(r"^.*?: | at row \d+, column \d+", "", one) for one in tally.impossible)
    kinds = ", ".join(f"{times} × {what}" for what, times in Counter(anywhere).most_common(3))
    return False, f"{count} ({kinds}); first: {tally.impossible[0]}"


def sticky_actions(measured: Measured) -> Judgement:
    """The last action is repeated with probability 0.1 (exact two-sided binomial test)."""
    from scipy.stats import binomtest

    repeated = measured.tally.repeated
    total = repeated + measured.tally.as_chosen
    if total < 50:
        return None, f"only {total} steps could tell"
    p_value = float(binomtest(repeated, total, STICKY).pvalue)
    evidence = f"{repeated} of {total} actions repeated ({repeated / total:.3f}); p = {p_value:.2g}"
    return p_value > LEVEL, evidence


def last_action_survives(measured: Measured) -> Judgement:
    """A new episode's first action may be the last one of the episode before."""
    kept, cleared = measured.tally.kept, measured.tally.cleared
    if kept + cleared == 0:
        return None, "no step could tell"
    return cleared == 0, f"survived {kept} times, cleared {cleared} times"


def no_time_limit(measured: Measured) -> Judgement:
    """Episodes end when the game is over, and never for another reason."""
    tally, played = measured.tally, measured.played
    if tally.truncated:
        return False, f"truncated {len(tally.truncated)} times; first: {tally.truncated[0]}"
    if played.truncated.any():
        cut = played.lengths[played.truncated]
        return False, f"{len(cut)} episodes of random play cut, at {cut.min()} steps"
    longest = max(tally.longest, int(played.lengths.max()))
    return longest >= LONG or None, f"longest episode {longest} steps, none truncated"


def freeway_length(measured: Measured) -> Judgement:
    """Freeway ends, as terminated, in step 2501."""
    played = measured.played
    lengths = sorted({int(length) for length in played.lengths})
    how = "truncated" if played.truncated.any() else "not ended"
    if played.terminated.all():
        how = "terminated"
    same = lengths == [FREEWAY_LENGTH] and how == "terminated"
    return same, f"lengths {lengths}, {how}; original {FREEWAY_LENGTH}, terminated"


def same_distribution(measured: Measured, column: str) -> Judgement:
    """Random play has returns, or lengths, distributed as the original's.

    By a two-sample Kolmogorov-Smirnov test, which is conservative for numbers with ties.
    """
    from scipy.stats import ks_2samp

    port, original = (getattr(x, column) for x in (measured.played, measured.original))
    p_value = float(ks_2samp(port, original, method="asymp").pvalue)
    port_mean, original_mean = (
        f"{sample.mean():.3g} ± {sample.std(ddof=1) / math.sqrt(len(sample)):.2g}"
        for sample in (port, original)
    )
    return p_value > LEVEL, f"{port_mean}, original {original_mean}; KS p = {p_value:.2g}"


RULES: dict[str, Callable[[Measured], Judgement]] = {
    "action set": action_set,
    "observation": observation,
    "start": start,
    "transitions": transitions,
    "sticky actions": sticky_actions,
    "last action survives reset": last_action_survives,
    "no time limit": no_time_limit,
    "freeway length": freeway_length,
    "return of random play": functools.partial(same_distribution, column="returns"),
    "length of random play": functools.partial(same_distribution, column="lengths"),
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
        f"{first.dtype}{list(first.shape[1:])}",
        track(game, single, steps, seed=seed),
        random_episodes(port.make(game, batch), batch, seed=seed),
        random_episodes(OriginalGame(game, batch), batch, seed=seed + 1),
    )
    verdicts = {True: Verdict.CONFORMS, False: Verdict.DIFFERS, None: Verdict.NOT_CHECKED}
    # All episodes of Freeway have one length; it has a rule of its own.
    not_of_this_game = "length of random play" if game == "Freeway" else "freeway length"
    findings = []
    for name, rule in RULES.items():
        if name != not_of_this_game:
            conforms, evidence = rule(measured)
            findings.append(Finding(game, name, verdicts[conforms], evidence))
    return findings
