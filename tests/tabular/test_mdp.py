import doctest

import jax
import numpy as np
import pytest

from qduet.core.errors import InputError
from qduet.tabular import mdp as module
from qduet.tabular.mdp import MDP, four_state, garnet, uniform_policy
from qduet.tabular.toy_text import from_gymnasium, from_table
from qduet.tabular.values import evaluate, optimum


def value_iteration(mdp, backup, sweeps=6000):
    """v ← backup(r + γ P v) until it no longer moves: an oracle that solves no linear system."""
    v = np.zeros(mdp.num_states)
    for _ in range(sweeps):
        v = backup(mdp.r + mdp.discount * np.einsum("ijk,k->ij", mdp.p, v))
    return v


@pytest.fixture
def random_mdp():
    return garnet(jax.random.key(3), num_states=7, num_actions=4, branching=3, discount=0.95)


@pytest.mark.parametrize("num_actions", [1, 2, 18])
def test_on_policy_values_are_the_papers(num_actions):
    # Section 3.1: v_b = 1 / ((1−γ)|A|), q_b(s, a_i) = 1{i=0} + γ / ((1−γ)|A|), γ = 0.99
    mdp = four_state("on-policy", num_actions)
    values = evaluate(mdp, uniform_policy(mdp))
    np.testing.assert_allclose(values.v, 1 / (0.01 * num_actions), rtol=1e-12)
    expected = np.full(num_actions, 0.99 / (0.01 * num_actions))
    expected[0] += 1
    np.testing.assert_allclose(values.q, np.tile(expected, (4, 1)), rtol=1e-12)


@pytest.mark.parametrize(
    ("problem", "best", "other"), [("qvmax", 1 / 0.01, 0.99 / 0.01), ("dueling", 1000.0, 998.0)]
)
def test_optimal_values_are_the_papers(problem, best, other):
    # Section 3.2: 1/(1−γ) and γ/(1−γ). Section 4.2, γ = 0.999: 1/(1−γ) and −1 + γ/(1−γ) = 998
    q = optimum(four_state(problem, 6)).q
    np.testing.assert_allclose(q, np.tile([best] + [other] * 5, (4, 1)), rtol=1e-11)


def test_evaluate_agrees_with_value_iteration(random_mdp):
    policy = np.random.default_rng(0).dirichlet(np.ones(4), size=7)
    expected = value_iteration(random_mdp, lambda q: (policy * q).sum(axis=1))
    values = evaluate(random_mdp, policy)
    np.testing.assert_allclose(values.v, expected, atol=1e-10)
    np.testing.assert_allclose((policy * values.q).sum(axis=1), expected, atol=1e-10)


def test_optimum_agrees_with_value_iteration(random_mdp):
    values = optimum(random_mdp)
    expected = value_iteration(random_mdp, lambda q: q.max(axis=1))
    np.testing.assert_allclose(values.v, expected, atol=1e-10)
    np.testing.assert_allclose(values.q.max(axis=1), expected, atol=1e-10)


def test_optimum_ends_when_all_actions_tie():
    mdp = MDP(p=np.full((3, 4, 3), 1 / 3), reward=np.ones((3, 4)), discount=0.9)
    np.testing.assert_allclose(optimum(mdp).q, 10.0)


def test_rounding_between_tied_actions_does_not_cycle(monkeypatch):
    """All actions pay 1/3, so all tie at 10/3; without slack, about one in ten of these cycles."""
    calls = []

    def counted(mdp, policy):
        calls.append(1)
        assert len(calls) < 2000, "policy iteration does not end"
        return evaluate(mdp, policy)

    monkeypatch.setattr("qduet.tabular.values.evaluate", counted)
    rng = np.random.default_rng(0)
    for _ in range(100):
        mdp = MDP(rng.dirichlet(np.ones(7), size=(7, 3)), np.full((7, 3), 1 / 3), 0.9)
        np.testing.assert_allclose(optimum(mdp).q, 10 / 3)


def test_garnet_has_the_branching_it_was_asked_for(random_mdp):
    assert ((random_mdp.p > 0).sum(axis=2) == 3).all()
    deterministic = garnet(
        jax.random.key(0), num_states=5, num_actions=2, branching=1, discount=0.5
    )
    assert set(np.unique(deterministic.p)) == {0.0, 1.0}


def test_garnet_differs_between_keys(random_mdp):
    other = garnet(jax.random.key(4), num_states=7, num_actions=4, branching=3, discount=0.95)
    assert not np.array_equal(other.p, random_mdp.p)


def test_terminal_states_pay_nothing_and_stay():
    # State 1 ends the episode; whatever its row said, v(1) = 0 and v(0) = 2 + 0.
    p = np.zeros((2, 1, 2))
    p[:, 0, 1] = 1
    mdp = MDP(p=p, reward=np.full((2, 1), 2.0), discount=0.9, terminal=[False, True])
    np.testing.assert_allclose(evaluate(mdp, uniform_policy(mdp)).v, [2.0, 0.0])
    np.testing.assert_allclose(optimum(mdp).q, [[2.0], [0.0]])


