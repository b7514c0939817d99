import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, eigs

from qduet.tabular import operators as ops
from qduet.tabular import rules
from qduet.tabular.mdp import MDP, AVTables, four_state
from qduet.tabular.values import optimum
from qduet.theory.expected import TABLES, expected_curve, rate
from qduet.theory.problems import problem_of, ring
from qduet.theory.sampled import simulated_curve


def test_hard_rdq_and_dueling_end_where_the_closed_form_says():
    mdp = four_state("dueling", 3, 0.5)  # q_* = (2, 0, 0)
    problem = problem_of(mdp)
    start = AVTables(np.full(4, 1.0), np.array([[0.5, -1.0, 0.0]] * 4))
    for name in ("hard_rdq", "dueling_q"):
        q = expected_curve(name, problem, 0.5, steps=3000, record_every=3000, tables=start)[-1]
        np.testing.assert_allclose(q, [[2.0, 0.0, 0.0]] * 4, atol=1e-9)
    # Hard RDQ: c = 1 − (−0.5) = 1.5, V = (2 + 1.5)/4.
    np.testing.assert_allclose(ops.hard_rdq_limit(optimum(mdp).q, start).v, 0.875)


def test_the_sampled_av_rules_diverge_on_the_ring_and_q_learning_does_not():
    mdp = ring()
    problem = problem_of(mdp)
    errors = {}
    for name in ("q_learning", "dueling_q", "hard_rdq"):
        rule = rules.make_rule(name, problem.behaviour)
        curve = simulated_curve(rule, problem, 0.3, steps=20_000, record_every=20_000, seeds=1)
        errors[name] = np.abs(curve[-1] - optimum(mdp).q).max()
    assert errors["q_learning"] < 0.01
    assert errors["dueling_q"] > 100
    assert errors["hard_rdq"] > 100


def test_the_expected_update_predicts_the_simulated_mean():
    problem = problem_of(four_state("on-policy", 2))
    for name in ("expected_sarsa", "qv_learning"):
        rule = rules.make_rule(name, problem.behaviour)
        options = {"steps": 2000, "record_every": 500}
        expected = expected_curve(name, problem, 0.1, **options)
        found = simulated_curve(rule, problem, 0.1, seeds=60, **options)
        np.testing.assert_allclose(found.mean(axis=(1, 2)), expected.mean(axis=(1, 2)), rtol=0.05)


def test_the_rate_is_the_one_that_the_expected_update_shows():
    problem = problem_of(four_state("qvmax", 6))
    goal = optimum(problem.mdp).q
    for name in ("q_learning", "bc_qvmax", "dueling_q", "hard_rdq"):
        curve = expected_curve(name, problem, 1.0, steps=4000, record_every=1000)
        late = np.abs(curve - goal).max(axis=(1, 2))
        shown = (late[-1] / late[-2]) ** (1 / 1000)
        assert rate(name, problem, 1.0).radius == pytest.approx(shown, rel=1e-6)


def test_td0_rate_by_hand():
    # One state that follows itself: V ← V + α (r + γ V − V).
    problem = problem_of(MDP(np.ones((1, 1, 1)), np.ones((1, 1)), 0.9))
    found = rate("td0", problem, 0.5)
    assert found.slowest == pytest.approx(0.1)
    assert found.radius == pytest.approx(0.95)
    assert found.steps_per_fold == pytest.approx(-1 / np.log(0.95))


def mean_square_radius(name, problem, step_size):
    """What E[e eᵀ] grows by in one step of sampled updates, e the error of Q near q_*.

    One update makes e ← (I + α u xᵀ) e, with u what it spreads over Q(S,·) and x that transition's
    TD error as a function of e. The result is the largest eigenvalue of
    X ↦ E[(I + α u xᵀ) X (I + α u xᵀ)ᵀ]. Where it exceeds 1 the variance explodes, though the mean
    may be stable. Near 1 the next eigenvalues are so close that power iteration would need tens of
    thousands of steps; Arnoldi's method does not.
    """
    mdp = problem.mdp
    num_actions, size = mdp.num_actions, mdp.r.size
    spill = {"dueling_q": 1 - 1 / num_actions, "hard_rdq": 1.0}[name]
    weight = problem.visits[:, None, None] * problem.behaviour[:, :, None] * mdp.p
    state, action, after = np.nonzero(weight)
    greedy = optimum(mdp).q.argmax(axis=1)
    unit_of = lambda s, a: np.eye(size)[s * num_actions + a]
    within = np.kron(np.eye(mdp.num_states), np.ones(num_actions))[state]
    spread = unit_of(state, action) + spill * within
    error = mdp.discount * unit_of(after, greedy[after]) - unit_of(state, action)
    spread_by = step_size * weight[state, action, after] * spread.T

    def after_a_step(flat):
        moments = flat.reshape(size, size)
        left, right = error @ moments, error @ moments.T
        twice = step_size * ((left * error).sum(axis=1) * spread_by) @ spread
        return (moments + spread_by @ left + (spread_by @ right).T + twice).ravel()

    operator = LinearOperator((size**2, size**2), matvec=after_a_step, dtype=float)
    return abs(eigs(operator, k=1, v0=np.eye(size).ravel(), return_eigenvectors=False)[0])


def test_mean_square_growth_against_the_whole_second_moment_matrix():
    # The same number from E[M ⊗ M], M = I + α u xᵀ, written out for each of the 4·2·4 transitions.
    problem = problem_of(four_state("dueling", 2))
    for step_size, spill, name in ((0.5, 1.0, "hard_rdq"), (0.9, 0.5, "dueling_q")):
        total = np.zeros((64, 64))
        for s in range(4):
            for a in range(2):
                for after in range(4):
                    spread, error = np.zeros(8), np.zeros(8)
                    spread[2 * s : 2 * s + 2] = spill
                    spread[2 * s + a] += 1
                    error[2 * after] += 0.999
                    error[2 * s + a] -= 1
                    step = np.eye(8) + step_size * np.outer(spread, error)
                    total += np.kron(step, step) / 32
        stated = np.abs(np.linalg.eigvals(total)).max()
        assert mean_square_radius(name, problem, step_size) == pytest.approx(stated, abs=1e-9)


@pytest.mark.parametrize(("name", "stable"), [("dueling_q", 0.621), ("hard_rdq", 0.604)])
def test_the_step_size_from_which_the_variance_explodes(name, stable):
    # With 18 actions, where the largest eigenvalues are close together; docs/theory.md.
    problem = problem_of(four_state("dueling", 18))
    assert mean_square_radius(name, problem, stable) < 1
    assert mean_square_radius(name, problem, stable + 0.01) > 1


def test_rates_leave_out_what_is_never_visited():
    # 0 → 1 → 2, where it ends; nothing leads to 3.
    p = np.zeros((4, 2, 4))
    p[[0, 1, 2, 3], :, [1, 2, 2, 0]] = 1.0
    terminal = [False, False, True, False]
    problem = problem_of(MDP(p, np.arange(8.0).reshape(4, 2), 0.9, terminal=terminal))
    np.testing.assert_allclose(problem.visits, [0.5, 0.5, 0.0, 0.0], atol=1e-8)
    for name in TABLES:
        assert rate(name, problem, 0.5).radius < 1
