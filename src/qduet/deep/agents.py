"""DQN, Dueling DQN and RDQ as three points of one family.

    Q = w V + A − c mean(A),      loss = ½ E[δ²] + (β/2) E[V² + Σ_a A²]          (eq. 8, 11, 12, 16)
    δ = R + γ max_a' Q(S', a'; θ⁻) − Q(S, A; θ)

    dqn          w = 0, c = 0, β = 0        the advantage stream alone is Q
    dueling_dqn  w = 1, c = 1, β = 0
    rdq          w = 1, c = 0, β = 10⁻³     Dueling DQN without the mean, with the penalty

w, c and β are numbers of a *run*, not of the program, so that all agents, and sweeps over β, share
one compiled program.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from qduet.core.errors import InputError, as_setting, unknown_name
from qduet.deep import networks
from qduet.deep.networks import Params, Values
from qduet.deep.replay import STRIDE, Batch


class Family(NamedTuple):
    """The point of the family that a run is at; float32[] each."""

    w: jax.Array
    """Weight of V in Q."""
    c: jax.Array
    """Share of the mean advantage that is subtracted."""
    beta: jax.Array
    """Weight of the penalty on V² + Σ A²."""
    shared_bias: jax.Array
    """1 if the advantage head has one bias for all actions (released code), 0 if one per action."""


INITIALISATIONS = ("lecun", "released")

_RANGES = (
    ("learning_rate", 0, 1),
    ("adam_epsilon", 1e-30, 1),  # 0, or what a float32 makes 0: 0 / 0 where there is no gradient
    ("discount", 0, 1),
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
    """An agent, with the paper's settings as defaults."""

    name: str
    w: float
    c: float
    beta: float
    learning_rate: float = 2.5e-4
    """Adam's step size."""
    adam_epsilon: float = 3.125e-4
    """Adam's denominator constant."""
    discount: float = 0.99
    """γ; the paper does not give it, the released code has 0.99."""
    batch_size: int = 32
    capacity: int = 100_000
    """Transitions in the replay memory."""
    learn_from: int = 1_000
    """Steps before the first update."""
    sync_every: int = 1_000
    """Steps between two copies to the target network."""
    epsilon_final: float = 0.01
    epsilon_hold_steps: int = 1_000
    """Steps of uniform play before ε falls (docs/differences.md, item 9)."""
    epsilon_decay_steps: int = 250_000
    initialisation: str = "lecun"
    """``lecun``; ``released``: PyTorch's default for the convolution and all of DQN (item 10)."""
    shared_bias: bool = False
    """Whether the advantage head of a two-stream agent has one bias for all actions (item 11)."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = as_setting(field.type, field.name, getattr(self, field.name))
            object.__setattr__(self, field.name, value)
        if self.beta < 0:
            raise InputError(f"beta must be ≥ 0; it is {self.beta}")
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

    def family(self) -> Family:
        """The agent's point in the family."""
        shared = self.shared_bias and self.w != 0
        return Family(*(jnp.float32(x) for x in (self.w, self.c, self.beta, shared)))

    def uniform(self) -> networks.Uniform:
        """Which layers start from PyTorch's default."""
        released = self.initialisation == "released"
        return networks.Uniform(jnp.bool_(released), jnp.bool_(released and self.w == 0))


AGENTS: dict[str, Agent] = {
    "dqn": Agent("dqn", w=0.0, c=0.0, beta=0.0),
    "dueling_dqn": Agent("dueling_dqn", w=1.0, c=1.0, beta=0.0),
    "rdq": Agent("rdq", w=1.0, c=0.0, beta=1e-3),
}


def make_agent(name: str, *, protocol: str = "paper", **options: Any) -> Agent:
    """The agent `name` under a protocol, with other `options` where given."""
    if name not in AGENTS:
        raise unknown_name("agent", name, AGENTS)
    if protocol not in PROTOCOLS:
        raise unknown_name("protocol", protocol, PROTOCOLS)
    return dataclasses.replace(AGENTS[name], **PROTOCOLS[protocol] | options)


