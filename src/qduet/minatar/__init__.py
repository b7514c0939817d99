"""MinAtar in JAX: five games, equal to the original step by step.

    env = make("MinAtar/Breakout-v1")
    bits = jax.random.bits(key, (2, 1024, env.num_draws))
    states = jax.vmap(env.reset)(bits[0])
    states, rewards, terminated = jax.vmap(env.step)(states, actions, bits[1])
    observations = jax.vmap(env.observe)(states)   # bool[1024, 10, 10, 4]
    packed = jax.vmap(env.pack)(states)            # uint8[1024, 50]

`register` adds a game of one's own.

The rules were written down as facts and implemented from them; `tests/parity`
compares the games with the original package, which is an oracle and never a source.
"""

from qduet.minatar.packing import unpack
from qduet.minatar.registry import ENV_IDS, GAMES, canonical_id, game_of, make, register
from qduet.minatar.types import ACTION_NAMES, Environment, Outcome

__all__ = [
    "ACTION_NAMES",
    "ENV_IDS",
    "GAMES",
    "Environment",
    "Outcome",
    "canonical_id",
    "game_of",
    "make",
    "register",
    "unpack",
]
