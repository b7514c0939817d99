"""The games in Gymnasium: `qduet/Breakout-v1`, and so on for every game, versions 0 and 1.

    import qduet.minatar.gym                                # registers the ten ids
    env = gymnasium.make("qduet/Breakout-v1")
    envs = gymnasium.make_vec("qduet/Breakout-v1", num_envs=1024)

or, without the first line, `gymnasium.make("qduet.minatar.gym:qduet/Breakout-v1")`. (Gymnasium has
not looked for plug-ins by itself since version 1.0, so an import has to name the module.)

A step of all games of a vector is one compiled JAX call. Game i of a vector seeded with s is bit
for bit the single game seeded with s + i, as in Gymnasium's own vector environments.
"""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

try:
    import gymnasium
    from gymnasium.error import ResetNeeded
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise ImportError(f"qduet.minatar.gym: {error}; pip install 'qduet[gym]'") from None

from qduet.core.errors import InputError, unknown_name
from qduet.minatar import render, seeded_game, wrappers
from qduet.minatar.bitboard import SIZE
from qduet.minatar.environment import Environment
from qduet.minatar.registry import ENV_IDS, make
from qduet.minatar.seeded_game import SeededGame

__all__ = ["MinAtarEnv", "MinAtarVectorEnv"]

METADATA: dict[str, Any] = {"render_modes": ["rgb_array", "ansi"], "render_fps": 10}


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
        if render_mode is not None and render_mode not in METADATA["render_modes"]:
            raise unknown_name("render_mode", render_mode, METADATA["render_modes"])
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**METADATA, "autoreset_mode": self.autoreset_mode}
        self.game = make(
            env_id,
            sticky_probability=sticky_probability,
            difficulty_ramping=difficulty_ramping,
            auto_reset=False,
        )
        self.num_envs, self.render_mode = num_envs, render_mode
        shape = (SIZE, SIZE, self.game.num_channels)
        self.single_observation_space = gymnasium.spaces.Box(0, 1, shape, np.bool_)  # type: ignore[arg-type, unused-ignore]
        self.single_action_space = gymnasium.spaces.Discrete(self.game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._games: SeededGame | None = None
        self.observation: np.ndarray | None = None
        """bool[num_envs, 10, 10, channels]: the last ones; None before the first reset."""
        self._first, self._next, self._step = _compiled(self.game, self.autoreset_mode)

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
            self._games, observation = self._first(self._keys(seed), mask, self._games)
        else:
            self._games, observation = self._next(self._games, mask)
        self.observation = np.array(observation)
        return self.observation.copy(), {}

    def _keys(self, seed: int | Sequence[int] | None) -> np.ndarray:
        """The key of each game, uint32[num_envs, 2]."""
        if seed is None or isinstance(seed, int | np.integer):
            super().reset(seed=None if seed is None else int(seed))
            assert self.np_random_seed is not None
            seed = [self.np_random_seed + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise InputError(f"seed has {len(seed)} entries for {self.num_envs} games")
        return np.stack([seeded_game.key_data(one) for one in seed])

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Observations, rewards (float64), terminated, truncated (always False), infos."""
        if self._games is None:
            raise ResetNeeded("call reset() before the first step()")
        array = np.asarray(actions)
        if array.dtype.kind not in "iu" or not self.action_space.contains(array):
            raise InputError(
                f"actions for {self.game.name} must be int[{self.num_envs}], each from 0 to "
                f"{self.game.num_actions - 1}; got {actions}"
            )
        stepped, observation, final = self._step(self._games, array.astype(np.int32))
        self._games, self.observation = stepped.state, np.array(observation)
        rewards, terminated = np.array(stepped.reward, np.float64), np.array(stepped.terminated)
        infos: dict[str, Any] = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP and terminated.any():
            final_obs = np.full(self.num_envs, None, dtype=object)
            for i in np.flatnonzero(terminated):
                final_obs[i] = np.array(final[i])
            infos = {"final_obs": final_obs, "_final_obs": terminated.copy()}
            infos |= {"final_info": {}, "_final_info": terminated.copy()}
        truncated = np.zeros(self.num_envs, bool)
        return self.observation.copy(), rewards, terminated, truncated, infos

    def render(self) -> tuple[Any, ...] | None:
        """One picture uint8[240, 240, 3] (rgb_array) or text with colours (ansi) per game."""
        if self.observation is None:
            raise ResetNeeded("call reset() before render()")
        if self.render_mode == "rgb_array":
            return tuple(render.rgb(seen) for seen in self.observation)
        if self.render_mode == "ansi":
            return tuple(render.ansi(seen, self.game.channels) for seen in self.observation)
        gymnasium.logger.warn("render() without a render_mode: make(..., render_mode='rgb_array')")
        return None


@functools.cache
def _compiled(env: Environment, mode: AutoresetMode) -> tuple[Any, Any, Any]:
    """The jitted first episodes, next episodes and step of many games, shared by instances.

    Each gives the games after it and their observations, bool[num_envs, 10, 10, channels]; a step
    in the mode SAME_STEP also those before the resets.
    """
    first_episodes = jax.vmap(lambda key: seeded_game.first_episode(env, key))
    next_episodes = jax.vmap(lambda game: seeded_game.next_episode(env, game))
    observe = jax.vmap(lambda game: env.observe(game.state))

    @jax.jit
    def first(keys: jax.Array, mask: jax.Array, before: SeededGame | None) -> tuple:
        started = first_episodes(keys)
        games = started if before is None else _select(mask, started, before)
        return games, observe(games)

    @jax.jit
    def following(before: SeededGame, mask: jax.Array) -> tuple:
        games = _select(mask, next_episodes(before), before)
        return games, observe(games)

    @jax.jit
    def step(before: SeededGame, actions: jax.Array) -> tuple:
        stepped = jax.vmap(lambda game, action: seeded_game.step(env, game, action))(
            before, actions
        )
        games, terminated, final = stepped.state, stepped.terminated, None
        if mode is AutoresetMode.NEXT_STEP:
            games = _select(before.over, next_episodes(before), games)
            terminated &= ~before.over
        if mode is AutoresetMode.SAME_STEP:
            final = observe(games)
            games = _select(terminated, next_episodes(games), games)
        return stepped._replace(state=games, terminated=terminated), observe(games), final

    return first, following, step


def _select(mask: jax.Array, new: SeededGame, old: SeededGame) -> SeededGame:
    """The games of `new` where the mask bool[num_envs] is set, else those of `old`."""
    choose = lambda chosen, one, other: jnp.where(chosen, one, other)
    return jax.tree.map(functools.partial(jax.vmap(choose), mask), new, old)


class MinAtarEnv(gymnasium.Env[np.ndarray, np.integer]):
    """One game, with the original's spaces, defaults and rewards: a vector of one.

    * `reset(seed=s)` starts from scratch: the same seed and actions give the same game. `reset()`
      goes on in the same stream of draws, and the last action survives it, as in the original.
    * `terminated` is the end of the game; `truncated` is always False, for there is no time limit.
    * A step after the end leaves the game as it is and returns reward 0 and `terminated` again, as
      in the original.
    """

    metadata = METADATA

    def __init__(
        self,
        env_id: str,
        *,
        sticky_probability: float | None = None,
        difficulty_ramping: bool = True,
        render_mode: str | None = None,
    ):
        self._vector = MinAtarVectorEnv(
            env_id,
            autoreset_mode=AutoresetMode.DISABLED,
            sticky_probability=sticky_probability,
            difficulty_ramping=difficulty_ramping,
            render_mode=render_mode,
        )
        self.game, self.render_mode = self._vector.game, render_mode
        self.observation_space = self._vector.single_observation_space
        self.action_space = self._vector.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """The first observation of a new episode; with a seed, of a new stream of draws."""
        super().reset(seed=seed)
        anew = seed is not None or self._vector.observation is None
        observation, _ = self._vector.reset(seed=self.np_random_seed if anew else None)
        return observation[0], {}

    def step(
        self, action: np.integer | int
    ) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Observation, reward, terminated, truncated (always False), info (always empty)."""
        if not self.action_space.contains(action):
            wrappers.check_action(self.game, action)
        observation, reward, terminated, _, _ = self._vector.step(np.array([action]))
        return observation[0], float(reward[0]), bool(terminated[0]), False, {}

    def render(self) -> np.ndarray | str | None:
        """The picture as uint8[240, 240, 3] (rgb_array) or as text with colours (ansi)."""
        pictures = self._vector.render()
        return pictures[0] if pictures else None


for env_id in ENV_IDS:
    gymnasium.register(
        env_id.replace("MinAtar/", "qduet/"),
        entry_point="qduet.minatar.gym:MinAtarEnv",
        vector_entry_point="qduet.minatar.gym:MinAtarVectorEnv",
        kwargs={"env_id": env_id},
    )
