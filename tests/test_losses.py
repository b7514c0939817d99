"""Losses of one transition: against rlax, by hand, and against the tabular rules."""

import functools
import inspect
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from qduet import losses
from qduet.core.errors import InputError
from qduet.deep import algorithms
from qduet.deep.layers import Outputs
from qduet.tabular import rules
from qduet.tabular.mdp import AVTables, QVTables

with warnings.catch_warnings():  # of tensorflow_probability, which rlax imports
    warnings.filterwarnings("ignore", "jax.core.pytype_aval_mappings is deprecated")
    import rlax

ACTIONS = 4
DISCOUNTS = (0.0, 0.9)  # S' ends the episode, or does not


def drawn(*names, seed=0, batch=()):
    """Random arguments, by name; probabilities sum to 1."""
    rng = np.random.default_rng(seed)
    scalars = ("v", "v_tm1", "v_t", "r_t")
    arguments = {}
    for name in names:
        if name == "a_tm1":
            arguments[name] = rng.integers(ACTIONS, size=batch).astype(np.int32)
        elif name == "discount_t":
            arguments[name] = rng.choice(DISCOUNTS, size=batch).astype(np.float32)
        elif name == "probs_a_t":
            arguments[name] = rng.dirichlet(np.ones(ACTIONS), size=batch).astype(np.float32)
        else:
            shape = batch if name in scalars else (*batch, ACTIONS)
            arguments[name] = (3 * rng.normal(size=shape)).astype(np.float32)
    return arguments


def arguments_of(function):
    """Names of the arrays that a function needs."""
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.default is inspect.Parameter.empty]


FUNCTIONS = [
    losses.additive_readout,
    losses.dueling_readout,
    losses.max_dueling_readout,
    losses.q_learning_error,
    losses.double_q_learning_error,
    losses.expected_sarsa_error,
    losses.rdq_penalty,
    losses.rdq_loss,
    losses.dueling_loss,
    losses.qv_loss,
    losses.qvmax_loss,
    losses.bc_qvmax_loss,
]
LOSSES = [each for each in FUNCTIONS if each.__name__.endswith("_loss")]
by_name = functools.partial(
    pytest.mark.parametrize, ids=lambda each: getattr(each, "__name__", None)
)


def test_every_public_function_is_tested_here():
    tested = {each.__name__ for each in FUNCTIONS} | {"squared", "huber", "TDLoss", "QVLoss"}
    assert tested == set(losses.__all__)


# --- Against rlax: values and gradients ----------------------------------------------------------


def assert_same(ours, other, arguments):
    """Equal errors, and equal gradients of ½ δ² with respect to all floats, targets included."""
    arguments = {name: jnp.asarray(x) for name, x in arguments.items()}
    np.testing.assert_allclose(ours(**arguments), other(**arguments), rtol=1e-5, atol=1e-6)
    floats = {name: x for name, x in arguments.items() if x.dtype == jnp.float32}
    half_square = lambda f: lambda floats: 0.5 * f(**(arguments | floats)) ** 2
    gradients, expected = (jax.grad(half_square(each))(floats) for each in (ours, other))
    for name in floats:
        np.testing.assert_allclose(gradients[name], expected[name], rtol=1e-5, atol=1e-6)
    assert any(np.any(x) for x in gradients.values())


@pytest.mark.parametrize("discount", DISCOUNTS)
@pytest.mark.parametrize("seed", range(3))
@by_name(
    ("ours", "other"),
    [
        (losses.q_learning_error, rlax.q_learning),
        (losses.double_q_learning_error, rlax.double_q_learning),
        (losses.expected_sarsa_error, rlax.expected_sarsa),
    ],
)
def test_errors_are_those_of_rlax(ours, other, seed, discount):
    names = arguments_of(ours)
    assert names == arguments_of(other)
    assert_same(ours, other, drawn(*names, seed=seed) | {"discount_t": np.float32(discount)})


