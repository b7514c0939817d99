import jax.numpy as jnp
import numpy as np
import pytest

from qduet.deep.acting import choose

LAST = 2**32 - 1


@pytest.mark.parametrize(
    ("chance", "words", "action", "random"),
    [
        (0.0, (0, LAST), 1, False),  # never at random with ε = 0, however small the first word
        (0.5, (2**31 - 1, 0), 0, True),
        (0.5, (2**31 - 1, LAST), 2, True),
        (0.5, (2**31, LAST), 1, False),
        (1.0, (LAST, 0), 0, True),  # always with ε = 1
    ],
)
def test_one_word_decides_whether_to_explore_and_the_other_on_what(chance, words, action, random):
    """A word w stands for w / 2³²; the best of the three actions is number 1."""
    chosen = choose(jnp.array([0.0, 3.0, 1.0]), chance, jnp.array(words, np.uint32))
    assert (int(chosen.action), bool(chosen.random)) == (action, random)
