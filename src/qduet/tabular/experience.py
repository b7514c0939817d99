"""Experience in a finite MDP: what is random about a seed, and the transitions that follow from it.

All random numbers of a seed are drawn at once, by `draw_chance`; everything after that is a pure
function of them. So a seed is the same run in whatever sweep and on whatever device it appears, and
rules can be compared on common random numbers.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qduet.tabular.mdp import MDP, Floats
from qduet.tabular.rules import Transition


class World(NamedTuple):
    """An MDP and a behaviour policy as arrays on the device, all of one dtype."""

    next_cdf: jax.Array
    """``[S, A, S]``: cumulative p(s' | s, a)."""
    reward: jax.Array
    """``[S, A, S]``"""
    discount: jax.Array
    """``[S]``: γ, or 0 for a terminal state."""
    terminal: jax.Array
    """``[S]`` bool"""
    start_cdf: jax.Array
    """``[S]``"""
    behaviour_cdf: jax.Array
    """``[S, A]``"""

    @classmethod
    def of(cls, mdp: MDP, behaviour: Floats, dtype: Any) -> "World":
        """The world of `mdp` under the policy ``behaviour[s, a]``."""
        real = lambda x: jnp.asarray(x, dtype)
        return cls(
            next_cdf=real(mdp.p.cumsum(axis=-1)),
            reward=real(mdp.reward),
            discount=real(np.where(mdp.terminal, 0.0, mdp.discount)),
            terminal=jnp.asarray(mdp.terminal),
            start_cdf=real(mdp.start.cumsum()),
            behaviour_cdf=real(behaviour.cumsum(axis=-1)),
        )


class Luck(NamedTuple):
    """The random numbers of one step: uniform in [0, 1), but for `noise`."""

    action: Any
    next_state: Any
    explore: Any
    """Decides whether an ε-greedy behaviour explores."""
    restart: Any
    """Decides the state in which the next episode starts."""
    noise: Any
    """Added to the reward."""


class Chance(NamedTuple):
    """All that is random about one seed."""

    v: Any
    """``[S]``: V_0."""
    adv: Any
    """``[S, A]``: A_0."""
    start: Any
    """Uniform; decides the first state."""
    luck: Luck
    """Fields ``[steps]``."""


def draw_chance(seed: int, mdp: MDP, steps: int, init_std: float, dtype: Any) -> Chance:
    """The random numbers of a seed; V_0 and A_0 are drawn from N(0, init_std²).

    Each purpose has a generator of its own, so that none moves when another one is drawn from more
    or less. Numbers are drawn in double precision and then rounded, so that a seed is the same run
    in either.
    """
    generator = lambda purpose: np.random.default_rng([seed, purpose])
    uniform = lambda purpose: generator(purpose).random(steps)
    initial = generator(0)
    chance = Chance(
        v=init_std * initial.standard_normal(mdp.num_states),
        adv=init_std * initial.standard_normal((mdp.num_states, mdp.num_actions)),
        start=generator(1).random(()),
        luck=Luck(
            action=uniform(2),
            next_state=uniform(3),
            explore=uniform(4),
            restart=uniform(5),
            noise=mdp.reward_std * generator(6).standard_normal(steps),
        ),
    )
    rounded = jax.tree.map(lambda x: np.asarray(x, dtype), chance)
    one = np.dtype(dtype).type(1)
    below_one = lambda x: np.minimum(x, np.nextafter(one, 0 * one))  # rounding can reach 1
    luck = Luck(*map(below_one, rounded.luck))._replace(noise=rounded.luck.noise)
    return rounded._replace(start=below_one(rounded.start), luck=luck)


def draw(cdf: jax.Array, uniform: jax.Array) -> jax.Array:
    """The index at which a cumulative distribution ``[n]`` passes `uniform`."""
    return (uniform >= cdf[:-1]).sum(dtype=jnp.int32)


def first_state(world: World, chance: Chance) -> jax.Array:
    """The state in which a seed's first episode starts."""
    return draw(world.start_cdf, chance.start)


def act(world: World, state: jax.Array, action: jax.Array, luck: Luck) -> Transition:
    """What follows `action` in `state`."""
    next_state = draw(world.next_cdf[state, action], luck.next_state)
    reward = world.reward[state, action, next_state] + luck.noise
    return Transition(state, action, reward, world.discount[next_state], next_state)


def proceed(world: World, t: Transition, luck: Luck) -> jax.Array:
    """The state in which the next step begins: a new start after a terminal state."""
    restart = draw(world.start_cdf, luck.restart)
    return jnp.where(world.terminal[t.next_state], restart, t.next_state)


def trajectory(world: World, chance: Chance) -> Transition:
    """The transitions of one seed under the behaviour policy: fields ``[steps]``."""

    def step(state: jax.Array, luck: Luck) -> tuple[jax.Array, Transition]:
        action = draw(world.behaviour_cdf[state], luck.action)
        t = act(world, state, action, luck)
        return proceed(world, t, luck), t

    return jax.lax.scan(step, first_state(world, chance), chance.luck)[1]