@pytest.mark.parametrize("discount", DISCOUNTS)
@pytest.mark.parametrize("seed", range(3))
def test_the_errors_of_qv_learning_are_those_of_rlax(seed, discount):
    arguments = drawn(*arguments_of(losses.qv_loss), seed=seed) | {
        "discount_t": np.float32(discount)
    }
    q_error = lambda **given: losses.qv_loss(**given).td_error
    assert_same(q_error, lambda v_tm1, **given: rlax.qv_learning(**given), arguments)
    v_error = lambda **given: losses.qv_loss(**given).v_error
    td_learning = lambda q_tm1, a_tm1, **given: rlax.td_learning(**given)
    assert_same(v_error, td_learning, arguments)


@pytest.mark.parametrize("discount", DISCOUNTS)
@pytest.mark.parametrize("seed", range(3))
def test_the_errors_of_qvmax_are_those_of_rlax(seed, discount):
    names = arguments_of(losses.qvmax_loss)
    arguments = drawn(*names, seed=seed) | {"discount_t": np.float32(discount)}
    q_error = lambda **given: losses.qvmax_loss(**given).td_error
    assert_same(q_error, lambda v_tm1, q_t, **given: rlax.qv_learning(**given), arguments)
    v_error = lambda **given: losses.qvmax_loss(**given).v_error
    assert_same(v_error, lambda q_tm1, a_tm1, v_t, **given: rlax.qv_max(**given), arguments)


@pytest.mark.parametrize("delta", [0.5, 1.0, 2.0])
def test_huber_and_squared_are_those_of_rlax_and_optax(delta):
    errors = jnp.array([-30.0, -2.0, -1.0, -0.7, -0.5, 0.0, 0.3, 0.5, 1.0, 2.0, 2.5])
    ours = functools.partial(losses.huber, delta=delta)
    for other in (rlax.huber_loss, optax.huber_loss):
        other = functools.partial(other, delta=delta)
        np.testing.assert_allclose(ours(errors), other(errors), rtol=1e-6)
        gradients = [jax.vmap(jax.grad(each))(errors) for each in (ours, other)]
        np.testing.assert_allclose(*gradients, rtol=1e-6)
    np.testing.assert_array_equal(losses.squared(errors), rlax.l2_loss(errors))


# --- By hand -------------------------------------------------------------------------------------

AV = {"v_tm1": 2.0, "adv_tm1": [1.0, -1.0, 3.0], "a_tm1": 1, "r_t": 0.5, "discount_t": 0.5}
AV_NEXT = {"v_t": 1.0, "adv_t": [0.0, 4.0, 2.0]}
QV = {"v_tm1": 1.0, "q_tm1": [1.0, 2.0, 3.0], "a_tm1": 0, "r_t": 1.0, "discount_t": 0.5, "v_t": 4.0}


def gradients_of(function, arguments):
    """The gradients of its loss with respect to the values, at S and at S'."""
    values = {
        name: jnp.asarray(x) for name, x in arguments.items() if name.startswith(("v", "q", "adv"))
    }
    return jax.grad(lambda values: function(**(arguments | values)).loss)(values)


def assert_values(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-6, atol=1e-7, err_msg=name)


def test_readouts():
    v, adv = 2.0, [1.0, -1.0, 3.0]  # the mean of A is 1, its maximum 3
    np.testing.assert_array_equal(losses.additive_readout(v, adv), [3.0, 1.0, 5.0])
    np.testing.assert_array_equal(losses.dueling_readout(v, adv), [2.0, 0.0, 4.0])
    np.testing.assert_array_equal(losses.max_dueling_readout(v, adv), [0.0, -2.0, 2.0])


