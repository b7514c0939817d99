"""Operators against sums written out by hand, and fixed points against closed forms."""

import jax
import numpy as np
import pytest

from qduet.tabular import operators as ops
from qduet.tabular.mdp import MDP, AVTables, QVTables, four_state, garnet, uniform_policy
from qduet.tabular.values import evaluate, optimum


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def mdp():
    return garnet(jax.random.key(3), num_states=5, num_actions=3, branching=3, discount=0.9)


@pytest.fixture
def behaviour(mdp, rng):
    return rng.dirichlet(np.ones(3), 5)


def test_fundamental_operators_are_the_sums_of_the_paper(mdp, behaviour, rng):
    v, q = rng.normal(size=5), rng.normal(size=(5, 3))
    for s in range(5):
        for a in range(3):
            assert ops.P(mdp, v)[s, a] == pytest.approx(
                sum(mdp.p[s, a, t] * v[t] for t in range(5))
            )
        assert ops.E_pi(behaviour, q)[s] == pytest.approx(
            sum(behaviour[s, a] * q[s, a] for a in range(3))
        )
        assert ops.E(q)[s] == max(q[s])


def test_bellman_operators_fix_the_exact_values(mdp, behaviour):
    found, best = evaluate(mdp, behaviour), optimum(mdp)
    np.testing.assert_allclose(ops.T_pi(mdp, behaviour, found.q), found.q, rtol=1e-12)
    np.testing.assert_allclose(ops.T_pi(mdp, behaviour, found.v), found.v, rtol=1e-12)
    np.testing.assert_allclose(ops.T(mdp, best.q), best.q, rtol=1e-12)
    np.testing.assert_allclose(ops.T(mdp, best.v), best.v, rtol=1e-12)


def test_affine_form_of_qv_learning_by_hand():
    # One state, two actions with rewards 1 and 3, b = (1/4, 3/4), γ = 1/2: E_b r = 5/2.
    mdp = MDP(np.ones((1, 2, 1)), np.array([[1.0, 3.0]]), 0.5)
    affine = ops.qv_learning_affine(mdp, np.array([[0.25, 0.75]]))
    np.testing.assert_array_equal(affine.b, [1.0, 3.0, 2.5])
    np.testing.assert_array_equal(affine.A, [[0, 0, 0.5], [0, 0, 0.5], [0, 0, 0.5]])


def test_joint_and_split_are_inverse(mdp, rng):
    y = QVTables(rng.normal(size=(5, 3)), rng.normal(size=5))
    back = ops.split(mdp, ops.joint(y))
    np.testing.assert_array_equal(back.q, y.q)
    np.testing.assert_array_equal(back.v, y.v)


def test_av_operators_by_hand():
    # One state, two actions, γ = 0, r = (1, 3), b = (1/4, 3/4), V = 1, A = (2, -2).
    mdp, b = MDP(np.ones((1, 2, 1)), np.array([[1.0, 3.0]]), 0.0), np.array([[0.25, 0.75]])
    y = AVTables(np.array([1.0]), np.array([[2.0, -2.0]]))
    # Q = (3, -1) in either read-out; D = (-2, 4); b∘D = (-1/2, 3); E_b D = 5/2; mean 5/4.
    hard = ops.hard_rdq(mdp, b, y)
    np.testing.assert_allclose(hard.v, [3.5])
    np.testing.assert_allclose(hard.adv, [[1.5, 1.0]])
    dueling = ops.dueling_q(mdp, b, y)
    np.testing.assert_allclose(dueling.v, [3.5])
    np.testing.assert_allclose(dueling.adv, [[0.25, -0.25]])
    soft = ops.soft_rdq(mdp, b, y, ratio=0.5)
    np.testing.assert_allclose(soft.v, [3.0])
    np.testing.assert_allclose(soft.adv, [[0.5, 2.0]])


