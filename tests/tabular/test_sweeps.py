import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.bench import restatement
from qduet.core.errors import InputError
from qduet.tabular.experience import draw_seed
from qduet.tabular.mdp import MDP, QVTables, VTable, four_state, garnet, uniform_policy
from qduet.tabular.rules import (
    RULES,
    Rule,
    expected_sarsa,
    make_rule,
    q_learning,
    trailing_axes,
)
from qduet.tabular.sweeps import EpsilonGreedy, error_targets, sweep

ALPHAS = np.array([0.05, 0.3])


@pytest.fixture(scope="module")
def episodic():
    """A random MDP with one terminal state, a random start and noisy rewards."""
    mdp = garnet(jax.random.key(1), num_states=5, num_actions=3, branching=3, discount=0.9)
    return MDP(
        mdp.p,
        mdp.reward,
        0.9,
        start=[0.5, 0.25, 0.25, 0, 0],
        terminal=[0, 0, 0, 0, 1],
        reward_std=0.3,
    )


def index(cdf, u):
    return next(i for i, c in enumerate(cdf) if u < c or i == len(cdf) - 1)


def restated_sweep(mdp, name, alpha, *, seed, steps, every, init_std, epsilon=None, pi=None):
    """One run of the restatement, step by step: the error curve in percent."""
    pi = uniform_policy(mdp) if pi is None else pi
    draws = draw_seed(seed, mdp, steps, init_std, np.float64)
    w, update = restatement.first_tables(name, draws.v, draws.adv), restatement.update_of(name, pi)
    values = error_targets(mdp, pi)[make_rule(name, pi).goal]
    target = values.v if name == "td0" else values.q
    alive = ~mdp.terminal

    def error():
        return np.sqrt(np.mean((restatement.read_out(name, w) - target)[alive] ** 2))

    s, curve = index(mdp.start.cumsum(), draws.start), [error()]
    for t in range(steps):
        now = type(draws.steps)(*(field[t] for field in draws.steps))
        if epsilon is None or now.explore < epsilon:
            a = index(pi[s].cumsum(), now.action)
        else:
            q = restatement.read_out(name, w)[s]
            best = np.flatnonzero(q == q.max())
            a = best[int(now.action * len(best))]
        s2 = index(mdp.p[s, a].cumsum(), now.next_state)
        ended = mdp.terminal[s2]
        g = 0.0 if ended else mdp.discount
        update(w, s, a, mdp.reward[s, a, s2] + now.noise, g, s2, alpha)
        s = index(mdp.start.cumsum(), now.restart) if ended else s2
        if (t + 1) % every == 0:
            curve.append(error())
    return 100 * np.array(curve) / curve[0]


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", tuple(RULES))
def test_a_sweep_is_what_the_numpy_restatement_computes(name, episodic):
    rules = {name: make_rule(name, uniform_policy(episodic))}
    curves = sweep(
        episodic, rules, ALPHAS, seeds=[3, 8], steps=400, init_std=1.5, dtype=np.float64
    )[name]
    for i, seed in enumerate([3, 8]):
        for k, alpha in enumerate(ALPHAS):
            expected = restated_sweep(
                episodic, name, alpha, seed=seed, steps=400, every=100, init_std=1.5
            )
            np.testing.assert_allclose(curves.percent[i, k], expected, rtol=1e-9)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", ["q_learning", "bc_qvmax", "dueling_q"])
def test_epsilon_greedy_behaviour_follows_each_run(name, episodic):
    rules = {name: make_rule(name, uniform_policy(episodic))}
    curves = sweep(
        episodic,
        rules,
        ALPHAS,
        seeds=[4],
        steps=300,
        behaviour=EpsilonGreedy(0.2),
        dtype=np.float64,
    )[name]
    for k, alpha in enumerate(ALPHAS):
        expected = restated_sweep(
            episodic, name, alpha, seed=4, steps=300, every=100, init_std=0.0, epsilon=0.2
        )
        np.testing.assert_allclose(curves.percent[0, k], expected, rtol=1e-9)