def test_rdq_by_hand():
    """Q(S, ·) = 3, 1, 5 and max Q(S', ·) = 5: δ = 0.5 + 0.5 · 5 − 1 = 2.

    The penalty is ½ (2² + 1 + 1 + 3²) = 7.5. The gradients are −δ + β V = −2 + 0.2 for V, β A for
    the actions that were not taken, and −δ + β A = −2 − 0.1 for the one that was.
    """
    out = losses.rdq_loss(**AV, **AV_NEXT, beta=0.1)
    assert_values(out._asdict(), {"loss": 2.0 + 0.75, "td_error": 2.0})
    assert losses.rdq_penalty(2.0, [1.0, -1.0, 3.0]) == 7.5
    assert float(losses.rdq_loss(**AV, **AV_NEXT).loss) == pytest.approx(2.0 + 0.0075)
    found = gradients_of(functools.partial(losses.rdq_loss, beta=0.1), AV | AV_NEXT)
    assert_values(
        found, {"v_tm1": -1.8, "adv_tm1": [0.1, -2.1, 0.3], "v_t": 0.0, "adv_t": np.zeros(3)}
    )
    ended = losses.rdq_loss(**(AV | {"discount_t": 0.0}), **AV_NEXT, beta=0.1)
    assert_values(ended._asdict(), {"loss": 0.125 + 0.75, "td_error": 0.5 - 1.0})


def test_dueling_by_hand():
    """Q(S, ·) = 2, 0, 4 and Q(S', ·) = −1, 3, 1: δ = 0.5 + 0.5 · 3 − 0 = 2.

    Each action's mean share is 1/3, so A(S, a) has the gradient −δ (1{a = A} − 1/3).
    """
    out = losses.dueling_loss(**AV, **AV_NEXT)
    assert_values(out._asdict(), {"loss": 2.0, "td_error": 2.0})
    expected = {"v_tm1": -2.0, "adv_tm1": [2 / 3, -4 / 3, 2 / 3], "v_t": 0.0, "adv_t": np.zeros(3)}
    assert_values(gradients_of(losses.dueling_loss, AV | AV_NEXT), expected)
    ended = losses.dueling_loss(**(AV | {"discount_t": 0.0}), **AV_NEXT)
    assert_values(ended._asdict(), {"loss": 0.125, "td_error": 0.5})


def test_the_qv_family_by_hand():
    """Q moves toward 1 + 0.5 · 4 = 3, so δ_Q = 3 − 1 = 2 for all three; V is 1."""
    q_t = [0.0, 6.0, 2.0]
    found = losses.qv_loss(**QV)  # V moves toward 3 as well
    assert_values(found._asdict(), {"loss": 2.0 + 2.0, "td_error": 2.0, "v_error": 2.0})
    found = losses.qvmax_loss(**QV, q_t=q_t)  # toward 1 + 0.5 · 6 = 4
    assert_values(found._asdict(), {"loss": 2.0 + 4.5, "td_error": 2.0, "v_error": 3.0})
    found = losses.bc_qvmax_loss(**QV)  # toward max Q(S, ·) = 3
    assert_values(found._asdict(), {"loss": 2.0 + 2.0, "td_error": 2.0, "v_error": 2.0})
    found = losses.bc_qvmax_loss(**QV, q_tm1_target=[7.0, 0.0, 0.0])  # toward 7
    assert_values(found._asdict(), {"loss": 2.0 + 18.0, "td_error": 2.0, "v_error": 6.0})
    ended = losses.bc_qvmax_loss(**(QV | {"discount_t": 0.0}))  # Q toward 1, V toward 3 as before
    assert_values(ended._asdict(), {"loss": 0.0 + 2.0, "td_error": 0.0, "v_error": 2.0})


@by_name(
    ("loss", "more", "v_error"),
    [
        (losses.qv_loss, {}, 2.0),
        (losses.qvmax_loss, {"q_t": [0.0, 6.0, 2.0]}, 3.0),
        (losses.bc_qvmax_loss, {}, 2.0),
        (losses.bc_qvmax_loss, {"q_tm1_target": [7.0, 0.0, 0.0]}, 6.0),
    ],
)
def test_gradients_of_the_qv_family_are_the_errors_alone(loss, more, v_error):
    """−δ_Q for the action taken, −δ_V for V(S), and 0 for all that targets are made of."""
    expected = {"v_tm1": -v_error, "q_tm1": [-2.0, 0.0, 0.0], "v_t": 0.0}
    expected |= {name: np.zeros(3) for name in more}
    assert_values(gradients_of(loss, QV | more), expected)


