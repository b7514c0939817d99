"""Values from networks: DQN, Dueling DQN and RDQ, from their loss to training and evaluation.

    from qduet.deep import apply, init, loss, make_agent, q_values

    agent = make_agent("rdq", beta=0.01)                    # settings: an Agent
    params = init(key, num_channels=4, num_actions=3)       # the paper's two-stream network
    outputs = apply(params, observation)                    # V(s), A(s, ·)
    q = q_values(outputs, agent.coefficients())             # Q(s, ·) = w V + A − c mean(A)

`qduet.jobs.train` trains agents. The modules, each needing only those before it:

    adam, networks, replay   the optimiser, the network, the memory of transitions
    agents                   the agents' settings, Q and the loss
    acting                   ε-greedy play
    fused/                   network, update and play made fast; decides no result
    training, evaluation     one run's iteration, and 1,000 episodes of its play
"""

from qduet.deep.agents import AGENTS, PROTOCOLS, Agent, Coefficients, loss, make_agent, q_values
from qduet.deep.networks import InitScheme, Outputs, Params, apply, init
from qduet.deep.replay import Batch

__all__ = [
    "AGENTS",
    "PROTOCOLS",
    "Agent",
    "Batch",
    "Coefficients",
    "InitScheme",
    "Outputs",
    "Params",
    "apply",
    "init",
    "loss",
    "make_agent",
    "q_values",
]