@pytest.mark.usefixtures("x64")
def test_a_behaviour_decides_the_actions_and_the_values_to_learn(episodic):
    pi = np.random.default_rng(0).dirichlet([0.5] * 3, size=5)
    options = {"steps": 200, "init_std": 1.5}
    curves = sweep(
        episodic,
        {"expected_sarsa": make_rule("expected_sarsa", pi)},
        [0.3],
        seeds=[3],
        behaviour=pi,
        dtype=np.float64,
        **options,
    )["expected_sarsa"]
    expected = restated_sweep(episodic, "expected_sarsa", 0.3, seed=3, every=100, pi=pi, **options)
    np.testing.assert_allclose(curves.percent[0, 0], expected, rtol=1e-9)


def test_given_targets_are_what_errors_are_measured_against():
    """From zero, against a constant 7: the error that counts as 100 % is 7."""
    sevens = QVTables(np.full((4, 3), 7.0), np.full(4, 7.0))
    options = {"init_std": 0.0, "targets": {"optimal": sevens}}
    assert (small(["q_learning"], **options)["q_learning"].initial_error == 7).all()


def small(rules, seeds=range(4), **options):
    mdp = four_state("dueling", 3)
    made = {name: make_rule(name, uniform_policy(mdp)) for name in rules}
    defaults = {"steps": 200, "init_std": 2.0, "record_every": 50}
    return sweep(mdp, made, ALPHAS, seeds=seeds, **{**defaults, **options})


def test_a_seed_is_the_same_run_in_any_sweep():
    alone = small(["hard_rdq"], seeds=[2])["hard_rdq"].percent[0]
    among = small(["q_learning", "hard_rdq"], seeds=[0, 1, 2], workers=1)["hard_rdq"].percent[2]
    np.testing.assert_array_equal(alone, among)


def test_seeds_differ_in_their_start_and_in_their_experience():
    curves = small(["hard_rdq"])["hard_rdq"]
    assert len(set(curves.initial_error.tolist())) == 4
    mdp = four_state("dueling", 3)
    a, b = (draw_seed(seed, mdp, 50, 2.0, np.float32) for seed in (0, 1))
    same = [
        np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    ]
    assert sum(same) == 1  # the reward noise, which this MDP has none of


def test_purposes_do_not_share_random_numbers():
    draws = draw_seed(0, four_state("dueling", 3), 50, 1.0, np.float64)
    streams = [draws.steps.action, draws.steps.next_state, draws.steps.explore, draws.steps.restart]
    assert len(np.unique(np.concatenate(streams))) == 200


def test_a_uniform_number_never_rounds_up_to_one(monkeypatch):
    """1 − 2⁻⁴⁰ is 1 in single precision, where an index beyond the last likely one would follow."""

    class Edge:
        def random(self, shape):
            return np.full(shape, 1 - 2.0**-40)

        def standard_normal(self, shape):
            return np.zeros(shape)

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Edge())
    draws = draw_seed(0, four_state("dueling", 3), 5, 1.0, np.float32)
    assert float(draws.start) < 1
    assert all((field < 1).all() for field in draws.steps)


def test_threads_change_nothing():
    one, two = small(["dueling_q"], workers=1), small(["dueling_q"], workers=3)
    np.testing.assert_array_equal(one["dueling_q"].percent, two["dueling_q"].percent)


def test_divergence_is_recorded_and_never_averaged():
    mdp = four_state("dueling", 6)
    curves = sweep(
        mdp,
        {"hard_rdq": make_rule("hard_rdq", uniform_policy(mdp))},
        [0.1, 1.9],
        seeds=range(3),
        steps=2000,
        init_std=2.0,
    )["hard_rdq"]
    assert (curves.diverged_at[:, 0] == -1).all()
    assert (curves.diverged_at[:, 1] > 0).all()
    for seed in range(3):
        first = curves.diverged_at[seed, 1] // 100
        assert np.isfinite(curves.percent[seed, 1, :first]).all()
        assert np.isposinf(curves.percent[seed, 1, first:]).all()


