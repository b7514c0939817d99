"""DQN, Dueling DQN and RDQ: one agent with three coefficients.

    Q = w V + A − c mean(A),      loss = ½ E[δ²] + (β/2) E[V² + Σ_a A²]          (eq. 8, 11, 12, 16)
    δ = R + γ max_a' Q(S', a'; θ⁻) − Q(S, A; θ)

    dqn          w = 0, c = 0, β = 0        the advantage stream alone is Q
    dueling_dqn  w = 1, c = 1, β = 0
    rdq          w = 1, c = 0, β = 10⁻³     Dueling DQN without the mean, with the penalty

    agent = make_agent("rdq", beta=0.01)
    q = q_values(networks.apply(params, observation), agent.coefficients())        # [|A|]

w, c and β are data of a *run*, not constants of the compiled program. All agents, and sweeps over
β, therefore share one program.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from qduet.core.errors import InputError, as_setting, unknown_name
from qduet.deep.networks import InitScheme, Outputs
from qduet.deep.replay import STRIDE, Batch


class Coefficients(NamedTuple):
    """What makes a run DQN, Dueling DQN, RDQ, or something between them."""

    w: jax.Array
    """float32[]: the weight of V in Q"""
    c: jax.Array
    """float32[]: the share of the mean advantage that is subtracted"""
    beta: jax.Array
    """float32[]: the weight of the penalty on V² + Σ A²"""


INITIALISATIONS = ("lecun", "released")

_RANGES = (
    ("learning_rate", 0, 1),
    ("adam_epsilon", 1e-30, 1),  # if it rounds to 0 in float32, a gradient of 0 gives 0 / 0
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
    """The settings of an agent; the defaults are the paper's."""

    name: str
    """``dqn``, ``dueling_dqn``, ``rdq``, or a name for one of your own."""
    w: float
    """Weight of V in Q."""
    c: float
    """Share of the mean advantage that is subtracted in Q."""
    beta: float
    """Weight of the penalty on V² + Σ A²."""
    learning_rate: float = 2.5e-4
    """Adam's step size."""
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

    No effect if w = 0: DQN has one bias for each action, in the released code too.
    """

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

    def coefficients(self) -> Coefficients:
        """w, c and β as arrays."""
        return Coefficients(*(jnp.float32(x) for x in (self.w, self.c, self.beta)))

    def init_scheme(self) -> InitScheme:
        """How the network's weights are drawn."""
        released = self.initialisation == "released"
        return InitScheme(jnp.bool_(released), jnp.bool_(released and self.w == 0))

    def has_shared_bias(self) -> bool:
        """Whether one bias serves all actions; if so, `init_scheme` starts it at 0."""
        return self.shared_bias and self.w != 0


AGENTS: dict[str, Agent] = {
    "dqn": Agent("dqn", w=0.0, c=0.0, beta=0.0),
    "dueling_dqn": Agent("dueling_dqn", w=1.0, c=1.0, beta=0.0),
    "rdq": Agent("rdq", w=1.0, c=0.0, beta=1e-3),
}


def make_agent(name: str, *, protocol: str = "paper", **options: Any) -> Agent:
    """The agent `name` with a protocol's settings, which `options` override."""
    if name not in AGENTS:
        raise unknown_name("agent", name, AGENTS)
    if protocol not in PROTOCOLS:
        raise unknown_name("protocol", protocol, PROTOCOLS)
    settings = Agent.__dataclass_fields__
    if unknown := options.keys() - settings:
        raise unknown_name("setting of an agent", min(unknown), settings)
    return dataclasses.replace(AGENTS[name], **PROTOCOLS[protocol] | options)


def from_fields(fields: Any) -> Agent:
    """The agent whose settings are `fields`; the inverse of `dataclasses.asdict`.

    `InputError` if a setting is missing, unknown, or of another type than `Agent` declares.
    """
    kinds = {field.name: field.type for field in dataclasses.fields(Agent)}
    if not isinstance(fields, dict):
        raise InputError("the agent must be an object that holds its settings")
    wrong = sorted(map(str, fields.keys() ^ kinds.keys()))
    wrong = wrong or [name for name, kind in kinds.items() if type(fields[name]) is not kind]
    if wrong:
        raise InputError(f"the agent's {wrong[0]!r} is missing, unknown, or of another type")
    return Agent(**fields)


