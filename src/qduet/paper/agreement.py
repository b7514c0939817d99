"""Each game × agent against its published scores: difference, interval, equivalence, verdict.

A cell is compared in two measures: the mean return at the last step, and the AUC, the mean over
training up to that step (trapezoids, as in `comparison`). Let d = mean(ours) − mean(published) over
seeds, with Welch's error.

    agree      two one-sided tests at 5 % show that d is within ±margin: the 90 % interval of d
               lies inside the margin; `Cell.shown_within` is the smallest margin that passes
    differ     not "agree", and Welch's test rejects d = 0 at 5 % after Holm's correction over the
               paper's 15 cells of the measure
    undecided  neither: too few data, or d is close to the margin

A significant difference within the margin is agreement (its 95 % interval, which is shown, then
excludes 0). A difference too noisy to be told from 0 is not. The correction is always over 15
cells, so that a verdict does not get weaker as games are added. "Agree" needs no correction: that
all cells agree is claimed only if each one does (Berger, 1982, intersection-union).

**The margin is one published seed-to-seed standard deviation** of the measure in that cell: the
implementation may change less than another seed does. It was fixed before any run in ``results/``
was made. With 30 seeds on each side the error of d is about 0.26 standard deviations; simulation
(in tests) gives

    true |d| in standard deviations      0     0.25   0.5    0.75   1      1.25   2
    agree                              0.96    0.87   0.59   0.25   0.06   0.01   0
    differ                             0.003   0.02   0.14   0.44   0.79   0.96   1

(the rest is undecided). With a margin of one half only 20 % of the cells would agree even if
nothing differed: 30 published seeds are too few for it. One standard deviation at 10M steps is
0.5 % of the mean return (Freeway, RDQ) to 18 % (Seaquest, DQN), and 0.5 % to 12 % of the AUC; at 1M
steps it is 0.8 % to 55 %. The paper's own gaps between RDQ and the others are 0.7 to 4 standard
deviations at 10M steps, so agreement of cells does not prove a claim: `claims` tests each one on
our data. `over_cells` tests all cells at once, which is sharper.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc  # 1 − the χ² distribution function

from qduet import stats
from qduet.results import published
from qduet.results.by_game import area
from qduet.results.runs import Runs, Scores

MARGIN = 1.0
"""In published standard deviations over seeds; see above before changing it."""

ALPHA = 0.05

MEASURES = ("return", "auc")


class Cell(NamedTuple):
    """One game and agent in one measure."""

    game: str
    agent: str
    measure: str
    """``return`` at the last step, or ``auc`` up to it."""
    step: int
    """The training step of the comparison."""
    ours: stats.Interval
    """Mean over our seeds, with its 95 % interval."""
    theirs: stats.Interval
    """The same over the published seeds."""
    difference: stats.Interval
    """Ours − theirs, Welch's 95 % interval."""
    error: float
    """The standard error of the difference."""
    margin: float
    """`MARGIN` published standard deviations, in units of the measure."""
    equivalence_p: float
    """p-value of "the means differ by the margin or more"."""
    shown_within: float
    """The smallest margin at which equivalence is shown, in published standard deviations."""
    difference_p: float
    """p-value of "the means are equal", Holm-corrected over the paper's cells of the measure."""
    missing_seeds: tuple[int, ...]
    """Of the paper's 30, those whose published scores were not released."""

    @property
    def verdict(self) -> str:
        """agree, differ or undecided, by the rule above."""
        if self.equivalence_p < ALPHA:
            return "agree"
        return "differ" if self.difference_p < ALPHA else "undecided"


def measure(scores: Scores, name: str, step: int) -> np.ndarray:
    """``[seeds]``: a measure of each run, at the published steps up to `step`."""
    shown = scores.where((scores.steps <= step) & (scores.steps % published.EVALUATE_EVERY == 0))
    return shown.last if name == "return" else area(shown.steps, shown.values)


def compare_cells(runs: Sequence[Runs], step: int) -> list[Cell]:
    """Every cell of `runs`, first all in return, then all in AUC.

    With a single evaluation after step 0 the AUC adds nothing, and is left out.
    """
    names = MEASURES if step > published.EVALUATE_EVERY else MEASURES[:1]
    return [cell for name in names for cell in _compare(runs, name, step)]


