"""Statistics of runs: intervals over seeds, tests of difference and of equivalence.

    >>> from qduet import stats
    >>> str(stats.mean_interval(np.array([10.0, 12.0, 14.0])))  # 95 %, Student's t
    '12.00 ± 4.97'
    >>> stats.welch_test(rdq, dqn)  # p-value of "the means are equal"; one value per seed

A seed is the unit of replication: every interval here is over seeds.

    means        Student's and Welch's intervals, tests of difference and equivalence
    resampling   aggregates over games (IQM, P(X > Y), profiles) with bootstrap intervals
    step_sizes   areas under the curves of a tabular sweep, the best step size
"""

from qduet.stats.means import (
    Equivalence,
    Interval,
    band,
    equivalence,
    holm,
    mean_interval,
    number,
    paired_difference,
    paired_permutation_test,
    welch_difference,
    welch_interval,
    welch_test,
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
