"""Values in tables: finite MDPs, nine update rules, sweeps over step sizes and seeds.

    >>> from qduet.tabular import four_state, hard_rdq, q_learning, sweep
    >>> mdp = four_state("dueling", num_actions=18)  # or MDP(p, reward, discount), from_gymnasium
    >>> rules = {"q_learning": q_learning(), "hard_rdq": hard_rdq()}
    >>> curves = sweep(mdp, rules, [0.05, 0.1], seeds=range(30), steps=20_000, init_std=2.0)
    >>> curves["hard_rdq"].percent.shape  # [seeds, step sizes, points]
    (30, 2, 201)

The modules, each using those above it:

    mdp          `MDP`, its exact values (`evaluate`, `optimum`), the paper's 4-state problem;
                 the types of tables: V, Q, (Q, V), (V, A)
    toy_text     Gymnasium's FrozenLake, CliffWalking and Taxi as MDPs
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
from qduet.tabular.mdp import (
    MDP,
    AVTables,
    QTable,
    QVTables,
    VTable,
    evaluate,
    four_state,
    garnet,
    optimum,
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

__all__ = [
    "MDP",
    "RULES",
    "AVTables",
    "Curves",
    "EpsilonGreedy",
    "QTable",
    "QVTables",
    "Results",
    "Rule",
    "RuleSpec",
    "RuleSummary",
    "TabularExperiment",
    "Transition",
    "VTable",
    "bc_qvmax",
    "dueling_q",
    "evaluate",
    "expected_sarsa",
    "four_state",
    "from_gymnasium",
    "garnet",
    "hard_rdq",
    "make_rule",
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
