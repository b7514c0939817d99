"""What makes the games fast: small states, and steps without loops, branches or indexing."""

import jax
import jax.numpy as jnp
import pytest
from jax.extend.core import jaxprs_in_params

from qduet.minatar import ENV_IDS, make

SLOW = {"while", "scan", "cond", "gather", "scatter", "sort", "cumsum", "dynamic_slice", "top_k"}


def primitives(jaxpr):
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for inner in jaxprs_in_params(equation.params):
            yield from primitives(inner)


def batched_step(env, states, actions, draws):
    result = jax.vmap(env.step)(states, actions, draws)
    return result, jax.vmap(env.observe)(result.state), jax.vmap(env.pack)(result.state)


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_a_step_has_no_loop_branch_or_index(env_id):
    env = make(env_id)
    draws = jnp.zeros((2, env.num_draws), jnp.uint32)
    states = jax.vmap(env.reset)(draws)
    actions = jnp.zeros(2, jnp.int32)
    jaxpr = jax.make_jaxpr(lambda *args: batched_step(env, *args))(states, actions, draws)
    used = set(primitives(jaxpr.jaxpr))
    assert "select_n" in used  # the walk has looked inside
    assert {name for name in used if name.split("-")[0] in SLOW} == set()


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_states_are_small_and_outcomes_typed(env_id):
    env = make(env_id)
    draws = jnp.zeros(env.num_draws, jnp.uint32)
    state = jax.eval_shape(env.reset, draws)
    result = jax.eval_shape(env.step, state, jnp.int32(0), draws)
    assert result.state == state  # a fixed point of shapes and dtypes, so that it can be scanned
    assert (result.reward.shape, result.reward.dtype) == ((), jnp.float32)
    assert env.reward_dtype == jnp.int8
    assert (result.terminated.shape, result.terminated.dtype) == ((), jnp.bool_)
    assert sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state)) <= 512
    observation = jax.eval_shape(env.observe, state)
    assert (observation.shape, observation.dtype) == ((10, 10, env.num_channels), jnp.bool_)