@by_name("loss", LOSSES)
def test_huber_bounds_the_gradient(loss):
    """At δ ≈ 1,000 Huber's loss of an error is |δ| − ½, and the gradient −1."""
    arguments = drawn(*arguments_of(loss)) | {"r_t": 1_000.0, "discount_t": 0.0}
    if loss is losses.bc_qvmax_loss:
        arguments["q_tm1_target"] = np.full(ACTIONS, 1_000.0, np.float32)
    options = {"beta": 0.0} if loss is losses.rdq_loss else {}
    bounded = functools.partial(loss, loss_fn=losses.huber, **options)
    out = bounded(**arguments)
    errors = [value for name, value in out._asdict().items() if name != "loss"]
    assert float(out.loss) == pytest.approx(float(sum(abs(e) - 0.5 for e in errors)), rel=1e-6)
    assert float(gradients_of(bounded, arguments)["v_tm1"]) == pytest.approx(-1.0)


@pytest.mark.parametrize("seed", range(3))
def test_rdq_is_made_of_public_parts(seed):
    """Double DQN with RDQ, as the module's docstring has it, is RDQ if one network does both."""
    x = drawn(*arguments_of(losses.rdq_loss), seed=seed)
    q_tm1, q_t = (losses.additive_readout(x[f"v_{at}"], x[f"adv_{at}"]) for at in ("tm1", "t"))
    error = losses.double_q_learning_error(
        q_tm1, x["a_tm1"], x["r_t"], x["discount_t"], q_t_value=q_t, q_t_selector=q_t
    )
    loss = losses.squared(error) + 0.02 * losses.rdq_penalty(x["v_tm1"], x["adv_tm1"])
    assert float(loss) == pytest.approx(float(losses.rdq_loss(**x, beta=0.02).loss), rel=1e-6)


# --- Against the tabular rules: one step of SGD on a one-hot linear network ----------------------

STATES, STEP_SIZE, BETA = 3, 0.25, 0.05
POLICY = np.random.default_rng(7).dirichlet(np.ones(ACTIONS), size=STATES)
GOES_ON = rules.Transition(0, 2, 1.5, 0.9, 1)
ENDS = rules.Transition(0, 2, 1.5, 0.0, 1)
RETURNS = rules.Transition(0, 2, 1.5, 0.9, 0)


def sgd(tables, t, loss):
    """Tables − α ∇ loss(outputs at S, outputs at S', t). Both outputs depend on the same tables."""

    def of_tables(tables):
        network = lambda s: jax.tree.map(lambda w: jax.nn.one_hot(s, STATES) @ w, tables)
        return loss(network(t.state), network(t.next_state), t)

    return jax.tree.map(lambda w, g: w - STEP_SIZE * g, tables, jax.grad(of_tables)(tables))


def start(rule, seed=3):
    rng = np.random.default_rng(seed)
    return rule.init(
        jnp.asarray(rng.normal(size=STATES)), jnp.asarray(rng.normal(size=(STATES, ACTIONS)))
    )


def assert_tables(found, expected):
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-12), found, expected)


def av_loss(loss, **options):
    """A loss of V and A, as a function of the outputs at S and at S'."""
    return lambda now, then, t: (
        loss(now.v, now.adv, t.action, t.reward, t.discount, then.v, then.adv, **options).loss
    )


def qv_loss(loss, *names, **options):
    """A loss of V and Q; `names` are the outputs at S' that it needs."""
    return lambda now, then, t: (
        loss(
            now.v,
            now.q,
            t.action,
            t.reward,
            t.discount,
            *(getattr(then, x) for x in names),
            **options,
        ).loss
    )


