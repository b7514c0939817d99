"""Uniform words as chances and choices, against the same in Python's integers."""

import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from qduet.minatar import random_words

WORDS = st.integers(0, 2**32 - 1)


@given(WORDS, st.sampled_from([0.0, 0.1, 1 / 3, 1 / 2, 1.0]))
@settings(max_examples=50, deadline=None)
def test_a_word_stands_for_a_uniform_number(word, probability):
    assert bool(random_words.happens(jnp.uint32(word), probability)) == (word / 2**32 < probability)


def test_the_words_around_a_third_fall_on_the_right_sides():
    words = jnp.array([1_431_655_765, 1_431_655_766], jnp.uint32)  # 2^32 / 3 = 1431655765.33
    assert random_words.happens(words, 1 / 3).tolist() == [True, False]


@given(WORDS, st.integers(1, 8))
@settings(max_examples=50, deadline=None)
def test_a_choice_below_a_bound(word, bound):
    expected = (word % 2**24) * bound // 2**24
    assert int(random_words.below(jnp.uint32(word), jnp.int32(bound))) == expected


def test_digits_are_those_of_the_scaled_word():
    first = [-(-k * 2**32 // 625) for k in range(625)]  # the smallest word of each of 5^4 numbers
    words = [word + d for word in first for d in (-1, 0, 1) if word + d >= 0]
    digits = np.stack(random_words.digits(jnp.array(words, jnp.uint32), 5, 4), -1)
    numbers = [word * 625 // 2**32 for word in words]
    assert digits.tolist() == [[n % 5, n // 5 % 5, n // 25 % 5, n // 125] for n in numbers]
