"""What a check returns: a claim, whether it holds, by what margin, and the evidence.

Every statement is brought to the form *error ≤ allowed*: an equality allows rounding, a bound
allows its right-hand side, and "these must differ" is the smallest difference that counts against
the one measured. The margin of one piece of evidence is allowed / error, so it holds iff that is at
least 1; the margin of a check is its smallest one.
"""

import math
from typing import NamedTuple

import numpy as np

TOLERANCE = 1e-9
"""What rounding may cost, as a share of the largest value involved."""


class Evidence(NamedTuple):
    """One measured statement of a check."""

    what: str
    """The statement, in a few words."""
    error: float
    """What was measured."""
    allowed: float
    """What it may be at most."""

    @property
    def margin(self) -> float:
        """Allowed / error; 0 where either is not a number, ∞ where there is no error at all."""
        if math.isnan(self.error) or math.isnan(self.allowed) or self.error == math.inf:
            return 0.0
        return self.allowed / self.error if self.error > 0 else math.inf


class Check(NamedTuple):
    """One claim, checked on one problem."""

    claim: str
    """Its name in `qduet.theory.CLAIMS`."""
    holds: bool
    """Whether the margin is at least 1."""
    margin: float
    """The smallest margin of the evidence."""
    evidence: tuple[Evidence, ...]
    """All that was measured."""

    @property
    def worst(self) -> Evidence:
        """The evidence with the smallest margin."""
        return min(self.evidence, key=lambda evidence: evidence.margin)


def conclude(claim: str, *evidence: Evidence) -> Check:
    """The check of a claim that rests on all of `evidence`."""
    margin = min(item.margin for item in evidence)
    return Check(claim, margin >= 1.0, margin, evidence)


def equal(what: str, x: object, y: object, scale: float = 1.0) -> Evidence:
    """|x − y| must be within rounding of `scale` (or 1, if that is larger)."""
    error = np.abs(np.asarray(x, np.float64) - np.asarray(y, np.float64)).max(initial=0.0)
    return Evidence(what, float(error), TOLERANCE * max(1.0, scale))


def at_most(what: str, x: object, bound: object, scale: float = 1.0) -> Evidence:
    """The largest x − bound must not be positive beyond rounding of `scale`."""
    excess = (np.asarray(x, np.float64) - np.asarray(bound, np.float64)).max(initial=0.0)
    return Evidence(what, float(excess), TOLERANCE * max(1.0, scale))


def exceeds(what: str, x: float, threshold: float) -> Evidence:
    """The positive quantity x must be at least `threshold`."""
    return Evidence(what, float(threshold), float(x))
