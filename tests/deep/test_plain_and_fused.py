"""The two ways to compute the paper's network and its update: they differ by rounding alone."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.agents import AGENTS, make_agent
from qduet.deep import replay, training
from qduet.deep.environments import make

ENV = make("MinAtar/Breakout-v1")
CAPACITY = 400


@functools.cache
def learners(algorithm, double, n_step):
    """The compiled updates of one algorithm; its numbers are arguments."""
    name = next(a.name for a in AGENTS.values() if (a.algorithm, a.double) == (algorithm, double))
    agent = make_agent(name, n_step=n_step, capacity=CAPACITY)
    settings = [training.make_setting(ENV, agent, allow_fused=fused) for fused in (False, True)]
    assert len({setting.compute for setting in settings}) == 2
    return [jax.jit(functools.partial(training.learn, setting)) for setting in settings]


def random_run(agent, dtype):
    """In the middle of training: two networks, moments, and a memory of random boards."""
    run = training.init(training.make_setting(ENV, agent), agent.init_scheme(), jax.random.key(0))
    keys = iter(jax.random.split(jax.random.key(1), 100))
    shaken = lambda x: x + 0.02 * jax.random.normal(next(keys), x.shape)
    bits = lambda: jax.random.bits(next(keys), run.replay.observations.shape, jnp.uint8)
    actions = jax.random.randint(next(keys), (CAPACITY + 4,), 0, 3)
    ended = jax.random.bernoulli(next(keys), 0.2, actions.shape)
    memory = replay.Replay(
        bits() & bits(),
        jnp.where(ended, -1 - actions, actions).astype(jnp.int8),
        jax.random.randint(next(keys), actions.shape, -2, 3).astype(jnp.int8),
    )
    moments = run.optimiser._replace(
        m=jax.tree.map(lambda x: shaken(x) * 0.1, run.optimiser.m),
        v=jax.tree.map(lambda x: shaken(x) ** 2, run.optimiser.v),
    )
    networks = jax.tree.map(shaken, (run.params, run.target)), moments
    (params, target), moments = jax.tree.map(lambda x: x.astype(dtype), networks)
    return run._replace(params=params, target=target, optimiser=moments, replay=memory)


def both_updates(agent, dtype):
    run = random_run(agent, dtype)
    words = jax.random.bits(jax.random.key(2), (agent.batch_size,), jnp.uint32)
    hyper = training.hyper(agent)
    for learn in learners(agent.algorithm, agent.double, agent.n_step):
        after, losses = learn(hyper, run, jnp.int32(1_400), words)
        assert {x.dtype for x in jax.tree.leaves(after.params)} == {np.dtype(dtype)}
        moved = jax.tree.map(lambda a, b: a - b, after.params, run.params)
        yield moved, after.optimiser, losses


FORMS = [
    *((name, {}) for name in AGENTS),
    ("rdq", {"protocol": "reference"}),  # one bias for all advantages
    ("rdq", {"n_step": 3}),
    ("bc_qvmax_double", {"n_step": 3, "beta": 0.1, "w": 0.5}),
]


@pytest.mark.parametrize(("name", "options"), FORMS, ids=str)
def test_in_float32_they_agree_but_for_rounding(name, options):
    plain, fused = both_updates(make_agent(name, capacity=CAPACITY, **options), jnp.float32)
    close = functools.partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-7)
    jax.tree.map(close, fused, plain)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(("name", "options"), FORMS, ids=str)
def test_in_float64_they_agree_to_ten_digits(name, options):
    plain, fused = both_updates(make_agent(name, capacity=CAPACITY, **options), jnp.float64)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=0, atol=1e-10), fused, plain)
    for moved in plain[0][:1] + plain[0][2:3] + plain[0][4:]:  # convolution, and A's stream
        assert float(jnp.abs(moved.w).max()) > 1e-6


@pytest.mark.parametrize("name", ["dueling_dqn", "rdq", "dqv_max"])
def test_outputs_are_the_same_and_so_is_the_greedy_action(name):
    agent = make_agent(name, capacity=CAPACITY)
    run, numbers = random_run(agent, jnp.float32), agent.numbers
    plain, fused = (
        training.make_setting(ENV, agent, allow_fused=fused).compute for fused in (False, True)
    )
    seen = run.replay.observations[:50]
    want = jax.jit(plain.outputs)(run.params, seen)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6),
        jax.jit(fused.outputs)(run.params, seen),
        want,
    )
    best = [
        jax.vmap(lambda x, c=c: c.scores(numbers, run.params, x).argmax())(seen)
        for c in (plain, fused)
    ]
    np.testing.assert_array_equal(*best)
    np.testing.assert_array_equal(best[0], want.adv.argmax(axis=1))


def test_what_is_not_the_papers_network_or_not_adam_is_plain(monkeypatch):
    from qduet.deep import optimisers

    monkeypatch.setattr(optimisers, "OPTIMISERS", {})
    optimisers.register_optimiser("none", lambda rate: None)
    computes = [
        training.make_setting(ENV, make_agent("rdq", **options)).compute
        for options in ({}, {"network": "board"}, {"network": "board-one"}, {"optimiser": "none"})
    ]
    fused = [compute.update.__module__.startswith("qduet.deep.fused") for compute in computes]
    assert fused == [True, True, False, False]