def test_a_run_that_comes_back_has_still_diverged():
    """Q-learning whose read-out is 10³⁰ after 100 steps, and as it should be before and after."""
    base = make_rule("q_learning", np.full((4, 2), 1 / 2))

    def update(tables, t, step_size):
        q, n = tables
        return base.update(q, t, step_size), n + 1

    rule = Rule(
        init=lambda v, adv: (base.init(v, adv), jnp.zeros(())),
        update=update,
        q=lambda tables: jnp.where(tables[1] == 100, 1e30, base.q(tables[0])),
    )
    mdp = four_state("qvmax", 2)
    curves = sweep(mdp, {"mine": rule}, [0.1], seeds=[0], steps=300)["mine"]
    assert np.isfinite(curves.percent[0, 0]).tolist() == [True, False, False, False]
    assert curves.diverged_at.tolist() == [[100]]


def test_joint_initial_error_is_that_of_v_plus_a():
    """Item 3 of the differences: Dueling is normalised by ‖q_* − (V_0 + A_0)‖."""
    mdp = four_state("dueling", 3)
    own = small(["dueling_q"], seeds=[5])["dueling_q"]
    joint = small(["dueling_q"], seeds=[5], joint_initial_error=True)["dueling_q"]
    draws = draw_seed(5, mdp, 1, 2.0, np.float32)
    q_star = np.array([1000.0, 998.0, 998.0])
    expected = np.sqrt(np.mean((draws.v[:, None] + draws.adv - q_star) ** 2))
    assert joint.initial_error[0] == pytest.approx(expected, rel=1e-6)
    centred = draws.v[:, None] + draws.adv - draws.adv.mean(axis=1, keepdims=True)
    assert own.initial_error[0] == pytest.approx(
        np.sqrt(np.mean((centred - q_star) ** 2)), rel=1e-6
    )


def test_a_rule_written_for_one_table_gives_the_same_curves():
    """Q-learning as a reader might write it: no trailing axes, plain indexing."""

    def update(q, t, step_size):
        target = t.reward + t.discount * q[t.next_state].max()
        return q.at[t.state, t.action].add(step_size * (target - q[t.state, t.action]))

    mine = Rule(init=lambda v, adv: v[:, None] + adv, update=update, q=lambda q: q)
    mdp = four_state("qvmax", 3)
    rules = {"mine": mine, "q_learning": make_rule("q_learning", uniform_policy(mdp))}
    curves = sweep(mdp, rules, ALPHAS, seeds=range(2), steps=300)
    np.testing.assert_allclose(curves["mine"].percent, curves["q_learning"].percent, rtol=1e-6)


def test_a_built_in_rule_with_another_update_is_no_longer_given_trailing_axes():
    """One that takes the maximum over all of ``q[s]``, which is ``[A]`` for it."""

    def update(tables, t, step_size):
        target = t.reward + t.discount * tables.q[t.next_state].max()
        move = step_size * (target - tables.q[t.state, t.action])
        return tables._replace(q=tables.q.at[t.state, t.action].add(move))

    mdp = four_state("qvmax", 3)
    rules = {"mine": q_learning()._replace(update=update), "q_learning": q_learning()}
    curves = sweep(mdp, rules, ALPHAS, seeds=range(2), steps=300)
    np.testing.assert_allclose(curves["mine"].percent, curves["q_learning"].percent, rtol=1e-6)


