"""The claims hold where they should, and reject operators and rules that are wrong."""

import dataclasses
import types

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies

from qduet.tabular import operators as ops
from qduet.tabular import rules
from qduet.tabular.mdp import MDP, AVTables, QVTables, four_state
from qduet.tabular.rules import Rule, step_toward
from qduet.tabular.values import optimum
from qduet.theory import av, qv, updates
from qduet.theory.check import Evidence, at_most, conclude, equal
from qduet.theory.expected import interleaving, random_tables
from qduet.theory.problems import problem_of, random_problem, ring
from qduet.theory.sampled import mean_update, standard
from qduet.theory.suite import CLAIMS, check_problem, run_suite

PROBLEM = random_problem(31)  # 2 states, 4 actions, stochastic, γ = 0.73


def test_the_problem_used_to_reject_is_not_degenerate():
    assert PROBLEM.mdp.discount > 0.3
    assert PROBLEM.mdp.num_actions > 2
    assert ((PROBLEM.mdp.p > 0).sum(axis=2) > 1).any()


# --- Evidence ------------------------------------------------------------------------------------


def test_margins():
    assert Evidence("x", 1.0, 4.0).margin == 4.0
    assert Evidence("x", 0.0, 1.0).margin == np.inf
    assert Evidence("x", np.nan, 1.0).margin == 0.0
    assert Evidence("x", np.inf, np.inf).margin == 0.0
    assert not conclude("c", Evidence("x", 0.0, 1.0), Evidence("y", 2.0, 1.0)).holds
    assert equal("x", 1.0, 1.0 + 1e-8).margin < 1 <= equal("x", 1.0, 1.0 + 1e-10).margin
    assert at_most("x", [1.0, 2.0], [3.0, 1.0]).error == 1.0
    assert not conclude("c", equal("x", np.array([np.nan]), 0.0)).holds


# --- Every claim holds ---------------------------------------------------------------------------


def test_every_claim_holds_on_random_mdps():
    for result in run_suite(range(6), workers=1):
        assert result.holds, result.worst
        assert result.problems == (1 if CLAIMS[result.claim].once else 6)


@settings(max_examples=15, deadline=None)
@given(seed=strategies.integers(0, 10**6))
def test_every_rule_follows_its_operator_on_mdps_of_any_size(seed):
    check = updates.mean_updates(random_problem(seed))
    assert check.holds, check.worst


def _chain() -> MDP:
    """0 → 1 → 2 (absorbing); nothing leads to 3."""
    p = np.zeros((4, 2, 4))
    p[[0, 1, 2, 3], :, [1, 2, 2, 0]] = 1.0
    reward = np.arange(8.0).reshape(4, 2)
    return MDP(p, reward, 0.9, terminal=np.array([False, False, True, False]))


