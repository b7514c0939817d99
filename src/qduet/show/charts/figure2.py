"""Figure 2: who bootstraps from whom, as numbers; `qduet.show.figures.draw_figure2` draws them."""

import itertools

import numpy as np

from qduet.show.names import RULES
from qduet.tabular import operators as ops
from qduet.tabular.mdp import AVTables, four_state
from qduet.theory.expected import random_tables
from qduet.theory.problems import Problem, problem_of
from qduet.theory.qv import dependence

DISCOUNT = 0.9
NUM_ACTIONS = 4

TITLE = "Figure 2: who bootstraps from whom"
ALT = (
    "An arrow points from the table that is bootstrapped from to the table that is updated; its "
    "number is the norm of that block of the operator’s Jacobian, for |A| = 4 and γ = 0.9."
)

Norms = dict[tuple[str, str], float]
"""``(from, to) -> norm``: how strongly the target of one table depends on another."""


def figure2_norms() -> dict[str, Norms]:
    """The norms of the five rules of the figure."""
    problem = problem_of(four_state("qvmax", NUM_ACTIONS, DISCOUNT))
    rules = ("qv_learning", "qvmax", "bc_qvmax", "dueling_q", "hard_rdq")
    return {rule: bootstrap_norms(rule, problem) for rule in rules}


def bootstrap_norms(rule: str, problem: Problem) -> Norms:
    """The norms of a rule's targets.

    For the QV family, the blocks of the joint operator's Jacobian. For the AV family, whose tables
    share the target r + γ P E Q, its response to V or A (and both tables follow it).
    """
    if rule in ("qv_learning", "qvmax", "bc_qvmax"):
        blocks = dependence(problem, getattr(ops, rule)).ravel()
        pairs = itertools.product("QV", "QV")
        return {(source, to): x for (to, source), x in zip(pairs, blocks, strict=True)}
    tables = random_tables(rule, problem, np.random.default_rng(problem.seed))
    centred = rule == "dueling_q"
    greedy = ops.read_out(tables, centred).argmax(axis=1)
    policy = np.eye(problem.mdp.num_actions)[greedy]
    expect = lambda q: ops.E_pi(policy, q)
    target = lambda y: ops.T(problem.mdp, ops.read_out(y, centred), expect).ravel()
    zero = AVTables(np.zeros(problem.mdp.num_states), np.zeros(problem.mdp.r.shape))
    response = {}
    for source, field in (("V", "v"), ("A", "adv")):
        size = getattr(zero, field).size
        units = np.eye(size).reshape(size, *getattr(zero, field).shape)
        columns = [target(zero._replace(**{field: unit})) - target(zero) for unit in units]
        response[source] = float(np.abs(columns).sum(axis=0).max())
    return {(source, to): response[source] for source in "VA" for to in "VA"}


def in_discounts(norm: float) -> str:
    """A norm in multiples of γ: ``1.5γ``; or ``1``."""
    if abs(norm - 1) < 1e-9:
        return "1"
    return f"{norm / DISCOUNT:.3g}γ".removeprefix("1γ") or "γ"


def in_words(norms: dict[str, Norms]) -> str:
    """The figure for those who do not see it."""
    lines = []
    for rule, pairs in norms.items():
        arrows = [(a, b, in_discounts(x)) for (a, b), x in pairs.items() if x >= 1e-12]
        said = ", ".join(f"{b} bootstraps from {a} ({x})" for a, b, x in arrows)
        lines.append(f"{RULES[rule][0]}: {said}.")
    return " ".join(lines)
