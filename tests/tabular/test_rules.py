import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qduet.bench import restatement
from qduet.core.errors import InputError, unknown_name
from qduet.tabular import rules
from qduet.tabular.mdp import four_state, garnet, uniform_policy
from qduet.tabular.rules import RULES, Transition, make_rule
from qduet.tabular.values import evaluate, optimum

NAMES = tuple(RULES)


def random_transitions(seed, num_states, num_actions, n):
    """Transitions of a random MDP under random behaviour; a tenth of them end the episode."""
    mdp = garnet(
        jax.random.key(seed),
        num_states=num_states,
        num_actions=num_actions,
        branching=min(2, num_states),
        discount=0.9,
    )
    rng = np.random.default_rng(seed)
    s = rng.integers(num_states, size=n)
    a = rng.integers(num_actions, size=n)
    s2 = np.array([rng.choice(num_states, p=mdp.p[i, j]) for i, j in zip(s, a, strict=True)])
    return Transition(s, a, rng.normal(size=n), 0.9 * (rng.random(n) > 0.1), s2)


def learn(rule, tables, transitions, alpha):
    step = lambda w, t: (rule.update(w, t, alpha), None)
    return jax.jit(lambda w: jax.lax.scan(step, w, transitions)[0])(tables)


def restated(name, pi, v, adv, transitions, alpha):
    w, update = restatement.first_tables(name, v, adv), restatement.update_of(name, pi)
    for t in zip(*transitions, strict=True):
        update(w, *t, alpha)
    return w


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=4, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    num_states=st.integers(1, 6),
    num_actions=st.integers(1, 7),
    alpha=st.sampled_from([0.03, 0.2, 0.45]),
)
def test_every_rule_agrees_with_its_numpy_restatement(name, seed, num_states, num_actions, alpha):
    rng = np.random.default_rng(seed)
    v, adv = rng.normal(size=num_states), rng.normal(size=(num_states, num_actions))
    pi = rng.dirichlet(np.ones(num_actions), size=num_states)
    transitions = random_transitions(seed, num_states, num_actions, 1500)
    rule = make_rule(name, pi)
    tables = learn(rule, rule.init(jnp.asarray(v), jnp.asarray(adv)), transitions, alpha)
    w = restated(name, pi, v, adv, transitions, alpha)
    for field in tables._fields:
        np.testing.assert_allclose(getattr(tables, field), w[field], rtol=1e-12, atol=1e-12)
    if rule.q is not None:
        np.testing.assert_allclose(
            rule.q(tables), restatement.read_out(name, w), rtol=1e-12, atol=1e-12
        )


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", NAMES)
def test_trailing_axes_and_vmap_are_single_runs_side_by_side(name):
    rng = np.random.default_rng(1)
    v, adv, alphas = rng.normal(size=5), rng.normal(size=(5, 3)), np.array([0.05, 0.3, 0.4])
    transitions = random_transitions(1, 5, 3, 300)
    rule = make_rule(name, np.full((5, 3), 1 / 3))
    start = rule.init(jnp.asarray(v), jnp.asarray(adv))
    single = [learn(rule, start, transitions, alpha) for alpha in alphas]
    expected = jax.tree.map(lambda *x: jnp.stack(x, axis=-1), *single)
    wide = jax.tree.map(lambda x: jnp.repeat(x[..., None], 3, axis=-1), start)
    trailing = learn(rule, wide, transitions, jnp.asarray(alphas))
    mapped = rule._replace(update=jax.vmap(rule.update, (-1, None, 0), -1))
    vmapped = learn(mapped, wide, transitions, jnp.asarray(alphas))
    for got in (trailing, vmapped):
        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-12), got, expected)


def test_all_built_in_rules_allow_trailing_axes():
    assert all(make_rule(name, np.ones((1, 1))).trailing_axes for name in NAMES)
    for expect in (rules.greedy, rules.mean):
        assert rules.expected_sarsa(expect).trailing_axes


@pytest.mark.parametrize("name", ["q_learning", "expected_sarsa"])
def test_rules_without_v_carry_none(name):
    tables = make_rule(name, np.ones((2, 2)) / 2).init(jnp.zeros(2), jnp.zeros((2, 2)))
    assert tables._fields == ("q",)


