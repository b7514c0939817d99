"""What is computed from runs: intervals over seeds, tests of difference and of equivalence.

A seed is the unit of replication: every interval here is over seeds. `intervals` has Student's and
Welch's, `difference` the tests, `resampling` aggregates over games, `sweeps` what tabular step-size
sweeps need.
"""

from qduet.stats.difference import (
    Equivalence,
    equivalence,
    holm,
    paired_permutation_test,
    welch_test,
)
from qduet.stats.intervals import (
    Interval,
    band,
    mean_interval,
    number,
    paired_difference,
    welch_difference,
    welch_interval,
)
from qduet.stats.resampling import (
    RESAMPLES,
    Estimate,
    bootstrap,
    improvement,
    iqm,
    mean_of_strata,
    pooled,
    profile,
)
from qduet.stats.step_sizes import Choice, auc, best, best_difference, held_out, pooled_interval

__all__ = [
    "RESAMPLES",
    "Choice",
    "Equivalence",
    "Estimate",
    "Interval",
    "auc",
    "band",
    "best",
    "best_difference",
    "bootstrap",
    "equivalence",
    "held_out",
    "holm",
    "improvement",
    "iqm",
    "mean_interval",
    "mean_of_strata",
    "number",
    "paired_difference",
    "paired_permutation_test",
    "pooled",
    "pooled_interval",
    "profile",
    "welch_difference",
    "welch_interval",
    "welch_test",
]
