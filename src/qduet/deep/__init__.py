"""Values from networks: agents of both families, from their loss to training and evaluation.

    from qduet.deep import make_agent, make_environment, make_network

    agent = make_agent("rdq", beta=0.01)                    # settings: an Agent
    env = make_environment("MinAtar/Breakout-v1")           # or gymnax/CartPole-v1, or yours
    network = make_network(agent.network, env)              # the paper's two-stream network
    outputs = network.apply(params, observation)            # V(s), A(s, ·)

`qduet.jobs.train` trains agents. To bring your own: `register_algorithm`, `register_agent`,
`register_network`, `register_optimiser`, `register_environment`. The modules, each needing only
those before it:

    environment(s), gymnax              what training knows of an environment; environments by id
    layers, board, networks             what networks are made of; the paper's; networks by name
    algorithms                          how Q is read off the outputs, and losses
    adam, optimisers, replay            optimisers by name; the memory of transitions
    acting                              ε-greedy play
    plain, fused/                       outputs and updates; the same made fast for that network
    training, evaluation                one run's iteration, and 1,000 episodes of its play
"""

from qduet.agents import AGENTS, PROTOCOLS, Agent, make_agent, register_agent
from qduet.deep.algorithms import (
    AV,
    QV,
    Algorithm,
    Loss,
    Transition,
    algorithm_of,
    register_algorithm,
)
from qduet.deep.environment import Environment, Step
from qduet.deep.environments import make as make_environment
from qduet.deep.environments import register as register_environment
from qduet.deep.layers import InitScheme, Outputs
from qduet.deep.networks import Network, make_network, register_network
from qduet.deep.optimisers import register_optimiser

__all__ = [
    "AGENTS",
    "AV",
    "PROTOCOLS",
    "QV",
    "Agent",
    "Algorithm",
    "Environment",
    "InitScheme",
    "Loss",
    "Network",
    "Outputs",
    "Step",
    "Transition",
    "algorithm_of",
    "make_agent",
    "make_environment",
    "make_network",
    "register_agent",
    "register_algorithm",
    "register_environment",
    "register_network",
    "register_optimiser",
]
