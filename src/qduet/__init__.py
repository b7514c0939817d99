"""Temporal-difference methods that learn two value functions together.

QV-learning learns action values Q beside state values V; AV-learning learns advantages A beside V.
``qduet`` holds the algorithms, environments, experiments and theory of "An Analysis of Action-Value
Temporal-Difference Methods That Learn State Values" (Daley, Nagarajan, White and Machado, RLC
2025), as a library and as the command ``qduet``.

    from qduet import Job, compare, make_agent, train

    agents = {name: make_agent(name) for name in ("dueling_dqn", "rdq")}
    train(Job("MinAtar/Breakout-v1", agents, seeds=range(3), steps=1_000_000), "out/breakout")
    compare("out/breakout").pairs           # differences of means with intervals and tests

Where things are; ``help(qduet.tabular)`` says more of a room:

    qduet.losses    read-outs and TD losses of one transition, for training code of your own
    qduet.tabular   finite MDPs, nine update rules, sweeps over step sizes and seeds
    qduet.theory    what the paper proves, as checks on any MDP
    qduet.minatar   five exact games as pure functions, games of your own, Gymnasium
    qduet.deep      DQN, Dueling DQN and RDQ: network, replay memory, training, evaluation
    qduet.jobs      training commands: run, stopped, continued; weights and recordings
    qduet.results   directories of runs as tables, and the comparison of agents
    qduet.stats     intervals over seeds, tests of difference and equivalence
    qduet.paper     the paper's figures as data, its claims held against results
    qduet.show      figures, the report page, the player

What a room exports is public; its other names may change without notice.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qduet.agents import Agent, make_agent
    from qduet.core.errors import InputError
    from qduet.jobs import Job, train
    from qduet.results import compare, load_runs

__version__ = "0.1.0"

__all__ = ["Agent", "InputError", "Job", "compare", "load_runs", "make_agent", "train"]

_DEFINED_IN = {
    "Agent": "agents",
    "InputError": "core.errors",
    "Job": "jobs",
    "compare": "results",
    "load_runs": "results",
    "make_agent": "agents",
    "train": "jobs",
}
_ROOMS = (
    "losses",
    "tabular",
    "theory",
    "minatar",
    "deep",
    "jobs",
    "results",
    "stats",
    "paper",
    "show",
)


def __getattr__(name: str) -> Any:
    """Imports a public name or a room when it is first asked for: ``import qduet`` is cheap."""
    if name in _DEFINED_IN:
        return getattr(importlib.import_module(f"qduet.{_DEFINED_IN[name]}"), name)
    if name in _ROOMS:
        return importlib.import_module(f"qduet.{name}")
    raise AttributeError(f"module 'qduet' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS, "__version__"]
