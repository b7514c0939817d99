"""Many games as one Gymnasium `VectorEnv`: a step of all of them is one compiled JAX call.

Game i of a vector seeded with s is bit for bit `MinAtarEnv` seeded with s + i, as in Gymnasium's
own vector environments, for each of the three autoreset modes.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from qduet.core.errors import InputError
from qduet.minatar import render, seeded_game
from qduet.minatar.environment import ACTION_NAMES, Environment
from qduet.minatar.packing import SIZE
from qduet.minatar.registry import make
from qduet.minatar.seeded_game import SeededGame, SeededStep


class VectorStep(NamedTuple):
    """What one step of all games gives; the axis [num_envs] comes first."""

    games: SeededGame
    """The games after the step, and after their resets."""
    observation: jax.Array
    """bool[num_envs, 10, 10, channels]: what the next action is chosen from."""
    reward: jax.Array
    """float32[num_envs]"""
    terminated: jax.Array
    """bool[num_envs]"""
    final_observation: jax.Array
    """Like `observation`, but the last one of the episode where a game was reset in this step."""


class MinAtarVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """`num_envs` independent games.

    `autoreset_mode` says what follows the end of a game, and stands in `metadata`:

    * NEXT_STEP (Gymnasium's default): the next step ignores that game's action and starts its next
      episode, with reward 0.
    * SAME_STEP: the same step starts it; the last observation is in `info["final_obs"]`.
    * DISABLED: the game stays as it is, with reward 0 and `terminated`, until
      `reset(options={"reset_mask": mask})`.

    `reset(seed=s)` gives game i the seed s + i (or pass a list), `reset()` goes on in the same
    streams of draws. There is no time limit: `truncated` is always False.
    """

    def __init__(
        self,
        env_id: str,
        *,
        num_envs: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        sticky_probability: float | None = None,
        difficulty_ramping: bool = True,
        render_mode: str | None = None,
    ):
        if num_envs < 1:
            raise InputError(f"num_envs {num_envs} must be 1 or more")
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {
            "render_modes": ["rgb_array", "ansi"],
            "render_fps": 10,
            "autoreset_mode": self.autoreset_mode,
        }
        self.game = make(
            env_id,
            sticky_probability=sticky_probability,
            difficulty_ramping=difficulty_ramping,
            auto_reset=False,
        )
        self.num_envs = num_envs
        self.single_observation_space = observation_space(self.game.num_channels)
        self.single_action_space = gymnasium.spaces.Discrete(self.game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.render_mode = render.check_mode(render_mode, self.metadata["render_modes"])
        self._games: SeededGame | None = None
        self._observation: np.ndarray | None = None
        self._first, self._restart, self._observe, self._step = _compiled(
            self.game, self.autoreset_mode
        )

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """The first observations of new episodes, of all games or of those in `reset_mask`."""
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, bool)))
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise InputError(
                f"reset_mask must be bool[{self.num_envs}], got {mask.dtype}{mask.shape}"
            )
        if seed is not None or self._games is None:
            fresh = self._first(self._keys(seed))
            self._games = _select(mask, fresh, self._games or fresh)
        else:
            self._games = self._restart(self._games, mask)
        self._observation = np.array(self._observe(self._games))
        return self._observation.copy(), {}

    def _keys(self, seed: int | Sequence[int] | None) -> np.ndarray:
        """The key of each game, uint32[num_envs, 2]."""
        if seed is None or isinstance(seed, int | np.integer):
            super().reset(seed=None if seed is None else int(seed))
            assert self.np_random_seed is not None
            seeds: Sequence[int] = [self.np_random_seed + i for i in range(self.num_envs)]
        else:
            seeds = seed
        if len(seeds) != self.num_envs:
            raise InputError(f"seed has {len(seeds)} entries for {self.num_envs} games")
        return np.stack([seeded_game.key_data(one) for one in seeds])

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Observations, rewards (float64), terminated, truncated (always False), infos."""
        if self._games is None:
            raise gymnasium.error.ResetNeeded("call reset() before the first step()")
        out = self._step(self._games, _check_actions(self.game, actions, self.num_envs))
        self._games, self._observation = out.games, np.array(out.observation)
        terminated = np.array(out.terminated)
        infos: dict[str, Any] = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP and terminated.any():
            infos = _final_infos(np.array(out.final_observation), terminated)
        rewards = np.array(out.reward, np.float64)
        nothing = np.zeros(self.num_envs, bool)
        return self._observation.copy(), rewards, terminated, nothing, infos

    def render(self) -> tuple[Any, ...] | None:
        """One picture (rgb_array) or text (ansi) per game."""
        if self._observation is None:
            raise gymnasium.error.ResetNeeded("call reset() before render()")
        if self.render_mode == "rgb_array":
            return tuple(render.rgb(seen) for seen in self._observation)
        if self.render_mode == "ansi":
            return tuple(render.ansi(seen, self.game.channels) for seen in self._observation)
        return None


def observation_space(num_channels: int) -> gymnasium.spaces.Box:
    """bool[10, 10, channels], as the original's."""
    return gymnasium.spaces.Box(0, 1, (SIZE, SIZE, num_channels), np.bool_)  # type: ignore[arg-type]


def _play(env: Environment, games: SeededGame, actions: jax.Array) -> SeededStep:
    """One step of every game."""
    return jax.vmap(lambda game, action: seeded_game.step(env, game, action))(games, actions)


def _restart(env: Environment, games: SeededGame, mask: jax.Array) -> SeededGame:
    """New episodes for the games in the mask."""
    return _select(mask, jax.vmap(lambda game: seeded_game.next_episode(env, game))(games), games)


def _next_step(env: Environment, games: SeededGame, actions: jax.Array) -> VectorStep:
    """Games that are over start their next episode, all others make their move."""
    begins = games.over
    played = _play(env, games, actions)
    after = _select(begins, _restart(env, games, begins), played.game)
    observation = jax.vmap(env.observe)(after.state)
    terminated = played.terminated & ~begins
    return VectorStep(after, observation, played.reward, terminated, observation)


def _same_step(env: Environment, games: SeededGame, actions: jax.Array) -> VectorStep:
    """All games make their move, and those that end start their next episode at once."""
    played = _play(env, games, actions)
    after = _restart(env, played.game, played.terminated)
    final = jax.vmap(env.observe)(played.game.state)
    observation = jax.vmap(env.observe)(after.state)
    return VectorStep(after, observation, played.reward, played.terminated, final)


def _no_reset(env: Environment, games: SeededGame, actions: jax.Array) -> VectorStep:
    """All games that are not over make their move."""
    played = _play(env, games, actions)
    observation = jax.vmap(env.observe)(played.game.state)
    return VectorStep(played.game, observation, played.reward, played.terminated, observation)


_ADVANCE = {
    AutoresetMode.NEXT_STEP: _next_step,
    AutoresetMode.SAME_STEP: _same_step,
    AutoresetMode.DISABLED: _no_reset,
}
"""How all games move on, by autoreset mode."""


@functools.cache
def _compiled(env: Environment, mode: AutoresetMode) -> tuple[Any, Any, Any, Any]:
    """The jitted first episodes, further episodes, observations and step, shared by instances."""
    return (
        jax.jit(jax.vmap(lambda key: seeded_game.first_episode(env, key))),
        jax.jit(lambda games, mask: _restart(env, games, mask)),
        jax.jit(jax.vmap(lambda game: env.observe(game.state))),
        jax.jit(lambda games, actions: _ADVANCE[mode](env, games, actions)),
    )


def _check_actions(env: Environment, actions: Any, num_envs: int) -> np.ndarray:
    """The actions as int32[num_envs], or `InputError` that names the first wrong one."""
    array = np.asarray(actions)
    if array.shape != (num_envs,) or not np.issubdtype(array.dtype, np.integer):
        raise InputError(
            f"actions for {env.name} must be int[{num_envs}], got {array.dtype}{list(array.shape)}"
        )
    wrong = np.flatnonzero((array < 0) | (array >= env.num_actions))
    if wrong.size:
        names = ", ".join(f"{i} {ACTION_NAMES[full]}" for i, full in enumerate(env.actions))
        raise InputError(
            f"action {array[wrong[0]]} of game {wrong[0]} for {env.name} is not one of: {names}"
        )
    return array.astype(np.int32)


def _final_infos(observations: np.ndarray, ended: np.ndarray) -> dict[str, Any]:
    """Gymnasium's entries for games that ended in this step."""
    final = np.full(len(ended), None, dtype=object)
    for i in np.flatnonzero(ended):
        final[i] = observations[i]
    return {
        "final_obs": final,
        "_final_obs": ended.copy(),
        "final_info": {},
        "_final_info": ended.copy(),
    }


def _select(mask: Any, new: SeededGame, old: SeededGame) -> SeededGame:
    """The games of `new` where the mask [num_envs] says so, else those of `old`."""

    def choose(one: jax.Array, other: jax.Array) -> jax.Array:
        return jnp.where(jnp.reshape(mask, (-1,) + (1,) * (one.ndim - 1)), one, other)

    return jax.tree.map(choose, new, old)
