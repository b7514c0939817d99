"""Adapters for public ports: gymnax and pgx, each with its own defaults."""

import importlib
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import jax

from qduet.core.errors import InputError, unknown_name
from qduet.minatar.conformance.ports import (
    ORIGINAL_NAMES,
    Frame,
    JaxGame,
    Original,
    Port,
    Qduet,
    choose,
)


def imported(package: str) -> Any:
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


def installed(package: str) -> str | None:
    """The package's version; None if it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


class Gymnax:
    """gymnax, whose `step` begins the next episode and keeps the last observation in `info`."""

    name = "gymnax"

    def __init__(self) -> None:
        self.package = imported("gymnax")
        self.version = version("gymnax")

    def make(self, game: str, batch: int) -> JaxGame:
        """With the parameters that `gymnax.make` gives."""
        env, params = self.package.make(f"{game}-MinAtar")

        def start(key: jax.Array) -> tuple[Any, jax.Array]:
            observation, state = env.reset(key, params)
            return state, observation

        def advance(state: Any, action: jax.Array, key: jax.Array) -> tuple[Any, Frame]:
            following, after, reward, terminated, truncated, info = env.step(
                key, state, action, params
            )
            last = info["final_observation"]
            return after, Frame(last, reward, terminated, truncated, following)

        return JaxGame(env.num_actions, start, advance, batch=batch)


class Pgx:
    """pgx, whose episodes are followed by `init`, as in its own auto-reset."""

    name = "pgx"

    def __init__(self) -> None:
        self.package = imported("pgx")
        self.version = version("pgx")

    def make(self, game: str, batch: int) -> JaxGame:
        """With the options that `pgx.make` gives."""
        env = self.package.make(f"minatar-{ORIGINAL_NAMES[game]}")

        def start(key: jax.Array) -> tuple[Any, jax.Array]:
            state = env.init(key)
            return state, state.observation

        def advance(state: Any, action: jax.Array, key: jax.Array) -> tuple[Any, Frame]:
            key_step, key_init = jax.random.split(key)
            stepped = env.step(state, action, key_step)
            ended = stepped.terminated | stepped.truncated
            after = choose(ended, env.init(key_init), stepped)
            frame = Frame(
                stepped.observation,
                stepped.rewards[0],
                stepped.terminated,
                stepped.truncated,
                after.observation,
            )
            return after, frame

        return JaxGame(env.num_actions, start, advance, batch=batch)


PORTS: dict[str, Callable[[], Port]] = {
    "qduet": Qduet,
    "minatar": Original,
    "gymnax": Gymnax,
    "pgx": Pgx,
}
"""The ports that `qduet conformance` knows."""


def port(name: str) -> Port:
    """The port of this name; `InputError` if it is unknown or not installed."""
    if name not in PORTS:
        raise unknown_name("port", name, PORTS)
    imported("minatar")
    return PORTS[name]()
