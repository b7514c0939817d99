"""Native loops in awkward shapes: XLA may abort on one, so a process of its own runs them."""

import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.bench import restatement
from qduet.core import xla
from qduet.tabular.experience import World, draw_seed, trajectory
from qduet.tabular.mdp import garnet, uniform_policy
from qduet.tabular.values import optimum

SHAPES = ((1, 2, 2, 1), (2, 1, 1, 1), (3, 2, 61, 1), (16, 3, 1, 30), (2, 18, 2, 5))
"""|S|, |A|, step sizes, record_every."""
RULES = ("q_learning", "bc_qvmax", "dueling_q", "soft_rdq")
STEPS = 30

CHILD = """
import json, sys, jax
from qduet.tabular.mdp import garnet, uniform_policy
from qduet.tabular.rules import make_rule
from qduet.tabular.sweeps import sweep
for s, a, k, every in json.loads(sys.argv[1]):
    mdp = garnet(jax.random.key(s), num_states=s, num_actions=a, branching=min(2, s), discount=0.9)
    rules = {name: make_rule(name, uniform_policy(mdp)) for name in json.loads(sys.argv[2])}
    alphas = [0.4 * (i + 1) / k for i in range(k)]
    curves = sweep(mdp, rules, alphas, seeds=[0], steps=30, record_every=every, init_std=1.0)
    print(json.dumps({name: c.percent[0, :, -1].tolist() for name, c in curves.items()}))
"""


@pytest.fixture(scope="module")
def outputs():
    command = [sys.executable, "-c", CHILD, json.dumps(SHAPES), json.dumps(RULES)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("which", range(len(SHAPES)), ids=[str(shape) for shape in SHAPES])
@pytest.mark.parametrize("name", RULES)
def test_native_loops_are_what_the_restatement_computes(outputs, which, name):
    num_states, num_actions, num_alphas, _ = SHAPES[which]
    mdp = garnet(
        jax.random.key(num_states),
        num_states=num_states,
        num_actions=num_actions,
        branching=min(2, num_states),
        discount=0.9,
    )
    draws = draw_seed(0, mdp, STEPS, 1.0, np.float32)
    world = World.of(mdp, uniform_policy(mdp), np.float32)
    alphas = 0.4 * (1 + np.arange(num_alphas)) / num_alphas
    wide = lambda x: np.repeat(np.float64(x)[..., None], num_alphas, axis=-1)
    tables = restatement.first_tables(name, wide(draws.v), wide(draws.adv))
    target = optimum(mdp).q[..., None]
    error = lambda: np.sqrt(((restatement.read_out(name, tables) - target) ** 2).mean(axis=(0, 1)))
    first, update = error(), restatement.update_of(name, uniform_policy(mdp))
    for t in zip(*(np.asarray(field).tolist() for field in trajectory(world, draws)), strict=True):
        update(tables, *t, alphas)
    np.testing.assert_allclose(outputs[which][name], 100 * error() / first, rtol=1e-4)


@pytest.mark.parametrize("num_actions", [1, 2, 7])
def test_loops_over_actions_are_max_and_sum(num_actions):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(num_actions, 3)))
    largest = jax.jit(lambda: xla.max_over_actions(lambda a: x[a], num_actions))()
    total = jax.jit(lambda: xla.sum_over_actions(lambda a: x[a], num_actions))()
    np.testing.assert_array_equal(largest, np.asarray(x).max(axis=0))
    np.testing.assert_allclose(total, np.asarray(x).sum(axis=0), rtol=1e-6)


def test_a_native_function_is_its_function():
    function = lambda x, y: (x @ y, x + 1)
    x, y = jnp.arange(6.0).reshape(2, 3), jnp.arange(3.0)
    ours = jax.jit(xla.native_function(function))(x, y)
    jax.tree.map(np.testing.assert_array_equal, ours, function(x, y))


def test_options_that_a_compiler_does_not_know_are_left_out():
    known = {"xla_backend_optimization_level": 1}
    assert xla.known_options(known) == known
    assert xla.known_options({**known, "xla_no_such_option": 1}) == known


def test_loops_are_compiled_with_the_options(monkeypatch):
    monkeypatch.setattr(xla, "_fewer_optimisations", lambda: {"xla_no_such_option": 1})
    with pytest.raises(jax.errors.JaxRuntimeError, match="xla_no_such_option"):
        xla.jit_loops(lambda x: x + 1)(jnp.arange(3))


def test_a_value_computed_once_is_unchanged():
    for value in (jnp.uint32(0xDEADBEEF), jnp.array([True, False]), jnp.uint32(0)):
        once = xla.computed_once(value)
        assert once.dtype == value.dtype
        np.testing.assert_array_equal(once, value)
