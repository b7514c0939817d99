"""Functions computed element by element, against the functions themselves."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.agents import make_agent
from qduet.deep import acting, training
from qduet.deep.environments import make
from qduet.deep.fused import scalars
from qduet.minatar import GAMES

interpreted = functools.partial(scalars.as_kernel, interpret=True)


def operations(function, *args):
    return [eqn.primitive.name for eqn in jax.make_jaxpr(function)(*args).eqns]


def same(got, want):
    """Values, shapes and types."""
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def moves(x):
    table = jnp.asarray(np.arange(12).reshape(3, 4) % 5)
    return {
        "padded": jnp.pad(x, ((1, 0), (2, 1)), constant_values=7),
        "apart": jax.lax.pad(x, x[0, 0], [(1, 0, 2), (0, 1, 1)]),
        "counted": x + jax.lax.broadcasted_iota(x.dtype, x.shape, 1),
        "turned": x.T[::-1, 1:],
        "joined": jnp.concatenate([x, table], axis=0)[::2],
        "stacked": jnp.stack([x[0], x[2]], axis=1),
        "column": (x[:, :1] + jnp.arange(4)[None]).reshape(2, 6),
        "known": x * (table + 1) + jnp.where(table > 2, 1, 0),
    }


def folds(x):
    return (
        x.sum(),
        x.max(axis=0),
        x.min(axis=1),
        (x > 3).any(axis=1),
        (x > 3).all(),
        x.argmax(0),
        x.argmax(1),
    )


@pytest.mark.parametrize("function", [moves, folds])
def test_arrays_are_taken_apart_and_put_together(function):
    x = jax.random.randint(jax.random.key(0), (3, 4), 0, 6)
    same(interpreted(function)(x), function(x))


def test_a_shift_by_too_much_leaves_nothing(monkeypatch):
    """As in XLA, on a processor that looks at the last five bits of the number alone."""
    bound = scalars._on_scalars

    def processor(eqn, *args):
        if eqn.primitive.name in scalars._SHIFTS:
            args = args[0], args[1] & 31
        return bound(eqn, *args)

    monkeypatch.setattr(scalars, "_on_scalars", processor)
    unsigned = lambda x, n: (x << n, x >> n, x << 31, x >> 32, x >> 40, x >> n.astype(jnp.uint32))
    shifts = lambda x, n: (*unsigned(x, n), x.astype(int) >> n)
    x, n = jnp.uint32(0xDEADBEEF), jnp.array([-1, 0, 1, 31, 32, 33, 2**30])
    got = jax.vmap(interpreted(shifts), (None, 0))(x, n)
    same(got, jax.vmap(shifts, (None, 0))(x, n))
    assert "select_n" in str(jax.make_jaxpr(interpreted(lambda x, n: x << n))(x, jnp.int32(5)))
    assert "select_n" not in str(jax.make_jaxpr(interpreted(lambda x: x << 5))(x))


OTHERS = {
    "sort": jnp.sort,
    "cumsum": jnp.cumsum,
    "index": lambda x: x[x[0]],
    "product": lambda x: x @ x,
    "loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, y: 2 * y, x),
    "scan": lambda x: jax.lax.scan(lambda y, x: (y + x, y), 0, x)[1],
    "while": lambda x: jax.lax.while_loop(lambda y: y[0] < 9, lambda y: y + 1, x),
    "cond": lambda x: jax.lax.cond(x[0] > 1, lambda: x, lambda: -x),
    "checkpoint": lambda x: jax.checkpoint(lambda y: y + 1)(x),
    "crop": lambda x: jax.lax.pad(x, 0, [(-1, 0, 0)]),
    "crop of the end": lambda x: jax.lax.pad(x, 0, [(0, -1, 0)]),
    "nothing": lambda x: x[:0].sum(),
    "max of bools": lambda x: jax.lax.max(x > 1, x > 2),
    "three cases": lambda x: jax.lax.select_n(jnp.clip(x, 0, 2), x, x + 1, x + 2),
}


@pytest.mark.parametrize("function", OTHERS.values(), ids=OTHERS)
def test_what_is_no_fixed_pattern_is_left_to_xla(function):
    x = jnp.array([2, 0, 3, 1])
    left = scalars.as_kernel(function)
    same(left(x), function(x))
    assert operations(left, x) == operations(function, x)


def test_what_a_function_closes_over_is_an_argument():
    table = np.array([3, 1, 4])

    @jax.jit
    def outer(x, y):
        return interpreted(lambda x: x * y + table)(x)

    x, y = jnp.array([1, 2, 3]), jnp.array([5, 7, 9])
    same(outer(x, y), x * y + table)


def test_nan_is_the_largest():
    x = jnp.array([[1.0, jnp.nan, 2.0, jnp.nan], [3.0, 1.0, 3.0, 0.0]])
    same(interpreted(lambda x: x.argmax(axis=1))(x), x.argmax(axis=1))


@pytest.mark.parametrize("game", GAMES)
def test_a_turn_of_a_game_is_one_kernel(game, h200):
    """Element by element it is the turn itself; and a GPU can be given it.

    A CPU takes long to compile the elements of the two largest games; `benchmarks/gpu_check.py`
    compares all five.
    """
    env = make(f"MinAtar/{game}-v1")
    exploration = training.hyper(make_agent("rdq")).exploration
    turn = functools.partial(acting.turn, env)
    state = env.reset(jnp.zeros(env.num_draws, jnp.uint32))
    plain, by_kernel = jax.jit(turn), jax.jit(interpreted(turn))
    for step in range(60):
        key = jax.random.fold_in(jax.random.key(0), step)
        words = jax.random.bits(key, (env.num_draws + 2,), jnp.uint32)
        adv = jax.random.normal(key, (env.num_actions,))
        args = exploration, state, adv, jnp.int32(3_000 * step), words
        after = plain(*args)
        if step % 20 == 19 and game not in ("Asterix", "Seaquest"):
            same(by_kernel(*args), after)
        state = after.state
    assert operations(scalars.as_kernel(turn), *args) == ["pallas_call"]
    jax.jit(scalars.as_kernel(turn)).trace(*args).lower(lowering_platforms=("cuda",))
