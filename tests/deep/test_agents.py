import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.core.errors import InputError
from qduet.deep import adam, agents, networks
from qduet.deep.agents import AGENTS, Agent, make_agent
from qduet.deep.networks import Outputs
from qduet.deep.replay import Batch
from qduet.jobs.job import Job
from qduet.tabular import rules

RNG = np.random.default_rng(0)


def test_read_outs_are_the_papers():
    values = Outputs(jnp.float32(2.0), jnp.array([1.0, 2.0, 6.0]))
    expected = {"dqn": [1, 2, 6], "dueling_dqn": [0, 1, 5], "rdq": [3, 4, 8]}  # mean(A) = 3
    for name, q in expected.items():
        np.testing.assert_allclose(agents.q_values(values, AGENTS[name].coefficients()), q)


def random_batch(n=8, num_actions=3):
    values, after = (
        Outputs(jnp.asarray(RNG.normal(size=n)), jnp.asarray(RNG.normal(size=(n, num_actions))))
        for _ in range(2)
    )
    batch = Batch(
        observations=None,
        actions=jnp.asarray(RNG.integers(num_actions, size=n)),
        rewards=jnp.asarray(RNG.normal(size=n)),
        ended=jnp.asarray(RNG.random(n) < 0.3),
        next_observations=None,
    )
    return values, after, batch


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", sorted(AGENTS))
def test_loss_is_half_the_squared_error_plus_the_penalty(name):
    agent = AGENTS[name]
    values, after, batch = random_batch()
    q = agent.w * values.v[:, None] + values.adv - agent.c * values.adv.mean(1, keepdims=True)
    q2 = agent.w * after.v[:, None] + after.adv - agent.c * after.adv.mean(1, keepdims=True)
    td = penalty = mean_q = 0.0
    for i in range(8):
        target = batch.rewards[i] + (0.0 if batch.ended[i] else 0.99 * q2[i].max())
        td += 0.5 * (target - q[i, batch.actions[i]]) ** 2 / 8
        penalty += agent.beta / 2 * (values.v[i] ** 2 + (values.adv[i] ** 2).sum()) / 8
        mean_q += q[i, batch.actions[i]] / 8
    losses = agents.loss(values, after, agent.coefficients(), 0.99, batch)
    np.testing.assert_allclose(losses, [td + penalty, td, mean_q], rtol=1e-6)


@pytest.mark.parametrize("name", ["actions", "rewards", "ended"])
def test_a_loss_does_not_mix_transitions_by_broadcasting(name):
    values, after, batch = random_batch()
    column = batch._replace(**{name: getattr(batch, name)[:, None]})
    coefficients = AGENTS["rdq"].coefficients()
    with pytest.raises(InputError, match=rf"{name} of a batch .* \[8\]; it is \[8, 1\]"):
        agents.loss(values, after, coefficients, 0.99, column)
    with pytest.raises(InputError, match="V at S' of a batch"):
        agents.loss(values, after._replace(v=after.v[:, None]), coefficients, 0.99, batch)
    with pytest.raises(InputError, match=r"A at S of a batch must have the shape \[n, \|A\|\]"):
        agents.loss(values._replace(adv=values.adv[0]), after, coefficients, 0.99, batch)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(
    ("name", "tabular"),
    [
        ("dqn", rules.q_learning()),
        ("dueling_dqn", rules.dueling_q()),
        ("rdq", rules.soft_rdq(beta=0.05 * 0.3)),
    ],
)
def test_a_one_hot_linear_network_with_sgd_is_the_tabular_rule(name, tabular):
    """V = v·x(s), A = adv·x(s), x one-hot; loss penalty β = 0.05, step size α = 0.3.

    SGD shrinks V and A by αβ, so the tabular rule has that as its β. Penalty and TD error are taken
    at the state that is updated, as in the deep loss.
    """
    num_states, num_actions, alpha = 5, 3, 0.3
    coefficients = (
        AGENTS[name].coefficients()._replace(beta=jnp.float64(0.05 if name == "rdq" else 0.0))
    )
    v = jnp.asarray(RNG.normal(size=num_states)) * (name != "dqn")
    adv = jnp.asarray(RNG.normal(size=(num_states, num_actions)))
    tables = tabular.init(v, adv)
    weights = Outputs(v, adv)

    def total(weights, t):  # which holds its target by itself
        x, x2 = jnp.eye(num_states)[t.state][None], jnp.eye(num_states)[t.next_state][None]
        at = lambda w, x: Outputs(x @ w.v, x @ w.adv)
        ended = jnp.array([t.discount == 0])
        batch = Batch(None, jnp.array([t.action]), jnp.array([t.reward]), ended, None)
        return agents.loss(at(weights, x), at(weights, x2), coefficients, 0.9, batch).total

    gradient_of, update = jax.jit(jax.grad(total)), jax.jit(tabular.update)
    for i in range(200):
        t = rules.Transition(
            int(RNG.integers(num_states)),
            int(RNG.integers(num_actions)),
            float(RNG.normal()),
            0.0 if i % 9 == 0 else 0.9,
            int(RNG.integers(num_states)),
        )
        weights = jax.tree.map(lambda w, g: w - alpha * g, weights, gradient_of(weights, t))
        tables = update(tables, t, alpha)
    learned = tables.q if name == "dqn" else tables.adv
    np.testing.assert_allclose(weights.adv, learned, atol=1e-6)
    if name != "dqn":
        np.testing.assert_allclose(weights.v, tables.v, atol=1e-6)


