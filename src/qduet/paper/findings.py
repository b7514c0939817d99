"""What the paper says of its tabular figures, tested on our curves.

Each statement becomes a `Finding`: whether it holds in the data at hand, and the numbers that say
so. Rules share their trajectories, so comparisons are paired over seeds; "holds" means that the
whole 95 % interval lies on the stated side. AV-learning's best AUCs are at step sizes near the edge
of stability; there the interval allows for the choice of the step size (`stats.best_difference`).
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from qduet.stats import (
    Estimate,
    best_difference,
    mean_interval,
    number,
    paired_difference,
)
from qduet.tabular.running import Results
from qduet.tabular.summary import RuleSummary, Summary


class Finding(NamedTuple):
    """A statement of the paper about a figure, and what our data say of it."""

    figure: str
    """``figure5``"""
    claim: str
    """The statement."""
    holds: bool
    evidence: str
    """The numbers that decide."""


_NAMES = {"dueling_q": "Dueling Q-learning", "hard_rdq": "Hard RDQ"}
"""How the rules of Figure 5 are called in sentences."""

_Verdict = tuple[str, bool, str]
"""(claim, holds, evidence)"""


def findings(results: Results, summary: Summary) -> list[Finding]:
    """A finding for each statement of the paper about the figure of `results`."""
    figure = results.experiment.figure
    if figure not in _STATEMENTS:
        return []
    return [Finding(figure, *verdict) for verdict in _STATEMENTS[figure](results, summary)]


def _best_difference(first: RuleSummary, second: RuleSummary) -> Estimate:
    return best_difference(first.aucs, second.aucs, np.random.default_rng(0))


def _bracketed(estimate: Estimate) -> str:
    value, low, high = (number(float(x), "+.2f") for x in estimate)
    return f"{value} [{low}, {high}]"


def _figure1(results: Results, summary: Summary) -> Iterator[_Verdict]:
    few, many = results.experiment.actions[0], results.experiment.actions[-1]
    growth = {
        name: summary[many][name].best_aucs - summary[few][name].best_aucs
        for name in ("expected_sarsa", "qv_learning")
    }
    slower = paired_difference(growth["qv_learning"], growth["expected_sarsa"])
    yield (
        "QV-learning's best AUC grows more slowly with |A| than Expected Sarsa's",
        bool(slower.high < 0),
        f"from |A| = {few} to {many} it grows by {mean_interval(growth['qv_learning'])} points "
        f"against {mean_interval(growth['expected_sarsa'])}; difference {slower}",
    )
    qv, sarsa = summary[many]["qv_learning"], summary[many]["expected_sarsa"]
    later = paired_difference(sarsa.curves[:, -1], qv.curves[:, -1])
    yield (
        "Expected Sarsa obtains the more accurate solution in the end",
        bool(later.high < 0),
        f"error after {results.experiment.steps:,} steps at |A| = {many}: "
        f"{sarsa.final_error} % against {qv.final_error} %; difference {later}",
    )


def _figure3(results: Results, summary: Summary) -> Iterator[_Verdict]:
    many = results.experiment.actions[-1]
    q, qvmax, corrected = (summary[many][name] for name in ("q_learning", "qvmax", "bc_qvmax"))
    above = paired_difference(qvmax.curves[:, -1], corrected.curves[:, -1])
    three_quarters = 3 * (qvmax.curves.shape[1] - 1) // 4
    still = mean_interval(qvmax.curves[:, three_quarters] - qvmax.curves[:, -1])
    yield (
        "QVMAX levels off far from zero; BC-QVMAX and Q-learning do not",
        bool(above.low > 0)
        and still.mean < 0.05 * (100 - qvmax.final_error.mean)
        and max(q.final_error.mean, corrected.final_error.mean) < qvmax.final_error.mean / 4,
        f"final error at |A| = {many}: QVMAX {qvmax.final_error} % (the last quarter of the "
        f"steps took off {still} points), BC-QVMAX {corrected.final_error} %, "
        f"Q-learning {q.final_error} %",
    )
    step_sizes = results.experiment.step_sizes
    curves = results.curves[many]
    gap = np.abs(curves["bc_qvmax"].percent - curves["q_learning"].percent)
    yield (
        "At step size 1 BC-QVMAX equals Q-learning (in the paper: but for a delay)",
        bool(step_sizes[-1] == 1 and gap[:, -1].max() <= 1e-3),
        f"largest difference of any seed at any step, |A| = {many}: "
        f"{gap[:, -1].max():.2g} points at α = {step_sizes[-1]:g}",
    )
    lags = [
        paired_difference(corrected.aucs[:, k], q.aucs[:, k]).low > 0
        for k in range(len(step_sizes) - 1)
    ]
    yield (
        "For all smaller step sizes BC-QVMAX lags behind Q-learning",
        all(lags),
        f"its AUC is the larger one at {sum(lags)} of {len(lags)} step sizes below 1, |A| = {many}",
    )


def _figure5(results: Results, summary: Summary) -> Iterator[_Verdict]:
    ahead = {
        rule: {
            n: _best_difference(by_rule[rule], by_rule["q_learning"])
            for n, by_rule in summary.items()
        }
        for rule in _NAMES
    }
    yield (
        "Both dueling methods beat Q-learning by far",
        all(i.high < 0 for by_size in ahead.values() for i in by_size.values()),
        "; ".join(
            f"{_NAMES[rule]} − Q-learning: "
            + ", ".join(f"{_bracketed(i)} at |A| = {n}" for n, i in by_size.items())
            for rule, by_size in ahead.items()
        ),
    )
    many = results.experiment.actions[-1]
    step_sizes = results.experiment.step_sizes
    unstable = {
        rule: [float(a) for a, n in zip(step_sizes, summary[many][rule].diverged, strict=True) if n]
        for rule in _NAMES
    }
    yield (
        f"At |A| = {many}, AV-learning becomes unstable at a step size near 0.5",
        all(alphas and 0.4 < min(alphas) < 0.62 for alphas in unstable.values()),
        f"least step size with a diverged run at |A| = {many}: "
        + ", ".join(f"{_NAMES[r]} {f'{min(a):.3g}' if a else 'none'}" for r, a in unstable.items()),
    )
    duel = {
        n: _best_difference(by_rule["hard_rdq"], by_rule["dueling_q"])
        for n, by_rule in summary.items()
    }
    wins = [n for n, interval in duel.items() if interval.high < 0]
    yield (
        "Hard RDQ is ahead of Dueling Q-learning in a small majority of the settings",
        2 * len(wins) > len(duel),
        f"ahead at |A| ∈ {wins}; Hard RDQ − Dueling Q-learning: "
        + ", ".join(f"{_bracketed(interval)} at |A| = {n}" for n, interval in duel.items()),
    )
    dueling, hard = (summary[many][rule] for rule in _NAMES)
    finite = np.flatnonzero(dueling.diverged + hard.diverged == 0)
    gaps = [paired_difference(hard.aucs[:, k], dueling.aucs[:, k]) for k in finite]
    better = sum(gap.high < 0 for gap in gaps)
    yield (
        f"Hard RDQ outperforms Dueling Q-learning across the range of step sizes at |A| = {many}",
        0 < better == len(gaps),
        f"its AUC is the smaller one at {better} of {len(gaps)} step sizes at which no run of "
        f"either diverges (of {len(step_sizes)})"
        + (f", by up to {-min(gap.mean for gap in gaps):.2f} points" if better else ""),
    )


def _figure5_soft(results: Results, summary: Summary) -> Iterator[_Verdict]:
    many = results.experiment.actions[-1]
    by_rule = summary[many]
    soft = [name for name in results.rules if name.startswith("soft_rdq")]
    noise = {name: _scatter(by_rule[name].curves) for name in ("hard_rdq", *soft)}
    louder = paired_difference(noise[soft[-1]], noise["hard_rdq"])
    worse = {name: _best_difference(by_rule[name], by_rule["hard_rdq"]) for name in soft}
    beta = lambda name: f"β = {float(name.partition('beta-')[2]):g}"
    yield (
        "Soft RDQ is noisy in the tabular setting",
        bool(louder.low > 0),
        f"at |A| = {many}, over the last quarter, the error of a run scatters about its trend by "
        f"{mean_interval(noise['hard_rdq'])} points with Hard RDQ and by "
        + ", ".join(f"{mean_interval(noise[name])} ({beta(name)})" for name in soft)
        + "; but what makes it worse is its bias: AUC − Hard RDQ's "
        + ", ".join(f"{_bracketed(i)} ({beta(name)})" for name, i in worse.items())
        + ", final errors "
        + ", ".join(f"{by_rule[name].final_error} %" for name in soft),
    )


def _scatter(curves: np.ndarray) -> np.ndarray:
    """``[seeds, points] -> [seeds]``: standard deviation about a line, over the last quarter."""
    late = curves[:, 3 * (curves.shape[1] - 1) // 4 :].astype(float)
    t = np.arange(late.shape[1]) - (late.shape[1] - 1) / 2
    level = late.mean(axis=1, keepdims=True)
    slope = (late * t).sum(axis=1, keepdims=True) / (t**2).sum()
    return (late - level - slope * t).std(axis=1)


_STATEMENTS: dict[str, Callable[[Results, Summary], Iterator[_Verdict]]] = {
    "figure1": _figure1,
    "figure3": _figure3,
    "figure5": _figure5,
    "figure5-soft": _figure5_soft,
}
