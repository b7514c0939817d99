"""Networks by name: the paper's for boards, an MLP for vectors, a convolution for frames, yours.

A network is two functions over any pytree of parameters:

    init(key, observation, num_actions) -> params      # observation: its shape and type
    apply(params, observation) -> Outputs(v, adv)      # V(s) [], A(s, ·) or Q(s, ·) [|A|]

Each of the built-in ones has three forms, which differ in what V and A share:

    mlp             a torso; then a hidden layer for each of the two (two streams)
    mlp-one         a torso and a hidden layer; only the last layers differ
    mlp-separate    nothing: two networks, as in Sabatelli et al. (2020)

and so have ``board`` (the paper's: `qduet.deep.board`) and ``conv`` (that of Mnih et al., 2015).
``auto`` is ``board`` for boards of 10 × 10, ``conv`` for larger frames, else ``mlp``.

    register_network("mine", init, apply)              # then make_agent("rdq", network="mine")
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from qduet.core.digests import digest
from qduet.core.errors import InputError, unknown_name
from qduet.deep import board
from qduet.deep.environments import Environment
from qduet.deep.layers import LECUN, InitScheme, Layer, Outputs, init_layer

Observation = jax.ShapeDtypeStruct
"""Shape and type of what a network is given; the type is always float32."""


class Network(NamedTuple):
    """A network as two functions."""

    init: Callable[..., Any]
    """key, observation, num_actions -> params; built-in ones take an `InitScheme` as a fourth."""
    apply: Callable[[Any, jax.Array], Outputs]
    """params, observation float32 -> V and A of one state"""
    built_in: bool = False
    """Whether `init` takes an `InitScheme`."""


class Torso(NamedTuple):
    """The part of a network below its hidden layers."""

    shapes: Callable[[tuple[int, ...]], list[tuple[int, int]]]
    """The observation's shape -> (inputs, outputs) of each layer."""
    features: Callable[[tuple[Layer, ...], jax.Array], jax.Array]
    """layers, observation -> features ``[n]``"""
    hidden: int
    """Units of a hidden layer."""
    convolves: bool = False
    """Whether its layers are convolutions, which `InitScheme` treats apart."""


class Streams(NamedTuple):
    """Parameters of a built-in network; V reads the first torso and hidden layer, A the last."""

    torsos: tuple[tuple[Layer, ...], ...]
    """One, or two that share nothing."""
    hidden: tuple[Layer, ...]
    """One, or one for each of V and A."""
    v: Layer
    """``[hidden, 1]``"""
    adv: Layer
    """``[hidden, |A|]``"""


def streams(torso: Torso, *, torsos: int, hidden: int) -> Network:
    """A network of one or two `torsos` with one or two `hidden` layers."""

    def init(
        key: jax.Array, observation: Observation, num_actions: int, scheme: InitScheme = LECUN
    ) -> Streams:
        keys = iter(jax.random.split(key, 64))
        below = scheme.uniform_conv if torso.convolves else scheme.uniform_streams
        above = lambda *shape: init_layer(next(keys), shape, scheme.uniform_streams)
        shapes = torso.shapes(observation.shape)
        stems = tuple(
            tuple(init_layer(next(keys), shape, below) for shape in shapes) for _ in range(torsos)
        )
        size = jax.eval_shape(torso.features, stems[0], observation).size
        return Streams(
            stems,
            tuple(above(size, torso.hidden) for _ in range(hidden)),
            above(torso.hidden, 1),
            above(torso.hidden, num_actions),
        )

    def apply(params: Streams, observation: jax.Array) -> Outputs:
        features = [torso.features(stem, observation) for stem in params.torsos]
        units = lambda i: jax.nn.relu(params.hidden[i](features[i]))
        return Outputs(params.v(units(0))[0], params.adv(units(-1)))

    return Network(init, apply, built_in=True)


# --- Torsos --------------------------------------------------------------------------------------

UNITS = 128
"""Units of each layer of the MLP."""

NATURE = ((8, 4, 32), (4, 2, 64), (3, 1, 64))
"""Side, stride and filters of each convolution of Mnih et al. (2015)."""
SMALLEST_FRAME = 36


def _mlp_features(layers: tuple[Layer, ...], observation: jax.Array) -> jax.Array:
    return functools.reduce(lambda x, layer: jax.nn.relu(layer(x)), layers, observation.reshape(-1))


def _board_shapes(shape: tuple[int, ...]) -> list[tuple[int, int]]:
    side = board.SIDE + board.KERNEL - 1
    if len(shape) != 3 or shape[:2] != (side, side):
        raise InputError(
            f"network board is for boards [{side}, {side}, C]; the observation is {list(shape)}: "
            "use mlp or conv"
        )
    return [(board.KERNEL**2 * shape[2], board.FILTERS)]


def _board_features(layers: tuple[Layer, ...], observation: jax.Array) -> jax.Array:
    return board.torso(layers[0], board.bits_of(observation))


