"""Training: one run's iteration; many runs by ``vmap``; many iterations by ``scan``.

A run in step t: the environment steps; if t is a multiple of 1,000 the target network is copied;
the transition is stored; if t ≥ 1,000 and t is a multiple of 4, one update (docs/differences.md,
item 13). Cut at the copies, that is

    250 × (4 steps),  then blocks of:  copy,  250 × (update, 4 steps)

so an *iteration* is an update followed by 4 steps, a *block* is 250 of them, and after k blocks a
run has taken 1,000 (k + 1) steps. All runs are in lockstep: the step counter is not batched, hence
a replay write is one slice for all of them.

Seed i's streams are ``fold_in`` of its own key by purpose and iteration, whatever other runs are in
the batch. All random words of a block are drawn in one call.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from qduet.deep import acting, adam, agents, networks, replay
from qduet.deep.acting import Exploration
from qduet.deep.adam import Slot
from qduet.deep.agents import Agent, Family, Losses
from qduet.deep.fused import layers
from qduet.deep.networks import Layer, Params
from qduet.deep.replay import STRIDE, Replay
from qduet.minatar import Environment

T = TypeVar("T")

INIT, EXPERIENCE, EVALUATION = range(3)
"""Purposes of a seed's random streams."""


class Adam(NamedTuple):
    """The optimiser's moving averages."""

    m: Params
    v: Params


class Run(NamedTuple):
    """Everything that one run is, but for the step counter, which all runs share."""

    params: Params
    target: Params
    adam: Adam
    replay: Replay
    env: Any
    observation: jax.Array
    """uint8[bytes]: what the run sees now."""
    key: jax.Array
    """The seed's key."""


class Hyper(NamedTuple):
    """What differs between runs; scalars."""

    family: Family
    learning_rate: jax.Array
    exploration: Exploration


class Setting(NamedTuple):
    """What is the same for all runs of a program."""

    env: Environment
    agent: Agent
    """For what all agents of a job share (batch size, capacity, …); the rest is in `Hyper`."""
    on_cpu: bool = True
    """Whether it is for CPUs alone; GPUs want other programs (`over_runs`, `acting.turns`)."""


def hyper(agent: Agent) -> Hyper:
    """The hyper-parameters of one run of `agent`."""
    schedule = agent.epsilon_final, agent.epsilon_hold_steps, agent.epsilon_decay_steps
    exploration = Exploration(*map(jnp.float32, schedule))
    return Hyper(agent.family(), jnp.float32(agent.learning_rate), exploration)


def init(setting: Setting, uniform: networks.Uniform, seed_key: jax.Array) -> Run:
    """A run that has not taken a step."""
    env = setting.env
    key_net, key_env = jax.random.split(jax.random.fold_in(seed_key, INIT))
    params = networks.init(key_net, env.num_channels, env.num_actions, uniform)
    state = env.reset(jax.random.bits(key_env, (env.num_draws,), jnp.uint32))
    zeros = jax.tree.map(jnp.zeros_like, params)
    observation = env.pack(state)
    return Run(
        params=params,
        target=params,
        adam=Adam(zeros, zeros),
        replay=replay.empty(setting.agent.capacity, observation, env.reward_dtype),
        env=state,
        observation=observation,
        key=jax.random.fold_in(seed_key, EXPERIENCE),
    )


def words_per_iteration(setting: Setting) -> int:
    """Random words that one run uses in one iteration."""
    return setting.agent.batch_size + STRIDE * (setting.env.num_draws + 2)


def draw(setting: Setting, key: jax.Array, step: jax.Array) -> jax.Array:
    """The random words of the iteration at `step`, of the run with this key."""
    now = jax.random.fold_in(key, step)
    return jax.random.bits(now, (words_per_iteration(setting),), jnp.uint32)


def act(setting: Setting, hyper: Hyper, run: Run, step: jax.Array, words: jax.Array) -> Run:
    """Four ε-greedy steps from step counter `step` on, stored in the replay memory."""
    env, params = setting.env, agents.tied(run.params, hyper.family)
    words = words.reshape(STRIDE, env.num_draws + 2)

    def look(observation: jax.Array) -> jax.Array:
        # The best action by Q is the best by A: w V and c mean(A) are the same for all.
        return networks.advantages(params, layers.features(observation[None], params.conv)[0])

    turns = functools.partial(acting.turns, env, hyper.exploration, look, step)
    taken = turns(run.env, run.observation, words, for_gpu=not setting.on_cpu)
    return run._replace(
        env=taken.state,
        observation=taken.observation[-1],
        replay=replay.write(run.replay, step, *taken[1:]),
    )


def _values(hyper: Hyper, params: Params, packed: jax.Array) -> networks.Values:
    """V and A of packed observations ``[batch, bytes]``."""
    used = agents.tied(params, hyper.family)
    top = lambda features: networks.heads(used, networks.hidden(used, features))
    return jax.vmap(top)(layers.features(packed, params.conv))


