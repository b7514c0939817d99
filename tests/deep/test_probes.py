"""Five small problems whose values are known in closed form, solved by the real training code.

Each has one or two states (the left or the right half of the board is lit), two actions and γ = ½.
The behaviour is uniform, so training seeks, for each state with targets y(a) = r + γ max Q, the
minimum over V and A of

    ½ mean_a (Q(a) − y(a))² + (β/2) (V² + Σ_a A(a)²)

With β = 0 (DQN, Dueling DQN) it is Q = y. For RDQ, Q = V + A, the derivatives by A(a) and by V are

    (Q(a) − y(a)) / n + β A(a) = 0,      mean_a (Q(a) − y(a)) + β V = 0,      n actions,

hence V = Σ_a A(a), the soft form of the paper's identity, and

    V = Σ_a y(a) / (n + 1 + nβ),         A(a) = (y(a) − V) / (1 + nβ).

Every probe is a chain of at most two states, so its values follow from these by hand.

Tolerances. Block j fits Q to the targets of the copy it starts with; if its mean loss is l_j, and
each pair of a state and an action makes up a share of at least p of the memory, then its fit is off
by at most √(2 l_j / p). A copy passes γ times an error on, so after k blocks

    |Q − Q*| ≤ γ^k |Q_0 − Q*| + Σ_j γ^(k−j) √(2 l_j / p)

which the losses must bring below 0.02. RDQ's residuals do not vanish, at the solution they are
nβ|A(a)|, and minibatches let Q wander by a fraction of the largest: that is its tolerance (0.013 to
0.053). A wrong bootstrap, discount, copy or index moves some value by 0.25 or more, and the penalty
moves the first probe's by 0.026.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.deep import training
from qduet.deep.agents import make_agent
from qduet.deep.environment import Environment, Step, auto_reset
from qduet.minatar import packing

GAMMA, BETA = 0.5, 0.01
BLOCKS = 12
SHARE = 0.15
"""p: uniform play gives each pair 1/6 of the steps in the last probe, more in the others."""
LEFT_HALF, RIGHT_HALF = 0b0000011111, 0b1111100000
SMALL = {
    "discount": GAMMA,
    "learning_rate": 1e-3,
    "adam_epsilon": 0.05,
    "batch_size": 16,
    "capacity": 2_000,
    "learn_from": 400,
    "sync_every": 100,
}
"""A large ε in Adam's denominator makes it gradient descent near a solution: no limit cycle."""
AGENTS = [
    make_agent("dqn", **SMALL),
    make_agent("dueling_dqn", **SMALL),
    make_agent("rdq", beta=BETA, **SMALL),
]


class Probe(NamedTuple):
    """A problem of two states and two actions, as tables ``[state][action]``."""

    starts: Any
    """``[2]``: the states in which episodes start, each with probability ½"""
    reward: Any
    next_state: Any
    """−1 where the step ends the episode"""


END = ((-1, -1), (-1, -1))
PROBES = {
    "constant": Probe((0, 0), reward=((1, 1), (0, 0)), next_state=((0, 0), (0, 0))),
    "delayed": Probe((0, 0), reward=((0, 0), (2, 2)), next_state=((1, 1), (-1, -1))),
    "observation": Probe((0, 1), reward=((1, 1), (-2, -2)), next_state=END),
    "action": Probe((0, 0), reward=((2, -1), (0, 0)), next_state=END),
    # in state 0, action 0 ends with 1 and action 1 leads to state 1, where action 1 is worth 4
    "both": Probe((0, 0), reward=((1, 0), (0, 4)), next_state=((-1, 1), (-1, -1))),
}


def environment(probe):
    """The probe as a game; its draw decides in which state an episode starts."""

    def reset(draws):
        return probe.starts[draws[0] >> 31]

    def step(state, action, draws):
        after = probe.next_state[state, action]
        reward = probe.reward[state, action].astype(jnp.float32)
        return Step(jnp.maximum(after, 0), reward, after < 0, None)

    def encode(state):
        lit = jnp.where(state == 0, LEFT_HALF, RIGHT_HALF).astype(jnp.uint32)
        return packing.pack(jnp.broadcast_to(lit, (1, 10)))

    game = Environment(
        name="Probe",
        num_actions=2,
        num_draws=1,
        observation=jax.ShapeDtypeStruct((10, 10, 1), jnp.bool_),
        reset=reset,
        step=step,
        encode=encode,
        decode=lambda packed: packing.unpack(packed, 1),
        board=True,
    )
    return auto_reset(game)


class Solution(NamedTuple):
    """Values of one state."""

    v: float
    adv: np.ndarray
    q: np.ndarray


def fitted(targets, beta):
    """V, A and Q that minimise the loss of a state with targets y(a): the docstring's formulas."""
    y = np.asarray(targets, float)
    v = y.sum() / (len(y) + 1 + len(y) * beta)
    adv = (y - v) / (1 + len(y) * beta)
    return Solution(v, adv, v + adv)


