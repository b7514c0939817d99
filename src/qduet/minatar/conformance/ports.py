"""What conformance needs of a port, and adapters for our own games and for the original.

To examine another port write an object like these: a `name`, a `version`, and `make(game, batch)`
for one of the names in `qduet.minatar.GAMES`, which returns a `PortGame`. Leave every option at the
port's default; what is examined is what users get.
"""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from qduet.minatar.registry import GAMES
from qduet.minatar.registry import make as make_ours

Array = np.ndarray | jax.Array

ORIGINAL_NAMES = {
    "Asterix": "asterix",
    "Breakout": "breakout",
    "Freeway": "freeway",
    "Seaquest": "seaquest",
    "SpaceInvaders": "space_invaders",
}
"""What the original calls the games."""


class Frame(NamedTuple):
    """What one step of a batch of games gives."""

    observation: Array
    """[batch, 10, 10, channels]: what the step led to, also where it ended the episode."""
    reward: Array
    """[batch]"""
    terminated: Array
    """bool[batch]: the game is over."""
    truncated: Array
    """bool[batch]: the episode was cut although the game is not over."""
    following: Array
    """Like `observation`, but the next episode's first where this one has ended."""


class PortGame(Protocol):
    """A batch of independent games that begin their next episode by themselves."""

    num_actions: int

    def reset(self, seed: int) -> np.ndarray:
        """As if just made, with this seed: the first observations [batch, 10, 10, channels]."""

    def step(self, actions: np.ndarray) -> Frame:
        """One step with actions int[batch]; episodes that end are followed by new ones."""


class Port(Protocol):
    """An implementation of MinAtar."""

    name: str
    version: str

    def make(self, game: str, batch: int) -> PortGame:
        """`batch` games, with the minimal action set."""


class JaxGame:
    """A `PortGame` of two pure functions of one game, batched and compiled here."""

    def __init__(
        self,
        num_actions: int,
        start: Callable[[jax.Array], tuple[Any, jax.Array]],
        advance: Callable[[Any, jax.Array, jax.Array], tuple[Any, Frame]],
        *,
        batch: int,
    ):
        """`start(key) -> state, observation`; `advance(state, action, key) -> state, frame`."""
        self.num_actions, self.start, self.advance = num_actions, start, advance

        @jax.jit
        def start_all(seed: jax.Array) -> tuple:
            key_start, key = jax.random.split(jax.random.key(seed))
            return key, *jax.vmap(start)(jax.random.split(key_start, batch))

        @jax.jit
        def advance_all(key: jax.Array, state: Any, actions: jax.Array) -> tuple:
            key_now, key_later = jax.random.split(key)
            return key_later, *jax.vmap(advance)(state, actions, jax.random.split(key_now, batch))

        self._start, self._advance = start_all, advance_all

    def reset(self, seed: int) -> np.ndarray:
        """The first observations of the seed."""
        self._key, self._state, observation = self._start(np.uint32(seed))
        return np.asarray(observation)

    def step(self, actions: np.ndarray) -> Frame:
        """One step of all games."""
        now = np.asarray(actions, np.int32)
        self._key, self._state, frame = self._advance(self._key, self._state, now)
        return Frame(*(np.asarray(part) for part in frame))


def choose(where: jax.Array, new: Any, old: Any) -> Any:
    """`new` where the flag says so, leaf by leaf."""
    return jax.tree.map(lambda one, other: jnp.where(where, one, other), new, old)


class Qduet:
    """Our own games."""

    name = "qduet"

    def __init__(self) -> None:
        import qduet

        self.version = qduet.__version__

    def make(self, game: str, batch: int) -> JaxGame:
        """As an agent meets them: `make` with its defaults."""
        env = make_ours(f"MinAtar/{game}-v1")
        single = make_ours(f"MinAtar/{game}-v1", auto_reset=False)

        def start(key: jax.Array) -> tuple[Any, jax.Array]:
            state = env.reset(jax.random.bits(key, (env.num_draws,)))
            return state, env.observe(state)

        def advance(state: Any, action: jax.Array, key: jax.Array) -> tuple[Any, Frame]:
            draws = jax.random.bits(key, (env.num_draws,))
            after, reward, terminated = env.step(state, action, draws)
            last = single.observe(single.step(state, action, draws).state)
            never = jnp.bool_(False)
            return after, Frame(last, reward, terminated, never, env.observe(after))

        return JaxGame(env.num_actions, start, advance, batch=batch)


class Original:
    """The original itself: what conformance finds about it are the errors of conformance."""

    name = "minatar"

    def __init__(self) -> None:
        self.version = version("minatar")

    def make(self, game: str, batch: int) -> "OriginalGame":
        """Real games with real random numbers."""
        return OriginalGame(game, batch)


class OriginalGame:
    """A batch of original games, one after the other."""

    def __init__(self, game: str, batch: int):
        self.game, self.batch = ORIGINAL_NAMES[game], batch
        self.actions = GAMES[game].MINIMAL_ACTIONS
        self.num_actions = len(self.actions)

    def reset(self, seed: int) -> np.ndarray:
        """New objects, each with a seed of its own."""
        from minatar import Environment

        self.envs = [Environment(self.game) for _ in range(self.batch)]
        for i, env in enumerate(self.envs):
            env.seed(int(np.random.SeedSequence([seed, i]).generate_state(1)[0]))
            env.reset()
        return np.stack([env.state() for env in self.envs])

    def step(self, actions: np.ndarray) -> Frame:
        """One step of each."""
        results = [
            env.act(self.actions[action]) for env, action in zip(self.envs, actions, strict=True)
        ]
        observation = np.stack([env.state() for env in self.envs])
        following = observation.copy()
        for i, (_, terminated) in enumerate(results):
            if terminated:
                self.envs[i].reset()
                following[i] = self.envs[i].state()
        rewards = np.array([reward for reward, _ in results])
        ended = np.array([terminated for _, terminated in results])
        return Frame(observation, rewards, ended, np.zeros(self.batch, bool), following)
