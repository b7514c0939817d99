"""The MDPs that ``--mdp NAME`` can name."""

import re
from collections.abc import Sequence

from qduet.core.errors import InputError, unknown_name
from qduet.tabular.grid_worlds import grid_world, maze
from qduet.tabular.mdp import MDP, four_state
from qduet.tabular.toy_text import from_gymnasium
from qduet.theory.problems import ring

TOY_TEXT = ("FrozenLake-v1", "CliffWalking-v1", "Taxi-v3")
"""Gymnasium's problems, as the error for an unknown name lists them; other ids are tried too."""

GRIDS = ("grid:30x40", "maze:30x40", "maze:30x40:7")
"""Examples of grid worlds, for the same error."""

ACTIONS = 18
"""|A| of a problem that can have any number of actions, without --actions."""

MAX_ACTIONS = 10_000
"""The largest --actions: the optimum of a problem takes memory that grows with its square."""


def named_mdp(
    name: str, known: Sequence[str], *, num_actions: int | None, discount: float | None = None
) -> MDP:
    """One of the `known` problems, which have any number of actions, or one that has its own.

    The latter are a toy-text id, ``grid:HEIGHTxWIDTH``, ``maze:HEIGHTxWIDTH`` or, for another
    maze than that of seed 0, ``maze:HEIGHTxWIDTH:SEED``.
    """
    discount_or_default = 0.99 if discount is None else discount
    if name.startswith(("grid:", "maze:")):
        refuse_actions(name, known, num_actions)
        return _grid(name, discount_or_default)
    if name == "ring" and name in known:
        return ring(num_actions=num_actions or ACTIONS, discount=discount_or_default)
    if name in known:
        return four_state(name, num_actions or ACTIONS, discount)
    if "-v" not in name:
        raise unknown_name("MDP", name, (*known, *TOY_TEXT, *GRIDS))
    refuse_actions(name, known, num_actions)
    return from_gymnasium(name, discount_or_default)


def _grid(name: str, discount: float) -> MDP:
    form = re.fullmatch(r"(grid|maze):([0-9]{1,9})x([0-9]{1,9})(?::([0-9]{1,9}))?", name)
    if form is None or (form[1] == "grid" and form[4]):
        raise InputError(
            f"--mdp {name} is not a grid world: write {' or '.join(GRIDS)} (rows, columns, seed)"
        )
    height, width = int(form[2]), int(form[3])
    if form[1] == "grid":
        return grid_world(height, width, discount=discount)
    return maze(height, width, seed=int(form[4] or 0), discount=discount)


def refuse_actions(name: str, known: Sequence[str], num_actions: int | None) -> None:
    """`InputError` if ``--actions`` was given for a problem that has its own."""
    if num_actions is not None:
        raise InputError(f"--actions belongs to {', '.join(known)}; {name} has its own")
