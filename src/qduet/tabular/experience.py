"""Experience in a finite MDP: the random numbers of a seed, and the transitions they lead to.

`draw_seed` draws all random numbers of a seed at once; everything after that is a pure function of
them. So a seed gives the same run whichever sweep or device it runs on, and rules can be compared
on common random numbers.
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
    """``[S]``: cumulative distribution of the first state."""
    behaviour_cdf: jax.Array
    """``[S, A]``: cumulative b(a | s)."""

    @classmethod
    def of(cls, mdp: MDP, behaviour: Floats, dtype: Any) -> "World":
        """`mdp` under the policy ``behaviour[s, a]``."""
        real = lambda x: jnp.asarray(x, dtype)
        return cls(
            next_cdf=real(mdp.p.cumsum(axis=-1)),
            reward=real(mdp.reward),
            discount=real(np.where(mdp.terminal, 0.0, mdp.discount)),
            terminal=jnp.asarray(mdp.terminal),
            start_cdf=real(mdp.start.cumsum()),
            behaviour_cdf=real(behaviour.cumsum(axis=-1)),
        )


class StepDraws(NamedTuple):
    """The random numbers of one step; all but `noise` are uniform in [0, 1)."""

    action: Any
    """Picks the action."""
    next_state: Any
    """Picks the next state."""
    explore: Any
    """Decides whether an ε-greedy behaviour explores."""
    restart: Any
    """Picks the first state of the next episode, should this step end one."""
    noise: Any
    """Is added to the reward."""


class SeedDraws(NamedTuple):
    """All random numbers of one seed."""

    v: Any
    """``[S]``: V_0."""
    adv: Any
    """``[S, A]``: A_0."""
    start: Any
    """Uniform in [0, 1); picks the first state."""
    steps: StepDraws
    """Fields ``[steps]``."""


def draw_seed(seed: int, mdp: MDP, steps: int, init_std: float, dtype: Any) -> SeedDraws:
    """The random numbers of a seed; V_0 and A_0 are drawn from N(0, init_std²).

    Each purpose has a generator of its own: drawing more for one changes no number of another.
    Numbers are drawn in double precision and then rounded to `dtype`, so that a seed means the same
    run in both precisions.
    """
    generator = lambda purpose: np.random.default_rng([seed, purpose])
    real = lambda x: np.asarray(x, dtype)
    one = np.dtype(dtype).type(1)
    below_one = lambda x: np.minimum(real(x), np.nextafter(one, 0 * one))  # rounding can reach 1
    uniform = lambda purpose: below_one(generator(purpose).random(steps))
    initial = generator(0)
    return SeedDraws(
        v=real(init_std * initial.standard_normal(mdp.num_states)),
        adv=real(init_std * initial.standard_normal((mdp.num_states, mdp.num_actions))),
        start=below_one(generator(1).random(())),
        steps=StepDraws(
            action=uniform(2),
            next_state=uniform(3),
            explore=uniform(4),
            restart=uniform(5),
            noise=real(mdp.reward_std * generator(6).standard_normal(steps)),
        ),
    )


def pick(cdf: jax.Array, uniform: jax.Array) -> jax.Array:
    """The index at which a cumulative distribution ``[n]`` passes `uniform`."""
    return (uniform >= cdf[:-1]).sum(dtype=jnp.int32)


def take(
    world: World, state: jax.Array, action: jax.Array, draws: StepDraws
) -> tuple[jax.Array, Transition]:
    """The transition that follows `action` in `state`, behind the state of the next step.

    If the transition ended the episode, the next step begins in a first state.
    """
    next_state = pick(world.next_cdf[state, action], draws.next_state)
    reward = world.reward[state, action, next_state] + draws.noise
    t = Transition(state, action, reward, world.discount[next_state], next_state)
    restart = pick(world.start_cdf, draws.restart)
    return jnp.where(world.terminal[next_state], restart, next_state), t


def trajectory(world: World, draws: SeedDraws) -> Transition:
    """The transitions of one seed under the behaviour policy: fields ``[steps]``."""

    def step(state: jax.Array, draws: StepDraws) -> tuple[jax.Array, Transition]:
        action = pick(world.behaviour_cdf[state], draws.action)
        return take(world, state, action, draws)

    return jax.lax.scan(step, pick(world.start_cdf, draws.start), draws.steps)[1]