def one_update(rule, v, adv, t, alpha):
    return rule.update(rule.init(jnp.array(v), jnp.array(adv)), Transition(*t), alpha)


def test_q_is_updated_before_v():
    # Q(0,·) = (1, 0), V(0) = 1; a = 1, r = 4, γ = 1/2, back to state 0, α = 1/2.
    # Q(0,1) ← 0 + ½ (4 + ½·1 − 0) = 2.25, so the new max Q(0,·) is 2.25.
    v, adv, t = [1.0], [[0.0, -1.0]], (0, 1, 4.0, 0.5, 0)
    # QVMAX: V ← 1 + ½ (4 + ½·2.25 − 1) = 3.0625;  BC-QVMAX: V ← 1 + ½ (2.25 − 1) = 1.625
    assert one_update(rules.qvmax(), v, adv, t, 0.5).v[0] == 3.0625
    assert one_update(rules.bc_qvmax(), v, adv, t, 0.5).v[0] == 1.625
    # QV-learning: V ← 1 + ½ (4 + ½·1 − 1) = 2.75
    assert one_update(rules.qv_learning(), v, adv, t, 0.5).v[0] == 2.75


@pytest.mark.parametrize("name", NAMES)
def test_discount_zero_ignores_the_next_state(name):
    rule, t = make_rule(name, np.ones((2, 1))), (0, 0, 2.0, 0.0, 1)
    cold = one_update(rule, [0.0, 0.0], [[0.0], [0.0]], t, 0.5)
    hot = one_update(rule, [0.0, 64.0], [[0.0], [64.0]], t, 0.5)
    value = rule.q or (lambda tables: tables.v)
    assert (value(hot)[0] == value(cold)[0]).all()
    assert (value(cold)[0] > 0).all()


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", ["dueling_q", "hard_rdq", "soft_rdq"])
def test_av_rules_follow_the_semi_gradient_of_their_loss(name):
    """One step of SGD on ½(y − Q)² + (β/2α)(V² + ΣA²) by automatic differentiation."""
    rng = np.random.default_rng(2)
    v, adv = jnp.asarray(rng.normal(size=3)), jnp.asarray(rng.normal(size=(3, 4)))
    alpha, beta = 0.2, {"soft_rdq": 1e-3}.get(name, 0.0)
    centre = 1.0 if name == "dueling_q" else 0.0

    def read_out(v, adv):
        return v[:, None] + adv - centre * adv.mean(axis=1, keepdims=True)

    target = 0.7 + 0.9 * read_out(v, adv)[2].max()

    def loss(v, adv):
        td = 0.5 * (target - read_out(v, adv)[1, 3]) ** 2
        return td + beta / alpha / 2 * (v[1] ** 2 + (adv[1] ** 2).sum())

    grad_v, grad_adv = jax.grad(loss, argnums=(0, 1))(v, adv)
    rule = make_rule(name, np.ones((3, 4)) / 4)
    tables = rule.update(rule.init(v, adv), Transition(1, 3, 0.7, 0.9, 2), alpha)
    np.testing.assert_allclose(tables.v, v - alpha * grad_v, atol=1e-13)
    np.testing.assert_allclose(tables.adv, adv - alpha * grad_adv, atol=1e-13)


@pytest.mark.usefixtures("x64")
def test_expectations_are_those_of_their_policies():
    q = jnp.asarray(np.random.default_rng(0).normal(size=(3, 5)))
    pi = np.random.default_rng(1).dirichlet(np.ones(5), size=3)
    row = np.asarray(q[1])
    greedy = np.eye(5)[row.argmax()]
    assert rules.under(pi)(q, 1) == pytest.approx(pi[1] @ row)
    assert rules.greedy(q, 1) == pytest.approx(greedy @ row)
    assert rules.mean(q, 1) == pytest.approx(row.mean())