Q_LEARNING = lambda now, then, t: losses.squared(
    losses.q_learning_error(now.q, t.action, t.reward, t.discount, then.q)
)
EXPECTED_SARSA = lambda now, then, t: losses.squared(
    losses.expected_sarsa_error(now.q, t.action, t.reward, t.discount, then.q, POLICY[t.next_state])
)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("t", [GOES_ON, ENDS, RETURNS], ids=["goes on", "ends", "returns"])
@pytest.mark.parametrize(
    ("rule", "loss"),
    [
        (rules.q_learning(), Q_LEARNING),
        (rules.expected_sarsa(rules.under(POLICY)), EXPECTED_SARSA),
        (rules.qv_learning(), qv_loss(losses.qv_loss, "v")),
        (rules.dueling_q(), av_loss(losses.dueling_loss)),
        (rules.hard_rdq(), av_loss(losses.rdq_loss, beta=0.0)),
        # The rule shrinks V and A by β, the gradient of the loss by α β.
        (rules.soft_rdq(BETA), av_loss(losses.rdq_loss, beta=BETA / STEP_SIZE)),
    ],
    ids=["q_learning", "expected_sarsa", "qv_learning", "dueling_q", "hard_rdq", "soft_rdq"],
)
def test_a_step_of_sgd_is_the_tabular_rule(rule, loss, t):
    tables = start(rule)
    assert_tables(sgd(tables, t, loss), rule.update(tables, t, STEP_SIZE))


@pytest.mark.usefixtures("x64")
def test_qvmax_is_its_rule_unless_the_state_returns():
    """The rule updates Q first; δ_V sees the new Q, which is another one only if S' = S."""
    rule, loss = rules.qvmax(), qv_loss(losses.qvmax_loss, "v", "q")
    tables = start(rule)
    for t in (GOES_ON, ENDS):
        assert_tables(sgd(tables, t, loss), rule.update(tables, t, STEP_SIZE))
    # Q(0, 2) is the maximum, before and after its update.
    tables = QVTables(tables.q.at[0, 2].set(9.0), tables.v)
    found, expected = sgd(tables, RETURNS, loss), rule.update(tables, RETURNS, STEP_SIZE)
    assert_tables(found.q, expected.q)
    change = expected.q[0, 2] - 9.0
    np.testing.assert_allclose(found.v[0], expected.v[0] - STEP_SIZE * 0.9 * change, rtol=1e-12)
    assert abs(change) > 1


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("t", [GOES_ON, ENDS, RETURNS], ids=["goes on", "ends", "returns"])
def test_bc_qvmax_is_its_rule_with_the_new_q_as_target(t):
    """The rule updates Q first; δ_V sees the new Q(S, ·). By default the loss takes the old one."""
    rule = rules.bc_qvmax()
    tables = start(rule)
    tables = QVTables(tables.q.at[0, 2].set(9.0), tables.v)  # the maximum, before and after
    old = sgd(tables, t, qv_loss(losses.bc_qvmax_loss, "v"))
    new = sgd(tables, t, qv_loss(losses.bc_qvmax_loss, "v", q_tm1_target=old.q[t.state]))
    expected = rule.update(tables, t, STEP_SIZE)
    assert_tables(new, expected)
    assert_tables(old.q, expected.q)
    np.testing.assert_allclose(old.v[0], 0.75 * tables.v[0] + 0.25 * 9.0, rtol=1e-12)
    assert abs(old.v[0] - new.v[0]) > 0.1


# --- Against the losses that `qduet train` descends ----------------------------------------------


@pytest.mark.parametrize(
    ("name", "numbers", "loss"),
    [
        ("av", algorithms.AV(w=1.0, c=0.0, beta=0.02), av_loss(losses.rdq_loss, beta=0.02)),
        ("av", algorithms.AV(w=1.0, c=1.0), av_loss(losses.dueling_loss)),
        ("qv", algorithms.QV(bootstrap=1.0), qv_loss(losses.qv_loss, "v")),
        ("qv", algorithms.QV(maximum=1.0), qv_loss(losses.qvmax_loss, "v", "q")),
        ("qv", algorithms.QV(correction=1.0), qv_loss(losses.bc_qvmax_loss, "v")),
    ],
    ids=["rdq", "dueling", "qv", "qvmax", "bc_qvmax"],
)
@pytest.mark.parametrize("discount", DISCOUNTS)
def test_the_agents_of_qduet_have_the_same_loss(name, numbers, loss, discount):
    x = drawn("v_tm1", "adv_tm1", "v_t", "adv_t", "r_t")
    next_outputs = Outputs(x["v_t"], x["adv_t"])
    t = rules.Transition(0, 2, x["r_t"], discount, 1)

    def theirs(v, adv):
        now, then = Outputs(v, adv), next_outputs
        given = algorithms.Transition(
            now, now, then, then, t.action, t.reward, jnp.float32(t.discount)
        )
        return algorithms.ALGORITHMS[name].loss(numbers, given).total

    def ours(v, adv):
        as_tables = AVTables if name == "av" else lambda v, q: QVTables(q, v)
        return loss(as_tables(v, adv), as_tables(*next_outputs), t)

    found, expected = (
        jax.value_and_grad(each, argnums=(0, 1))(jnp.asarray(x["v_tm1"]), jnp.asarray(x["adv_tm1"]))
        for each in (ours, theirs)
    )
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-5), found, expected)


