"""Training: one run's iteration; many runs by ``vmap``; many iterations by ``scan``.

In step t a run steps its environment; copies the online network to the target network if t is a
multiple of 1,000; stores the transition; and makes one update if t ≥ 1,000 and t is a multiple of 4
(docs/differences.md, item 13). From copy to copy, that is

    250 × (4 steps),  then blocks of:  copy,  250 × (update, 4 steps)

so an *iteration* is an update followed by 4 steps, a *block* is 250 iterations, and after k blocks
a run has taken 1,000 (k + 1) steps. All runs take their steps together: the step counter is not
batched, hence a replay write is one slice for all runs.

A run draws its random numbers from its seed's key, ``fold_in`` a purpose and a step. A seed gives
the same run whichever other runs share the job. A block's random words are drawn in one call.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from qduet.agents import Agent
from qduet.deep import acting, fused, networks, plain, replay
from qduet.deep.acting import Exploration
from qduet.deep.algorithms import Algorithm, Losses, Numbers, Transition, algorithm_of
from qduet.deep.environment import Environment
from qduet.deep.layers import InitScheme, Outputs
from qduet.deep.networks import Network
from qduet.deep.optimisers import ADAM, make_optimiser
from qduet.deep.plain import Computation
from qduet.deep.replay import STRIDE, Replay

T = TypeVar("T")

INIT, EXPERIENCE, EVALUATION = range(3)
"""Purposes of a seed's random streams."""


class Run(NamedTuple):
    """The state of one run, except the step counter, which all runs share."""

    params: Any
    """The online network."""
    target: Any
    """The target network."""
    optimiser: Any
    """The optimiser's state; Adam's are `Moments` of the structure of `params`."""
    replay: Replay
    env: Any
    """The environment's state."""
    observation: jax.Array
    """the current observation, encoded"""
    key: jax.Array
    """The key of the run's experience, made from its seed."""


class Hyper(NamedTuple):
    """What may differ between runs of one program."""

    numbers: Numbers
    """The algorithm's."""
    learning_rate: jax.Array
    """float32[]"""
    exploration: Exploration
    shared_bias: jax.Array
    """bool[]: whether the advantage head has one bias for all actions"""


class Setting(NamedTuple):
    """What is the same for all runs of a program; `make_setting` makes it."""

    env: Environment
    agent: Agent
    """Any agent of the program: only settings that all its agents share are read from it."""
    algorithm: Algorithm
    network: Network
    compute: Computation
    """How outputs and updates are computed."""
    is_fused: bool
    """Whether by `fused`."""
    on_cpu: bool = True
    """Whether the program is for CPUs alone: see `over_runs` and `act`."""


def make_setting(
    env: Environment, agent: Agent, *, on_cpu: bool = True, allow_fused: bool = True
) -> Setting:
    """The setting of programs for `agent` and for agents that differ from it in `Hyper` alone.

    The update is fused if the network is the paper's on packed boards and the optimiser Adam.
    """
    algorithm, network = algorithm_of(agent.algorithm), networks.make_network(agent.network, env)
    is_board = env.board and networks.name_of(agent.network, env) == networks.BOARD
    is_fused = is_board and agent.optimiser == ADAM and allow_fused
    if is_fused:
        compute = fused.computation(algorithm, agent.adam_epsilon)
    else:
        optimiser = make_optimiser(agent.optimiser, agent.adam_epsilon)
        compute = plain.computation(network, env, optimiser, algorithm)
    return Setting(env, agent, algorithm, network, compute, is_fused, on_cpu)


def hyper(agent: Agent) -> Hyper:
    """The hyper-parameters of one run of `agent`."""
    schedule = agent.epsilon_final, agent.epsilon_hold_steps, agent.epsilon_decay_steps
    return Hyper(
        numbers=jax.tree.map(jnp.float32, agent.numbers),
        learning_rate=jnp.float32(agent.learning_rate),
        exploration=Exploration(*map(jnp.float32, schedule)),
        shared_bias=jnp.bool_(agent.has_shared_bias()),
    )


def init(setting: Setting, scheme: InitScheme, seed_key: jax.Array) -> Run:
    """A run that has not taken a step."""
    env, network = setting.env, setting.network
    key_net, key_env = jax.random.split(jax.random.fold_in(seed_key, INIT))
    more = (scheme,) if network.built_in else ()
    params = network.init(key_net, networks.spec(env), env.num_actions, *more)
    state = env.reset(jax.random.bits(key_env, (env.num_draws,), jnp.uint32))
    observation = env.encode(state)
    return Run(
        params=params,
        target=params,
        optimiser=setting.compute.start(params),
        replay=replay.empty(setting.agent.capacity, observation, env.reward_dtype, env.num_actions),
        env=state,
        observation=observation,
        key=jax.random.fold_in(seed_key, EXPERIENCE),
    )


def words_per_iteration(setting: Setting) -> int:
    """Random words that one run uses in one iteration."""
    return setting.agent.batch_size + STRIDE * (setting.env.num_draws + 2)


def draw(setting: Setting, key: jax.Array, step: jax.Array) -> jax.Array:
    """The random words of the iteration at `step`, of the run with this key."""
    step_key = jax.random.fold_in(key, step)
    return jax.random.bits(step_key, (words_per_iteration(setting),), jnp.uint32)