def _compare(runs: Sequence[Runs], name: str, step: int) -> list[Cell]:
    cells = []
    for game in runs:
        for agent in (a for a in published.AGENTS if a in game.agents):
            ours = measure(game.scores(agent), name, step)
            theirs = measure(published.scores(game.game, agent), name, step)
            spread = float(theirs.std(ddof=1))
            test = stats.equivalence(ours, theirs, MARGIN * spread, ALPHA)
            furthest = max(-test.difference.low, test.difference.high)
            cells.append(
                Cell(
                    game=game.game,
                    agent=agent,
                    measure=name,
                    step=step,
                    ours=stats.mean_interval(ours),
                    theirs=stats.mean_interval(theirs),
                    difference=stats.welch_interval(ours, theirs),
                    error=stats.welch_difference(ours, theirs).error,
                    margin=test.margin,
                    equivalence_p=test.p_value,
                    shown_within=furthest / spread,
                    difference_p=stats.welch_test(ours, theirs),
                    missing_seeds=published.missing_seeds(game.game, agent),
                )
            )
    corrected = holm_among(
        [c.difference_p for c in cells], len(published.GAMES) * len(published.AGENTS)
    )
    return [c._replace(difference_p=p) for c, p in zip(cells, corrected, strict=True)]


class OverCells(NamedTuple):
    """All cells of a measure together, in published standard deviations."""

    measure: str
    """``return`` or ``auc``."""
    difference: stats.Interval
    """The mean of the differences, with a 95 % interval."""
    chi2: float
    """Σ (difference / error)²: about the number of cells if nothing differs."""
    p_value: float
    """Probability of a larger sum, if nothing differs."""


FEWEST = 10
"""Seeds per cell that `over_cells` needs, since it takes the errors of differences as known."""


def over_cells(cells: Sequence[Cell], name: str) -> OverCells | None:
    """The cells of one measure together; None if there are none, or if one has too few seeds.

    Cells are taken as independent. The agents of a game share seeds; with that counted, the
    interval of the runs in ``results/`` would be wider by a seventh at most.
    """
    these = [cell for cell in cells if cell.measure == name]
    if not these or min(min(c.ours.n, c.theirs.n) for c in these) < FEWEST:
        return None
    d, error = np.array([(c.difference.mean, c.error) for c in these]).T
    spread, n = np.array([c.margin / MARGIN for c in these]), len(these)
    mean, half = float((d / spread).mean()), 1.96 * float(np.hypot.reduce(error / spread)) / n
    chi2 = float(((d / error) ** 2).sum())
    return OverCells(
        name, stats.Interval(mean, mean - half, mean + half, n), chi2, float(chdtrc(n, chi2))
    )


# --- Tests ---------------------------------------------------------------------------------------


class Pair(NamedTuple):
    """Two agents in one measure, by Welch's test."""

    difference: stats.Interval
    """mean(first) − mean(second), with its 95 % interval."""
    two_sided: float
    """p-value of "the means are equal"."""
    ahead: float
    """p-value of "the first one is not ahead"."""
    behind: float
    """p-value of "the first one is not behind"."""


def pair_of(first: np.ndarray, second: np.ndarray) -> Pair:
    """The pair of two samples ``[seeds]``."""
    difference, p = stats.welch_interval(first, second), stats.welch_test(first, second)
    sides = (p / 2, 1 - p / 2)
    return Pair(difference, p, *(sides if difference.mean > 0 else sides[::-1]))


def holm_pairs(pairs: Sequence[Pair], tests: int) -> list[Pair]:
    """The pairs with each kind of p-value Holm-corrected as part of `tests` tests."""
    kinds = [holm_among(kind, tests) for kind in zip(*(pair[1:] for pair in pairs), strict=True)]
    return [Pair(pair.difference, *p) for pair, *p in zip(pairs, *kinds, strict=True)]


def holm_among(p_values: Sequence[float], tests: int) -> list[float]:
    """Holm-corrected as part of `tests` tests; those that were not made count as p = 1."""
    not_made = [1.0] * (tests - len(p_values))
    return stats.holm([*p_values, *not_made]).tolist()[: len(p_values)]
