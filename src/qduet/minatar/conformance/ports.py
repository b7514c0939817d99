"""What conformance needs of a port, and adapters: ours, the original, gymnax, pgx.

To examine another port write a `Port` like these: a name, a version, and a function that makes a
`PortGame`. Leave every option at the port's default; what is examined is what users get.
"""

import importlib
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

import qduet
from qduet.core.errors import InputError, unknown_name
from qduet.minatar.registry import GAMES, make

Array = np.ndarray | jax.Array

ORIGINAL_NAMES = {game: module.__name__.rpartition(".")[2] for game, module in GAMES.items()}
"""What the original calls the games: our modules have the same names."""


class Frame(NamedTuple):
    """What one step of a batch of games shows."""

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
    """Actions are 0 to `num_actions` - 1."""

    def reset(self, seed: int) -> np.ndarray:
        """As if just made, with this seed: the first observations [batch, 10, 10, channels]."""

    def step(self, actions: np.ndarray) -> Frame:
        """One step with actions int[batch]; episodes that end are followed by new ones."""


class Port(NamedTuple):
    """An implementation of MinAtar."""

    name: str
    """Its name, as it is shown."""
    version: str
    """Its version, as it is shown."""
    make: Callable[[str, int], PortGame]
    """A game's name in `qduet.minatar.GAMES`, a batch -> so many games, with minimal actions."""


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
        self.num_actions, self.batch = num_actions, batch
        self.start, self.advance = start, advance
        self._start, self._advance = jax.jit(jax.vmap(start)), jax.jit(jax.vmap(advance))
        self._key = jax.random.key(0)

    def _keys(self) -> jax.Array:
        """The next key of each game."""
        now, self._key = jax.random.split(self._key)
        return jax.random.split(now, self.batch)

    def reset(self, seed: int) -> np.ndarray:
        """The first observations of the seed."""
        self._key = jax.random.key(np.uint32(seed))
        self._state, observation = self._start(self._keys())
        return np.asarray(observation)

    def step(self, actions: np.ndarray) -> Frame:
        """One step of all games."""
        now = np.asarray(actions, np.int32)
        self._state, frame = self._advance(self._state, now, self._keys())
        return Frame(*map(np.asarray, frame))


def qduet_game(game: str, batch: int) -> JaxGame:
    """Ours, as an agent meets them: `make` with its defaults."""
    env = make(f"MinAtar/{game}-v1")
    single = make(f"MinAtar/{game}-v1", auto_reset=False)

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


class OriginalGame:
    """A batch of original games. A difference found here would be an error of conformance."""

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


def _imported(package: str) -> Any:
    """The package, or `InputError` that says how to install it."""
    try:
        # Ports may use what newer versions of jax call old; that is not what is examined here.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return importlib.import_module(package)
    except ImportError as error:
        raise InputError(
            f"port '{package}' cannot be imported ({error}): pip install {package}"
        ) from error


def gymnax_game(game: str, batch: int) -> JaxGame:
    """gymnax: its `step` begins the next episode and keeps the last observation in `info`."""
    env, params = _imported("gymnax").make(f"{game}-MinAtar")

    def start(key: jax.Array) -> tuple[Any, jax.Array]:
        observation, state = env.reset(key, params)
        return state, observation

    def advance(state: Any, action: jax.Array, key: jax.Array) -> tuple[Any, Frame]:
        following, after, reward, terminated, truncated, info = env.step(key, state, action, params)
        last = info["final_observation"]
        return after, Frame(last, reward, terminated, truncated, following)

    return JaxGame(env.num_actions, start, advance, batch=batch)


def pgx_game(game: str, batch: int) -> JaxGame:
    """pgx: `init` follows the end of an episode, as in its own auto-reset."""
    env = _imported("pgx").make(f"minatar-{ORIGINAL_NAMES[game]}")

    def start(key: jax.Array) -> tuple[Any, jax.Array]:
        state = env.init(key)
        return state, state.observation

    def advance(state: Any, action: jax.Array, key: jax.Array) -> tuple[Any, Frame]:
        key_step, key_init = jax.random.split(key)
        stepped = env.step(state, action, key_step)
        terminated, truncated = stepped.terminated, stepped.truncated
        new_or_old = lambda new, old: jnp.where(terminated | truncated, new, old)
        after = jax.tree.map(new_or_old, env.init(key_init), stepped)
        last, reward = stepped.observation, stepped.rewards[0]
        return after, Frame(last, reward, terminated, truncated, after.observation)

    return JaxGame(env.num_actions, start, advance, batch=batch)


PORTS: dict[str, Callable[[str, int], PortGame]] = {
    "qduet": qduet_game,
    "minatar": OriginalGame,
    "gymnax": gymnax_game,
    "pgx": pgx_game,
}
"""`Port.make` of the ports that `qduet conformance` knows, by the names of their packages."""


def port(name: str) -> Port:
    """The port of this name; `InputError` if it is unknown or not installed."""
    if name not in PORTS:
        raise unknown_name("port", name, PORTS)
    for package in ("minatar", name):
        _imported(package)
    return Port(name, qduet.__version__ if name == "qduet" else version(name), PORTS[name])
