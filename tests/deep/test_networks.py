"""Networks by name: what they compute, what V and A share; networks of one's own in training."""

import functools
from typing import NamedTuple

import equinox
import flax.linen
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from qduet.agents import make_agent
from qduet.core.errors import InputError
from qduet.deep import networks, optimisers, training
from qduet.deep.environment import Environment, Step
from qduet.deep.environments import make
from qduet.deep.layers import InitScheme, Outputs

SHAPES = {"board": (10, 10, 4), "conv": (36, 40, 2), "mlp": (5,)}
ACTIONS = 3


def seen(name):
    return jax.ShapeDtypeStruct(SHAPES[name.split("-")[0]], jnp.float32)


@functools.cache
def case(name):
    """The network's parameters, and an observation."""
    network = networks.NETWORKS[name]
    scheme = InitScheme(uniform_conv=True, uniform_streams=True)  # biases that are not zero
    params = network.init(jax.random.key(0), seen(name), ACTIONS, scheme)
    return params, jax.random.normal(jax.random.key(1), seen(name).shape)


def environment(shape, num_actions=ACTIONS):
    """Which never ends, and shows noise."""

    def step(state, action, draws):
        return Step(draws[0], jnp.float32(action), jnp.bool_(False), None)

    def encode(state):
        return jax.random.normal(jax.random.key(state), shape)

    reset = lambda draws: draws[0]
    kind = jax.ShapeDtypeStruct(shape, jnp.float32)
    return Environment("noise", num_actions, 1, kind, reset, step, encode, lambda x: x)


# --- The built-in ones ----------------------------------------------------------------------------

BUILT_IN = [kind + form for kind in SHAPES for form in ("", "-one", "-separate")]


def test_there_are_three_forms_of_three_networks():
    assert {name for name, network in networks.NETWORKS.items() if network.built_in} == {*BUILT_IN}


@pytest.mark.parametrize("name", BUILT_IN)
def test_what_v_and_a_share(name):
    """A gradient of V by a weight is zero if the weight is A's alone, and the other way round."""
    params, x = case(name)
    apply = networks.NETWORKS[name].apply
    outputs = apply(params, x)
    assert (outputs.v.shape, outputs.adv.shape) == ((), (ACTIONS,))
    of = lambda output: jax.grad(lambda params: output(apply(params, x)))(params)
    used = lambda tree: [bool(jnp.any(x.w != 0)) for x in layers(tree)]
    by_v, by_adv = used(of(lambda o: o.v)), used(of(lambda o: o.adv.sum()))
    depth = {"board": 1, "conv": 3, "mlp": 1}[name.split("-")[0]]
    shared, first, second = [(True, True)], [(True, False)], [(False, True)]
    expected = {
        "": depth * shared + first + second,
        "one": (depth + 1) * shared,
        "separate": depth * first + depth * second + first + second,
    }[name.partition("-")[2]]
    assert list(zip(by_v, by_adv, strict=True)) == expected + first + second


def layers(params):
    """From below: torsos, hidden layers, the heads of V and of A."""
    return jax.tree.leaves(params, is_leaf=lambda x: hasattr(x, "w"))


