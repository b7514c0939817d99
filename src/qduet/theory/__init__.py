"""Every claim of the paper, checked on finite MDPs.

`CLAIMS` lists the claims by name. Each has a function that returns a `Check`: whether the claim
holds on a problem, by what margin, and the evidence.

    >>> from qduet.tabular import four_state
    >>> from qduet.theory import CLAIMS, problem_of, run_suite
    >>> problem = problem_of(four_state("qvmax", num_actions=18))  # an MDP and a behaviour policy
    >>> CLAIMS["qvmax_bias"].check(problem).holds
    True
    >>> all(result.holds for result in run_suite(range(100)))  # all claims on 100 random MDPs
    True

The modules, each using those above it:

    check      `Check` and `Evidence`
    problems   problems to check on: random ones, the ring, yours; their files
    expected   the expected update of each rule, how fast it learns, its curve
    qv         the claims on QV-learning, QVMAX and BC-QVMAX (the paper's section 3)
    av         the claims on Dueling, Hard RDQ and Soft RDQ (section 4)
    sampled    the rules themselves: on all transitions of an MDP, along a trajectory, simulated
    updates    the claims that are checked by running the rules
    suite      `CLAIMS`, and all of them on one problem or on many
"""

from qduet.theory.check import Check, Evidence
from qduet.theory.expected import Rate, expected_curve, fixed_point, rate
from qduet.theory.problems import (
    Problem,
    load_problem,
    problem_json,
    problem_of,
    random_problem,
    ring,
)
from qduet.theory.qv import Bias, dependence, qvmax_biases
from qduet.theory.sampled import simulated_curve
from qduet.theory.suite import CLAIMS, Claim, Result, check_problem, results_on, run_suite

__all__ = [
    "CLAIMS",
    "Bias",
    "Check",
    "Claim",
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
