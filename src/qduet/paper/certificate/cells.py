"""Each game × agent against its published scores: difference, interval, equivalence, verdict.

A cell is compared in two measures: the mean return at the last step, and the AUC, the mean over
training up to that step (trapezoids, as in `comparison`). Let d = mean(ours) − mean(published) over
seeds, with Welch's error.

    agree      equivalence is shown: two one-sided tests at 5 % put d within ±margin, that is, the
               90 % interval of d lies inside the margin; `Cell.shown_within` is the least margin
               that would have done
    differ     it is not, and Welch's test rejects d = 0 at 5 % after Holm's correction over the
               paper's 15 cells of the measure
    undecided  neither: the data are too few, or d is close to the margin

So a difference that is significant yet within the margin counts as agreement (its 95 % interval,
which is shown, then excludes 0), and a difference too noisy to be told from 0 is no agreement.
The correction is over 15 cells whether or not all have data, so that a verdict does not get weaker
as games come in. "Agree" needs no correction for the number of cells: that all agree is claimed
only if each one does (Berger, 1982, intersection-union).

**The margin is one published seed-to-seed standard deviation** of the measure in that cell: what
the implementation changes is less than what another seed changes, so that a single run of ours
could hardly be told from theirs. It was fixed before any of the runs in ``results/`` was made. With
30 seeds on each side the error of d is about 0.26 standard deviations; simulation (in tests) gives

    true |d| in standard deviations      0     0.25   0.5    0.75   1      1.25   2
    agree                              0.96    0.87   0.59   0.25   0.06   0.01   0
    differ                             0.003   0.02   0.14   0.44   0.79   0.96   1

(the missing share is undecided). A margin of one half would find agreement in 20 % of the cells
even if nothing differed: 30 published seeds do not carry it. Against the returns themselves, one
standard deviation at 10M steps is 0.5 % of the mean (Freeway, RDQ) to 18 % (Seaquest, DQN), and for
the AUC 0.5 % to 12 %; at 1M steps it is 0.8 % to 55 %. The paper's own gaps between RDQ and the
others are 0.7 to 4 standard deviations at 10M steps: that cells agree does not alone make a claim
hold, and `claims` tests each one on our data. `together` asks all cells at once, which is sharper.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc  # 1 − the χ² distribution function

from qduet.results import published
from qduet.results.comparison.by_game import area
from qduet.results.runs import Runs, Scores
from qduet.stats import (
    Interval,
    equivalence,
    holm,
    mean_interval,
    welch_difference,
    welch_interval,
    welch_test,
)

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
    ours: Interval
    theirs: Interval
    difference: Interval
    """Ours − theirs, Welch's 95 % interval."""
    error: float
    """The standard error of the difference."""
    margin: float
    equivalence_p: float
    """Of "the means differ by the margin or more"."""
    shown_within: float
    """The least margin that equivalence is shown for, in published standard deviations."""
    difference_p: float
    """Of "the means are equal", Holm-corrected over the paper's cells of the measure."""
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
    shown = (scores.steps <= step) & (scores.steps % published.EVALUATE_EVERY == 0)
    values = scores.values[:, shown]
    return values[:, -1] if name == "return" else area(scores.steps[shown], values)


def compare_cells(runs: Sequence[Runs], step: int) -> list[Cell]:
    """Every cell of `runs`, first all in return, then all in AUC.

    With a single evaluation after step 0 the AUC says what the return says, and is left out.
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
            test = equivalence(ours, theirs, MARGIN * spread, ALPHA)
            furthest = max(-test.difference.low, test.difference.high)
            cells.append(
                Cell(
                    game=game.game,
                    agent=agent,
                    measure=name,
                    step=step,
                    ours=mean_interval(ours),
                    theirs=mean_interval(theirs),
                    difference=welch_interval(ours, theirs),
                    error=welch_difference(ours, theirs).error,
                    margin=test.margin,
                    equivalence_p=test.p_value,
                    shown_within=furthest / spread,
                    difference_p=welch_test(ours, theirs),
                    missing_seeds=published.missing_seeds(game.game, agent),
                )
            )
    corrected = holm_among(
        [c.difference_p for c in cells], len(published.GAMES) * len(published.AGENTS)
    )
    return [c._replace(difference_p=p) for c, p in zip(cells, corrected, strict=True)]


class Together(NamedTuple):
    """What all cells of a measure say together, each counted in published standard deviations."""

    measure: str
    difference: Interval
    """The mean of the differences, with a 95 % interval."""
    chi2: float
    """Σ (difference / error)²: about the number of cells if nothing differs."""
    p_value: float
    """Of so large a sum, by chance alone."""


FEWEST = 10
"""Seeds of a cell that `together` needs, since it takes the errors of differences as known."""


def together(cells: Sequence[Cell], name: str) -> Together | None:
    """The cells of one measure together; None without any, or few seeds.

    As independent ones. The agents of a game share seeds, and with that the interval would be
    wider, of the runs in ``results/`` by a seventh at most.
    """
    these = [cell for cell in cells if cell.measure == name]
    if not these or min(min(c.ours.n, c.theirs.n) for c in these) < FEWEST:
        return None
    d, error = np.array([(c.difference.mean, c.error) for c in these]).T
    spread, n = np.array([c.margin / MARGIN for c in these]), len(these)
    mean, half = float((d / spread).mean()), 1.96 * float(np.hypot.reduce(error / spread)) / n
    chi2 = float(((d / error) ** 2).sum())
    return Together(name, Interval(mean, mean - half, mean + half, n), chi2, float(chdtrc(n, chi2)))


def holm_among(p_values: Sequence[float], tests: int) -> list[float]:
    """Holm-corrected as part of `tests` tests, of which the others were not made."""
    waiting = [1.0] * (tests - len(p_values))
    return holm([*p_values, *waiting]).tolist()[: len(p_values)]
