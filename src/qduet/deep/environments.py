"""Environments by id, as training needs them: MinAtar's, gymnax's, and those of one's own.

make("MinAtar/Breakout-v1")       # and all else that qduet.minatar.make knows
make("gymnax/CartPole-v1")        # any environment of gymnax's with a finite set of actions
register(environment)             # one of your own, known by its name from then on
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from qduet.core.digests import describe
from qduet.core.errors import InputError
from qduet.deep import gymnax
from qduet.deep.environment import Environment, State, Step, auto_reset
from qduet.minatar import bitboard, registry
from qduet.minatar import environment as minatar_environment
from qduet.minatar.bitboard import SIZE
from qduet.minatar.registry import game_of
from qduet.minatar.wrappers import separate_draws

__all__ = [
    "Environment",
    "State",
    "Step",
    "canonical_id",
    "fingerprint_of",
    "game_of",
    "make",
    "register",
]

_EXAMPLES = ("gymnax/CartPole-v1", "gymnax/Acrobot-v1", "gymnax/MountainCar-v0")
"""Ids that an error names, so that ``CartPole-v1`` finds its full id."""

_registered: dict[str, Environment] = {}


def make(env_id: str, *, auto_reset: bool = True) -> Environment:
    """The environment of this id, any spelling of it; the same object each time.

    A step that ends an episode returns the next one's first state. With `auto_reset=False` the
    caller resets; stepping an environment whose episode has ended is then undefined.
    """
    return _make(canonical_id(env_id), auto_reset)


@functools.cache
def _make(full_id: str, with_auto_reset: bool) -> Environment:
    if full_id in _registered:
        env = separate_draws(_registered[full_id])
        return auto_reset(env) if with_auto_reset else env
    if gymnax.is_gymnax(full_id):
        env = gymnax.make(full_id, with_auto_reset)
        check(full_id, env)
        return env
    return _of_board(registry.make(full_id, auto_reset=with_auto_reset))


def _of_board(game: minatar_environment.Environment) -> Environment:
    """A game on a board of 10 × 10, which the memory keeps in bits."""

    def step(state: State, action: jax.Array, draws: jax.Array) -> Step:
        return Step(*game.step(state, action, draws), truncated=None)

    return Environment(
        name=game.name,
        num_actions=game.num_actions,
        num_draws=game.num_draws,
        observation=jax.ShapeDtypeStruct((SIZE, SIZE, game.num_channels), jnp.bool_),
        reset=game.reset,
        step=step,
        encode=game.pack,
        decode=lambda packed: bitboard.unpack(packed, game.num_channels),
        reward_dtype=game.reward_dtype,
        board=True,
    )


def canonical_id(env_id: str) -> str:
    """The full id of an environment, from any of its spellings; `InputError` if unknown."""
    if env_id in _registered:
        return env_id
    if gymnax.is_gymnax(env_id):
        return gymnax.canonical_id(env_id)
    full_id = registry.known_id(env_id)
    if full_id is None:
        raise registry.unknown_environment(env_id, (*_EXAMPLES, *_registered))
    return full_id


def fingerprint_of(env_id: str) -> str | None:
    """Tells whether the program behind an id has changed; None for MinAtar's games.

    A digest of what was registered, or gymnax's version: ``gymnax 1.0.1``.
    """
    return gymnax.version(env_id) if gymnax.is_gymnax(env_id) else registry.fingerprint_of(env_id)


def register(environment: Environment) -> None:
    """Makes an environment of one's own known to `make` by its name, hence to training.

    It has no auto-reset: `make` adds that, with draws of its own. Its shapes and types are checked
    here. Within a process an id means one environment; registering the same one again changes
    nothing. For a game on a board of 10 × 10 `qduet.minatar.register` does more: sticky actions,
    and pictures of play.
    """
    if not isinstance(environment, Environment):
        raise InputError(f"register a qduet.deep.environments.Environment, not {type(environment)}")
    registry.check_new_id(environment.name)
    check(environment.name, environment)
    env = environment
    settings = (env.num_actions, env.observation, env.reward_dtype, env.truncates, env.board)
    decoded = lambda state: env.decode(env.encode(state))
    registry.claim_id(env.name, registry.fingerprint(settings, env, env.encode, decoded))
    _registered.setdefault(env.name, env)


def check(env_id: str, env: Environment) -> None:
    """`InputError` says what is wrong with the environment."""
    actions = env.num_actions
    if not isinstance(actions, int | np.integer) or actions < 1:
        raise InputError(f"{env_id}: num_actions must be a number of at least 1; it is {actions!r}")
    if np.dtype(env.reward_dtype) not in (np.dtype(np.int8), np.dtype(np.float32)):
        raise InputError(
            f"{env_id}: reward_dtype must be int8 or float32; it is {env.reward_dtype}"
        )
    state, result = registry.check_functions(env_id, env, Step)
    if (result.truncated is not None) != env.truncates:
        raise InputError(
            f"{env_id}: truncates is {env.truncates}, and step gives truncated as "
            f"{describe(result.truncated)}: set truncates=True and give bool[], or False and None"
        )
    encoded = jax.eval_shape(env.encode, state)
    registry.check_dtypes(env_id, "encode", encoded)
    required = {
        "step must give a reward of": (result.reward, "float32[]"),
        "step must give terminated as": (result.terminated, "bool[]"),
        "step must give truncated as": (result.truncated, "bool[]" if env.truncates else "None"),
        "decode must give `observation`,": (
            jax.eval_shape(env.decode, encoded),
            describe(env.observation),
        ),
    }
    if env.board:
        channels = env.observation.shape[-1]
        required |= {
            "a board's observation must be": (env.observation, f"bool[{SIZE}, {SIZE}, {channels}]"),
            "a board's encode must give": (encoded, f"uint8[{bitboard.packed_size(channels)}]"),
        }
    registry.check_shapes(env_id, required)
