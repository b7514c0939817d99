import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.deep import acting
from qduet.deep.acting import choose
from qduet.deep.environments import make
from qduet.deep.fused import acting as fused_acting
from qduet.deep.fused import kernels, scalars

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


def test_four_turns_by_kernel_are_the_four_turns_by_loop(monkeypatch):
    """The way that acting takes on GPUs, its kernel interpreted; ε is 1 in two turns, then 0."""
    interpreted = functools.partial(scalars.as_kernel, interpret=True)
    monkeypatch.setattr(scalars, "as_kernel", interpreted)
    kernel = fused_acting._kernel.__wrapped__  # nothing of it is cached
    monkeypatch.setattr(fused_acting, "_kernel", kernel)
    monkeypatch.setattr(kernels, "on_cuda", lambda kernel, plain, *args: kernel(*args))
    env = make("MinAtar/Breakout-v1")
    words = jax.random.bits(jax.random.key(4), (5, env.num_draws + 2), jnp.uint32)
    state, words = env.reset(words[4, 2:]), words[:4]
    table = jax.random.normal(jax.random.key(3), (env.encode(state).size, env.num_actions))
    advantages_of = lambda observation: observation.astype(jnp.float32) @ table
    exploration = acting.Exploration(*map(jnp.float32, (0, 150_001, 1)))
    args = env, exploration, advantages_of, jnp.int32(150_000), state, env.encode(state), words
    want, got = acting.turns(*args), fused_acting.turns(*args)
    jax.tree.map(np.testing.assert_array_equal, got, want)
    drawn = [int(word) * 3 >> 32 for word in words[:2, 1]]
    greedy = [int(advantages_of(want.observation[i]).argmax()) for i in (1, 2)]
    assert want.action.tolist() == drawn + greedy
    assert greedy != [int(word) * 3 >> 32 for word in words[2:, 1]]
