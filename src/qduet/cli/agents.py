"""``qduet agents``: the agents that ``qduet train`` knows, what they compute, and their numbers."""

import argparse
from typing import Any

from qduet.agents import AGENTS, Agent
from qduet.cli.options import add_json, print_json
from qduet.core.tables import Table
from qduet.deep.algorithms import ALGORITHMS

EXAMPLE = """qduet agents
qduet --import my_agent agents"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Prints a table of agents, then the equations of their algorithms."""
    if args.json:
        print_json(
            {
                "agents": {name: agent.fields() for name, agent in AGENTS.items()},
                "algorithms": {name: known.equations for name, known in ALGORITHMS.items()},
            }
        )
        return 0
    rows = [
        (name, agent.algorithm, _numbers(agent), _others(agent)) for name, agent in AGENTS.items()
    ]
    Table("agents", ("agent", "algorithm", "numbers", "other settings"), rows).show()
    for name, algorithm in ALGORITHMS.items():
        print(f"\n{name}: {algorithm.equations or 'of your own'}".replace(";  ", "\n    "))
    print(
        "\ndouble: max Q⁻(s, ·) becomes Q⁻(s, argmax Q(s, ·)). V⁻ and Q⁻ are the target network's."
    )
    skipped = {"name", "algorithm", *AGENTS["dqn"].numbers._fields}
    shared = [f"{k} = {x}" for k, x in AGENTS["dqn"].fields().items() if k not in skipped]
    print(f"\nall others: {', '.join(shared)}; qduet train --help says how to set them")
    return 0


def _numbers(agent: Agent) -> str:
    defaults = type(agent.numbers)._field_defaults
    shown = {name: x for name, x in agent.numbers._asdict().items() if x != 0 or defaults[name]}
    return ", ".join(f"{name} = {x:g}" for name, x in shown.items())


def _others(agent: Agent) -> str:
    """The settings in which it differs from DQN, other than its algorithm and numbers."""
    usual, own = AGENTS["dqn"].fields(), agent.fields()
    skipped = {"name", "algorithm", *agent.numbers._fields}
    changed: dict[str, Any] = {
        name: x for name, x in own.items() if name not in skipped and x != usual[name]
    }
    return ", ".join(f"{name} = {x}" for name, x in changed.items())
