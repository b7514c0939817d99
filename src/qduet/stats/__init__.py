"""What is computed from runs: intervals over seeds, tests of difference and of equivalence.

A seed is the unit of replication: every interval here is over seeds. `intervals` has Student's and
Welch's, `difference` the tests, `sweeps` what tabular step-size sweeps need.
"""

from qduet.stats.difference import Equivalence, equivalence, holm, welch_test
from qduet.stats.intervals import (
    Interval,
    band,
    mean_interval,
    paired_difference,
    welch_interval,
)
from qduet.stats.sweeps import Choice, auc, best, held_out, pooled_interval

__all__ = [
    "Choice",
    "Equivalence",
    "Interval",
    "auc",
    "band",
    "best",
    "equivalence",
    "held_out",
    "holm",
    "mean_interval",
    "paired_difference",
    "pooled_interval",
    "welch_interval",
    "welch_test",
]
