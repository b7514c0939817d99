"""Gymnasium's toy-text problems (FrozenLake-v1, CliffWalking-v1, Taxi-v3) as finite MDPs.

Their own transition tables ``env.unwrapped.P[s][a] = [(probability, s', reward, done), ...]`` are
read. A state that is ever entered with ``done`` is terminal: it leads to itself and pays nothing,
whatever its row of the table says.
"""

from typing import Any

import numpy as np

from qduet.core.errors import InputError
from qduet.tabular.mdp import MDP, Successors

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
    terminal = np.zeros(num_states, bool)
    lists: dict[tuple[int, int], dict[int, tuple[float, float]]] = {}
    for s in table:
        for a in table[s]:
            into = lists.setdefault((s, a), {})
            for probability, s2, reward, done in table[s][a]:
                if probability:
                    terminal[s2] |= done
                    total, paid = into.get(s2, (0.0, 0.0))
                    into[s2] = total + probability, paid + probability * reward
    shape = (num_states, num_actions, max(map(len, lists.values())))
    states, probabilities, rewards = np.zeros(shape, np.int32), np.zeros(shape), np.zeros(shape)
    for (s, a), into in lists.items():
        for i, (s2, (total, paid)) in enumerate(sorted(into.items())):
            states[s, a, i], probabilities[s, a, i], rewards[s, a, i] = s2, total, paid / total
    p = Successors(states, probabilities)
    return MDP(p, rewards, discount, start=start, terminal=terminal, name=name)
