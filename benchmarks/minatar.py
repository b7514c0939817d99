"""Environment steps per second of the MinAtar games: random play, auto-reset, one jitted scan.

python benchmarks/minatar.py                  # every game at batch 1, 32 and 1024
python benchmarks/minatar.py Seaquest 1024    # one game, one batch size
"""

import sys
import time
from typing import NamedTuple

import jax
import jax.numpy as jnp

from qduet.minatar import GAMES, make

FORMS = ("none", "packed", "dense")
"""What is observed in each step: nothing, packed bits, or the bool array."""


class Reading(NamedTuple):
    """One cell of the table."""

    game: str
    batch: int
    form: str
    steps_per_second: float
    compile_seconds: float


def rollout(env, batch, form, length):
    """A jitted (states, key) -> the same after `length` steps of random play."""
    observe = {"packed": env.pack, "dense": env.observe}.get(form)

    def one_step(carry, _):
        states, key, _ = carry
        key, key_draws, key_act = jax.random.split(key, 3)
        draws = jax.random.bits(key_draws, (batch, env.num_draws))
        actions = jax.random.randint(key_act, (batch,), 0, env.num_actions)
        states, reward, _ = jax.vmap(env.step)(states, actions, draws)
        seen = jax.vmap(observe)(states) if observe else reward
        return (states, key, seen), jnp.sum(reward)

    def run(carry):
        return jax.lax.scan(one_step, carry, None, length=length)

    def start(key):
        states = jax.vmap(env.reset)(jax.random.bits(key, (batch, env.num_draws)))
        seen = jax.vmap(observe)(states) if observe else jnp.zeros(batch)
        return states, key, seen

    return jax.jit(start), jax.jit(run, donate_argnums=0)


def measure(game, batch, form, *, seconds=1.0):
    """The best of many short windows, since the machine may be shared.

    The observation is carried from step to step, so that it cannot be optimised away.
    """
    env = make(f"MinAtar/{game}-v1")
    length = max(20, 40_000 // batch)
    start, run = rollout(env, batch, form, length)
    carry = start(jax.random.key(0))
    began = time.perf_counter()
    compiled = run.lower(carry).compile()
    compile_seconds = time.perf_counter() - began
    carry, _ = jax.block_until_ready(compiled(carry))
    best, began = float("inf"), time.perf_counter()
    while time.perf_counter() - began < seconds:
        window = time.perf_counter()
        carry, _ = jax.block_until_ready(compiled(carry))
        best = min(best, time.perf_counter() - window)
    return Reading(game, batch, form, batch * length / best, compile_seconds)


def main(arguments):
    games = arguments[:1] or list(GAMES)
    batches = [int(text) for text in arguments[1:2]] or [1, 32, 1024]
    print(f"{'game':16}{'batch':>7}  {'observation':12}{'steps/s':>13}{'compile s':>11}")
    for game in games:
        for batch in batches:
            for form in FORMS:
                reading = measure(game, batch, form)
                print(
                    f"{game:16}{batch:7}  {form:12}{reading.steps_per_second:13,.0f}"
                    f"{reading.compile_seconds:11.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:])
