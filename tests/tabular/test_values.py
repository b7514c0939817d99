"""Values by iteration: against closed forms, the direct solves, and scipy's sparse ones."""

import jax
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

from qduet.core.errors import InputError
from qduet.tabular import values
from qduet.tabular.grid_worlds import grid_world, maze
from qduet.tabular.mdp import MDP, Successors, four_state, garnet, uniform_policy
from qduet.tabular.values import certified_values, evaluate, optimum

PROBLEMS = {
    "maze": lambda: maze(20, 21, slip=0.3, goal_reward=5.0),
    "four states": lambda: four_state("dueling", 6),
    "random, no end": lambda: garnet(
        jax.random.key(2), num_states=60, num_actions=3, branching=3, discount=0.97
    ),
    "dense": lambda: MDP(
        np.random.default_rng(3).dirichlet(np.ones(40), size=(40, 2)),
        np.random.default_rng(4).normal(size=(40, 2)),
        0.99,
        terminal=np.arange(40) == 7,
    ),
    "an end that many never reach": lambda: MDP(
        Successors([[[0], [1]], [[0], [1]], [[3], [2]], [[3], [3]]], np.ones((4, 2, 1))),
        [[1.0, -2.0], [0.5, 0.75], [-3.0, -1.0], [0.0, 0.0]],
        0.9,
        terminal=[False, False, False, True],
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_bound_holds_against_direct_solves(name):
    mdp = PROBLEMS[name]()
    policy = np.random.default_rng(1).dirichlet(np.ones(mdp.num_actions), size=mdp.num_states)
    for found, exact in (
        (certified_values(mdp), optimum(mdp)),
        (certified_values(mdp, policy), evaluate(mdp, policy)),
    ):
        assert found.error_bound <= 1e-6
        for mine, theirs in zip(found.values, exact, strict=True):
            assert np.abs(mine - theirs).max() <= found.error_bound


def test_the_bound_is_of_the_values_it_comes_with():
    """All pay 1 and γ = 0.5, so v = 2. At v = 1.5 the residual is 1/4, and the bound 1/2."""
    mdp = MDP(np.ones((1, 2, 1)), np.ones((1, 2)), 0.5)
    found = values._certify(mdp, np.array([1.5]), lambda q: q.max(axis=1))
    assert found.error_bound == pytest.approx(0.5, abs=1e-12)
    assert found.error_bound > 0.5  # rounding is counted


def test_a_corridor_of_200_000_states_is_a_power_of_gamma():
    """Goal reward 1: v_* = γ^(d − 1), and one sweep from the goal backwards finds it."""
    mdp = grid_world(1, 200_000, goal_reward=1.0, step_reward=0.0, discount=0.9999)
    distance = np.arange(199_999, 0, -1)
    np.testing.assert_allclose(optimum(mdp).v[:-1], 0.9999 ** (distance - 1.0), atol=1e-6)


def test_an_open_grid_of_90_000_states_has_manhattan_distances():
    y, x = np.mgrid[:300, :300]
    found = certified_values(grid_world(300, 300))
    exact = -(1 - 0.99 ** ((299 - y) + (299 - x)).ravel()) / 0.01
    assert np.abs(found.values.v - exact).max() <= found.error_bound <= 1e-6


def test_a_policys_values_are_scipys():
    """40 × 50 cells, uniform behaviour: scipy's sparse LU solve of the system built by hand."""
    mdp = maze(40, 50, slip=0.1, discount=0.98)
    nexts, probability = mdp.successors
    rows = np.broadcast_to(np.arange(2000)[:, None, None], nexts.shape)
    entries = ((probability / 4).ravel(), (rows.ravel(), nexts.ravel()))
    transition = scipy.sparse.csr_array(entries, shape=(2000, 2000))
    system = scipy.sparse.csc_array(scipy.sparse.eye_array(2000) - 0.98 * transition)
    exact = scipy.sparse.linalg.spsolve(system, np.append(np.full(1999, -1.0), 0.0))
    np.testing.assert_allclose(evaluate(mdp, uniform_policy(mdp)).v, exact, atol=1e-6)


def test_a_tolerance_below_rounding_is_refused():
    with pytest.raises(InputError, match=r"could be certified to .* not to tolerance=1e-16"):
        certified_values(maze(10, 10), tolerance=1e-16)
