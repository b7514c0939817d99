import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.core.errors import InputError
from qduet.deep import board
from qduet.deep.layers import LECUN, InitScheme

TORCH = InitScheme(uniform_conv=True, uniform_streams=True)


@pytest.fixture(scope="module")
def params():
    drawn = board.init(jax.random.key(0), 4, 3, TORCH)  # with biases that are not zero
    return jax.tree.map(lambda x: x.astype(jnp.float32), drawn)


def plain_forward(p, seen):
    """The network with loops: convolution, two hidden layers, two heads."""
    relu = lambda x: np.maximum(x, 0)
    features = np.zeros((8, 8, 16))
    for y in range(8):
        for x in range(8):
            window = seen[y : y + 3, x : x + 3].reshape(-1)
            features[y, x] = relu(window @ p.conv.w + p.conv.b)
    flat = features.reshape(-1)
    v = relu(flat @ p.v_hidden.w + p.v_hidden.b) @ p.v.w + p.v.b
    adv = relu(flat @ p.adv_hidden.w + p.adv_hidden.b) @ p.adv.w + p.adv.b
    return v[0], adv


def test_forward_is_what_loops_compute(params):
    seen = np.random.default_rng(0).random((10, 10, 4)) < 0.3
    outputs = board.apply(params, jnp.asarray(seen))
    plain = jax.tree.map(lambda x: np.asarray(x, np.float64), params)
    v, adv = plain_forward(plain, seen.astype(float))
    np.testing.assert_allclose(outputs.v, v, rtol=1e-5)
    np.testing.assert_allclose(outputs.adv, adv, rtol=1e-5)


def test_a_board_with_its_channels_first_is_refused(params):
    with pytest.raises(InputError, match=r"must be \[10, 10, 4\]; it is \[4, 10, 10\]"):
        board.apply(params, jnp.zeros((4, 10, 10)))


def test_lecun_normal_has_variance_one_over_fan_in_and_no_bias():
    p = board.init(jax.random.key(1), 10, 6, LECUN)
    for layer in p:
        n = layer.w.size
        expected = layer.w.shape[0] ** -0.5
        assert abs(float(layer.w.std()) / expected - 1) < 5 / np.sqrt(2 * n)
        assert (layer.b == 0).all()
    assert float(jnp.abs(p.adv_hidden.w).max()) > 3 * 1024**-0.5  # a normal has tails


def test_torchs_default_is_uniform_biases_included():
    p = board.init(jax.random.key(1), 10, 6, TORCH)
    for layer in p:
        bound = layer.w.shape[0] ** -0.5
        assert float(jnp.abs(layer.w).max()) <= bound
        assert 0 < float(jnp.abs(layer.b).max()) <= bound
    deviation = 1024**-0.5 / np.sqrt(3)
    assert float(p.adv_hidden.w.std()) == pytest.approx(deviation, rel=0.01)
    assert abs(float(p.adv_hidden.b.mean())) < 4 * deviation / np.sqrt(128)
    assert not jnp.allclose(p.adv_hidden.b, p.adv_hidden.w[0])  # draws of their own


def test_the_convolution_alone_can_have_torchs_default():
    p = board.init(jax.random.key(1), 10, 6, InitScheme(uniform_conv=True))
    assert float(jnp.abs(p.conv.w).max()) <= 90**-0.5
    assert p.conv.b.all()
    assert not any(layer.b.any() for layer in p[1:])
    assert float(jnp.abs(p.adv_hidden.w).max()) > 3 * 1024**-0.5


def test_layers_and_keys_are_independent():
    a, b = (board.init(jax.random.key(k), 4, 3, LECUN) for k in (0, 1))
    assert not jnp.allclose(a.v_hidden.w, a.adv_hidden.w)
    assert not jnp.allclose(a.v_hidden.w, b.v_hidden.w)