def from_fields(fields: Any) -> Agent:
    """The agent of these settings, as `dataclasses.asdict` gives them and JSON keeps them.

    `InputError` unless all are there, no others, and each of exactly its declared type.
    """
    kinds = {field.name: field.type for field in dataclasses.fields(Agent)}
    if not isinstance(fields, dict):
        raise InputError("the agent is not an object with its settings")
    odd = sorted(map(str, fields.keys() ^ kinds.keys()))
    odd = odd or [name for name, kind in kinds.items() if type(fields[name]) is not kind]
    if odd:
        raise InputError(f"the agent's {odd[0]!r} is missing, unknown, or of another type")
    return Agent(**fields)


ABLATED = {"epsilon_hold_steps": "hold", "initialisation": "init", "shared_bias": "bias"}
"""The settings that the protocols differ in, and short names for them."""


def ablations(name: str, protocol: str) -> dict[str, Agent]:
    """The agent `name` under a protocol, but each time one setting as the other protocol has it.

    By the setting's short name; without those that change nothing (DQN has no shared bias).
    """
    agent = make_agent(name, protocol=protocol)
    (other,) = (settings for key, settings in PROTOCOLS.items() if key != protocol)
    return {
        short: dataclasses.replace(agent, **{setting: other[setting]})
        for setting, short in ABLATED.items()
        if setting != "shared_bias" or agent.w != 0
    }


def tied(params: Params, family: Family) -> Params:
    """The weights as they are used: with `shared_bias`, every action has the first one's bias."""
    b, shared = params.adv.b, family.shared_bias
    b = shared * b[:1] + (1 - shared) * b  # exactly the one or the other
    return params._replace(adv=params.adv._replace(b=b))


def q_values(values: Values, family: Family) -> jax.Array:
    """Q(s, ·) = w V + A − c mean(A), ``[|A|]``."""
    return family.w * values.v + values.adv - family.c * values.adv.mean()


def uses_v(family: Family) -> jax.Array:
    """Whether V has a part in the loss; else its stream is never trained."""
    return (family.w != 0) | (family.beta != 0)


class Losses(NamedTuple):
    """The loss of one batch and its parts."""

    total: jax.Array
    td: jax.Array
    """½ E[δ²]"""
    q: jax.Array
    """E[Q(S, A)]"""


def loss(
    values: Values, next_values: Values, family: Family, discount: float, batch: Batch
) -> Losses:
    """The loss of a batch ``[n]``, given V and A at S (online) and at S' (target network)."""
    _check_shapes(values, next_values, batch)
    q = jax.vmap(q_values, (0, None))(values, family)
    next_q = jax.vmap(q_values, (0, None))(next_values, family)
    taken = batch.actions[:, None] == jnp.arange(q.shape[1])[None]
    chosen = jnp.where(taken, q, 0.0).sum(axis=1)  # the gradient of indexing would be a scatter
    bootstrap = jnp.where(batch.ended, 0.0, discount * next_q.max(axis=1))
    td = 0.5 * ((jax.lax.stop_gradient(batch.rewards + bootstrap) - chosen) ** 2).mean()
    penalty = 0.5 * (values.v**2 + (values.adv**2).sum(axis=1)).mean()
    return Losses(td + family.beta * penalty, td, chosen.mean())


def _check_shapes(values: Values, next_values: Values, batch: Batch) -> None:
    """Raises where shapes would broadcast, and transitions be mixed."""
    both = jnp.shape(values.adv)
    wanted = {
        "A at S": (values.adv, both if len(both) == 2 else ("n", "|A|")),
        "A at S'": (next_values.adv, both),
        "V at S": (values.v, both[:1]),
        "V at S'": (next_values.v, both[:1]),
        "actions": (batch.actions, both[:1]),
        "rewards": (batch.rewards, both[:1]),
        "ended": (batch.ended, both[:1]),
    }
    for name, (array, shape) in wanted.items():
        if jnp.shape(array) != shape:
            found, right = (str(list(x)).replace("'", "") for x in (jnp.shape(array), shape))
            raise InputError(f"{name} of a batch must have the shape {right}; it is {found}")
