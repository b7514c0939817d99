"""Sets of slots and numbers in slots, against plain NumPy."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from qduet.minatar import seaquest_slots as slots


def numbers_of(values):
    """Plain numbers as planes of four bits."""
    return tuple(
        jnp.uint32(sum(int(v >> j & 1) << i for i, v in enumerate(values))) for j in range(4)
    )


def test_numbers_in_slots():
    values = np.arange(32) % 16
    chosen = np.arange(32) % 3 == 0
    members = jnp.uint32(sum(1 << i for i in np.flatnonzero(chosen)))
    planes = numbers_of(values)
    for value in range(16):
        assert int(slots.equal(planes, value)) == sum(1 << i for i in range(32) if i % 16 == value)
    assert slots.increment(planes, members) == numbers_of((values + chosen) % 16)
    assert slots.decrement(planes, members) == numbers_of((values - chosen) % 16)
    assert slots.assign(planes, members, 9) == numbers_of(np.where(chosen, 9, values))


def test_first_slot_from_anywhere_in_the_ring():
    first_from = jax.jit(slots.first_from)
    for members, start in itertools.product(([], [0], [5, 9], [0, 31]), (0, 5, 6, 10, 31)):
        word = jnp.uint32(sum(1 << i for i in members))
        nearest = sorted(members, key=lambda i: (i - start) % 32)[:1]
        assert int(first_from(word, jnp.int32(start))) == sum(1 << i for i in nearest)