def test_a_target_policy_of_ones_own_is_given_one_table():
    """One that takes the maximum over all of ``q[s]``, again; `greedy` itself is given all."""
    mdp = four_state("qvmax", 3)
    mine = expected_sarsa(lambda q, s: q[s].max(), goal="optimal")
    assert not mine.trailing_axes
    curves = sweep(mdp, {"mine": mine, "q_learning": q_learning()}, ALPHAS, seeds=[0], steps=300)
    np.testing.assert_allclose(curves["mine"].percent, curves["q_learning"].percent, rtol=1e-6)


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda q: q.T, r"q\(tables\) of mine must be an array of shape \(4, 3\); it is \(3, 4\)"),
        (lambda q: q[0], r"shape \(4, 3\); it is \(3,\)"),
        (lambda q: q[:, :1], r"shape \(4, 3\); it is \(4, 1\)"),
        (lambda q: (q,), r"shape \(4, 3\); it is tuple"),
    ],
)
def test_a_read_out_of_another_shape_is_refused(read, message):
    """Broadcast against the target, it would give a curve like any other."""
    mine = Rule(init=lambda v, adv: v[:, None] + adv, update=lambda q, t, a: q, q=read)
    with pytest.raises(InputError, match=message):
        sweep(four_state("qvmax", 3), {"mine": mine}, ALPHAS, seeds=[0], steps=100)


def test_state_values_of_another_shape_are_refused():
    mine = Rule(lambda v, adv: VTable(v[None]), lambda tables, t, a: tables, None, "behaviour")
    with pytest.raises(InputError, match=r"tables.v of mine .* shape \(4,\); it is \(1, 4\)"):
        sweep(four_state("qvmax", 3), {"mine": mine}, ALPHAS, seeds=[0], steps=100)


def test_tables_may_hold_plain_numbers():
    def update(tables, t, step_size):
        q, count = tables
        target = t.reward + t.discount * q[t.next_state].max()
        return q.at[t.state, t.action].add((target - q[t.state, t.action]) / 10), count + 1

    mine = Rule(lambda v, adv: (v[:, None] + adv, 0), update, lambda tables: tables[0])
    curves = sweep(four_state("qvmax", 3), {"mine": mine}, [0.5], seeds=[0], steps=100)
    assert np.isfinite(curves["mine"].percent).all()


@pytest.mark.parametrize("dtype", [int, np.float16, "complex64"])
def test_other_types_than_float32_and_float64_are_refused(dtype):
    with pytest.raises(InputError, match="dtype must be float32 or float64; it is"):
        sweep(
            four_state("qvmax", 3),
            {"mine": q_learning()},
            ALPHAS,
            seeds=[0],
            steps=100,
            dtype=dtype,
        )


def test_a_rule_that_cannot_be_one_native_loop_still_runs():
    """Sorting is refused inside a native loop; the sweep falls back to an ordinary one."""

    @trailing_axes
    def update(q, t, step_size):
        target = t.reward + t.discount * jnp.sort(q[t.next_state], axis=0)[-1]
        return q.at[t.state, t.action].add(step_size * (target - q[t.state, t.action]))

    init = lambda v, adv: v[:, None] + adv
    mine = Rule(init=init, update=update, q=lambda q: q)
    mdp = four_state("qvmax", 3)
    rules = {"mine": mine, "q_learning": make_rule("q_learning", uniform_policy(mdp))}
    curves = sweep(mdp, rules, ALPHAS, seeds=range(2), steps=300)
    np.testing.assert_allclose(curves["mine"].percent, curves["q_learning"].percent, rtol=1e-6)


@pytest.mark.parametrize("num_states", [1, 2])
@pytest.mark.parametrize("name", tuple(RULES))
def test_one_action_and_one_state_are_no_special_case(name, num_states):
    """Every pair has the value 1/(1−γ) = 2, so one error curve serves all: (1 − α/2)^t or so."""
    mdp = MDP(
        p=np.full((num_states, 1, num_states), 1 / num_states),
        reward=np.ones((num_states, 1)),
        discount=0.5,
    )
    rules = {name: make_rule(name, uniform_policy(mdp))}
    curves = sweep(mdp, rules, ALPHAS, seeds=[0], steps=400, record_every=10)[name]
    assert curves.initial_error[0] == 2.0
    limit = 1.0 if name == "soft_rdq" else 0.1  # its penalty keeps it away from the value
    assert curves.percent[0, 1, -1] < limit
    if num_states == 1 and name in ("td0", "q_learning"):
        expected = 100 * (1 - ALPHAS / 2)[:, None] ** np.arange(0, 401, 10)
        np.testing.assert_allclose(curves.percent[0], expected, rtol=1e-3, atol=1e-4)