def _conv_shapes(shape: tuple[int, ...]) -> list[tuple[int, int]]:
    if len(shape) != 3 or min(shape[:2]) < SMALLEST_FRAME:
        raise InputError(
            f"network conv is for frames [height, width, C] of at least {SMALLEST_FRAME} pixels; "
            f"the observation is {list(shape)}: use mlp"
        )
    channels = [shape[2], *(filters for _, _, filters in NATURE)]
    return [
        (side * side * inputs, filters)
        for (side, _, filters), inputs in zip(NATURE, channels[:-1], strict=True)
    ]


def _conv_features(layers: tuple[Layer, ...], observation: jax.Array) -> jax.Array:
    x = observation[None]
    for (w, b), (side, stride, filters) in zip(layers, NATURE, strict=True):
        kernel = w.reshape(side, side, -1, filters)
        x = jax.lax.conv_general_dilated(
            x, kernel, (stride, stride), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = jax.nn.relu(x + b.reshape(1, 1, 1, -1))
    return x.reshape(-1)


_TORSOS = {
    "board": Torso(_board_shapes, _board_features, board.HIDDEN, convolves=True),
    "conv": Torso(_conv_shapes, _conv_features, 512, convolves=True),
    "mlp": Torso(lambda shape: [(math.prod(shape), UNITS)], _mlp_features, UNITS),
}


def _board_init(
    key: jax.Array, observation: Observation, num_actions: int, scheme: InitScheme = LECUN
) -> board.Params:
    _board_shapes(observation.shape)
    return board.init(key, observation.shape[2], num_actions, scheme)


# --- By name -------------------------------------------------------------------------------------

BOARD = "board"
"""The paper's network, which `qduet.deep.fused` makes fast."""

NETWORKS: dict[str, Network] = {
    **{name: streams(torso, torsos=1, hidden=2) for name, torso in _TORSOS.items()},
    **{f"{name}-one": streams(torso, torsos=1, hidden=1) for name, torso in _TORSOS.items()},
    **{f"{name}-separate": streams(torso, torsos=2, hidden=2) for name, torso in _TORSOS.items()},
    BOARD: Network(_board_init, board.apply, built_in=True),
}
"""The built-in networks, and those of `register_network`."""

AUTO = "auto"


def register_network(name: str, init: Callable[..., Any], apply: Callable[..., Any]) -> None:
    """Makes a network of one's own known by `name`, to agents and to the command.

    The functions are those of the module's docstring; `apply` may also give a plain pair (v, adv).
    """
    if name in (AUTO, *(known for known, network in NETWORKS.items() if network.built_in)):
        raise InputError(f"network '{name}' is a built-in one; choose another name")
    NETWORKS[name] = Network(init, apply)
    make_network.cache_clear()


def name_of(name: str, env: Environment) -> str:
    """`name`, or what ``auto`` stands for in this environment."""
    if name != AUTO:
        if name not in NETWORKS:
            raise unknown_name("network", name, (AUTO, *NETWORKS), importable=True)
        return name
    shape = env.observation.shape
    if env.board or (len(shape) == 3 and shape[:2] == (10, 10)):
        return BOARD
    return "conv" if len(shape) == 3 and min(shape[:2]) >= SMALLEST_FRAME else "mlp"


@functools.cache
def make_network(name: str, env: Environment) -> Network:
    """The network `name` for this environment; `InputError` if its outputs have other shapes."""
    full = name_of(name, env)
    network, seen = NETWORKS[full], spec(env)

    def apply(params: Any, observation: jax.Array) -> Outputs:
        return Outputs(*network.apply(params, observation))

    try:
        params = jax.eval_shape(lambda key: network.init(key, seen, env.num_actions), _key())
        outputs = jax.eval_shape(apply, params, seen)
        given = [(x.shape, jnp.issubdtype(x.dtype, jnp.floating)) for x in outputs]
    except InputError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(
            f"network {full} does not work in {env.name}: {reason}; init(key, observation, "
            "num_actions) gives params, and apply(params, observation) the pair (v, adv)"
        ) from None
    if given != [((), True), ((env.num_actions,), True)]:
        shapes = " and ".join(str(list(x.shape)) for x in outputs)
        raise InputError(
            f"network {full} must give V of the shape [] and A of [{env.num_actions}] in "
            f"{env.name}, as floats; it gives {shapes}"
        )
    return network._replace(apply=apply)


def spec(env: Environment) -> Observation:
    """What networks are given in this environment."""
    return jax.ShapeDtypeStruct(env.observation.shape, jnp.float32)


def shapes(name: str, env: Environment) -> Any:
    """The shapes of the network's parameters."""
    network = make_network(name, env)
    return jax.eval_shape(lambda key: network.init(key, spec(env), env.num_actions), _key())


def fingerprint(name: str, env: Environment) -> str | None:
    """Tells whether a network of one's own has changed; None for the built-in ones."""
    network = make_network(name, env)
    if network.built_in:
        return None
    start = lambda key: network.init(key, spec(env), env.num_actions)
    return digest(name, (start, (_key(),)), (network.apply, (shapes(name, env), spec(env))))


def _key() -> jax.Array:
    return jax.random.key(0)