@pytest.mark.parametrize("name", ["mlp", "mlp-one", "mlp-separate"])
def test_an_mlp_is_what_matrices_compute(name):
    params, x = case(name)
    *below, v, adv = [(np.asarray(w, float), np.asarray(b, float)) for w, b in layers(params)]
    through = lambda x, *layers: functools.reduce(
        lambda x, layer: np.maximum(x @ layer[0] + layer[1], 0), layers, np.asarray(x, float)
    )
    units = {
        "mlp": lambda: (through(x, *below[:2]), through(x, below[0], below[2])),
        "mlp-one": lambda: (through(x, *below), through(x, *below)),
        "mlp-separate": lambda: (through(x, *below[::2]), through(x, *below[1::2])),
    }[name]()
    outputs = networks.NETWORKS[name].apply(params, x)
    np.testing.assert_allclose(outputs.v, (units[0] @ v[0] + v[1])[0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(outputs.adv, units[1] @ adv[0] + adv[1], rtol=1e-4, atol=1e-6)


class Nature(flax.linen.Module):
    """The two-stream network of frames, in flax."""

    @flax.linen.compact
    def __call__(self, x):
        for side, stride, filters in ((8, 4, 32), (4, 2, 64), (3, 1, 64)):
            conv = flax.linen.Conv(filters, (side, side), (stride, stride), padding="VALID")
            x = flax.linen.relu(conv(x))
        v, adv = (flax.linen.relu(flax.linen.Dense(512)(x.reshape(-1))) for _ in range(2))
        return flax.linen.Dense(1)(v)[0], flax.linen.Dense(ACTIONS)(adv)


def test_the_convolutions_are_flaxs():
    params, x = case("conv")
    theirs = jax.eval_shape(Nature().init, jax.random.key(0), x)["params"]
    named = [f"Conv_{i}" for i in range(3)] + [f"Dense_{i}" for i in range(4)]
    given = {
        name: {"kernel": w.reshape(theirs[name]["kernel"].shape), "bias": b}
        for name, (w, b) in zip(named, layers(params), strict=True)
    }
    v, adv = Nature().apply({"params": given}, x)
    outputs = networks.NETWORKS["conv"].apply(params, x)
    np.testing.assert_allclose(outputs.v, v, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(outputs.adv, adv, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["board-one", "board-separate"])
def test_boards_have_the_papers_torso_in_every_form(name):
    """Its features by a loop over the patches, as in test_board."""
    params, x = case(name)
    outputs, seen = networks.NETWORKS[name].apply(params, x), np.asarray(x, float)
    params = jax.tree.map(lambda x: np.asarray(x, float), params)
    relu = lambda x: np.maximum(x, 0)
    patches = [seen[i : i + 3, j : j + 3].reshape(-1) for i in range(8) for j in range(8)]
    units = [
        relu(relu(np.array(patches) @ conv.w + conv.b).reshape(-1) @ hidden.w + hidden.b)
        for (conv,), hidden in zip(params.torsos, params.hidden, strict=True)
    ]
    np.testing.assert_allclose(outputs.v, (units[0] @ params.v.w + params.v.b)[0], rtol=1e-4)
    np.testing.assert_allclose(outputs.adv, units[-1] @ params.adv.w + params.adv.b, rtol=1e-4)


@pytest.mark.parametrize("name", BUILT_IN)
def test_initialisation_treats_convolutions_apart(name):
    start = functools.partial(networks.NETWORKS[name].init, jax.random.key(0), seen(name), ACTIONS)
    lecun, released = layers(start()), layers(start(InitScheme(uniform_conv=True)))
    convolves = not name.startswith("mlp")
    number = sum(len(torso) for torso in getattr(start(), "torsos", [[1]])) if convolves else 0
    assert not any(layer.b.any() for layer in lecun)
    assert [bool(layer.b.any()) for layer in released] == [i < number for i in range(len(released))]
    for layer in lecun:
        off = 6 / np.sqrt(2 * layer.w.size)
        assert float(layer.w.std()) * np.sqrt(len(layer.w)) == pytest.approx(1, abs=off)
    firsts = [layer.w for layer in lecun if layer.w.shape == lecun[0].w.shape]
    assert len({float(w[0, 0]) for w in firsts}) == len(firsts)  # a key for each


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        ((10, 10, 4), "board"),
        ((84, 84, 4), "conv"),
        ((36, 36, 1), "conv"),
        ((35, 36, 1), "mlp"),
        ((10, 10), "mlp"),
        ((4,), "mlp"),
        ((), "mlp"),
    ],
)
def test_auto_goes_by_the_observation(shape, name):
    env = environment(shape)
    assert networks.name_of("auto", env) == name
    network = networks.make_network("auto", env)
    params = network.init(jax.random.key(0), networks.spec(env), ACTIONS)
    assert network.apply(params, jnp.zeros(shape)).adv.shape == (ACTIONS,)


# --- Networks of one's own ------------------------------------------------------------------------


class FlaxNetwork(flax.linen.Module):
    actions: int

    @flax.linen.compact
    def __call__(self, x):
        x = flax.linen.relu(flax.linen.Dense(16)(x))
        return Outputs(flax.linen.Dense(1)(x)[0], flax.linen.Dense(self.actions)(x))


def flax_network():
    init = lambda key, seen, n: FlaxNetwork(n).init(key, jnp.zeros(seen.shape))
    apply = lambda params, x: FlaxNetwork(params["params"]["Dense_2"]["bias"].size).apply(params, x)
    return init, apply


class EquinoxNetwork(equinox.Module):
    below: equinox.nn.Linear
    v: equinox.nn.Linear
    adv: equinox.nn.Linear

    def __init__(self, key, inputs, actions):
        below, v, adv = jax.random.split(key, 3)
        self.below = equinox.nn.Linear(inputs, 16, key=below)
        self.v = equinox.nn.Linear(16, 1, key=v)
        self.adv = equinox.nn.Linear(16, actions, key=adv)

    def __call__(self, x):
        x = jax.nn.relu(self.below(x))
        return self.v(x)[0], self.adv(x)


def equinox_network():
    init = lambda key, seen, n: EquinoxNetwork(key, *seen.shape, n)
    return init, lambda params, x: params(x)


class Linear(NamedTuple):
    v: jax.Array
    adv: jax.Array


def plain_network():
    init = lambda key, seen, n: Linear(jnp.zeros(seen.shape), jnp.zeros((n, *seen.shape)))
    return init, lambda params, x: (params.v @ x, params.adv @ x)


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(networks, "NETWORKS", {**networks.NETWORKS})
    monkeypatch.setattr(optimisers, "OPTIMISERS", {})
    yield
    networks.make_network.cache_clear()
    optimisers.make_optimiser.cache_clear()


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("optimiser", ["adam", "rmsprop"])
@pytest.mark.parametrize("made", [flax_network, equinox_network, plain_network])
def test_a_network_of_ones_own_is_trained(made, optimiser):
    """On the same batch again and again, its loss falls; both V and A learn."""
    networks.register_network("mine", *made())
    optimisers.register_optimiser("rmsprop", optax.rmsprop)
    small = {"capacity": 400, "learn_from": 100, "sync_every": 100, "learning_rate": 0.01}
    agent = make_agent("rdq", network="mine", optimiser=optimiser, **small)
    setting, hyper = training.make_setting(make("gymnax/CartPole-v1"), agent), training.hyper(agent)
    run = training.init(setting, agent.init_scheme(), jax.random.key(0))
    run = jax.jit(functools.partial(training.warm_up, setting, hyper))(run)
    first, words = run.params, jax.random.bits(jax.random.key(1), (32,), jnp.uint32)
    learn = jax.jit(functools.partial(training.learn, setting, hyper))
    totals = []
    for i in range(40):
        run, losses = learn(run, jnp.int32(100 + 4 * i), words)
        totals.append(float(losses.total))
    assert totals[-1] < 0.6 * totals[0]
    moved = jax.tree.map(lambda a, b: bool((a != b).any()), first, run.params)
    assert all(jax.tree.leaves(moved))
    after, _ = jax.jit(functools.partial(training.block, setting, hyper))(run, jnp.int32(200))
    assert all(jnp.isfinite(x).all() for x in jax.tree.leaves(after.params))


@pytest.mark.usefixtures("registry")
def test_an_optimiser_of_ones_own_takes_its_own_steps():
    """Plain SGD on a linear network: the weights move by −α times the mean gradient, here −α δ x.

    All is zero at first, so δ is the reward, which is 1 in every step of CartPole.
    """
    networks.register_network("mine", *plain_network())
    optimisers.register_optimiser("sgd", optax.sgd)
    small = {"capacity": 400, "learn_from": 100, "sync_every": 100, "learning_rate": 0.25}
    agent = make_agent("dueling_dqn", network="mine", optimiser="sgd", **small)
    setting, hyper = training.make_setting(make("gymnax/CartPole-v1"), agent), training.hyper(agent)
    run = training.init(setting, agent.init_scheme(), jax.random.key(0))
    run = jax.jit(functools.partial(training.warm_up, setting, hyper))(run)
    words = jnp.asarray(np.arange(32, dtype=np.uint32) << 27)  # every third transition or so
    after, _ = training.learn(setting, hyper, run, jnp.int32(100), words)
    times = (np.arange(32, dtype=np.uint64) << 27) * 100 >> 32
    x = np.asarray(run.replay.observations)[times + 3]
    assert (np.asarray(run.replay.actions)[times] < 64).all()  # no time limit in the first 100
    np.testing.assert_allclose(after.params.v, 0.25 * x.mean(axis=0), rtol=1e-5, atol=1e-7)


# --- Refused --------------------------------------------------------------------------------------


def test_observations_that_a_network_is_not_for_are_refused():
    vector, frame, small = environment((4,)), environment((84, 84, 4)), environment((20, 20, 3))
    with pytest.raises(InputError, match=r"conv is for frames .* observation is \[4\]: use mlp"):
        networks.make_network("conv", vector)
    with pytest.raises(InputError, match=r"at least 36 pixels; the observation is \[20, 20, 3\]"):
        networks.make_network("conv-one", small)
    for name in ("board", "board-one"):
        with pytest.raises(InputError, match=r"boards \[10, 10, C\].*\[84, 84, 4\]: use mlp or"):
            networks.make_network(name, frame)
    with pytest.raises(InputError, match="did you mean 'mlp-one'"):
        networks.make_network("mlp-on", vector)
    with pytest.raises(InputError, match="'mlp' is a built-in one; choose another name"):
        networks.register_network("mlp", *plain_network())
    with pytest.raises(InputError, match="'auto' is a built-in one"):
        networks.register_network("auto", *plain_network())


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("apply", "told"),
    [
        (
            lambda p, x: (p.v @ x, p.v @ x),
            r"A of \[3\] in noise, as floats; it gives \[\] and \[\]",
        ),
        (lambda p, x: (p.adv @ x, p.adv @ x), r"it gives \[3\] and \[3\]"),
        (lambda p, x: (p.v @ x, jnp.arange(3)), "as floats"),
        (lambda p, x: p.adv @ p.adv, "mine does not work in noise: "),
        (lambda p, x: p.v @ x, "mine does not work in noise: "),
    ],
)
def test_a_network_that_gives_something_else_is_refused(apply, told):
    networks.register_network("mine", plain_network()[0], apply)
    with pytest.raises(InputError, match=told) as caught:
        networks.make_network("mine", environment((4,)))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.usefixtures("registry")
def test_a_network_that_has_changed_has_another_fingerprint():
    env = environment((4,))
    init, apply = plain_network()
    networks.register_network("mine", init, apply)
    first = networks.fingerprint("mine", env)
    networks.register_network("mine", *plain_network())
    assert networks.fingerprint("mine", env) == first
    networks.register_network("mine", init, lambda p, x: (2 * (p.v @ x), p.adv @ x))
    assert networks.fingerprint("mine", env) != first
    assert networks.fingerprint("mlp", env) is None


def test_what_is_not_imported_is_told_how():
    with pytest.raises(InputError, match=r"unknown network 'mine'.*qduet --import MODULE"):
        networks.make_network("mine", make("gymnax/CartPole-v1"))
    with pytest.raises(InputError, match=r"unknown optimiser 'mine'.*qduet --import MODULE"):
        optimisers.make_optimiser("mine", 1e-4)