def constant(beta):
    """Equal targets y give Q = κ y, κ = (n + 1) / (n + 1 + nβ); so Q = κ (1 + γ Q)."""
    kappa = 3 / (3 + 2 * beta)
    q = kappa / (1 - kappa * GAMMA)
    return [fitted([1 + GAMMA * q] * 2, beta)]


def delayed(beta):
    last = fitted([2, 2], beta)
    return [fitted([GAMMA * last.q[0]] * 2, beta), last]


def observation(beta):
    return [fitted([1, 1], beta), fitted([-2, -2], beta)]


def action(beta):
    return [fitted([2, -1], beta)]


def both(beta):
    last = fitted([0, 4], beta)
    return [fitted([1, GAMMA * last.q[1]], beta), last]


@pytest.mark.parametrize(
    ("solution", "values"),
    [
        (constant, [[2, 2]]),
        (delayed, [[1, 1], [2, 2]]),
        (observation, [[1, 1], [-2, -2]]),
        (action, [[2, -1]]),
        (both, [[1, 2], [0, 4]]),
    ],
)
def test_the_closed_forms_are_the_bellman_optimal_values_without_a_penalty(solution, values):
    np.testing.assert_allclose([state.q for state in solution(0.0)], values)


def test_the_closed_form_minimises_the_regularised_loss():
    """No small move of V or A lowers the loss; β = 0.3 and unequal targets."""
    y, beta = np.array([1.0, -2.0]), 0.3
    loss = lambda x: 0.5 * ((x[0] + x[1:] - y) ** 2).mean() + beta / 2 * (x**2).sum()
    best = fitted(y, beta)
    at = np.array([best.v, *best.adv])
    for move in 1e-3 * np.random.default_rng(0).normal(size=(100, 3)):
        assert loss(at + move) > loss(at)


class Trained(NamedTuple):
    q: jax.Array
    """``[agents, states, 2]``"""
    td: jax.Array
    """``[blocks, agents]``: ½ E[δ²]"""


def train(hypers, schemes, keys, probe):
    """The agents as runs of one program; their values of both states."""
    setting = training.make_setting(environment(probe), AGENTS[0])
    runs = jax.vmap(functools.partial(training.init, setting))(schemes, keys)
    runs = jax.vmap(functools.partial(training.warm_up, setting))(hypers, runs)
    start = jnp.int32(setting.agent.learn_from)
    block = lambda runs, step: training.over_runs(training.block, setting, hypers, runs, step)
    starts = start + setting.agent.sync_every * jnp.arange(BLOCKS)
    runs, losses = jax.lax.scan(block, runs, starts)
    seen = jax.vmap(setting.env.encode)(jnp.arange(2))

    def q(params, numbers):
        outputs = setting.compute.outputs(params, seen)
        return jax.vmap(setting.algorithm.q, (None, 0))(numbers, outputs)

    return Trained(jax.vmap(q)(runs.params, hypers.numbers), losses.td)


@pytest.fixture(scope="module")
def trained():
    """By probe; all probes and agents are one program, so that it is compiled once."""
    stack = lambda trees: jax.tree.map(lambda *x: jnp.stack(x), *trees)
    hypers = stack([training.hyper(agent) for agent in AGENTS])
    schemes = stack([agent.init_scheme() for agent in AGENTS])
    keys = jax.vmap(jax.random.key)(jnp.arange(len(AGENTS), dtype=jnp.uint32))
    probes = stack([Probe(*map(jnp.array, probe)) for probe in PROBES.values()])
    together = jax.jit(jax.vmap(train, in_axes=(None, None, None, 0)))
    results = jax.device_get(together(hypers, schemes, keys, probes))
    return {name: Trained(*(x[i] for x in results)) for i, name in enumerate(PROBES)}


@pytest.mark.parametrize("number", range(len(AGENTS)), ids=[agent.name for agent in AGENTS])
@pytest.mark.parametrize(
    ("probe", "solution"),
    [
        ("constant", constant),
        ("delayed", delayed),
        ("observation", observation),
        ("action", action),
        ("both", both),
    ],
    ids=list(PROBES),
)
def test_every_agent_learns_the_values(trained, probe, solution, number):
    states = solution(AGENTS[number].numbers.beta)
    if AGENTS[number].numbers.beta == 0:
        fits = np.sqrt(2 * trained[probe].td[:, number] / SHARE)
        tolerance = GAMMA**BLOCKS * 4 + (GAMMA ** np.arange(BLOCKS)[::-1] * fits).sum()
        assert tolerance < 0.02
    else:
        tolerance = 2 * BETA * max(np.abs(state.adv).max() for state in states)
    for state, exact in enumerate(states):
        np.testing.assert_allclose(trained[probe].q[number, state], exact.q, atol=tolerance)
