"""Gymnasium's toy-text problems (FrozenLake-v1, CliffWalking-v1, Taxi-v3) as finite MDPs.

Their own transition tables ``env.unwrapped.P[s][a] = [(probability, s', reward, done), ...]`` are
read. A state that is ever entered with ``done`` is terminal: it leads to itself and pays nothing,
whatever its row of the table says.
"""

from typing import Any

import numpy as np

from qduet.core.errors import InputError
from qduet.tabular.mdp import MDP

_SUCCESSORS = {"Taxi-v3": "Taxi-v4"}
"""Retired ids and the id under which later releases of Gymnasium hold the same default problem."""


def from_gymnasium(env_id: str, discount: float = 0.99, **options: Any) -> MDP:
    """The toy-text environment `env_id` as an MDP; `options` go to ``gymnasium.make``."""
    try:
        import gymnasium
    except ImportError:
        raise InputError(
            f"'{env_id}' is a Gymnasium environment: install it with pip install gymnasium"
        ) from None
    registered = env_id if env_id in gymnasium.registry else _SUCCESSORS.get(env_id, env_id)
    try:
        env = gymnasium.make(registered, **options).unwrapped
    except (gymnasium.error.Error, ImportError) as error:
        raise InputError(f"Gymnasium cannot make '{env_id}': {error}".splitlines()[0]) from None
    if not hasattr(env, "P") or not hasattr(env, "initial_state_distrib"):
        raise InputError(
            f"'{env_id}' has no transition table: CliffWalking, FrozenLake and Taxi have one"
        )
    return from_table(env.P, np.asarray(env.initial_state_distrib), discount, name=env_id)


def from_table(
    table: dict[int, dict[int, list[tuple[float, int, float, bool]]]],
    start: np.ndarray,
    discount: float,
    name: str = "table",
) -> MDP:
    """The MDP of a toy-text transition table and start distribution."""
    num_states, num_actions = len(table), len(table[0])
    rows = [
        (s, a, *outcome) for s in table for a in table[s] for outcome in table[s][a] if outcome[0]
    ]
    terminal = np.zeros(num_states, bool)
    terminal[[s2 for _, _, _, s2, _, done in rows if done]] = True
    p = np.zeros((num_states, num_actions, num_states))
    reward = np.zeros_like(p)
    for s, a, probability, s2, r, _ in rows:
        p[s, a, s2] += probability
        reward[s, a, s2] += probability * r
    np.divide(reward, p, out=reward, where=p > 0)
    return MDP(p, reward, discount, start=start, terminal=terminal, name=name)
