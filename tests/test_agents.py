import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet import agents
from qduet.agents import AGENTS, Agent, make_agent
from qduet.core.errors import InputError
from qduet.deep import adam, board
from qduet.deep.algorithms import AV
from qduet.jobs.job import Job


def test_defaults_are_the_papers():
    for agent in AGENTS.values():
        assert (agent.learning_rate, agent.adam_epsilon) == (2.5e-4, 3.125e-4)
        assert (agent.batch_size, agent.capacity, agent.sync_every) == (32, 100_000, 1_000)
        assert (agent.epsilon_final, agent.epsilon_decay_steps) == (0.01, 250_000)
    assert AGENTS["rdq"].numbers.beta == 1e-3


def test_protocols_switch_initialisation_bias_and_exploration():
    assert make_agent("rdq").epsilon_hold_steps == 1_000
    reference = {name: make_agent(name, protocol="reference") for name in AGENTS}
    assert reference["rdq"].epsilon_hold_steps == 0
    assert all(bool(a.init_scheme().uniform_conv) for a in reference.values())
    uniform = {name for name, a in reference.items() if bool(a.init_scheme().uniform_streams)}
    assert uniform == {"dqn", "double_dqn"}
    shared = {name for name, agent in reference.items() if agent.has_shared_bias()}
    assert shared == {"dueling_dqn", "rdq"}
    assert not make_agent("rdq").has_shared_bias()


@pytest.mark.parametrize("initialisation", agents.INITIALISATIONS)
@pytest.mark.parametrize("name", sorted(AGENTS))
def test_biases_that_are_shared_start_equal(name, initialisation):
    agent = make_agent(name, initialisation=initialisation, shared_bias=True)
    b = board.init(jax.random.key(0), 4, 3, agent.init_scheme()).adv.b
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
    given = dict(given)
    numbers = AV(**{"w": 1, **{name: given.pop(name) for name in AV._fields if name in given}})
    settings = Agent(**{"name": "rdq", "algorithm": "av", "numbers": numbers, **given}).fields()
    assert json.loads(json.dumps(settings)) == settings
    kinds = {field.name: field.type for field in dataclasses.fields(Agent)}
    del kinds["numbers"]
    assert {name: type(x) for name, x in settings.items()} == {
        **kinds,
        **dict.fromkeys(AV._fields, float),
    }
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
