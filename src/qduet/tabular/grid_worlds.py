"""Grid worlds and mazes of any size, as lists of successors.

    >>> mdp = maze(1000, 1000)  # a million states, one for each cell
    >>> mdp.num_states, mdp.num_actions
    (1000000, 4)

A state is a cell, row by row: cell (y, x) of a world of `width` columns is state ``y · width + x``.
The actions are up, right, down and left. A move into a wall leaves the agent where it is. Goals end
the episode; an episode starts in any other cell, each as likely. With a reward c for each move and
another g for one that reaches a goal, and without slipping,

    v_*(s) = c (1 − γ^d) / (1 − γ) + g γ^(d−1)

if d moves are the fewest from s to a goal (and if a goal is worth going to).
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qduet.core.errors import InputError
from qduet.tabular.mdp import MDP, Successors

ACTIONS = ("up", "right", "down", "left")
"""The actions of a grid world, in the order of their indices."""

MAX_CELLS = 2**28
"""The most cells of a grid world."""


def grid_world(
    height: int,
    width: int,
    *,
    open_right: ArrayLike | None = None,
    open_down: ArrayLike | None = None,
    goals: ArrayLike = -1,
    slip: float = 0.0,
    step_reward: float = -1.0,
    goal_reward: float = 0.0,
    discount: float = 0.99,
    name: str | None = None,
) -> MDP:
    """A world of ``height × width`` cells; open, with one goal at the bottom right, by default.

    Args:
      height: rows.
      width: columns.
      open_right: ``[height, width − 1]`` bool: whether there is no wall between cell (y, x) and
        the cell on its right; by default there is none anywhere.
      open_down: ``[height − 1, width]`` bool: the same for the cell below.
      goals: one or more states; −1 is the last one.
      slip: probability that a move goes to one of the two sides instead, each as likely.
      step_reward: paid for each move.
      goal_reward: paid in addition for a move that reaches a goal.
      discount: γ.
      name: names its results; by default ``grid:HEIGHTxWIDTH``.
    """
    _check_size(height, width)
    if not 0.0 <= slip <= 1.0:
        raise InputError(f"slip must be in [0, 1]; it is {slip}")
    moves = _moves(
        _walls("open_right", open_right, (height, width - 1)),
        _walls("open_down", open_down, (height - 1, width)),
    )
    nexts, probability = moves[:, :, None], np.ones((*moves.shape, 1))
    if slip:
        sides = [np.roll(moves, turn, axis=1) for turn in (1, -1)]
        nexts = np.stack([moves, *sides], axis=2)
        probability = np.broadcast_to([1 - slip, slip / 2, slip / 2], nexts.shape)
    num_states = height * width
    terminal = np.zeros(num_states, bool)
    try:
        terminal[np.asarray(goals)] = True
    except IndexError:
        raise InputError(
            f"goals must be states from 0 to {num_states - 1}; they are {goals!r:.60}"
        ) from None
    if terminal.all():
        raise InputError("a grid world needs a cell that is not a goal, to start in")
    reward = np.full(moves.shape, float(step_reward))
    if goal_reward:
        reward = step_reward + goal_reward * terminal[nexts]
    return MDP(
        Successors(nexts, probability),
        reward,
        discount,
        start=~terminal / (~terminal).sum(),
        terminal=terminal,
        name=name or f"grid:{height}x{width}",
    )


def maze(height: int, width: int, *, seed: int = 0, loops: float = 0.1, **options: Any) -> MDP:
    """A `grid_world` with random walls, in which every cell can be reached from every other.

    The passages are a spanning tree of the cells, the one of least weight for random weights, and a
    share `loops` of all other walls is left out. ``loops=0`` gives a maze with one way between any
    two cells, ``loops=1`` the open grid. `options` go to `grid_world`.
    """
    import scipy.sparse.csgraph  # which takes longer to import than all of this room

    _check_size(height, width)
    if not 0.0 <= loops <= 1.0:
        raise InputError(f"loops must be in [0, 1]; it is {loops}")
    cells = np.arange(height * width).reshape(height, width)
    first = np.concatenate([cells[:, :-1].ravel(), cells[:-1].ravel()])
    second = np.concatenate([cells[:, 1:].ravel(), cells[1:].ravel()])
    rng = np.random.default_rng(seed)
    # A different weight for each pair of neighbours, which is also the pair's number, from 1.
    weights = rng.permutation(first.size) + 1
    graph = scipy.sparse.csr_array((weights.astype(np.float64), (first, second)), (cells.size,) * 2)
    in_tree = np.zeros(first.size + 1, bool)
    in_tree[scipy.sparse.csgraph.minimum_spanning_tree(graph).data.astype(np.int64)] = True
    passage = in_tree[weights] | (rng.random(first.size) < loops)
    across = height * (width - 1)
    return grid_world(
        height,
        width,
        open_right=passage[:across].reshape(height, width - 1),
        open_down=passage[across:].reshape(height - 1, width),
        **{"name": f"maze:{height}x{width}" + (f":{seed}" if seed else ""), **options},
    )


def _check_size(height: int, width: int) -> None:
    if height < 1 or width < 1 or not 2 <= height * width <= MAX_CELLS:
        raise InputError(
            f"a grid world needs 2 to {MAX_CELLS:,} cells; it has {height} rows, {width} columns"
        )


def _walls(name: str, passages: ArrayLike | None, shape: tuple[int, int]) -> NDArray[np.bool_]:
    array = np.ones(shape, bool) if passages is None else np.asarray(passages, bool)
    if array.shape != shape:
        raise InputError(f"{name} must have shape {list(shape)}; it has {list(array.shape)}")
    return array


def _moves(open_right: NDArray[np.bool_], open_down: NDArray[np.bool_]) -> NDArray[np.int32]:
    """``[cells, 4]``: where each action leads."""
    height, width = open_right.shape[0], open_down.shape[1]
    cells = np.arange(height * width, dtype=np.int32).reshape(height, width)
    moves = np.stack([cells] * 4)
    up, right, down, left = moves
    right[:, :-1] += open_right
    left[:, 1:] -= open_right
    down[:-1] += width * open_down.astype(np.int32)
    up[1:] -= width * open_down.astype(np.int32)
    return np.ascontiguousarray(moves.reshape(4, -1).T)