# --- Batches and shapes --------------------------------------------------------------------------


@by_name("function", FUNCTIONS)
def test_vmap_is_a_loop(function):
    batch = drawn(*arguments_of(function), batch=(6,))
    found = jax.jit(jax.vmap(function))(*batch.values())
    each = [function(*(x[i] for x in batch.values())) for i in range(6)]
    expected = jax.tree.map(lambda *rows: np.stack(rows), *each)
    jax.tree.map(
        functools.partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-6), found, expected
    )


@by_name(
    ("function", "name"),
    [(function, name) for function in FUNCTIONS for name in arguments_of(function)]
    + [(losses.rdq_loss, "beta"), (losses.bc_qvmax_loss, "q_tm1_target")],
)
def test_a_batch_is_refused(function, name):
    one = drawn(*arguments_of(function))
    batch = drawn(name, batch=(ACTIONS,))[name]
    wanted = r"\[(4|\|A\|)\]" if name.startswith(("q", "adv", "probs")) else r"\[\]"
    told = rf"^{function.__name__}: {name} must have the shape {wanted} \(vmap a batch\); it is \[4"
    with pytest.raises(InputError, match=told):
        function(**(one | {name: batch}))
    with pytest.raises(InputError, match=told):  # traced arrays have a shape as well
        jax.jit(function)(**(one | {name: batch}))


@by_name("function", FUNCTIONS)
def test_a_whole_batch_is_refused(function):
    with pytest.raises(InputError, match="vmap a batch"):
        function(**drawn(*arguments_of(function), batch=(5,)))


def test_what_is_said_of_a_shape():
    one = drawn(*arguments_of(losses.rdq_loss))
    with pytest.raises(InputError) as told:
        losses.rdq_loss(**(one | {"v_tm1": np.zeros(1)}))
    assert str(told.value) == "rdq_loss: v_tm1 must have the shape [] (vmap a batch); it is [1]"
    with pytest.raises(InputError) as told:
        losses.rdq_loss(**(one | {"adv_t": np.zeros(3)}))
    assert str(told.value) == "rdq_loss: adv_t must have the shape [4] (vmap a batch); it is [3]"


@by_name("function", [each for each in FUNCTIONS if "a_tm1" in arguments_of(each)])
@pytest.mark.parametrize(
    ("action", "told"),
    [
        (-1, "a_tm1 must be from 0 to 3; it is -1"),
        (np.int32(4), "a_tm1 must be from 0 to 3; it is 4"),
        (1.0, "a_tm1 must be an integer; it is float32"),
        (True, "a_tm1 must be an integer; it is bool"),
    ],
)
def test_what_is_no_action_is_refused(function, action, told):
    one = drawn(*arguments_of(function))
    with pytest.raises(InputError, match=told):
        function(**(one | {"a_tm1": action}))


@by_name("function", [each for each in FUNCTIONS if "discount_t" in arguments_of(each)])
def test_whether_an_episode_has_ended_is_no_discount(function):
    """True, for an end, would be γ = 1 there and 0 everywhere else."""
    one = drawn(*arguments_of(function))
    with pytest.raises(InputError, match="discount_t must be γ, or 0 where S' is an end"):
        function(**(one | {"discount_t": np.True_}))