def test_reference_dueling_subtracts_without_delta_but_has_the_same_q():
    v, adv, t = [1.0, 2.0], [[0.5, -0.5], [1.0, 0.0]], (0, 1, 1.0, 0.5, 1)
    paper, reference = rules.dueling_q(), rules.dueling_q(descend_mean=False)
    ours, theirs = one_update(paper, v, adv, t, 0.25), one_update(reference, v, adv, t, 0.25)
    np.testing.assert_allclose(paper.q(ours), reference.q(theirs), atol=1e-6)
    # δ = 1 + ½·2.5 − 0.5 = 1.75: A(0,0) falls by α δ/2 = 0.21875, or in the released code by α/2
    assert ours.adv[0, 0] == pytest.approx(0.5 - 0.21875)
    assert theirs.adv[0, 0] == pytest.approx(0.5 - 0.125)


def test_reference_soft_rdq_shrinks_by_its_own_shares():
    # All zero but V(0) = 8, A(0,·) = (8, 0); r chosen so that δ = 0: Q(0,1) = 8, next is terminal.
    rule = rules.soft_rdq(beta=0.5, penalty="reference")
    tables = one_update(rule, [8.0], [[8.0, 0.0]], (0, 1, 8.0, 0.0, 0), 0.5)
    assert tables.v[0] == 8 * (1 - 0.25)
    assert tables.adv[0, 0] == 8 * (1 - 0.125)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("td0", "on-policy"),
        ("expected_sarsa", "on-policy"),
        ("qv_learning", "on-policy"),
        ("q_learning", "qvmax"),
        ("bc_qvmax", "qvmax"),
        ("dueling_q", "dueling"),
        ("hard_rdq", "dueling"),
    ],
)
def test_annealed_steps_end_at_the_closed_form(name, problem):
    """α from 0.4 to 0.0004 over 400,000 uniform transitions; γ = 0.9 so that this is long."""
    mdp = four_state(problem, 3, discount=0.9)
    rng = np.random.default_rng(5)
    n = 400_000
    s, a, s2 = rng.integers(4, size=n), rng.integers(3, size=n), rng.integers(4, size=n)
    transitions = Transition(s, a, mdp.r[s, a], np.full(n, 0.9), s2)
    alphas = 0.4 / (1 + np.arange(n) / 400)
    rule = make_rule(name, uniform_policy(mdp))
    step = lambda w, x: (rule.update(w, x[0], x[1]), None)
    start = rule.init(jnp.zeros(4), jnp.zeros((4, 3)))
    tables = jax.jit(lambda w: jax.lax.scan(step, w, (transitions, alphas))[0])(start)
    # Section 3.1: v_b = 1/((1−γ)|A|). Sections 3.2 and 4.2: q_* = 1/(1−γ), and r + γ/(1−γ).
    v_b = 1 / (0.1 * 3)
    other = {"qvmax": 9.0, "dueling": 8.0}.get(problem)
    if rule.q is None:
        np.testing.assert_allclose(tables.v, v_b, rtol=0.01)
    else:
        row = [1 + 0.9 * v_b, 0.9 * v_b, 0.9 * v_b] if other is None else [10.0, other, other]
        np.testing.assert_allclose(rule.q(tables), np.tile(row, (4, 1)), rtol=0.01)


def test_one_letter_suggests_nothing():
    assert "did you mean" not in str(unknown_name("rule", "s", ("hard_rdq", "td0")))


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(InputError, match="did you mean 'bc_qvmax'"):
        make_rule("bcqvmax", np.ones((1, 1)))
    with pytest.raises(InputError, match=r"beta must be in \[0, 1\)"):
        make_rule("soft_rdq", np.ones((1, 1)), beta=1.0)


def test_goals_name_what_is_estimated():
    mdp = four_state("on-policy", 2)
    assert make_rule("qv_learning", uniform_policy(mdp)).goal == "behaviour"
    assert make_rule("hard_rdq", uniform_policy(mdp)).goal == "optimal"
    assert not np.allclose(evaluate(mdp, uniform_policy(mdp)).q, optimum(mdp).q)


def test_expected_sarsa_asks_for_a_function():
    with pytest.raises(InputError, match=r"of a policy π\[s, a\], under\(π\)"):
        rules.expected_sarsa(np.full((4, 2), 0.5))