def learn(
    setting: Setting, hyper: Hyper, run: Run, step: jax.Array, words: jax.Array
) -> tuple[Run, Losses]:
    """One update from a minibatch, after `step` steps.

    The heads and the loss are differentiated by JAX. The layers below follow by hand, so that a
    hidden layer's gradient and Adam's step are one operation.
    """
    agent, params = setting.agent, run.params
    batch = replay.sample(run.replay, step, words)
    next_values = _values(hyper, run.target, batch.next_observations)
    x = layers.features(batch.observations, params.conv)

    def batch_loss(hidden: networks.Hidden, v: Layer, adv: Layer) -> tuple[jax.Array, Losses]:
        used = agents.tied(params._replace(v=v, adv=adv), hyper.family)
        values = jax.vmap(functools.partial(networks.heads, used))(hidden)
        losses = agents.loss(values, next_values, hyper.family, agent.discount, batch)
        return losses.total, losses

    hidden = jax.vmap(functools.partial(networks.hidden, params))(x)
    differentiate = jax.grad(batch_loss, argnums=(0, 1, 2), has_aux=True)
    (dz, dv, dadv), losses = differentiate(hidden, params.v, params.adv)

    dx = tuple(map(layers.input_gradient, dz, (params.v_hidden.w, params.adv_hidden.w)))
    rate = adam.rate(hyper.learning_rate, (step - agent.learn_from) // STRIDE + 1)
    rate = layers.not_before(dx, rate)
    move = lambda slot, gradient: adam.step(slot, gradient, rate, agent.adam_epsilon)
    descend = lambda dz, slot, used: layers.hidden_update(
        x, dz, slot, rate, used, agent.adam_epsilon
    )
    old = jax.tree.map(Slot, params, run.adam.m, run.adam.v)
    dconv = layers.conv_gradient(batch.observations, x, dx, params.conv)
    uses_v = agents.uses_v(hyper.family)
    new: Any = {
        "conv": tuple(map(move, old.conv, dconv)),
        "v_hidden": (descend(dz.v, old.v_hidden.w, uses_v), move(old.v_hidden.b, dz.v.sum(0))),
        "adv_hidden": (
            descend(dz.adv, old.adv_hidden.w, jnp.bool_(True)),
            move(old.adv_hidden.b, dz.adv.sum(0)),
        ),
        "v": tuple(map(move, old.v, dv)),
        "adv": tuple(map(move, old.adv, dadv)),
    }
    pick = lambda i: Params(**{name: Layer(w[i], b[i]) for name, (w, b) in new.items()})
    return run._replace(params=pick(0), adam=Adam(pick(1), pick(2))), losses


def iteration(
    setting: Setting, hyper: Hyper, run: Run, step: jax.Array, words: jax.Array
) -> tuple[Run, Losses]:
    """One update, then four steps, with the words of `draw`; after `step` steps."""
    sampling, acting = jnp.split(words, [setting.agent.batch_size])
    run, losses = learn(setting, hyper, run, step, sampling)
    return act(setting, hyper, run, step, acting), losses


def warm_up(setting: Setting, hyper: Hyper, run: Run) -> Run:
    """The steps before the first update."""

    def body(run: Run, step: jax.Array) -> tuple[Run, None]:
        words = draw(setting, run.key, step)
        return act(setting, hyper, run, step, words[setting.agent.batch_size :]), None

    return jax.lax.scan(body, run, jnp.arange(0, setting.agent.learn_from, STRIDE))[0]


def block(setting: Setting, hyper: Hyper, run: Run, step: jax.Array) -> tuple[Run, Losses]:
    """A copy to the target network, then iterations until the next one is due; mean losses."""
    steps = step + jnp.arange(0, setting.agent.sync_every, STRIDE)
    words = jax.vmap(functools.partial(draw, setting, run.key))(steps)
    body = lambda run, x: iteration(setting, hyper, run, *x)
    run, losses = jax.lax.scan(body, run._replace(target=run.params), (steps, words))
    return run, jax.tree.map(lambda x: x.mean(axis=0), losses)


def settled(setting: Setting, hyper: Hyper, run: Run, step: jax.Array) -> Params:
    """The weights after the update that is due at `step`, a multiple of 1,000: what is evaluated.

    The next block does the same update again, from the same random words.
    """
    words = draw(setting, run.key, step)
    run = run._replace(target=run.params)
    return learn(setting, hyper, run, step, words[: setting.agent.batch_size])[0].params


def over_runs(
    function: Callable[..., T], setting: Setting, hypers: Hyper, runs: Run, *scalars: jax.Array
) -> T:
    """One of the functions above, of all runs: side by side, but on CPUs one after the other.

    There a run's weights then stay in the caches, and its numbers do not depend on other runs.
    """
    one = lambda hyper, run: function(setting, hyper, run, *scalars)
    if setting.on_cpu:
        return jax.lax.map(lambda pair: one(*pair), (hypers, runs), batch_size=1)
    return jax.vmap(one)(hypers, runs)


def blocks(
    setting: Setting, hypers: Hyper, runs: Run, step: jax.Array, count: int
) -> tuple[Run, Losses]:
    """`count` blocks of all runs, from step counter `step` on; mean losses ``[count, runs]``."""
    starts = step + jnp.arange(count) * setting.agent.sync_every
    body = lambda runs, start: over_runs(block, setting, hypers, runs, start)
    return jax.lax.scan(body, runs, starts)
