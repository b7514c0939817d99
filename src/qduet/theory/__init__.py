"""Every claim of the paper, checked on finite MDPs.

One named check per claim, `Check(claim, holds, margin, evidence)`; `CLAIMS` lists them.

    >>> from qduet.theory import CLAIMS, problem_of
    >>> problem = problem_of(four_state("qvmax", num_actions=18))
    >>> CLAIMS["qvmax_bias"].check(problem).holds
    True

`problems` makes MDPs to check on, `expected` writes each rule's expected update with the operators,
`sampled` averages the rules of `rules.py` over all transitions, `qv` and `av` hold the claims of
the paper's sections 3 and 4, `rates` says how fast each rule learns, `suite` runs it all.
"""

from qduet.theory.check import Check, Evidence
from qduet.theory.problems import (
    Problem,
    load_problem,
    problem_json,
    problem_of,
    random_problem,
    ring,
)
from qduet.theory.qv import Bias, Dependence, dependence, qvmax_biases
from qduet.theory.rates import Rate, expected_curve, fixed_point, rate, simulated_curve
from qduet.theory.suite import CLAIMS, Claim, Result, check_problem, results_on, run_suite

__all__ = [
    "CLAIMS",
    "Bias",
    "Check",
    "Claim",
    "Dependence",
    "Evidence",
    "Problem",
    "Rate",
    "Result",
    "check_problem",
    "dependence",
    "expected_curve",
    "fixed_point",
    "load_problem",
    "problem_json",
    "problem_of",
    "qvmax_biases",
    "random_problem",
    "rate",
    "results_on",
    "ring",
    "run_suite",
    "simulated_curve",
]
