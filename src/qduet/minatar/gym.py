"""The games in Gymnasium: `qduet/Breakout-v1`, and so on for every game, versions 0 and 1.

    import qduet.minatar.gym                                # registers the ten ids
    env = gymnasium.make("qduet/Breakout-v1")
    envs = gymnasium.make_vec("qduet/Breakout-v1", num_envs=1024)

or, without the first line, `gymnasium.make("qduet.minatar.gym:qduet/Breakout-v1")`. (Gymnasium has
not looked for plug-ins by itself since version 1.0, so an import has to name the module.)
"""

import functools
from typing import Any

import gymnasium
import jax
import numpy as np

from qduet.minatar import render, seeded_game, wrappers
from qduet.minatar.environment import Environment
from qduet.minatar.gym_vector import MinAtarVectorEnv, observation_space
from qduet.minatar.registry import ENV_IDS, make
from qduet.minatar.seeded_game import SeededGame

__all__ = ["MinAtarEnv", "MinAtarVectorEnv"]


class MinAtarEnv(gymnasium.Env[np.ndarray, np.integer]):
    """One game, with the original's spaces, defaults and rewards.

    * `reset(seed=s)` starts from scratch: the same seed and actions give the same game. `reset()`
      goes on in the same stream of draws, and the last action survives it, as in the original.
    * `terminated` is the end of the game; `truncated` is always False, for there is no time limit.
    * A step after the end leaves the game as it is and returns reward 0 and `terminated` again, as
      in the original.
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 10}  # noqa: RUF012

    def __init__(
        self,
        env_id: str,
        *,
        sticky_probability: float | None = None,
        difficulty_ramping: bool = True,
        render_mode: str | None = None,
    ):
        self.game = make(
            env_id,
            sticky_probability=sticky_probability,
            difficulty_ramping=difficulty_ramping,
            auto_reset=False,
        )
        self.observation_space = observation_space(self.game.num_channels)
        self.action_space = gymnasium.spaces.Discrete(self.game.num_actions)
        self.render_mode = render.check_mode(render_mode, self.metadata["render_modes"])
        self._seeded: SeededGame | None = None
        self._observation: np.ndarray | None = None
        self._first, self._next, self._step = _compiled(self.game)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """The first observation of a new episode; with a seed, of a new stream of draws."""
        super().reset(seed=seed)
        if seed is not None or self._seeded is None:
            assert self.np_random_seed is not None
            self._seeded, seen = self._first(seeded_game.key_data(self.np_random_seed))
        else:
            self._seeded, seen = self._next(self._seeded)
        self._observation = np.array(seen)
        return self._observation.copy(), {}

    def step(
        self, action: np.integer | int
    ) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Observation, reward, terminated, truncated (always False), info (always empty)."""
        if self._seeded is None:
            raise gymnasium.error.ResetNeeded("call reset() before the first step()")
        if not self.action_space.contains(action):
            wrappers.check_action(self.game, action)
        self._seeded, seen, reward, terminated = self._step(self._seeded, np.int32(action))
        self._observation = np.array(seen)
        return self._observation.copy(), float(reward), bool(terminated), False, {}

    def render(self) -> np.ndarray | str | None:
        """The picture as uint8[240, 240, 3] (rgb_array) or as text with colours (ansi)."""
        if self._observation is None:
            raise gymnasium.error.ResetNeeded("call reset() before render()")
        if self.render_mode == "rgb_array":
            return render.rgb(self._observation)
        if self.render_mode == "ansi":
            return render.ansi(self._observation, self.game.channels)
        gymnasium.logger.warn("render() without a render_mode: make(..., render_mode='rgb_array')")
        return None


@functools.cache
def _compiled(game: Environment) -> tuple[Any, Any, Any]:
    """The jitted first episode, next episode and step of one seeded game, with observations."""

    @jax.jit
    def first(key: jax.Array) -> tuple:
        started = seeded_game.first_episode(game, key)
        return started, game.observe(started.state)

    @jax.jit
    def following(before: SeededGame) -> tuple:
        started = seeded_game.next_episode(game, before)
        return started, game.observe(started.state)

    @jax.jit
    def step(before: SeededGame, action: jax.Array) -> tuple:
        after, reward, terminated = seeded_game.step(game, before, action)
        return after, game.observe(after.state), reward, terminated

    return first, following, step


for env_id in ENV_IDS:
    gymnasium.register(
        env_id.replace("MinAtar/", "qduet/"),
        entry_point="qduet.minatar.gym:MinAtarEnv",
        vector_entry_point="qduet.minatar.gym:MinAtarVectorEnv",
        kwargs={"env_id": env_id},
    )
