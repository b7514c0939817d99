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


@functools.cache
def random_run(scheme, dtype):
    """In the middle of training: two networks, moments, and a memory of random boards."""
    setting = training.make_setting(ENV, make_agent("rdq", capacity=CAPACITY))
    run = jax.jit(functools.partial(training.init, setting, scheme))(jax.random.key(0))
    rng, size = np.random.default_rng(1), CAPACITY + 4
    shaken = lambda x: np.asarray(x) + 0.02 * rng.standard_normal(x.shape)
    bits = lambda: rng.integers(256, size=run.replay.observations.shape, dtype=np.uint8)
    actions, ended = rng.integers(3, size=size), rng.random(size) < 0.2
    memory = replay.Replay(
        jnp.asarray(bits() & bits()),
        jnp.asarray(np.where(ended, -1 - actions, actions), jnp.int8),
        jnp.asarray(rng.integers(-2, 3, size), jnp.int8),
    )
    moments = run.optimiser._replace(
        m=jax.tree.map(lambda x: shaken(x) * 0.1, run.optimiser.m),
        v=jax.tree.map(lambda x: shaken(x) ** 2, run.optimiser.v),
    )
    networks = jax.tree.map(shaken, (run.params, run.target)), moments
    (params, target), moments = jax.tree.map(lambda x: jnp.asarray(x, dtype), networks)
    return run._replace(params=params, target=target, optimiser=moments, replay=memory)


def both_updates(agent, dtype):
    run = random_run(agent.init_scheme(), dtype)
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
    run, numbers = random_run(agent.init_scheme(), jnp.float32), agent.numbers
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
    fused = [compute.outputs.__module__.startswith("qduet.deep.fused") for compute in computes]
    assert fused == [True, True, False, False]
