"""The games with gymnax's interface: code written for gymnax's MinAtar gets the true rules.

    from qduet.minatar.gymnax import make                   # instead of: from gymnax import make
    env, params = make("Breakout-MinAtar")
    obs, state = env.reset(key, params)
    obs, state, reward, terminated, truncated, info = env.step(key, state, action, params)

Observations are float32[10, 10, channels], as gymnax's are. What differs is what the original does
and gymnax 1.0.1 does not:

* Actions are sticky: with probability 0.1 the last executed action is repeated. So do not put
  gymnax's `StickyActionWrapper` around a game, or give `make` a `sticky_probability` of 0.
* There is no time limit. gymnax cuts episodes at 1,000 steps (Freeway: 2,500); for that,
  `params.replace(max_steps_in_episode=1000)`. Code that takes this number for the length of a
  rollout, as gymnax's `RolloutWrapper` does by default, must be given a length.

A key gives the draws of a call: `jax.random.bits(key, (num_draws,))`.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp

try:
    from flax import struct
    from gymnax.environments import environment, spaces

    _ = environment.Environment.is_truncated  # since version 1.0
except (ImportError, AttributeError) as error:
    needs = "needs gymnax 1.0 or later: pip install --upgrade 'qduet[gymnax]'"
    raise ImportError(f"qduet.minatar.gymnax {needs} ({error})") from None

from qduet.minatar import registry
from qduet.minatar.bitboard import SIZE
from qduet.minatar.environment import Environment
from qduet.minatar.wrappers import StickyState

__all__ = ["EnvParams", "EnvState", "MinAtar", "make"]

NO_LIMIT = 2**31 - 1
"""More steps than an int32 can count."""


@struct.dataclass
class EnvParams(environment.EnvParams):
    """What may change without compiling anew."""

    max_steps_in_episode: int = NO_LIMIT
    """After so many steps an episode is truncated; by default never, as in the original."""


@struct.dataclass
class EnvState(environment.EnvState):
    """The state of a game."""

    time: jax.Array
    """int32[]: steps taken in this episode"""
    game: StickyState
    """The game's state, with the action that was executed last."""
    terminal: jax.Array
    """bool[]: the game is over. Only `step_env` gives such a state; `step` begins anew."""


class MinAtar(environment.Environment[EnvState, EnvParams]):
    """A game as an environment of gymnax's; `make` makes it."""

    def __init__(self, game: Environment):
        super().__init__()
        self.game = game
        """The game without auto-reset, which gymnax's `step` does."""

    @property
    def default_params(self) -> EnvParams:
        """No time limit."""
        return EnvParams()

    def reset_env(self, key: jax.Array, params: EnvParams) -> tuple[jax.Array, EnvState]:
        """The first observation and state of an episode; the last action is noop."""
        game = self.game.reset(self._draws(key))
        state = EnvState(time=jnp.int32(0), game=game, terminal=jnp.bool_(False))
        return self.get_obs(state), state

    @functools.partial(jax.jit, static_argnames=("self",))
    def step(
        self, key: jax.Array, state: EnvState, action: Any, params: EnvParams | None = None
    ) -> tuple[jax.Array, EnvState, jax.Array, jax.Array, jax.Array, dict[str, Any]]:
        """A step with auto-reset; as in the original, the last action survives the end."""
        obs, after, reward, terminated, truncated, info = super().step(key, state, action, params)
        game = after.game._replace(last_action=info["executed_action"])
        return obs, after.replace(game=game), reward, terminated, truncated, info

    def step_env(
        self, key: jax.Array, state: EnvState, action: Any, params: EnvParams
    ) -> tuple[jax.Array, EnvState, jax.Array, jax.Array, dict[str, Any]]:
        """One step without auto-reset.

        `info` holds gymnax's `discount`, and `executed_action`: an index into
        `qduet.minatar.ACTION_NAMES`, after sticky actions.
        """
        game, reward, terminated = self.game.step(state.game, action, self._draws(key))
        after = EnvState(time=state.time + 1, game=game, terminal=terminated)
        info = {"discount": self.discount(after, params), "executed_action": game.last_action}
        return self.get_obs(after), after, reward, terminated, info

    def _draws(self, key: jax.Array) -> jax.Array:
        return jax.random.bits(key, (self.game.num_draws,), jnp.uint32)

    def get_obs(
        self, state: EnvState, params: EnvParams | None = None, key: jax.Array | None = None
    ) -> jax.Array:
        """The observation, float32[10, 10, channels] of zeros and ones."""
        return self.game.observe(state.game).astype(jnp.float32)

    def is_terminated(self, state: EnvState, params: EnvParams) -> jax.Array:
        """Whether the game is over."""
        return state.terminal

    @property
    def name(self) -> str:
        """As gymnax calls it, such as ``Breakout-MinAtar``; else our id."""
        game, _, version = self.game.name.removeprefix("MinAtar/").partition("-v")
        return f"{game}-MinAtar" if game in registry.GAMES and version == "1" else self.game.name

    @property
    def num_actions(self) -> int:
        """How many actions an agent may choose from."""
        return self.game.num_actions

    def action_space(self, params: EnvParams | None = None) -> spaces.Discrete:
        """The numbers of the actions."""
        return spaces.Discrete(self.num_actions)

    def observation_space(self, params: EnvParams | None = None) -> spaces.Box:
        """Boards of zeros and ones."""
        return spaces.Box(0, 1, (SIZE, SIZE, self.game.num_channels), jnp.float32)


@functools.cache
def make(
    env_id: str,
    *,
    use_minimal_action_set: bool = True,
    sticky_probability: float | None = None,
    difficulty_ramping: bool = True,
) -> tuple[MinAtar, EnvParams]:
    """A game and its default parameters, as from `gymnax.make`.

    `env_id` is any spelling that `qduet.minatar.make` knows, or the id of a registered game.
    `use_minimal_action_set=False` gives all six actions, as version 0 of an id does.
    """
    full_id = registry.known_id(env_id)
    if full_id is None:
        raise registry.unknown_environment(env_id, (f"{name}-MinAtar" for name in registry.GAMES))
    if not use_minimal_action_set and full_id in registry.ENV_IDS:
        full_id = full_id.removesuffix("-v1").removesuffix("-v0") + "-v0"
    game = registry.make(
        full_id,
        sticky_probability=sticky_probability,
        difficulty_ramping=difficulty_ramping,
        auto_reset=False,
    )
    env = MinAtar(game)
    return env, env.default_params
