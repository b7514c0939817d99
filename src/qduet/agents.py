"""Agents: an algorithm with its numbers, a network and all other settings, as plain values.

    dqn          AV with w = 0, c = 0, β = 0        the second output alone is Q
    dueling_dqn  AV with w = 1, c = 1, β = 0
    rdq          AV with w = 1, c = 0, β = 10⁻³     Dueling DQN without the mean, with the penalty
    double_dqn   dqn in its double form
    dqv          QV: Q and V both learn from R + γ V(S')
    dqv_max      QV: Q from R + γ V(S'), V from R + γ max Q(S', ·); QVMAX with a network
    bc_qvmax     QV: Q from R + γ V(S'), V from max Q(S, ·) of the online network
    bc_qvmax_target, bc_qvmax_double     … of the target network; of both, in the double form

    agent = make_agent("rdq", beta=0.01, learning_rate=1e-4)
    algorithm = qduet.deep.algorithm_of(agent.algorithm)
    q = algorithm.q(agent.numbers, outputs)                                # [|A|]

What an algorithm computes is in `qduet.deep.algorithms`; nothing here needs jax. `register_agent`
makes an agent of one's own known to the command.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from qduet.core.errors import InputError, as_setting, unknown_name

STRIDE = 4
"""Steps of the environment between two updates."""


class AV(NamedTuple):
    """The numbers of AV-learning: DQN, Dueling DQN, RDQ, or something between them."""

    w: Any = 1.0
    """The weight of V in Q."""
    c: Any = 0.0
    """The share of the mean advantage that is subtracted."""
    beta: Any = 0.0
    """The weight of the penalty on V² + Σ A²."""


class QV(NamedTuple):
    """The numbers of QV-learning: what V learns from."""

    bootstrap: Any = 0.0
    """The weight of R + γ V(S') in V's target."""
    maximum: Any = 0.0
    """The weight of R + γ max Q(S', ·) in it."""
    correction: Any = 0.0
    """The weight of max Q(S, ·) in it."""
    w: Any = 0.0
    """The weight of V in Q = w V + A."""
    beta: Any = 0.0
    """The weight of the penalty on V² + Σ A²."""


class Family(NamedTuple):
    """What an agent needs to know of its algorithm."""

    numbers: Any
    """The NamedTuple type of its numbers."""
    double: bool
    """Whether it has a double form."""


FAMILIES = {"av": Family(AV, True), "qv": Family(QV, True), "qv_target": Family(QV, True)}
"""The algorithms by name; `qduet.deep.register_algorithm` adds one."""


class InitScheme(NamedTuple):
    """Which layers start from PyTorch's default, U(±1/√fan_in) for weights *and* biases.

    The others start from LeCun's normal, N(0, 1/fan_in), with zero biases, as the paper says.
    """

    uniform_conv: Any = False
    """The convolutions; bool, an array bool[] inside of a program."""
    uniform_streams: Any = False
    """All other layers, likewise."""


INITIALISATIONS = ("lecun", "released")

_RANGES = (
    ("learning_rate", 0, 1),
    ("adam_epsilon", 1e-30, 1),  # if it rounds to 0 in float32, a gradient of 0 gives 0 / 0
    ("discount", 0, 1),
    ("n_step", 1, 100),
    ("batch_size", 1, 2**20),
    ("epsilon_final", 0, 1),
    ("epsilon_hold_steps", 0, 2**30),
    ("epsilon_decay_steps", 1, 2**30),
)

PROTOCOLS: dict[str, dict[str, Any]] = {
    "paper": {"epsilon_hold_steps": 1_000, "initialisation": "lecun", "shared_bias": False},
    "reference": {"epsilon_hold_steps": 0, "initialisation": "released", "shared_bias": True},
}
"""The settings in which the paper and the released code differ (docs/differences.md, 9–11)."""


@dataclasses.dataclass(frozen=True)
class Agent:
    """The settings of an agent; the defaults are the paper's."""

    name: str
    """``dqn``, ``rdq``, …, or a name for one of your own."""
    algorithm: str
    """``av``, ``qv``, ``qv_target``, or what `register_algorithm` was given."""
    numbers: Any
    """The algorithm's numbers: ``AV(w=1.0, beta=1e-3)``."""
    double: bool = False
    """Whether the best action is chosen by the online network and valued by the target network."""
    n_step: int = 1
    """Rewards that are summed before a target bootstraps."""
    network: str = "auto"
    """A name of `qduet.deep.networks`."""
    optimiser: str = "adam"
    """``adam``, or what `register_optimiser` was given."""
    learning_rate: float = 2.5e-4
    """The optimiser's step size."""
    adam_epsilon: float = 3.125e-4
    """Adam's denominator constant."""
    discount: float = 0.99
    """γ; the paper does not give it, the released code has 0.99."""
    batch_size: int = 32
    """Transitions per update."""
    capacity: int = 100_000
    """Transitions in the replay memory."""
    learn_from: int = 1_000
    """Steps before the first update."""
    sync_every: int = 1_000
    """Steps between two copies to the target network."""
    epsilon_final: float = 0.01
    """ε after its decay."""
    epsilon_hold_steps: int = 1_000
    """Steps of uniform play before ε falls (docs/differences.md, item 9)."""
    epsilon_decay_steps: int = 250_000
    """Steps in which ε falls from 1 to its final value."""
    initialisation: str = "lecun"
    """``lecun``, or ``released``: PyTorch's in the convolution, in DQN everywhere (item 10)."""
    shared_bias: bool = False
    """Whether the advantage head has one bias for all actions, as in the released code (item 11).

    Only for `AV` with w ≠ 0: DQN has one bias for each action, in the released code too.
    """

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if field.name != "numbers":
                value = as_setting(field.type, field.name, getattr(self, field.name))
                object.__setattr__(self, field.name, value)
        algorithm = family_of(self.algorithm)
        if not isinstance(self.numbers, algorithm.numbers):
            raise InputError(
                f"numbers of algorithm {self.algorithm} must be {algorithm.numbers.__name__}(…); "
                f"they are {self.numbers!r}"
            )
        given = self.numbers._asdict().items()
        numbers = algorithm.numbers(*(as_setting(float, name, x) for name, x in given))
        object.__setattr__(self, "numbers", numbers)
        if getattr(numbers, "beta", 0.0) < 0:
            raise InputError(f"beta must be ≥ 0; it is {numbers.beta}")
        if taken := {*numbers._fields} & {*_SETTINGS, "label"}:
            raise InputError(
                f"algorithm {self.algorithm}: '{min(taken)}' is a setting of every agent; choose "
                "another name for the number"
            )
        if self.double and not algorithm.double:
            raise InputError(f"algorithm {self.algorithm} has no double form")
        if self.double and self.algorithm == "qv" and not numbers.maximum:
            raise InputError(
                f"{self.name} has no double form: it bootstraps from no maximum (BC-QVMAX's is "
                "bc_qvmax_double)"
            )
        if self.initialisation not in INITIALISATIONS:
            raise unknown_name("initialisation", self.initialisation, INITIALISATIONS)
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if not low <= value <= high:
                raise InputError(f"{name} must be in [{low:g}, {high:g}]; it is {value}")
        for name in ("capacity", "learn_from", "sync_every"):
            value = getattr(self, name)
            if value < STRIDE or value % STRIDE:
                raise InputError(f"{name} must be a positive multiple of {STRIDE}; it is {value}")
        if self.n_step > min(self.capacity, self.learn_from):
            raise InputError(
                f"n_step must be at most capacity ({self.capacity}) and learn_from "
                f"({self.learn_from}); it is {self.n_step}"
            )

    def init_scheme(self) -> InitScheme:
        """How the weights of a built-in network are drawn."""
        released = self.initialisation == "released"
        return InitScheme(released, released and is_dqn(self))

    def has_shared_bias(self) -> bool:
        """Whether one bias serves all actions; if so, `init_scheme` starts it at 0."""
        return self.shared_bias and self.algorithm == "av" and not is_dqn(self)

    def replace(self, **options: Any) -> "Agent":
        """The agent with other settings, or other numbers of its algorithm, by their names."""
        own = {name: options.pop(name) for name in self.numbers._fields if name in options}
        known = [*self.numbers._fields, *(set(_SETTINGS) - {"numbers"})]
        if unknown := options.keys() - set(_SETTINGS):
            raise unknown_name(f"setting of agent {self.name}", min(unknown), known)
        numbers = options.pop("numbers", self.numbers)
        return dataclasses.replace(self, numbers=numbers._replace(**own), **options)

    def fields(self) -> dict[str, Any]:
        """All settings by name, the numbers among them, as files keep them."""
        settings = {name: getattr(self, name) for name in _SETTINGS if name != "numbers"}
        return {**settings, **self.numbers._asdict()}


PER_RUN = frozenset(
    {
        *("name", "learning_rate", "initialisation", "shared_bias"),
        *("epsilon_final", "epsilon_hold_steps", "epsilon_decay_steps"),
    }
)
"""Settings that runs of one program may differ in, besides the numbers of their algorithm."""


def shared_settings(agent: Agent) -> tuple[Any, ...]:
    """The settings that agents must have in common to share a compiled program."""
    own = {*PER_RUN, *agent.numbers._fields}
    return tuple(value for name, value in agent.fields().items() if name not in own)


def family_of(name: str) -> Family:
    """The algorithm `name`, or `InputError`."""
    if name not in FAMILIES:
        raise unknown_name("algorithm", name, FAMILIES, importable=True)
    return FAMILIES[name]


def is_dqn(agent: Agent) -> bool:
    """Whether Q is the second output alone, and V plays no part: `AV` with w = 0."""
    return agent.algorithm == "av" and agent.numbers.w == 0


_SETTINGS = tuple(field.name for field in dataclasses.fields(Agent))


AGENTS: dict[str, Agent] = {
    agent.name: agent
    for agent in (
        Agent("dqn", "av", AV(w=0.0)),
        Agent("dueling_dqn", "av", AV(w=1.0, c=1.0)),
        Agent("rdq", "av", AV(w=1.0, beta=1e-3)),
        Agent("double_dqn", "av", AV(w=0.0), double=True),
        Agent("dqv", "qv", QV(bootstrap=1.0)),
        Agent("dqv_max", "qv", QV(maximum=1.0)),
        Agent("bc_qvmax", "qv", QV(correction=1.0)),
        Agent("bc_qvmax_target", "qv_target", QV(correction=1.0)),
        Agent("bc_qvmax_double", "qv_target", QV(correction=1.0), double=True),
    )
}
"""The built-in agents, and those of `register_agent`."""

PAPER_AGENTS = ("dqn", "dueling_dqn", "rdq")
"""The agents that the paper trains."""

_BUILT_IN = frozenset(AGENTS)


def register_agent(agent: Agent) -> None:
    """Makes an agent of one's own known by its name: to `make_agent` and to ``qduet train``."""
    if agent.name in _BUILT_IN:
        raise InputError(f"agent '{agent.name}' is a built-in one; choose another name")
    AGENTS[agent.name] = agent


def make_agent(name: str, *, protocol: str = "paper", **options: Any) -> Agent:
    """The agent `name` with a protocol's settings, which `options` override.

    An agent of one's own keeps the settings it was registered with under the default protocol.
    """
    if name not in AGENTS:
        raise unknown_name("agent", name, AGENTS, importable=True)
    if protocol not in PROTOCOLS:
        raise unknown_name("protocol", protocol, PROTOCOLS)
    kept = name not in _BUILT_IN and protocol == "paper"
    return AGENTS[name].replace(**({} if kept else PROTOCOLS[protocol]) | options)


_ABBREVIATED = {"learning_rate": "rate"}
"""Settings that labels abbreviate."""


def grid(label: str, agent: Agent, lists: Mapping[str, Sequence[float]]) -> list[tuple[str, Agent]]:
    """The agent with every combination of the values: ``rdq-beta-0.01-rate-0.0001``, …."""
    axes = ([(name, x) for x in values] for name, values in lists.items())
    called = lambda point: (f"{_ABBREVIATED.get(name, name)}-{x:g}" for name, x in point)
    return [
        ("-".join((label, *called(point))), agent.replace(**dict(point)))
        for point in itertools.product(*axes)
    ]


_SINCE_FORMAT_1 = {
    "algorithm": "av",
    "double": False,
    "n_step": 1,
    "network": "auto",
    "optimiser": "adam",
}
"""Settings that files of before do not have, and what they were then."""


def completed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an agent in a file, with those that the file is too old to have."""
    return {**_SINCE_FORMAT_1, **fields}


def from_fields(fields: Any) -> Agent:
    """The agent whose settings are `fields`; the inverse of `Agent.fields`.

    `InputError` if a setting is missing, unknown, or of another type than `Agent` declares.
    """
    if not isinstance(fields, Mapping):
        raise InputError("the agent must be an object that holds its settings")
    fields = completed(fields)
    kind = family_of(str(fields["algorithm"])).numbers
    kinds = {field.name: field.type for field in dataclasses.fields(Agent)}
    del kinds["numbers"]
    kinds |= dict.fromkeys(kind._fields, float)
    wrong = sorted(map(str, fields.keys() ^ kinds.keys()))
    wrong = wrong or [name for name, kind in kinds.items() if type(fields[name]) is not kind]
    if wrong:
        raise InputError(f"the agent's {wrong[0]!r} is missing, unknown, or of another type")
    numbers = kind(**{name: fields[name] for name in kind._fields})
    settings = {name: fields[name] for name in _SETTINGS if name != "numbers"}
    return Agent(numbers=numbers, **settings)


_SHORT_NAMES = {"epsilon_hold_steps": "hold", "initialisation": "init", "shared_bias": "bias"}
"""Short names of the settings in which the protocols differ."""


def ablations(name: str, protocol: str) -> dict[str, Agent]:
    """The agent `name` under a protocol, with one setting at a time from the other protocol.

    Keys are the settings' short names: hold, init, bias. A setting that changes nothing is left
    out: DQN has no shared bias.
    """
    agent = make_agent(name, protocol=protocol)
    (other,) = (settings for key, settings in PROTOCOLS.items() if key != protocol)
    changed = {
        short: agent.replace(**{setting: other[setting]}) for setting, short in _SHORT_NAMES.items()
    }
    if not agent.replace(shared_bias=True).has_shared_bias():
        del changed["bias"]
    return changed
