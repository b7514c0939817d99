"""What stands around a game: auto-reset, sticky actions, a smaller action set, checked input.

`play` puts them together in the order that gives the original's behaviour: stickiness outside
auto-reset, so that the last action survives the end of an episode as it does in the original.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qduet.core.errors import InputError
from qduet.core.xla import computed_once
from qduet.minatar import chance
from qduet.minatar.types import ACTION_NAMES, NOOP, Environment, Outcome, State


class StickyState(NamedTuple):
    """A game's state with the action it executed last."""

    game: State
    last_action: jax.Array
    """int32[]: index into `ACTION_NAMES`. `reset` makes it noop, auto-reset keeps it."""


def auto_reset(env: Environment) -> Environment:
    """A step that ends an episode returns its reward, `terminated`, and the next episode's start.

    The new episode starts from the same draws as the step: no rule both uses a draw in a step that
    ends the game and lets it be seen afterwards.
    """

    def step(state: State, action: jax.Array, draws: jax.Array) -> Outcome:
        after, reward, terminated = env.step(state, action, draws)
        terminated = computed_once(terminated)
        fresh = env.reset(draws)
        choose = lambda new, old: jnp.where(terminated, new, old)
        return Outcome(jax.tree.map(choose, fresh, after), reward, terminated)

    return env._replace(step=step)


def sticky_actions(env: Environment, probability: float) -> Environment:
    """With this probability (the first draw decides) the last executed action is repeated."""

    def reset(draws: jax.Array) -> StickyState:
        return StickyState(env.reset(draws[1:]), jnp.int32(NOOP))

    def step(state: StickyState, action: jax.Array, draws: jax.Array) -> Outcome:
        repeat = chance.happens(draws[0], probability)
        executed = jnp.where(repeat, state.last_action, action)
        after, reward, terminated = env.step(state.game, executed, draws[1:])
        return Outcome(StickyState(after, executed), reward, terminated)

    return env._replace(
        num_draws=env.num_draws + 1,
        reset=reset,
        step=step,
        rows=lambda state: env.rows(state.game),
    )


def action_set(env: Environment, actions: tuple[int, ...]) -> Environment:
    """Action i of the agent is `actions[i]` of the full set; any other number is noop."""

    def step(state: State, action: jax.Array, draws: jax.Array) -> Outcome:
        chosen = sum(jnp.where(action == i, full, NOOP) for i, full in enumerate(actions))
        return env.step(state, jnp.asarray(chosen, jnp.int32), draws)

    return env._replace(actions=actions, step=step)


def checked(env: Environment) -> Environment:
    """Wrong actions and draws are refused: shapes and dtypes always, an action's value if known."""

    def reset(draws: jax.Array) -> State:
        return env.reset(check_draws(env, draws))

    def step(state: State, action: jax.Array, draws: jax.Array) -> Outcome:
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


def play(
    game: Environment,
    *,
    actions: tuple[int, ...],
    sticky_probability: float = 0.1,
    reset_when_over: bool = True,
) -> Environment:
    """The game as agents meet it, with the layers of this module around it."""
    if not 0 <= sticky_probability <= 1:
        raise InputError(f"sticky_probability {sticky_probability} is not in [0, 1]")
    env = auto_reset(game) if reset_when_over else game
    return checked(action_set(sticky_actions(env, sticky_probability), actions))