def test_progress_adds_up_to_all_updates():
    seen = []
    small(["q_learning", "hard_rdq"], on_progress=seen.append)
    assert sum(seen) == 2 * 4 * 2 * 200  # rules × seeds × step sizes × steps


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"step_sizes": [0.0]}, "positive and finite"),
        ({"step_sizes": [np.inf]}, "positive and finite"),
        ({"step_sizes": []}, "positive and finite"),
        ({"seeds": []}, "seeds"),
        ({"seeds": 5}, "sequence such as"),
        ({"step_sizes": 0.1}, "must be a list"),
        ({"seeds": [1, 1]}, "seeds"),
        ({"steps": 150}, "multiple of record_every"),
        ({"init_std": -1.0}, "init_std"),
        ({"behaviour": EpsilonGreedy(1.5)}, "epsilon"),
        ({"behaviour": np.full((4, 2), 0.4)}, "sum to 1"),
    ],
)
def test_bad_settings_are_refused_before_any_work(wrong, message):
    mdp = four_state("qvmax", 2)
    good = {"step_sizes": [0.1], "seeds": [0], "steps": 100}
    options = {**good, **wrong}
    rules = {"q_learning": make_rule("q_learning", uniform_policy(mdp))}
    with pytest.raises(InputError, match=message):
        sweep(mdp, rules, options.pop("step_sizes"), **options)


def test_the_maker_of_a_rule_is_no_rule():
    with pytest.raises(InputError, match=r"'q' must be a Rule, such as q_learning\(\)"):
        sweep(four_state("qvmax", 2), {"q": q_learning}, [0.1], seeds=[0], steps=100)


def test_epsilon_greedy_needs_action_values():
    mdp = four_state("qvmax", 2)
    rules = {"td0": make_rule("td0", uniform_policy(mdp))}
    with pytest.raises(InputError, match="td0 learns no action values"):
        sweep(mdp, rules, [0.1], seeds=[0], steps=100, behaviour=EpsilonGreedy(0.1))


def test_values_that_start_exact_cannot_be_normalised():
    mdp = MDP(p=np.ones((1, 1, 1)), reward=np.zeros((1, 1)), discount=0.5)
    rules = {"q_learning": make_rule("q_learning", uniform_policy(mdp))}
    with pytest.raises(InputError, match="already exact"):
        sweep(mdp, rules, [0.1], seeds=[0], steps=100)


def test_a_rule_of_state_values_alone_needs_a_table_v():
    rule = Rule(init=lambda v, adv: {"v": v}, update=lambda tables, t, a: tables, q=None)
    with pytest.raises(InputError, match="mine has q=None, so its tables need a field v"):
        sweep(four_state("qvmax", 2), {"mine": rule}, [0.1], seeds=[0], steps=100)


def coins():
    """A rule that tosses coins as the docstring of `Rule` says: Q is the share of heads."""

    def update(tables, t, step_size):
        key, heads = tables
        key = jax.random.fold_in(key, t.next_state)
        return key, heads + jax.random.bernoulli(key)

    start = lambda v, adv: (jax.random.key(0), jnp.zeros(()))
    return Rule(start, update, lambda tables: jnp.full((4, 2), 1 + tables[1] / 2_000))


def test_a_rule_can_toss_coins_that_differ_between_seeds():
    mdp = MDP(np.full((4, 2, 4), 1 / 4), np.zeros((4, 2)), 0.9)  # q_* = 0, so that the error is Q
    percent = sweep(mdp, {"coins": coins()}, [0.1], seeds=range(8), steps=2_000)["coins"].percent
    heads = 2_000 * (percent[:, 0, -1] / 100 - 1)
    assert len(set(heads.round())) > 4
    np.testing.assert_allclose(heads, 1_000, atol=4.5 * np.sqrt(2_000) / 2)  # 4.5 standard errors
