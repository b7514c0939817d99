"""Wrappers around a game: auto-reset, sticky actions, a smaller action set, checked input.

`wrap` puts them together in the order that gives the original's behaviour. Sticky actions stand
outside auto-reset: in the original the last action survives the end of an episode.
"""

import functools
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from qduet.core.errors import InputError
from qduet.core.xla import computed_once
from qduet.minatar import random_words
from qduet.minatar.environment import ACTION_NAMES, NOOP, Environment, State, StepResult

AnyEnvironment = TypeVar("AnyEnvironment", bound=Any)
"""An `Environment`, or another NamedTuple that has its `num_draws`, `reset` and `step`."""


class StickyState(NamedTuple):
    """A game's state with the action it executed last."""

    game: State
    """The state of the game inside."""
    last_action: jax.Array
    """int32[]: index into `ACTION_NAMES`. `reset` makes it noop, auto-reset keeps it."""


def auto_reset(env: Environment) -> Environment:
    """A step that ends an episode returns its reward, `terminated`, and the next episode's start.

    The next episode starts from the draws of that same step. In MinAtar no draw decides both the
    end of an episode and the next one's start; for games where one does, see `separate_draws`.
    """

    def step(state: State, action: jax.Array, draws: jax.Array) -> StepResult:
        after, reward, terminated = env.step(state, action, draws)
        terminated = computed_once(terminated)
        fresh = env.reset(draws)
        choose = lambda new, old: jnp.where(terminated, new, old)
        return StepResult(jax.tree.map(choose, fresh, after), reward, terminated)

    return env._replace(step=step)


def sticky_actions(env: Environment, probability: float) -> Environment:
    """Repeats the last executed action with this probability; the first draw decides."""

    def reset(draws: jax.Array) -> StickyState:
        return StickyState(env.reset(draws[1:]), jnp.int32(NOOP))

    def step(state: StickyState, action: jax.Array, draws: jax.Array) -> StepResult:
        repeat = random_words.happens(draws[0], probability)
        executed = jnp.where(repeat, state.last_action, action)
        after, reward, terminated = env.step(state.game, executed, draws[1:])
        return StepResult(StickyState(after, executed), reward, terminated)

    return env._replace(
        num_draws=env.num_draws + 1,
        reset=reset,
        step=step,
        rows=lambda state: env.rows(state.game),
    )


def action_set(env: Environment, actions: tuple[int, ...]) -> Environment:
    """Turns the agent's action i into `actions[i]` of the full set, any other number into noop."""

    def step(state: State, action: jax.Array, draws: jax.Array) -> StepResult:
        chosen = sum(jnp.where(action == i, full, NOOP) for i, full in enumerate(actions))
        return env.step(state, jnp.asarray(chosen, jnp.int32), draws)

    return env._replace(actions=actions, step=step)


def separate_draws(game: AnyEnvironment) -> AnyEnvironment:
    """Gives `reset` draws of its own, so that `step` and the reset after it share none."""
    half = game.num_draws
    as_arrays = functools.partial(jax.tree.map, jnp.asarray)  # a game may give Python numbers
    return game._replace(
        num_draws=2 * half,
        reset=lambda draws: as_arrays(game.reset(draws[half:])),
        step=lambda state, action, draws: as_arrays(game.step(state, action, draws[:half])),
    )


def checked(env: Environment) -> Environment:
    """Refuses draws and actions of a wrong shape or dtype, and untraced actions out of range."""

    def reset(draws: jax.Array) -> State:
        return env.reset(check_draws(env, draws))

    def step(state: State, action: jax.Array, draws: jax.Array) -> StepResult:
        return env.step(state, check_action(env, action), check_draws(env, draws))

    return env._replace(reset=reset, step=step)


def check_draws(env: Environment, draws: Any) -> jax.Array:
    """The draws as an array, or `InputError`."""
    array = draws if isinstance(draws, jax.Array) else np.asarray(draws)
    if array.dtype != jnp.uint32 or array.shape != (env.num_draws,):
        raise InputError(
            f"draws for {env.name} must be uint32[{env.num_draws}], got {array.dtype}"
            f"{list(array.shape)}: use jax.random.bits(key, ({env.num_draws},), jnp.uint32), "
            "and vmap a batch"
        )
    return jnp.asarray(array)


def check_action(env: Environment, action: Any) -> jax.Array:
    """The action as int32[], or `InputError`; a traced action's value cannot be checked."""
    array = action if isinstance(action, jax.Array) else np.asarray(action)
    if array.shape != () or not jnp.issubdtype(array.dtype, jnp.integer):
        raise InputError(
            f"action for {env.name} must be one integer, got {array.dtype}{list(array.shape)}: "
            "vmap a batch"
        )
    if not isinstance(array, jax.core.Tracer) and not 0 <= int(array) < env.num_actions:
        names = ", ".join(f"{i} {ACTION_NAMES[full]}" for i, full in enumerate(env.actions))
        raise InputError(f"action {int(array)} for {env.name} is not one of: {names}")
    return jnp.asarray(array, jnp.int32)


def wrap(
    game: Environment,
    *,
    actions: tuple[int, ...],
    sticky_probability: float = 0.1,
    reset_when_over: bool = True,
) -> Environment:
    """The game as agents meet it, inside the wrappers of this module."""
    if not 0 <= sticky_probability <= 1:
        raise InputError(f"sticky_probability {sticky_probability} is not in [0, 1]")
    env = auto_reset(game) if reset_when_over else game
    return checked(action_set(sticky_actions(env, sticky_probability), actions))
