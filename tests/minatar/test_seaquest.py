"""Seaquest never needs more room than its state has: shown by play that tries to."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.minatar import DOWN, FIRE, LEFT, RIGHT, UP, seaquest
from qduet.minatar import seaquest_slots as slots

NUM_GAMES, NUM_STEPS = 512, 500


def schedules(rng):
    """Actions and words that crowd the sea: bob up and down, then hold or fire."""
    bobbing = np.where(np.arange(NUM_STEPS) % 2 == 0, DOWN, UP)
    actions = np.tile(bobbing, (NUM_GAMES, 1))
    switch = rng.integers(30, NUM_STEPS, NUM_GAMES)[:, None]
    others = rng.choice((FIRE, FIRE, LEFT, RIGHT, DOWN, UP), (NUM_GAMES, NUM_STEPS))
    actions = np.where(np.arange(NUM_STEPS) < switch, actions, others)
    words = rng.integers(0, 2**32, (NUM_GAMES, NUM_STEPS, 2), dtype=np.uint32)
    kind = np.arange(NUM_GAMES)[:, None] % 3  # fish alone, subs alone, both
    words[..., 0] = np.choose(kind, (words[..., 0] | 2**31, words[..., 0] >> 2, words[..., 0]))
    words[..., 1] &= 0x7FFFFFFF  # one direction, so that nothing is blocked
    return actions, words


def counts(state):
    bullets = jnp.concatenate([state.bullets_left, state.bullets_right])
    enemies = state.enemies
    return {
        "enemies": jax.lax.population_count(enemies.alive),
        "fish": jax.lax.population_count(enemies.alive & ~enemies.subs),
        "subs": jax.lax.population_count(enemies.alive & enemies.subs),
        "enemy bullets": jnp.sum(jax.lax.population_count(bullets)),
        "bullets": state.older_bullet.alive.astype(int) + state.newer_bullet.alive,
        "divers": state.older_diver.alive.astype(int) + state.newer_diver.alive,
        "ring clash": enemies.alive & slots.slot(enemies.next_slot) != 0,
        "bullet overwritten": state.older_bullet.alive & (state.shot_timer == 0),
        "diver overwritten": state.older_diver.alive & (state.diver_timer == 0),
    }


@pytest.fixture(scope="module")
def most():
    """The largest of each count over all games and steps, playing on after every end."""
    game = seaquest.game()

    def play(actions, words):
        def step(state, inputs):
            after = game.step(state, *inputs).state
            return after, counts(after)

        start = game.reset(jnp.zeros(2, jnp.uint32))._replace(diver_count=jnp.int32(-1))
        _, seen = jax.lax.scan(step, start, (actions, words))
        return {name: values.max() for name, values in seen.items()}

    actions, words = schedules(np.random.default_rng(0))
    largest = jax.jit(jax.vmap(play))(actions, words)
    return {name: int(values.max()) for name, values in largest.items()}


def test_the_most_enemies_bullets_and_divers(most):
    # 29 at the end of a step; a thirtieth comes in before the oldest leaves.
    assert (most["enemies"], most["fish"], most["subs"]) == (29, 29, 29)
    assert most["enemy bullets"] == 8
    assert (most["bullets"], most["divers"]) == (2, 2)


def test_nothing_is_overwritten(most):
    assert most["ring clash"] == 0
    assert most["bullet overwritten"] == 0
    assert most["diver overwritten"] == 0
