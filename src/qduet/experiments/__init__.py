"""Tabular experiments, declared as data, and the one function that runs them.

    >>> results = run(FIGURES["figure5"].small(), Path("out"))

Each experiment names the figure it makes. A rule of one's own takes part by name, and an experiment
on an MDP of one's own is declared like the paper's:

    >>> run(FIGURES["figure5"].small(), Path("out"), extra_rules={"mine": my_rule()})
    >>> lake = TabularExperiment("lake", "FrozenLake", from_gymnasium("FrozenLake-v1"), rules)
    >>> run(lake.small(), Path("out"), extra_rules={"mine": my_rule()})

``protocol="paper"`` is the paper as written; ``protocol="reference"`` sets every item listed in
docs/differences.md to what the authors' released code does.
"""

from qduet.experiments.declared import FIGURES, PROTOCOLS, SHARED, RuleSpec, TabularExperiment
from qduet.experiments.running import ABOUT, Results, fingerprint, run

__all__ = [
    "ABOUT",
    "FIGURES",
    "PROTOCOLS",
    "SHARED",
    "Results",
    "RuleSpec",
    "TabularExperiment",
    "fingerprint",
    "run",
]
