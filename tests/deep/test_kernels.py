"""The GPU kernels, interpreted, against the plain forms; and where they are chosen."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.agents import make_agent
from qduet.deep import adam, board, replay, training
from qduet.deep.adam import Rate, Slot
from qduet.deep.environments import make
from qduet.deep.fused import kernels, network
from qduet.deep.layers import Layer
from qduet.minatar.bitboard import pack, unpack


def case(num_channels, n, num_filters=16, seed=0):
    """Random boards (packed), a convolution, features' cotangents."""
    keys = jax.random.split(jax.random.key(seed), 5)
    shape = (n, num_channels, 10)
    rows = jax.random.bits(keys[0], shape) & jax.random.bits(keys[1], shape) & 0x3FF
    conv = Layer(
        jax.random.normal(keys[2], (9 * num_channels, num_filters)),
        jax.random.normal(keys[3], (num_filters,)),
    )
    return jax.vmap(pack)(rows), conv, jax.random.normal(keys[4], (2, n, 64 * num_filters))


def torso(conv, packed, num_channels):
    """The features by a real convolution, of unpacked boards."""
    boards = jax.vmap(lambda p: unpack(p, num_channels))(packed).astype(jnp.float32)
    filters = conv.w.reshape(3, 3, num_channels, -1)
    dims = ("NHWC", "HWIO", "NHWC")
    out = jax.lax.conv_general_dilated(boards, filters, (1, 1), "VALID", dimension_numbers=dims)
    return jax.nn.relu(out + conv.b.reshape(1, 1, 1, -1)).reshape(len(packed), -1)


@pytest.mark.parametrize(
    ("num_channels", "n", "num_filters"),
    [(4, 1, 16), (7, 19, 16), (4, 3, 32)],
)
def test_features_are_a_convolution(num_channels, n, num_filters, monkeypatch):
    monkeypatch.setattr(board, "FILTERS", num_filters)
    packed, conv, _ = case(num_channels, n, num_filters)
    want = torso(conv, packed, num_channels)
    np.testing.assert_allclose(network.features(packed, conv), want, rtol=1e-4, atol=1e-4)
    w = jnp.concatenate([conv.w, conv.b[None]])
    fused = kernels.features(packed, w, interpret=True)
    np.testing.assert_allclose(fused, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("num_channels", "n", "num_filters"),
    [(10, 32, 16), (4, 5, 16), (4, 16, 32)],
)
def test_the_convolutions_gradient_is_autodiffs(num_channels, n, num_filters, monkeypatch):
    monkeypatch.setattr(board, "FILTERS", num_filters)
    packed, conv, dx = case(num_channels, n, num_filters)
    x, pull_back = jax.vjp(lambda conv: torso(conv, packed, num_channels), conv)
    want = pull_back(dx.sum(axis=0))[0]
    plain = network.conv_gradient(packed, x, (dx[0], dx[1]), conv)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3), plain, want)
    if kernels.fits(n):
        fused = kernels.conv_gradient(packed, x, (dx[0], dx[1]), interpret=True)
        got = Layer(fused[:-1], fused[-1])
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3), got, want)


def test_a_hidden_layers_update_is_adam_on_its_gradient():
    keys = jax.random.split(jax.random.key(0), 4)
    x, dz = jax.random.normal(keys[0], (32, 1024)), jax.random.normal(keys[1], (32, 128))
    p, m = (jax.random.normal(key, (1024, 128)) for key in keys[2:])
    slot, rate = Slot(p, m, m * m), Rate(jnp.float32(1e-3), jnp.float32(1.7))
    want = adam.step(slot, x.T @ dz, rate, 1e-4)
    yes = jnp.bool_(True)
    for got in (
        kernels.hidden_update(x, dz, slot, rate, yes, 1e-4, interpret=True),
        network.hidden_update(x, dz, slot, rate, yes, 1e-4),
    ):
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    unused = kernels.hidden_update(x, dz, slot, rate, ~yes, 1e-4, interpret=True)
    jax.tree.map(np.testing.assert_array_equal, unused, slot)


