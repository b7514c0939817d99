"""Space Invaders: how many bullets fly, and what one step can pay."""

import jax
import jax.numpy as jnp
import numpy as np

from qduet.minatar import FIRE, LEFT, RIGHT, space_invaders


def test_there_are_never_more_than_two_bullets():
    game = space_invaders.game()

    def step(state, action):
        result = game.step(state, action, jnp.zeros(0, jnp.uint32))
        return result.state, (
            jnp.sum(jax.lax.population_count(result.state.friendly_bullets)),
            result.reward,
        )

    rng = np.random.default_rng(0)
    actions = rng.choice((FIRE, FIRE, LEFT, RIGHT), 4000)
    _, (bullets, reward) = jax.lax.scan(step, game.reset(jnp.zeros(0, jnp.uint32)), actions)
    assert int(bullets.max()) == 2
    assert float(reward.max()) <= 2
