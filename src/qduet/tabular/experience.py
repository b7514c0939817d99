"""Experience in a finite MDP: the random numbers of a seed, and the transitions they lead to.

`Draws` gives the random numbers of a seed, some steps at a time, so that their memory is bounded
however many steps a run has; everything after that is a pure function of them. So a seed gives the
same run whichever sweep or device it runs on, and rules can be compared on common random numbers.
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
    """``[S, A, k]``: cumulative probabilities of the successors; 1 from the last likely one on."""
    next_state: jax.Array
    """``[S, A, k]`` int32: the successors."""
    reward: jax.Array
    """``[S, A, k]``: what the transition to each of them pays."""
    discount: jax.Array
    """``[S]``: γ, or 0 for a terminal state."""
    terminal: jax.Array
    """``[S]`` bool"""
    start_cdf: jax.Array
    """``[n]``: cumulative distribution of the first state, over the states that can be it."""
    start_state: jax.Array
    """``[n]`` int32: those states."""
    behaviour_cdf: jax.Array
    """``[S, A]``: cumulative b(a | s)."""

    @classmethod
    def of(cls, mdp: MDP, behaviour: Floats, dtype: Any) -> "World":
        """`mdp` under the policy ``behaviour[s, a]``."""
        # Not by jnp.asarray, which compiles a small program for each shape.
        real = lambda x: jax.device_put(np.asarray(x, dtype))
        next_state, probability = mdp.successors
        next_cdf = probability.cumsum(axis=-1)
        next_cdf[next_cdf >= next_cdf[..., -1:]] = 1.0
        start_state = np.flatnonzero(mdp.start).astype(np.int32)
        return cls(
            next_cdf=real(next_cdf),
            next_state=jax.device_put(next_state),
            reward=real(mdp.successor_reward),
            discount=real(np.where(mdp.terminal, 0.0, mdp.discount)),
            terminal=jax.device_put(mdp.terminal),
            start_cdf=real(mdp.start[start_state].cumsum()),
            start_state=jax.device_put(start_state),
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


class Draws:
    """The random numbers of a seed, drawn in turn; V_0 and A_0 are drawn from N(0, init_std²).

    Each purpose has a generator of its own: drawing more for one changes no number of another.
    Numbers are drawn in double precision and then rounded to `dtype`, so that a seed means the same
    run in both precisions.
    """

    def __init__(self, seed: int, mdp: MDP, init_std: float, dtype: Any) -> None:
        self._mdp, self._init_std, self._dtype = mdp, init_std, dtype
        self._generators = [np.random.default_rng([seed, purpose]) for purpose in range(7)]

    def first(self, steps: int) -> SeedDraws:
        """The numbers of the start and of the first steps; to be called once, before `next`."""
        initial, start = self._generators[:2]
        shape = self._mdp.num_states, self._mdp.num_actions
        return SeedDraws(
            v=np.asarray(self._init_std * initial.standard_normal(shape[0]), self._dtype),
            adv=np.asarray(self._init_std * initial.standard_normal(shape), self._dtype),
            start=self._below_one(start.random(())),
            steps=self.next(steps),
        )

    def next(self, steps: int) -> StepDraws:
        """The numbers of the next steps."""
        action, next_state, explore, restart = (
            self._below_one(generator.random(steps)) for generator in self._generators[2:6]
        )
        noise = np.zeros(steps, self._dtype)
        if self._mdp.reward_std:
            normal = self._generators[6].standard_normal(steps)
            noise = np.asarray(self._mdp.reward_std * normal, self._dtype)
        return StepDraws(action, next_state, explore, restart, noise)

    def _below_one(self, uniform: Any) -> Any:
        one = np.dtype(self._dtype).type(1)
        rounded = np.asarray(uniform, self._dtype)  # which can reach 1
        return np.minimum(rounded, np.nextafter(one, 0 * one))


def draw_seed(seed: int, mdp: MDP, steps: int, init_std: float, dtype: Any) -> SeedDraws:
    """All random numbers of a seed at once."""
    return Draws(seed, mdp, init_std, dtype).first(steps)


FEW = 48
"""Numbers of a cumulative distribution that are compared at once; a longer one is searched.

A step of a walk that compares some sixty numbers or more is too large for the native loop of XLA's
CPU compiler. It then runs each operation as a task, which takes twenty times as long.
"""


def pick(cdfs: jax.Array, uniform: jax.Array, *at: jax.Array) -> jax.Array:
    """The index at which the cumulative distribution ``cdfs[at]``, ``[n]``, passes `uniform`."""
    last = cdfs.shape[-1] - 1
    if last <= FEW:
        return (uniform >= cdfs[at][:-1]).sum(dtype=jnp.int32)
    found = jnp.int32(0)  # so many numbers are known to be passed
    for power in reversed(range(last.bit_length())):
        more = found + 2**power
        passed = (more <= last) & (uniform >= cdfs[(*at, jnp.minimum(more, last) - 1)])
        found = jnp.where(passed, more, found)
    return found


def first_states(world: World, uniform: jax.Array) -> jax.Array:
    """The first states of episodes, one for each number of `uniform`, of any shape."""
    index = jnp.searchsorted(world.start_cdf[:-1], uniform, side="right")
    return world.start_state[index]


def with_first_states(world: World, steps: StepDraws) -> StepDraws:
    """`steps` with the first state of the next episode as `restart`.

    There may be a million first states, too many to search through at every step of a loop.
    """
    return steps._replace(restart=first_states(world, steps.restart))


def take(
    world: World, state: jax.Array, action: jax.Array, draws: StepDraws
) -> tuple[jax.Array, Transition]:
    """The transition that follows `action` in `state`, behind the state of the next step.

    `draws` come from `with_first_states`. If the transition ended the episode, the next step begins
    in the first state that they name.
    """
    chosen = state, action, pick(world.next_cdf, draws.next_state, state, action)
    next_state = world.next_state[chosen]
    reward = world.reward[chosen] + draws.noise
    t = Transition(state, action, reward, world.discount[next_state], next_state)
    return jnp.where(world.terminal[next_state], draws.restart, next_state), t


def walk(world: World, state: jax.Array, steps: StepDraws) -> tuple[jax.Array, Transition]:
    """The state after `steps` (fields ``[n]``) from `state`, and the transitions on the way."""

    def step(state: jax.Array, draws: StepDraws) -> tuple[jax.Array, Transition]:
        action = pick(world.behaviour_cdf, draws.action, state)
        return take(world, state, action, draws)

    return jax.lax.scan(step, state, with_first_states(world, steps))


def trajectory(world: World, draws: SeedDraws) -> Transition:
    """The transitions of one seed under the behaviour policy: fields ``[steps]``."""
    return walk(world, first_states(world, draws.start), draws.steps)[1]