def test_defaults_are_the_papers():
    for agent in AGENTS.values():
        assert (agent.learning_rate, agent.adam_epsilon) == (2.5e-4, 3.125e-4)
        assert (agent.batch_size, agent.capacity, agent.sync_every) == (32, 100_000, 1_000)
        assert (agent.epsilon_final, agent.epsilon_decay_steps) == (0.01, 250_000)
    assert AGENTS["rdq"].beta == 1e-3


def test_protocols_switch_initialisation_bias_and_exploration():
    assert make_agent("rdq").epsilon_hold_steps == 1_000
    reference = {name: make_agent(name, protocol="reference") for name in AGENTS}
    assert reference["rdq"].epsilon_hold_steps == 0
    assert [bool(a.init_scheme().uniform_conv) for a in reference.values()] == [True] * 3
    assert {n: bool(a.init_scheme().uniform_streams) for n, a in reference.items()} == {
        "dqn": True,
        "dueling_dqn": False,
        "rdq": False,
    }
    shared = {name: agent.has_shared_bias() for name, agent in reference.items()}
    assert shared == {"dqn": False, "dueling_dqn": True, "rdq": True}
    assert not make_agent("rdq").has_shared_bias()


@pytest.mark.parametrize("initialisation", agents.INITIALISATIONS)
@pytest.mark.parametrize("name", sorted(AGENTS))
def test_biases_that_are_shared_start_equal(name, initialisation):
    agent = make_agent(name, initialisation=initialisation, shared_bias=True)
    b = networks.init(jax.random.key(0), 4, 3, agent.init_scheme()).adv.b
    assert bool((b == b[0]).all()) or not agent.has_shared_bias()


def test_bad_agents_are_refused():
    with pytest.raises(InputError, match="did you mean 'dueling_dqn'"):
        make_agent("duelling_dqn")
    with pytest.raises(InputError, match="beta must be ≥ 0"):
        make_agent("rdq", beta=-0.1)
    with pytest.raises(InputError, match="did you mean 'reference'"):
        make_agent("rdq", protocol="refrence")
    for field in ("capacity", "learn_from", "sync_every"):
        with pytest.raises(InputError, match=f"{field} must be a positive multiple of 4"):
            make_agent("rdq", **{field: 1001})
    assert isinstance(make_agent("rdq", beta=1.5), Agent)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"w": 1, "c": np.int8(0)}, {"w": 1.0, "c": 0.0}),
        ({"beta": np.float32(0.25)}, {"beta": 0.25}),
        ({"beta": jnp.float32(0.25), "batch_size": jnp.int32(16)}, {"batch_size": 16}),
        ({"batch_size": 32.0, "capacity": np.int64(400)}, {"batch_size": 32, "capacity": 400}),
        ({"shared_bias": np.bool_(True), "name": np.str_("mine")}, {"shared_bias": True}),
    ],
)
def test_settings_have_their_declared_types_whatever_they_were_given_as(given, kept):
    settings = dataclasses.asdict(Agent(**{"name": "rdq", "w": 1, "c": 0, "beta": 0, **given}))
    assert json.loads(json.dumps(settings)) == settings
    for field in dataclasses.fields(Agent):
        assert type(settings[field.name]) is field.type
    assert settings.items() >= kept.items()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"batch_size": 32.5}, "batch_size must be a whole number; it is 32.5"),
        ({"capacity": True}, "capacity must be a whole number; it is True"),
        ({"sync_every": float("inf")}, "sync_every must be a whole number; it is inf"),
        ({"w": float("nan")}, "w must be a finite number; it is nan"),
        ({"c": 10**400}, "c must be a finite number; it is 1000"),
        ({"w": 1e39}, "w must be a finite number"),
        ({"beta": "0.1"}, "beta must be a finite number; it is '0.1'"),
        ({"beta": np.array([0.1])}, "beta must be a finite number"),
        ({"adam_epsilon": 0}, r"adam_epsilon must be in \[1e-30, 1\]; it is 0.0"),
        ({"adam_epsilon": 1e-50}, r"adam_epsilon must be in \[1e-30, 1\]"),
        ({"w": False}, "w must be a finite number; it is False"),
        ({"shared_bias": 1}, "shared_bias must be True or False; it is 1"),
        ({"initialisation": None}, "initialisation must be a text; it is None"),
    ],
)
def test_settings_of_another_kind_are_refused(given, told):
    with pytest.raises(InputError, match=told):
        make_agent("rdq", **given)


def test_the_smallest_adam_epsilon_leaves_weights_without_gradient_where_they_are():
    slot = adam.Slot(*map(jnp.float32, (3, 0, 0)))
    rate = adam.rate(jnp.float32(1), jnp.int32(1))
    epsilon = make_agent("rdq", adam_epsilon=1e-30).adam_epsilon
    assert float(jax.jit(adam.step)(slot, jnp.float32(0), rate, epsilon).p) == 3


def test_a_jobs_whole_numbers_are_ints():
    small = ("rdq", make_agent("rdq", w=1)), ("dqn", make_agent("dqn"))
    job = Job("MinAtar/Breakout-v1", small, np.arange(2), 2e3, np.int32(1_000), 5)
    same = Job("MinAtar/Breakout-v1", small, (0, 1), 2_000, 1_000, 5)
    assert json.dumps(job.config(None)) == json.dumps(same.config(None))
    assert hash(job) == hash(same)
    for changes in ({"seeds": (0.5,)}, {"steps": 2000.5}, {"episodes": True}):
        with pytest.raises(InputError, match="must be a whole number"):
            dataclasses.replace(same, **changes)