DEGENERATE = {
    "one state": MDP(np.ones((1, 2, 1)), np.array([[1.0, 0.0]]), 0.9),
    "one action": MDP(np.full((3, 1, 3), 1 / 3), np.ones((3, 1)), 0.9),
    "one of both": MDP(np.ones((1, 1, 1)), np.ones((1, 1)), 0.5),
    "no discount": dataclasses.replace(_chain(), discount=0.0),
    "absorbing and unreachable": _chain(),
    "all rewards equal": MDP(np.full((2, 3, 2), 0.5), np.zeros((2, 3)), 0.99),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_every_claim_holds_on_degenerate_mdps(name):
    for check in check_problem(problem_of(DEGENERATE[name])):
        assert check.holds, check.worst


def test_every_claim_holds_under_a_deterministic_behaviour():
    mdp = random_problem(1).mdp
    behaviour = np.eye(mdp.num_actions)[np.zeros(mdp.num_states, int)]
    for check in check_problem(problem_of(mdp, behaviour)):
        assert check.holds, check.worst


# --- Wrong operators are rejected ----------------------------------------------------------------


RIGHT = types.SimpleNamespace(**vars(ops))
"""The operators as they are, while a test has others in their place."""


def _without_discount(mdp, b):
    right = RIGHT.qv_learning_affine(mdp, b)
    return right._replace(A=right.A / mdp.discount)


WRONG_OPERATORS = {
    "qv: missing γ": (qv.qv_contraction, {"qv_learning_affine": _without_discount}),
    "qv: max for E_b": (qv.qv_contraction, {"qv_learning": ops.qvmax}),
    "qvmax: unbiased one": (qv.qvmax_fixed_point, {"qvmax": ops.bc_qvmax}),
    "qvmax: claimed unbiased": (
        qv.qvmax_bias,
        {"solve_qvmax": lambda mdp, b: RIGHT.solve_bc_qvmax(mdp)},
    ),
    "bc: the biased V update": (qv.bc_qvmax_fixed_point, {"bc_qvmax": ops.qvmax}),
    "bc: on-policy V update": (qv.bc_qvmax_fixed_point, {"bc_qvmax": ops.qv_learning}),
    "figure 2: swapped": (
        qv.bootstrapping,
        {"qv_learning": ops.qvmax, "qvmax": ops.qv_learning},
    ),
    "min norm: dueling's": (av.minimum_norm, {"hard_rdq_limit": ops.dueling_q_limit}),
    "min norm: start forgotten": (
        av.minimum_norm,
        {"hard_rdq_limit": lambda q, start: RIGHT.hard_rdq_limit(q)},
    ),
    "dueling: hard's": (av.minimum_norm, {"dueling_q_limit": ops.hard_rdq_limit}),
    "soft: β for β/α": (
        av.soft_rdq_fixed_point,
        {"solve_soft_rdq": lambda mdp, b, ratio: RIGHT.solve_soft_rdq(mdp, b, ratio=ratio / 2)},
    ),
}


def assert_rejected(check):
    assert not check.holds
    assert check.margin < 1e-2


@pytest.mark.parametrize("name", WRONG_OPERATORS)
def test_wrong_operators_are_rejected(name, monkeypatch):
    check, wrong = WRONG_OPERATORS[name]
    for operator, instead in wrong.items():
        monkeypatch.setattr(ops, operator, instead)
    assert_rejected(check(PROBLEM))


def test_a_greedy_target_is_not_on_policy():
    greedy = np.eye(18)[np.zeros(12, int)]
    assert_rejected(av.av_on_policy_stable(problem_of(ring()), target=greedy))


def test_a_small_ring_is_not_unstable(monkeypatch):
    monkeypatch.setattr(av, "ring", lambda: ring(num_states=3))
    assert_rejected(av.av_off_policy_unstable())


def test_a_v_as_slow_as_q_is_rejected(monkeypatch):
    slow = lambda n, discount: {"qv_learning": (1 - discount) / (4 * n)}
    monkeypatch.setattr(av, "closed_form_modes", slow)
    assert_rejected(av.slowest_modes())


# --- Wrong rules are rejected --------------------------------------------------------------------


def _without_gamma(rule: Rule) -> Rule:
    return rule._replace(update=lambda y, t, a: rule.update(y, t._replace(discount=1.0), a))


def _v_first(v_target, q_sees_new_v=False):
    """A QV rule in the wrong order: V from the old Q, then Q (from the new V, if asked)."""

    def update(y, t, step_size):
        v = step_toward(y.v, t.state, v_target(y, t), step_size)
        bootstrap = (v if q_sees_new_v else y.v)[t.next_state]
        q_target = t.reward + t.discount * bootstrap
        return QVTables(step_toward(y.q, (t.state, t.action), q_target, step_size), v)

    return rules.qv_learning()._replace(update=update)


def _frozen_v(rule: Rule) -> Rule:
    return rule._replace(update=lambda y, t, a: rule.update(y, t, a)._replace(v=y.v))


WRONG_RULES = {
    "td0, missing γ": ("td0", lambda b: _without_gamma(rules.td0())),
    "expected_sarsa, greedy": ("expected_sarsa", lambda b: rules.q_learning()),
    "q_learning, mean for max": ("q_learning", lambda b: rules.expected_sarsa(rules.mean)),
    "qv_learning, V first": (
        "qv_learning",
        lambda b: _v_first(lambda y, t: t.reward + t.discount * y.v[t.next_state], True),
    ),
    "qvmax, V first": (
        "qvmax",
        lambda b: _v_first(lambda y, t: t.reward + t.discount * rules.greedy(y.q, t.next_state)),
    ),
    "bc_qvmax, the biased one": ("bc_qvmax", lambda b: rules.qvmax()),
    "bc_qvmax, V first": ("bc_qvmax", lambda b: _v_first(lambda y, t: rules.greedy(y.q, t.state))),
    "dueling_q, released code": ("dueling_q", lambda b: rules.dueling_q(descend_mean=False)),
    "soft_rdq, released code": ("soft_rdq", lambda b: rules.soft_rdq(0.1, penalty="reference")),
    "soft_rdq, no penalty": ("soft_rdq", lambda b: rules.hard_rdq()),
    "hard_rdq, V frozen": ("hard_rdq", lambda b: _frozen_v(rules.hard_rdq())),
}


def plant(monkeypatch, name):
    """The checks now run the wrong rule `name` in place of the right one."""
    target, make = WRONG_RULES[name]
    planted = lambda rule, b: make(b) if rule == target else standard(rule, b)
    monkeypatch.setattr("qduet.theory.sampled.standard", planted)


@pytest.mark.parametrize("name", WRONG_RULES)
def test_wrong_rules_fail_the_mean_update(name, monkeypatch):
    target = WRONG_RULES[name][0]
    # Self-transitions, without which QVMAX in the wrong order is no different.
    problem = problem_of(four_state("qvmax", 3, 0.9), np.array([[0.2, 0.3, 0.5]] * 4))
    assert updates.mean_updates(problem, names=(target,)).holds
    plant(monkeypatch, name)
    check = updates.mean_updates(problem, names=(target,))
    assert not check.holds
    assert check.margin < 1e-3


@pytest.mark.parametrize(
    ("check", "name"),
    [
        (updates.dueling_invariant, "dueling_q, released code"),
        (updates.rdq_invariant, "hard_rdq, V frozen"),
        (updates.rdq_invariant, "soft_rdq, released code"),
        (updates.effective_step, "hard_rdq, V frozen"),
        (updates.effective_step, "soft_rdq, no penalty"),
        (updates.effective_step, "q_learning, mean for max"),
        (updates.bc_qvmax_unit_step, "bc_qvmax, V first"),
        (updates.bc_qvmax_unit_step, "bc_qvmax, the biased one"),
    ],
)
def test_wrong_rules_fail_their_own_claims(check, name, monkeypatch):
    assert check(PROBLEM).holds
    plant(monkeypatch, name)
    assert not check(PROBLEM).holds


# --- Findings, by hand ---------------------------------------------------------------------------


def test_bc_qvmax_is_pushed_up_by_noise():
    # One state, one action, rewards 0 or 2 on the way to states 0 and 1 that look alike, γ = 0:
    # at q = v = 1, Q' is 1 ± α, so V's target is 1 ± α and its mean is 1: no push with one action.
    # With a second action worth 1 the target is max(1, 1 ± α): V gains α b (α/2).
    p = np.full((2, 2, 2), 0.5)
    reward = np.zeros((2, 2, 2))
    reward[:, 0, 1], reward[:, 1, :] = 2.0, 1.0
    problem = problem_of(MDP(p, reward, 0.0))
    best = optimum(problem.mdp)
    np.testing.assert_allclose(best.q, 1.0)
    alpha = 0.5
    change = mean_update("bc_qvmax", problem, best, alpha)
    # d(s) = 1/2, b = 1/2: action 0 gains α/2 in the mean, action 1 gains nothing.
    np.testing.assert_allclose(change.v, 0.5 * alpha * 0.5 * alpha / 2)
    np.testing.assert_allclose(change.q, 0.0, atol=1e-15)


def test_qvmax_interleaves_only_where_a_state_follows_itself():
    p = np.zeros((2, 2, 2))
    p[0, :, 1] = p[1, :, 0] = 1.0
    problem = problem_of(MDP(p, np.ones((2, 2)), 0.9))
    tables = random_tables("qvmax", problem, np.random.default_rng(0))
    np.testing.assert_array_equal(interleaving("qvmax", problem, tables, 0.5), 0.0)


def test_effective_step_by_hand():
    # Two actions, all tables 0, reward 1, α = 1/2: RDQ sets Q(S,A) to its target, Dueling to 3/4.
    t = rules.Transition(0, 0, 1.0, 0.99, 1)
    for rule, moved, other in ((rules.hard_rdq(), 1.0, 0.5), (rules.dueling_q(), 0.75, 0.25)):
        tables = rule.update(AVTables(jnp.zeros(4), jnp.zeros((4, 2))), t, 0.5)
        np.testing.assert_allclose(rule.q(tables)[0], [moved, other])


def test_qvmax_bias_can_be_nothing_although_the_condition_fails():
    # γ = 0: q = r is right whatever b does, while v = E_b r is not v_*.
    mdp = MDP(np.full((2, 2, 2), 0.5), np.array([[1.0, 0.0]] * 2), 0.0)
    problem = problem_of(mdp)
    found = ops.solve_qvmax(mdp, problem.behaviour).values
    np.testing.assert_allclose(found.q, optimum(mdp).q)
    np.testing.assert_allclose(found.v, 0.5)
    assert qv.qvmax_fixed_point(problem).holds