def act(setting: Setting, hyper: Hyper, run: Run, step: jax.Array, words: jax.Array) -> Run:
    """Takes four ε-greedy steps, after `step` earlier ones; writes them to the replay memory."""
    env = setting.env
    words = words.reshape(STRIDE, env.num_draws + 2)
    scores_of = functools.partial(setting.compute.scores, hyper.numbers, run.params)
    turns = fused.turns if env.board and not setting.on_cpu else acting.turns
    taken = turns(env, hyper.exploration, scores_of, step, run.env, run.observation, words)
    return run._replace(
        env=taken.state,
        observation=taken.observation[-1],
        replay=replay.write(run.replay, step, *taken[1:]),
    )


def learn(
    setting: Setting, hyper: Hyper, run: Run, step: jax.Array, words: jax.Array
) -> tuple[Run, Losses]:
    """One update from a minibatch, after `step` steps; returns the mean losses before it."""
    agent, algorithm, outputs_of = setting.agent, setting.algorithm, setting.compute.outputs
    batch = replay.sample(
        run.replay,
        step,
        words,
        discount=agent.discount,
        n_step=agent.n_step,
        truncates=setting.env.truncates,
    )
    target, online = (functools.partial(outputs_of, net) for net in (run.target, run.params))
    of_one: Any = algorithm.double_loss if agent.double else algorithm.loss

    def loss(outputs: Outputs) -> Losses:
        transitions = Transition(
            online=outputs,
            target=target(batch.observations),  # what the loss does not read is not computed
            next_online=online(batch.next_observations),
            next_target=target(batch.next_observations),
            action=batch.actions,
            reward=batch.rewards,
            discount=batch.discounts,
        )
        each = jax.vmap(of_one, (None, 0))(hyper.numbers, transitions)
        mean = functools.partial(_mean, batch.weights)
        return Losses(mean(each.total), 0.5 * mean(each.td_error**2), mean(each.q))

    params, state, losses = setting.compute.update(
        loss,
        run.params,
        run.optimiser,
        batch.observations,
        hyper.learning_rate,
        (step - agent.learn_from) // STRIDE + 1,
        jnp.asarray(algorithm.uses_v(hyper.numbers)),
        hyper.shared_bias,
    )
    return run._replace(params=params, optimiser=state), losses


def _mean(weights: jax.Array | None, x: jax.Array) -> jax.Array:
    """The mean of `x` ``[n]`` over the transitions that are not left out."""
    if weights is None:
        return x.mean()
    return jnp.where(weights > 0, x, 0.0).sum() / jnp.maximum(weights.sum(), 1.0)


def iteration(
    setting: Setting, hyper: Hyper, run: Run, step: jax.Array, words: jax.Array
) -> tuple[Run, Losses]:
    """One update, then four steps, after `step` earlier ones; `words` are what `draw` gives."""
    for_learning, for_acting = jnp.split(words, [setting.agent.batch_size])
    run, losses = learn(setting, hyper, run, step, for_learning)
    return act(setting, hyper, run, step, for_acting), losses


def warm_up(setting: Setting, hyper: Hyper, run: Run) -> Run:
    """The steps before the first update."""

    def body(run: Run, step: jax.Array) -> tuple[Run, None]:
        words = draw(setting, run.key, step)
        return act(setting, hyper, run, step, words[setting.agent.batch_size :]), None

    return jax.lax.scan(body, run, jnp.arange(0, setting.agent.learn_from, STRIDE))[0]


def block(setting: Setting, hyper: Hyper, run: Run, step: jax.Array) -> tuple[Run, Losses]:
    """Copies to the target network and iterates until the next copy; returns the mean losses."""
    steps = step + jnp.arange(0, setting.agent.sync_every, STRIDE)
    words = jax.vmap(functools.partial(draw, setting, run.key))(steps)
    body = lambda run, x: iteration(setting, hyper, run, *x)
    run, losses = jax.lax.scan(body, run._replace(target=run.params), (steps, words))
    return run, jax.tree.map(lambda x: x.mean(axis=0), losses)


def weights_to_evaluate(setting: Setting, hyper: Hyper, run: Run, step: jax.Array) -> Any:
    """The weights after the update that is due at `step`, the end of a block.

    The run itself stays as it is: the next block begins with the same update, from the same random
    words.
    """
    words = draw(setting, run.key, step)
    run = run._replace(target=run.params)
    return learn(setting, hyper, run, step, words[: setting.agent.batch_size])[0].params


def over_runs(
    function: Callable[..., T], setting: Setting, hypers: Hyper, runs: Run, *scalars: jax.Array
) -> T:
    """Calls `function`, one of those above, for all runs: at once, but on CPUs one by one.

    On CPUs a run's weights then stay in the caches, and its bits do not depend on the other runs.
    """
    one = lambda hyper, run: function(setting, hyper, run, *scalars)
    if setting.on_cpu:
        # With an axis of one run, products of the plain update take 1.5 times as long; the fused
        # update was written for such an axis, and its bits depend on it.
        size = 1 if setting.is_fused else None
        return jax.lax.map(lambda pair: one(*pair), (hypers, runs), batch_size=size)
    return jax.vmap(one)(hypers, runs)
