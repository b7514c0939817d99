"""gymnax's environments as `Environment`s: `gymnax/CartPole-v1` is its CartPole-v1.

Two random words make the key of each call. gymnax splits it: one half is for the step, the other
for the reset after it. So a trajectory here is gymnax's own for the same keys and actions.

gymnax is an optional dependency, imported by the functions that need it.
"""

from importlib import metadata
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qduet.core.digests import describe
from qduet.core.errors import InputError, unknown_name
from qduet.deep.environment import Environment, Step

PREFIX = "gymnax/"
"""How the ids of gymnax's environments begin."""

_CONTINUOUS = frozenset(
    {
        *("Pendulum-v1", "MountainCarContinuous-v0"),
        *("PointRobot-misc", "Reacher-misc", "Swimmer-misc"),
    }
)
"""gymnax's environments without a finite set of actions, which no error should suggest."""


class GymnaxState(NamedTuple):
    """The state of an environment of gymnax's, and what the replay memory keeps of it."""

    env: Any
    """gymnax's own state."""
    encoded: jax.Array
    """The observation: gymnax gives it with a step, not from a state."""


def is_gymnax(env_id: str) -> bool:
    """Whether this is the id of an environment of gymnax's, known or not."""
    return env_id.lower().startswith(PREFIX)


def canonical_id(env_id: str) -> str:
    """The id as gymnax spells it: ``gymnax/CartPole-v1`` for ``gymnax/cartpole-v1``."""
    known = {f"{PREFIX}{name}".lower(): name for name in _gymnax(env_id).registered_envs}
    if env_id.lower() not in known:
        allowed = (PREFIX + name for name in known.values() if name not in _CONTINUOUS)
        raise unknown_name("environment", env_id, allowed)
    return PREFIX + known[env_id.lower()]


def version(env_id: str) -> str:
    """The installed gymnax, such as ``gymnax 1.0.1``; `InputError` if there is none to use."""
    try:
        installed = metadata.version("gymnax")
    except metadata.PackageNotFoundError:
        raise InputError(f"{env_id} needs gymnax: pip install 'qduet[gymnax]'") from None
    if installed.startswith("0."):
        raise InputError(
            f"{env_id} needs gymnax 1.0 or later, and {installed} is installed: "
            "pip install --upgrade 'qduet[gymnax]'"
        )
    return f"gymnax {installed}"


def _gymnax(env_id: str) -> Any:
    """The module `gymnax`, for the environment of this id."""
    release = version(env_id)
    try:
        import gymnax
    except ImportError as error:
        raise InputError(f"{env_id}: {release} cannot be imported: {error}") from None
    return gymnax


def make(full_id: str, auto_reset: bool) -> Environment:
    """The environment with gymnax's default parameters."""
    gymnax = _gymnax(full_id)
    try:
        env, params = gymnax.make(full_id.removeprefix(PREFIX))
    except (OSError, ImportError, ValueError, TypeError) as error:
        raise InputError(f"{full_id}: gymnax cannot make it: {error}") from None
    num_actions = _num_actions(full_id, env.action_space(params))
    space = env.observation_space(params)
    key = jax.eval_shape(_key, jax.ShapeDtypeStruct((2,), jnp.uint32))
    observed = jax.eval_shape(env.reset, key, params)[0]
    if not isinstance(observed, jax.ShapeDtypeStruct):
        raise InputError(
            f"{full_id}: its observation is {describe(observed)}; only single arrays can be "
            "learned from: register an environment of your own that joins them"
        )

    def state_of(state: Any, observation: jax.Array) -> GymnaxState:
        return GymnaxState(*_without_weak_types((state, _encoded(observation, space))))

    def reset(draws: jax.Array) -> GymnaxState:
        observation, state = env.reset(_key(draws), params)
        return state_of(state, observation)

    def step(state: GymnaxState, action: jax.Array, draws: jax.Array) -> Step:
        key = _key(draws)
        if auto_reset:
            seen, after, reward, terminated, cut, _ = env.step(key, state.env, action, params)
        else:
            key_step, _ = jax.random.split(key)
            seen, after, reward, terminated, _ = env.step_env(key_step, state.env, action, params)
            cut = env.is_truncated(after, params)
        terminated = jnp.asarray(terminated, bool)
        truncated = jnp.asarray(cut, bool) & ~terminated
        return Step(state_of(after, seen), jnp.asarray(reward, jnp.float32), terminated, truncated)

    decode = lambda encoded: _decoded(encoded, space)
    encoded = jax.eval_shape(lambda seen: _encoded(seen, space), observed)
    return Environment(
        name=full_id,
        num_actions=num_actions,
        num_draws=2,
        observation=jax.eval_shape(decode, encoded),
        reset=reset,
        step=step,
        encode=lambda state: state.encoded,
        decode=decode,
        truncates=True,
    )


def _key(draws: jax.Array) -> jax.Array:
    """The key that two random words make."""
    return jax.random.wrap_key_data(draws, impl="threefry2x32")


def _num_actions(full_id: str, space: Any) -> int:
    from gymnax.environments.spaces import Discrete

    if not isinstance(space, Discrete):
        raise InputError(
            f"{full_id}: its actions are {space}; these agents choose among a finite number of "
            "actions, as in gymnax/CartPole-v1"
        )
    return int(space.n)


def _encoded(observation: jax.Array, space: Any) -> jax.Array:
    """What the memory keeps of an observation.

    Arrays of bool and uint8 as they are; one number of a finite set as bool[n], with one True; all
    else as float32.
    """
    from gymnax.environments.spaces import Discrete

    if isinstance(space, Discrete):
        return jax.nn.one_hot(observation, space.n, dtype=bool)
    small = observation.dtype in (jnp.bool_, jnp.uint8)
    return observation if small else observation.astype(jnp.float32)


def _decoded(encoded: jax.Array, space: Any) -> jax.Array:
    """The observation in float32; bytes of frames, which go to 255, become numbers in [0, 1]."""
    frame = encoded.dtype == jnp.uint8 and np.max(getattr(space, "high", 0)) == 255
    return encoded.astype(jnp.float32) / (255 if frame else 1)


def _without_weak_types(tree: Any) -> Any:
    """The same arrays; a `scan` wants their types to be the same before and after."""
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.asarray(x).dtype), tree)
