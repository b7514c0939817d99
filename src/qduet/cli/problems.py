"""The MDPs that ``--mdp NAME`` can name."""

from collections.abc import Sequence

from qduet.core.errors import InputError, unknown_name
from qduet.tabular.mdp import MDP, four_state
from qduet.tabular.toy_text import from_gymnasium
from qduet.theory.problems import ring

TOY_TEXT = ("FrozenLake-v1", "CliffWalking-v1", "Taxi-v3")
"""Gymnasium's problems, as the error for an unknown name lists them; other ids are tried too."""

ACTIONS = 18
"""|A| of a problem that can have any number of actions, without --actions."""

MAX_ACTIONS = 10_000
"""The largest --actions: the optimum of a problem takes memory that grows with its square."""


def named_mdp(
    name: str, known: Sequence[str], *, num_actions: int | None, discount: float | None = None
) -> MDP:
    """One of the `known` problems, which have any number of actions, or a toy-text problem."""
    discount_or_default = 0.99 if discount is None else discount
    if name == "ring" and name in known:
        return ring(num_actions=num_actions or ACTIONS, discount=discount_or_default)
    if name in known:
        return four_state(name, num_actions or ACTIONS, discount)
    if "-v" not in name:
        raise unknown_name("MDP", name, (*known, *TOY_TEXT))
    refuse_actions(name, known, num_actions)
    return from_gymnasium(name, discount_or_default)


def refuse_actions(name: str, known: Sequence[str], num_actions: int | None) -> None:
    """`InputError` if ``--actions`` was given for a problem that has its own."""
    if num_actions is not None:
        raise InputError(f"--actions belongs to {', '.join(known)}; {name} has its own")
