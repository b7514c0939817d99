"""Values in tables: finite MDPs, nine update rules, sweeps over step sizes and seeds.

    >>> from qduet.tabular import four_state, hard_rdq, q_learning, sweep
    >>> mdp = four_state("dueling", num_actions=18)  # or MDP(p, reward, discount), from_gymnasium
    >>> rules = {"q_learning": q_learning(), "hard_rdq": hard_rdq()}
    >>> curves = sweep(mdp, rules, [0.05, 0.1], seeds=range(30), steps=20_000, init_std=2.0)
    >>> curves["hard_rdq"].percent.shape  # [seeds, step sizes, points]
    (30, 2, 201)

The modules, each using those above it:

    mdp          `MDP`, dense or as lists of `Successors`; the paper's 4-state problem; the types of
                 tables: V, Q, (Q, V), (V, A)
    toy_text     Gymnasium's FrozenLake, CliffWalking and Taxi as MDPs
    grid_worlds  `grid_world` and `maze`, of up to millions of states
    values       exact values: `evaluate`, `optimum`; `certified_values` with a bound on the error
    operators    the paper's operators on exact values, and each algorithm's fixed point
    rules        the nine update rules, for one transition
    experience   the random numbers of a seed, and the transitions they lead to
    trials       one rule on one seed with all step sizes; many of them on all cores
    sweeps       `sweep`: rules × step sizes × seeds on one MDP, as error curves
    experiments  `TabularExperiment`: a figure's sweeps as data
    running      `run`: an experiment's curves, read from disk where they are finished
    summary      `summarise_all`: best step sizes, AUCs and intervals from the curves
"""

from qduet.tabular.experiments import RuleSpec, TabularExperiment
from qduet.tabular.grid_worlds import grid_world, maze
from qduet.tabular.mdp import (
    MDP,
    AVTables,
    QTable,
    QVTables,
    Successors,
    VTable,
    four_state,
    garnet,
    uniform_policy,
)
from qduet.tabular.rules import (
    RULES,
    Rule,
    Transition,
    bc_qvmax,
    dueling_q,
    expected_sarsa,
    hard_rdq,
    make_rule,
    q_learning,
    qv_learning,
    qvmax,
    soft_rdq,
    step_toward,
    td0,
    trailing_axes,
    under,
)
from qduet.tabular.running import Results, run
from qduet.tabular.summary import RuleSummary, summarise, summarise_all
from qduet.tabular.sweeps import Curves, EpsilonGreedy, sweep
from qduet.tabular.toy_text import from_gymnasium
from qduet.tabular.values import FixedPoint, certified_values, evaluate, optimum

__all__ = [
    "MDP",
    "RULES",
    "AVTables",
    "Curves",
    "EpsilonGreedy",
    "FixedPoint",
    "QTable",
    "QVTables",
    "Results",
    "Rule",
    "RuleSpec",
    "RuleSummary",
    "Successors",
    "TabularExperiment",
    "Transition",
    "VTable",
    "bc_qvmax",
    "certified_values",
    "dueling_q",
    "evaluate",
    "expected_sarsa",
    "four_state",
    "from_gymnasium",
    "garnet",
    "grid_world",
    "hard_rdq",
    "make_rule",
    "maze",
    "optimum",
    "q_learning",
    "qv_learning",
    "qvmax",
    "run",
    "soft_rdq",
    "step_toward",
    "summarise",
    "summarise_all",
    "sweep",
    "td0",
    "trailing_axes",
    "under",
    "uniform_policy",
]
