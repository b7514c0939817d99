"""Kernels that are not in use yet, interpreted, against what they may replace."""

import functools
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.agents import make_agent
from qduet.deep import training
from qduet.deep.environments import make
from qduet.deep.fused import kernels

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import gpu_candidates

NAMES = [name for name, *_ in gpu_candidates.cases(1)]
CHOSEN = ("hidden", "descend 16 4", "descend 32 8, no dx", "advantages C=10 4 32 8 4")


@pytest.mark.parametrize("name", CHOSEN)
def test_a_candidate_computes_what_it_may_replace(name, h200):
    candidate, now, args = next(rest for n, *rest in gpu_candidates.cases(3) if n == name)
    got = jax.vmap(functools.partial(candidate, interpret=True))(*args)
    assert gpu_candidates.error(got, jax.vmap(now)(*args)) < 1e-5
    jax.jit(jax.vmap(candidate)).trace(*args).lower(lowering_platforms=("cuda",))


def test_each_candidate_is_named_once():
    assert len(NAMES) == len(set(NAMES)) == 19


def test_training_with_candidates_is_training_without(monkeypatch):
    """An update and four steps, of an agent with V and of one without."""
    agent = make_agent("rdq", capacity=400)
    setting = training.make_setting(make("MinAtar/Breakout-v1"), agent, on_cpu=False)
    run = training.init(setting, agent.init_scheme(), jax.random.key(0))
    words = jax.random.bits(jax.random.key(1), (training.words_per_iteration(setting),))
    hypers = [training.hyper(make_agent(name)) for name in ("rdq", "dqn")]
    both = jax.tree.map(lambda *x: jnp.stack(x), *hypers)
    traced = []

    def after():
        one = lambda hyper: training.iteration(setting, hyper, run, jnp.int32(1000), words)
        new, losses = jax.jit(jax.vmap(one))(both)
        return new.params, new.optimiser.m, losses, new.replay.actions

    for name in ("hidden", "_greedy"):
        kernel = getattr(gpu_candidates, name)

        def noted(*args, kernel=kernel):
            traced.append(kernel.__name__)
            return kernel(*args, interpret=True)

        monkeypatch.setattr(gpu_candidates, name, noted)
    want = after()
    on_cuda = lambda kernel, plain, *args: (
        kernel if getattr(kernel, "__name__", "") == "noted" else plain
    )(*args)
    monkeypatch.setattr(kernels, "on_cuda", on_cuda)
    try:
        gpu_candidates.switch({"hidden", "advantages"})
        got = after()
    finally:
        gpu_candidates.switch(set())
    assert {"hidden", "_greedy"} == set(traced)
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    jax.tree.map(close, got, want)