def test_expected_reward_weighs_next_states():
    p = np.array([[[0.25, 0.75]], [[1.0, 0.0]]])
    reward = np.array([[[4.0, -4.0]], [[1.0, 100.0]]])
    np.testing.assert_allclose(MDP(p, reward, 0.5).r, [[1.0 - 3.0], [1.0]])


GOOD = {"p": np.full((2, 1, 2), 0.5), "reward": np.zeros((2, 1)), "discount": 0.9}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"p": np.full((2, 1, 2), 0.4)}, "must sum to 1"),
        ({"p": np.array([[[0.5, 0.5]], [[0.5, 0.3]]])}, r"the worst sum is 0\.8$"),
        ({"p": np.array([[[0.5, 0.5]], [[0.5, 0.5 + 1e-6]]])}, "must sum to 1"),
        ({"p": np.array([[[1.5, -0.5]], [[0.5, 0.5]]])}, "negative"),
        ({"p": np.full((2, 2), 0.5)}, "shape"),
        ({"p": np.zeros((2, 0, 2))}, "A ≥ 1"),
        ({"reward": np.zeros((2, 3))}, r"reward must have shape \[2, 1\]; it has"),
        ({"reward": np.full((2, 1), np.nan)}, "not finite"),
        ({"discount": 1.0}, "discount must be in"),
        ({"discount": -0.1}, "discount must be in"),
        ({"discount": float("nan")}, "discount must be in"),
        ({"start": [0.5, 0.6]}, "start must sum to 1"),
        ({"terminal": [True, True]}, "not terminal"),
        ({"start": [0.5, 0.5], "terminal": [False, True]}, "not terminal"),
        ({"reward_std": -1.0}, "reward_std"),
    ],
)
def test_bad_arrays_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        MDP(**{**GOOD, **wrong})


def test_bad_problem_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match="did you mean 'dueling'"):
        four_state("duelling", 2)
    with pytest.raises(InputError, match="at least 1"):
        four_state("dueling", 0)


def test_arrays_cannot_be_changed_afterwards():
    mdp = MDP(**GOOD)
    with pytest.raises(ValueError, match="read-only"):
        mdp.p[0, 0, 0] = 1


def test_cliff_walking_is_thirteen_steps_along_the_edge():
    mdp = from_gymnasium("CliffWalking-v1", discount=0.99)
    assert mdp.start @ optimum(mdp).v == pytest.approx(-(1 - 0.99**13) / 0.01)


def test_taxi_ends_at_the_four_destinations_only():
    # The taxi stands at one of four places with the passenger delivered there: 4 terminal states.
    mdp = from_gymnasium("Taxi-v3")
    assert mdp.terminal.sum() == 4
    assert optimum(mdp).v[mdp.terminal].tolist() == [0.0] * 4


def test_frozen_lake_agrees_with_gymnasium_itself():
    """Discounted returns of Gymnasium's own episodes under the uniform policy against v_b."""
    import gymnasium

    mdp = from_gymnasium("FrozenLake-v1", discount=0.9)
    env = gymnasium.make("FrozenLake-v1").unwrapped
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    start, returns = 14, []  # beside the goal, so that rewards are common
    for _ in range(4000):
        env.reset()
        env.s, total, weight, done = start, 0.0, 1.0, False
        while not done:
            _, reward, done, _, _ = env.step(int(rng.integers(4)))
            total, weight = total + weight * reward, weight * 0.9
        returns.append(total)
    error = np.std(returns) / np.sqrt(len(returns))
    assert abs(np.mean(returns) - evaluate(mdp, uniform_policy(mdp)).v[start]) < 4 * error


def test_an_outcome_of_probability_zero_ends_nothing():
    table = {0: {0: [(1.0, 1, 1.0, False), (0.0, 0, 0.0, True)]}, 1: {0: [(1.0, 0, 0.0, False)]}}
    assert not from_table(table, np.array([1.0, 0.0]), 0.9).terminal.any()


def test_unknown_gymnasium_id_is_one_line():
    with pytest.raises(InputError, match="Gymnasium cannot make 'FrozenPond-v1'") as caught:
        from_gymnasium("FrozenPond-v1")
    assert "\n" not in str(caught.value)


def test_the_corridors_in_the_docstring():
    (test,) = doctest.DocTestFinder(recurse=False).find(MDP, "MDP", globs=vars(module).copy())
    assert doctest.DocTestRunner().run(test) == (0, 8)


def test_a_corridor_has_these_values():
    """By hand, γ = 0.9: −1 at the last step, −1 − 0.9 · 1 before it, −1 − 0.9 · 1.9 on a detour."""
    p = np.zeros((3, 2, 3))
    p[[0, 1], 0, 0] = p[[0, 1], 1, [1, 2]] = p[2, :, 2] = 1
    mdp = MDP(p, [[-1, -1], [-1, -1], [0, 0]], 0.9, terminal=[False, False, True])
    np.testing.assert_allclose(optimum(mdp).q, [[-2.71, -1.9], [-2.71, -1], [0, 0]], rtol=1e-12)
