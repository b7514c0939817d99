"""MinAtar in JAX: five games, equal to the original step by step, and games of one's own.

    env = make("MinAtar/Breakout-v1")
    bits = jax.random.bits(key, (2, 1024, env.num_draws))
    states = jax.vmap(env.reset)(bits[0])
    states, rewards, terminated = jax.vmap(env.step)(states, actions, bits[1])
    observations = jax.vmap(env.observe)(states)   # bool[1024, 10, 10, 4]
    packed = jax.vmap(env.pack)(states)            # uint8[1024, 50], in bits

An `Environment` is pure functions of one game. `register("Catch-v0", game)` adds a game of one's
own: `examples/own_game.py` is one in thirty lines.

Where things are:

    asterix, breakout, freeway, seaquest, space_invaders     the rules, one module a game
    environment, wrappers      what an environment is; auto-reset and sticky actions around a game
    registry                   environments by name, and those that you register
    bitboard, random_words     to write a game with: boards of bits, chances from random words
    gym                        `import qduet.minatar.gym` registers qduet/Breakout-v1 in Gymnasium
    gymnax                     `qduet.minatar.gymnax.make("Breakout-MinAtar")` in gymnax's place
    render, animation          a picture of an observation, a GIF file of play
    seeded_game, terminal      what Gymnasium and `qduet play` use
    conformance                which rules of the original another port follows

The rules were written down as facts and implemented from them. `tests/parity` compares the games
with the original package, which is an oracle and never a source.
"""

from qduet.minatar.bitboard import unpack
from qduet.minatar.environment import (
    ACTION_NAMES,
    DOWN,
    FIRE,
    LEFT,
    NOOP,
    RIGHT,
    UP,
    Environment,
    StepResult,
)
from qduet.minatar.registry import ENV_IDS, GAMES, canonical_id, game_of, make, register

__all__ = [
    "ACTION_NAMES",
    "DOWN",
    "ENV_IDS",
    "FIRE",
    "GAMES",
    "LEFT",
    "NOOP",
    "RIGHT",
    "UP",
    "Environment",
    "StepResult",
    "canonical_id",
    "game_of",
    "make",
    "register",
    "unpack",
]
