"""Grid worlds against distances that can be counted, and scipy's shortest paths."""

import numpy as np
import pytest
import scipy.sparse.csgraph

from qduet.core.errors import InputError
from qduet.tabular.grid_worlds import grid_world, maze
from qduet.tabular.values import optimum


def test_an_open_grid_has_manhattan_distances():
    """A move costs 1 and γ = 0.9, so v_* = −(1 − 0.9^d) / 0.1."""
    y, x = np.mgrid[:4, :6]
    distance = ((3 - y) + (5 - x)).ravel()
    mdp = grid_world(4, 6, discount=0.9)
    np.testing.assert_allclose(optimum(mdp).v, -(1 - 0.9**distance) / 0.1, rtol=1e-12)


def test_actions_are_up_right_down_left():
    """From the middle of 3 × 3, cell 4, and from the top left, where up and left are walls."""
    moves = grid_world(3, 3).successors.state[:, :, 0]
    assert moves[4].tolist() == [1, 5, 7, 3]
    assert moves[0].tolist() == [0, 1, 3, 0]


def test_a_wall_stops_both_ways():
    """One wall, between cells 0 and 1 of a 2 × 2 world; the way around it is the column below."""
    mdp = grid_world(2, 2, open_right=[[False], [True]], discount=0.9, goals=1)
    assert mdp.successors.state[0, 1, 0] == 0
    assert mdp.terminal.tolist() == [False, True, False, False]
    moves = grid_world(2, 2, open_right=[[False], [True]]).successors.state[:, :, 0]
    assert moves[1].tolist() == [1, 1, 3, 1]
    np.testing.assert_allclose(optimum(mdp).v, [-2.71, 0, -1.9, -1], rtol=1e-12)


def test_slipping_goes_to_either_side():
    p = grid_world(3, 3, slip=0.2).p
    np.testing.assert_allclose(p[4, 0], [0, 0.8, 0, 0.1, 0, 0.1, 0, 0, 0])  # up: left or right
    np.testing.assert_allclose(p[4, 1], [0, 0.1, 0, 0, 0, 0.8, 0, 0.1, 0])  # right: up or down
    np.testing.assert_allclose(p[0, 0], [0.9, 0.1, 0, 0, 0, 0, 0, 0, 0])  # a wall, and left of it


def test_goals_pay_and_end_and_all_other_cells_are_starts():
    mdp = grid_world(1, 5, goals=[0, 4], goal_reward=1.0, step_reward=0.0, discount=0.5)
    np.testing.assert_allclose(optimum(mdp).v, [0, 1, 0.5, 1, 0])
    np.testing.assert_allclose(mdp.start, [0, 1 / 3, 1 / 3, 1 / 3, 0])


def passages(mdp):
    """The cells as a graph of scipy's, with an edge for each move that leaves a cell."""
    moves = mdp.successors.state[:, :, 0]
    here = np.broadcast_to(np.arange(len(moves))[:, None], moves.shape)
    away = moves != here
    edges = (np.ones(away.sum()), (here[away], moves[away]))
    return scipy.sparse.csr_array(edges, shape=(len(moves),) * 2)


@pytest.mark.parametrize("loops", [0.0, 0.3])
def test_a_mazes_values_are_its_shortest_paths(loops):
    """Goal reward 1 and nothing else: v_* = γ^(d − 1), with scipy's d."""
    mdp = maze(27, 19, seed=5, loops=loops, goal_reward=1.0, step_reward=0.0, discount=0.9)
    # The goal leads nowhere, so distances are measured along the arrows toward it.
    distance = scipy.sparse.csgraph.shortest_path(passages(mdp).T, indices=512, unweighted=True)
    np.testing.assert_allclose(optimum(mdp).v[:-1], 0.9 ** (distance[:-1] - 1), rtol=1e-9)


def test_a_maze_without_loops_is_a_tree():
    """n cells in one piece with n − 1 passages; each is two moves, but for those of the goal."""
    graph = passages(maze(23, 17, loops=0.0))
    assert scipy.sparse.csgraph.connected_components(graph, directed=False)[0] == 1
    assert (graph + graph.T).nnz == 2 * (23 * 17 - 1)


def test_seeds_give_different_mazes_and_loops_one_the_open_grid():
    states = lambda mdp: mdp.successors.state
    assert not np.array_equal(states(maze(9, 9, seed=1)), states(maze(9, 9, seed=2)))
    np.testing.assert_array_equal(states(maze(9, 9, seed=1)), states(maze(9, 9, seed=1)))
    np.testing.assert_array_equal(states(maze(9, 9, loops=1.0)), states(grid_world(9, 9)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: maze(0, 5), "2 to 268,435,456 cells; it has 0 rows, 5 columns"),
        (lambda: grid_world(10**6, 10**6), "1000000 rows"),
        (lambda: grid_world(1, 1), "2 to"),
        (lambda: grid_world(3, 3, slip=1.5), r"slip must be in \[0, 1\]"),
        (lambda: grid_world(3, 3, goals=9), "goals must be states from 0 to 8; they are 9"),
        (lambda: grid_world(1, 2, goals=[0, 1]), "not a goal"),
        (lambda: grid_world(3, 3, open_right=np.ones((3, 3))), r"open_right .* \[3, 2\]"),
        (lambda: maze(3, 3, loops=-0.1), "loops"),
        (lambda: maze(3, 3, discount=1.0), "discount"),
    ],
)
def test_bad_worlds_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