_SHORT_NAMES = {"epsilon_hold_steps": "hold", "initialisation": "init", "shared_bias": "bias"}
"""Short names of the settings in which the protocols differ."""


def ablations(name: str, protocol: str) -> dict[str, Agent]:
    """The agent `name` under a protocol, with one setting at a time from the other protocol.

    Keys are the settings' short names: hold, init, bias. A setting that changes nothing is left
    out: DQN has no shared bias.
    """
    agent = make_agent(name, protocol=protocol)
    (other,) = (settings for key, settings in PROTOCOLS.items() if key != protocol)
    return {
        short: dataclasses.replace(agent, **{setting: other[setting]})
        for setting, short in _SHORT_NAMES.items()
        if setting != "shared_bias" or agent.w != 0
    }


def q_values(outputs: Outputs, coefficients: Coefficients) -> jax.Array:
    """Q(s, ·) = w V + A − c mean(A), ``[|A|]``."""
    return coefficients.w * outputs.v + outputs.adv - coefficients.c * outputs.adv.mean()


def uses_v(coefficients: Coefficients) -> jax.Array:
    """bool[]: whether the loss depends on V; if not, V's stream is never trained."""
    return (coefficients.w != 0) | (coefficients.beta != 0)


class Losses(NamedTuple):
    """The loss of one batch and its parts; scalars."""

    total: jax.Array
    """½ E[δ²] + (β/2) E[V² + Σ_a A²]"""
    td: jax.Array
    """½ E[δ²]"""
    q: jax.Array
    """E[Q(S, A)]"""


def loss(
    outputs: Outputs,
    next_outputs: Outputs,
    coefficients: Coefficients,
    discount: float,
    batch: Batch,
) -> Losses:
    """The loss of a batch of n transitions.

    `outputs` are V ``[n]`` and A ``[n, |A|]`` of the online network at S, `next_outputs` those of
    the target network at S'.
    """
    _check_shapes(outputs, next_outputs, batch)
    q = jax.vmap(q_values, (0, None))(outputs, coefficients)
    next_q = jax.vmap(q_values, (0, None))(next_outputs, coefficients)
    taken = batch.actions[:, None] == jnp.arange(q.shape[1])[None]
    chosen = jnp.where(taken, q, 0.0).sum(axis=1)  # the gradient of indexing would be a scatter
    bootstrap = jnp.where(batch.ended, 0.0, discount * next_q.max(axis=1))
    td = 0.5 * ((jax.lax.stop_gradient(batch.rewards + bootstrap) - chosen) ** 2).mean()
    penalty = 0.5 * (outputs.v**2 + (outputs.adv**2).sum(axis=1)).mean()
    return Losses(td + coefficients.beta * penalty, td, chosen.mean())


def _check_shapes(outputs: Outputs, next_outputs: Outputs, batch: Batch) -> None:
    """Raises if a shape would broadcast, which would mix transitions, or for an unknown action."""
    n_by_actions = jnp.shape(outputs.adv)
    n = n_by_actions[:1]
    wanted = {
        "A at S": (outputs.adv, n_by_actions if len(n_by_actions) == 2 else ("n", "|A|")),
        "A at S'": (next_outputs.adv, n_by_actions),
        "V at S": (outputs.v, n),
        "V at S'": (next_outputs.v, n),
        "actions": (batch.actions, n),
        "rewards": (batch.rewards, n),
        "ended": (batch.ended, n),
    }
    for name, (array, shape) in wanted.items():
        if jnp.shape(array) != shape:
            given, right = (str(list(x)).replace("'", "") for x in (jnp.shape(array), shape))
            raise InputError(f"{name} of a batch must have the shape {right}; it is {given}")
    actions, size = batch.actions, n_by_actions[1]
    if not isinstance(actions, jax.core.Tracer) and ((actions < 0) | (actions >= size)).any():
        raise InputError(f"actions of a batch must be from 0 to {size - 1}; one is not")