@pytest.mark.parametrize("n", [2, 6, 18])
def test_fixed_points_of_the_four_state_mdp(n):
    gamma = 0.99
    mdp = four_state("qvmax", n)
    b = uniform_policy(mdp)
    first = np.arange(n) == 0
    # QVMAX: v = 1/n + γ max q and q = r + γ v give v = (1/n + γ)/(1 − γ²).
    found = ops.solve_qvmax(mdp, b)
    v = (1 / n + gamma) / (1 - gamma**2)
    np.testing.assert_allclose(found.values.v, v)
    np.testing.assert_allclose(found.values.q[0], first + gamma * v)
    # BC-QVMAX: v_* = 1/(1−γ).
    found = ops.solve_bc_qvmax(mdp)
    np.testing.assert_allclose(found.values.v, 100.0)
    np.testing.assert_allclose(found.values.q[0], first + 99.0)


def test_soft_rdq_with_one_state_and_one_action():
    # V = A = Q/2 and ρ Q/2 = r + γ Q − Q, so Q = r / (1 − γ + ρ/2).
    mdp = MDP(np.ones((1, 1, 1)), np.array([[3.0]]), 0.9)
    for ratio in (1e-3, 0.1, 4.0):
        found = ops.solve_soft_rdq(mdp, np.ones((1, 1)), ratio=ratio)
        np.testing.assert_allclose(found.values.q, 3 / (0.1 + ratio / 2))
        np.testing.assert_allclose(found.values.v, found.values.q[0] / 2)


def test_soft_rdq_solver_agrees_with_plain_iteration(mdp, behaviour):
    found = ops.solve_soft_rdq(mdp, behaviour, ratio=0.2)
    q = np.zeros((5, 3))
    for _ in range(2000):
        q = ops.soft_rdq_map(mdp, behaviour, q, ratio=0.2)
    np.testing.assert_allclose(found.values.q, q, atol=1e-9)
    y = AVTables(found.values.v, found.values.q - found.values.v[:, None])
    moved = ops.soft_rdq(mdp, behaviour, y, ratio=0.2)
    np.testing.assert_allclose(moved.adv, y.adv, atol=1e-9)


def test_soft_rdq_contracts_by_its_modulus_and_no_less(mdp, behaviour, rng):
    """Raising q by 1 everywhere keeps the greedy actions and attains it."""
    q = rng.normal(size=(5, 3))
    for ratio in (1e-3, 0.2, 10.0):
        image, raised = (
            ops.soft_rdq_map(mdp, behaviour, values, ratio=ratio) for values in (q, q + 1)
        )
        modulus = ops.soft_rdq_modulus(mdp, behaviour, ratio=ratio)
        assert np.abs(raised - image).max() == pytest.approx(modulus)


def test_error_bounds_cover_the_true_error():
    # A solution that is off by 1 everywhere must be certified as at least that far off.
    mdp = four_state("qvmax", 2)
    y = optimum(mdp)
    off = QVTables(y.q + 1, y.v + 1)
    image = ops.qv_learning(mdp, np.array([[1.0, 0.0]] * 4), off)
    assert ops._certify(off, image, 0.99).error_bound >= 1.0
    assert ops.solve_qvmax(mdp, uniform_policy(mdp)).error_bound < 1e-9


def test_limits_of_hard_rdq_and_dueling_by_hand():
    q = np.array([[4.0, 1.0]])
    hard = ops.hard_rdq_limit(q)  # V = 5/3
    np.testing.assert_allclose(hard.v, [5 / 3])
    np.testing.assert_allclose(hard.adv, [[7 / 3, -2 / 3]])
    start = AVTables(np.array([1.0]), np.array([[0.0, 4.0]]))  # V − ΣA = −3, so V = 2/3
    np.testing.assert_allclose(ops.hard_rdq_limit(q, start).v, [2 / 3])
    dueling = ops.dueling_q_limit(q, start)  # mean A stays 2
    np.testing.assert_allclose(dueling.v, [2.5])
    np.testing.assert_allclose(dueling.adv, [[3.5, 0.5]])


def test_terminal_states_keep_the_value_zero():
    p = np.zeros((2, 1, 2))
    p[:, :, 1] = 1.0
    mdp = MDP(p, np.array([[1.0], [7.0]]), 0.9, terminal=np.array([False, True]))
    for found in (
        ops.solve_qvmax(mdp, np.ones((2, 1))),
        ops.solve_bc_qvmax(mdp),
    ):
        np.testing.assert_allclose(found.values.v, [1.0, 0.0], atol=1e-15)
