import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.tabular.experience import draw_seed, pick
from qduet.tabular.mdp import MDP, garnet


def test_the_random_numbers_of_a_seed_are_these():
    """One NumPy generator for each purpose: seeds and purposes share none, scales are as asked."""
    base = garnet(jax.random.key(0), num_states=3, num_actions=2, branching=2, discount=0.9)
    mdp = MDP(base.p, base.reward, 0.9, reward_std=0.3)
    draws = draw_seed(7, mdp, 50, 1.5, np.float64)
    generators = [np.random.default_rng([7, purpose]) for purpose in range(7)]
    initial, start, *steps, noise = generators
    np.testing.assert_array_equal(draws.v, 1.5 * initial.standard_normal(3))
    np.testing.assert_array_equal(draws.adv, 1.5 * initial.standard_normal((3, 2)))
    assert draws.start == start.random()
    for field, generator in zip(draws.steps[:4], steps, strict=True):
        np.testing.assert_array_equal(field, generator.random(50))
    np.testing.assert_array_equal(draws.steps.noise, 0.3 * noise.standard_normal(50))


@pytest.mark.parametrize(("uniform", "index"), [(0.0, 1), (0.2499, 1), (0.25, 3), (0.9999, 3)])
def test_what_has_no_probability_is_never_drawn(uniform, index):
    """Outcomes 0 and 2 have none, also where the number is exactly on their edge."""
    cdf = jnp.array([0.0, 0.25, 0.25, 1.0])
    assert int(pick(cdf, jnp.float32(uniform))) == index


@pytest.mark.parametrize("n", [2, 49, 50, 63, 64, 65, 200, 1025])
def test_long_distributions_are_searched_through_as_numpy_does(n):
    """Also where probabilities are 0, and where the number is one of the distribution's."""
    rng = np.random.default_rng(n)
    chances = rng.random((3, n)) * (rng.random((3, n)) < 0.5)
    cdfs = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1, dtype=np.float32)
    uniforms = np.concatenate([[0.0], rng.random(200), cdfs[1, :-1]]).astype(np.float32)
    found = jax.vmap(lambda u: pick(jnp.asarray(cdfs), u, jnp.int32(1)))(jnp.asarray(uniforms))
    np.testing.assert_array_equal(found, np.searchsorted(cdfs[1, :-1], uniforms, side="right"))
