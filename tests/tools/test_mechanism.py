"""The mechanism of docs/study.md, against its closed form and a restatement in NumPy."""

import jax
import numpy as np
import pytest
from docs_tables.mechanism import ACTIONS, DISCOUNT, STATES, STEP_SIZE, biases

from qduet.tabular import bc_qvmax, q_learning, qvmax


@pytest.mark.parametrize("epsilon", [1.0, 0.1])
def test_without_noise_qvmax_has_the_bias_of_its_fixed_point(epsilon):
    """−γ ε (1 − 1/|A|) gap / (1 − γ²); the others have none."""
    wanted = -DISCOUNT * epsilon * (1 - 1 / ACTIONS) * 0.2 / (1 - DISCOUNT**2)
    found = biases(qvmax(), gap=0.2, noise=0.0, epsilon=epsilon)
    assert abs(found.mean() - wanted) < 4 * found.std() / np.sqrt(len(found))
    for rule in (q_learning(), bc_qvmax()):
        assert np.abs(biases(rule, gap=0.2, noise=0.0, epsilon=epsilon)).max() < 1e-4


def test_with_noise_it_is_what_numpy_finds(x64):
    """Seed 0 at ε = 1 with the same draws: Q-learning written again."""
    keys = jax.random.split(jax.random.key(0), 3)
    actions = np.asarray(jax.random.randint(keys[0], 50_000, 0, ACTIONS))
    noise = np.asarray(jax.random.normal(keys[2], 50_000))
    q, measured = np.full((STATES, ACTIONS), 2.0), []
    for t, (a, reward) in enumerate(zip(actions, noise, strict=True)):
        s = t % STATES
        reward += 0.2 * (a == 0)
        q[s, a] += STEP_SIZE * (reward + DISCOUNT * q[(s + 1) % STATES].max() - q[s, a])
        if t >= 40_000:
            measured.append(q.max(axis=1).mean() - 2.0)
    found = biases(q_learning(), gap=0.2, noise=1.0, epsilon=1.0)[0]
    np.testing.assert_allclose(found, np.mean(measured), rtol=1e-9)