def test_an_update_by_kernels_is_the_plain_update(monkeypatch):
    """The way that learning takes on GPUs, its kernels interpreted; with V's stream and without."""
    agent = make_agent("rdq", capacity=400)
    setting = training.make_setting(make("MinAtar/Breakout-v1"), agent)
    run = training.init(setting, agent.init_scheme(), jax.random.key(0))
    packed = jnp.resize(case(4, 16)[0], run.replay.observations.shape)
    actions, rewards = (jnp.arange(404, dtype=jnp.int8) % n for n in (3, 5))
    run = run._replace(replay=replay.Replay(packed, actions, rewards))
    words = jax.random.bits(jax.random.key(1), (32,))
    hypers = [training.hyper(make_agent(name)) for name in ("rdq", "dqn")]

    def learned():
        learn = jax.jit(lambda *args: training.learn(setting, *args)[0])
        after = [learn(hyper, run, jnp.int32(1000), words) for hyper in hypers]
        return [(run.params, run.optimiser.m) for run in after]

    want = learned()
    for kernel in (kernels.features, kernels.conv_gradient, kernels.hidden_update):
        interpreted = functools.partial(kernel, interpret=True)
        monkeypatch.setattr(kernels, kernel.__name__, interpreted)
    monkeypatch.setattr(kernels, "on_cuda", lambda kernel, plain, *args: kernel(*args))
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    jax.tree.map(close, learned(), want)


@pytest.fixture
def chosen(monkeypatch):
    """The names of the kernels that have been traced for GPUs."""
    names = set()
    for kernel in (kernels.features, kernels.conv_gradient, kernels.hidden_update):

        def recorded(*args, kernel=kernel, **options):
            names.add(kernel.__name__)
            return kernel(*args, **options)

        monkeypatch.setattr(kernels, kernel.__name__, recorded)
    return names


@pytest.mark.usefixtures("x64")
def test_double_precision_has_no_kernels(chosen):
    real = lambda *shape: jnp.zeros(shape, jnp.float64)
    packed, conv = jnp.zeros((32, 50), jnp.uint8), Layer(real(36, 16), real(16))
    slot, rate, x = Slot(*[real(1024, 128)] * 3), Rate(real(), real()), real(32, 1024)
    calls = lambda: (
        network.features(packed, conv),
        network.conv_gradient(packed, x, (x,), conv),
        network.hidden_update(x, real(32, 128), slot, rate, jnp.bool_(True), 1e-4),
    )
    jax.eval_shape(calls)
    assert not chosen


@pytest.mark.parametrize(
    ("num_filters", "hidden", "batch", "kept"),
    [
        (16, 128, 32, {"features", "conv_gradient", "hidden_update"}),
        (16, 100, 32, {"features", "conv_gradient"}),
        (24, 128, 32, {"hidden_update"}),
        (16, 128, 24, {"features"}),
    ],
)
def test_where_kernels_do_not_fit_a_gpu_gets_the_plain_form(
    num_filters, hidden, batch, kept, monkeypatch, chosen
):
    monkeypatch.setattr(board, "FILTERS", num_filters)
    monkeypatch.setattr(board, "HIDDEN", hidden)
    agent = make_agent("rdq", capacity=400, batch_size=batch)
    setting = training.make_setting(make("MinAtar/Breakout-v1"), agent)
    run = training.init(setting, agent.init_scheme(), jax.random.key(0))
    words = jax.random.bits(jax.random.key(1), (batch,))
    learn = jax.jit(functools.partial(training.learn, setting))
    params = learn(training.hyper(agent), run, jnp.int32(1000), words)[0].params
    assert chosen == kept
    assert params.adv_hidden.w.shape == (64 * num_filters, hidden)
    assert all(jnp.isfinite(x).all() for x in jax.tree.leaves(params))


@pytest.mark.parametrize(
    ("sizes", "fits"),
    [
        ((1,), False),
        ((8,), False),
        ((16,), True),
        ((48,), False),
        ((32, 128), True),
        ((32, 100), False),
    ],
)
def test_sizes_that_fit(sizes, fits):
    assert kernels.fits(*sizes) is fits
