"""From the curves of a tabular experiment to the numbers that its figure and its text show.

`protocol="reference"` averages as the released code does: errors are cut off at 10⁹ %, and the
interval of an AUC pools seeds and time points (docs/differences.md, items 6 and 7).
"""

from typing import Any, NamedTuple

import numpy as np

from qduet import stats
from qduet.stats import Choice, Interval
from qduet.tabular.running import Results
from qduet.tabular.sweeps import DIVERGED_PERCENT, Curves


class RuleSummary(NamedTuple):
    """One rule at one |A|."""

    step_sizes: np.ndarray
    """``[K]``"""
    aucs: np.ndarray
    """``[seeds, K]``: +∞ where the run diverged."""
    intervals: tuple[Interval, ...]
    """``[K]``: mean AUC of each step size with the protocol's interval."""
    best: Choice
    """The step size of least mean AUC, chosen and reported on all seeds, as in the paper."""
    held_out: Choice | None
    """Chosen on one half of the seeds and reported on the other; None with under four seeds."""
    curves: np.ndarray
    """``[seeds, points]``: error curves, in percent, at the best step size."""
    diverged: np.ndarray
    """``[K]``: how many runs diverged at each step size."""

    @property
    def best_step_size(self) -> float:
        """The step size of least mean AUC."""
        return float(self.step_sizes[self.best.which])

    @property
    def best_at_edge(self) -> bool:
        """Whether a step size beyond the end of the grid might be better still.

        Not at α = 1, beyond which a step overshoots its target; nor if every step size diverges.
        """
        least, greatest = self.step_sizes.min(), self.step_sizes.max()
        at_end = least < greatest and self.best_step_size in (least, greatest)
        no_edge = np.isclose(self.best_step_size, 1.0) or np.isinf(self.best.auc.mean)
        return bool(at_end and not no_edge)

    @property
    def best_aucs(self) -> np.ndarray:
        """``[seeds]``: the AUCs at the best step size."""
        return self.aucs[:, self.best.which]

    @property
    def final_error(self) -> Interval:
        """The error at the last step, at the best step size."""
        return stats.mean_interval(self.curves[:, -1])


def summarise(curves: Curves, step_sizes: np.ndarray, protocol: str) -> RuleSummary:
    """The summary of one rule's curves."""
    percent = curves.percent
    if protocol == "reference":
        percent = np.minimum(percent, np.float32(DIVERGED_PERCENT))
    aucs = stats.auc(percent)
    best = stats.best(aucs)
    if protocol == "reference":
        intervals = tuple(stats.pooled_interval(percent[:, k]) for k in range(len(step_sizes)))
        best = best._replace(auc=intervals[best.which])
    else:
        intervals = tuple(stats.mean_interval(column) for column in aucs.T)
    return RuleSummary(
        step_sizes=step_sizes,
        aucs=aucs,
        intervals=intervals,
        best=best,
        held_out=stats.held_out(aucs),
        curves=percent[:, best.which],
        diverged=(curves.diverged_at >= 0).sum(axis=0),
    )


Summary = dict[int, dict[str, RuleSummary]]
"""Summaries by |A| and rule id."""


def summarise_all(results: Results) -> Summary:
    """The summary of every |A| and rule of an experiment."""
    experiment = results.experiment
    return {
        num_actions: {
            name: summarise(curves, np.array(experiment.step_sizes), experiment.protocol)
            for name, curves in by_rule.items()
        }
        for num_actions, by_rule in results.curves.items()
    }


def first_rule(summary: Summary) -> str:
    """The rule that the others are compared with: the first one of the first |A|."""
    return next(iter(next(iter(summary.values()))))


def table(summary: Summary) -> list[dict[str, Any]]:
    """One row of plain numbers per |A| and rule, for JSON and for people."""
    rows = []
    for num_actions, by_rule in summary.items():
        baseline = by_rule.get(first_rule(summary))
        for name, s in by_rule.items():
            rows.append(
                {
                    "actions": num_actions,
                    "rule": name,
                    "best_step_size": s.best_step_size,
                    "best_at_edge": s.best_at_edge,
                    "auc": s.best.auc,
                    "auc_held_out": s.held_out and s.held_out.auc,
                    "held_out_step_size": s.held_out and float(s.step_sizes[s.held_out.which]),
                    "auc_minus_first_rule": baseline
                    and stats.paired_difference(s.best_aucs, baseline.best_aucs),
                    "final_error": s.final_error,
                    "step_sizes_with_divergence": int((s.diverged > 0).sum()),
                    "diverged_runs": int(s.diverged.sum()),
                }
            )
    return rows
