"""Seaquest's enemies without a loop: thirty-two slots, as sets and small numbers in machine words.

A set is a uint32 whose bit i says whether slot i is in it, so `&`, `|` and `~` are intersection,
union and complement. `Numbers` holds one small number per slot as bit planes: plane j is the set of
slots whose number has bit j. A rule for every enemy is then a handful of operations on words.
"""

import jax
import jax.numpy as jnp

Set = jax.Array
"""uint32[]: bit i is slot i."""

Numbers = tuple[jax.Array, ...]
"""k sets: a number in 0 .. 2^k - 1 for each slot, lowest bit first."""

NUM_SLOTS = 32
EVERY = 2**NUM_SLOTS - 1
"""The set of all slots."""


def everywhere_if(condition: jax.Array | bool) -> Set:
    """All slots if the condition holds, else none."""
    return jnp.where(condition, jnp.uint32(EVERY), jnp.uint32(0))


def slot(index: jax.Array) -> Set:
    """The set of this slot alone."""
    return jnp.uint32(1) << index.astype(jnp.uint32)


def is_empty(slots: Set) -> jax.Array:
    """Whether no slot is in the set."""
    return slots == 0


def first_from(slots: Set, start: jax.Array) -> Set:
    """The first slot of the set, alone, counting upwards (and around) from `start`."""
    at_or_after = slots & (jnp.uint32(EVERY) << start.astype(jnp.uint32))
    candidates = jnp.where(at_or_after != 0, at_or_after, slots)
    return candidates & -candidates


def zeros(num_bits: int) -> Numbers:
    """The number 0 in every slot."""
    return (jnp.uint32(0),) * num_bits


def equal(numbers: Numbers, value: jax.Array | int) -> Set:
    """The slots that hold this value."""
    result = jnp.uint32(EVERY)
    for j, plane in enumerate(numbers):
        result &= ~(plane ^ everywhere_if((value >> j) & 1 == 1))
    return result


def assign(numbers: Numbers, slots: Set, value: jax.Array | int) -> Numbers:
    """The numbers with this value in these slots."""
    return tuple(
        (plane & ~slots) | (slots & everywhere_if((value >> j) & 1 == 1))
        for j, plane in enumerate(numbers)
    )


def put(members: Set, slots: Set, belongs: jax.Array) -> Set:
    """The set with these slots put in, or taken out, as `belongs` says."""
    return (members & ~slots) | (slots & everywhere_if(belongs))


def increment(numbers: Numbers, slots: Set) -> Numbers:
    """One more in these slots; the largest number wraps to 0."""
    result, carry = [], slots
    for plane in numbers:
        result.append(plane ^ carry)
        carry = carry & plane
    return tuple(result)


def decrement(numbers: Numbers, slots: Set) -> Numbers:
    """One less in these slots; 0 wraps to the largest number."""
    result, borrow = [], slots
    for plane in numbers:
        result.append(plane ^ borrow)
        borrow = borrow & ~plane
    return tuple(result)
