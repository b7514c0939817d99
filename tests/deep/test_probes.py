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

The QV family has a target for each of V and Q = A, which its solution meets, with behaviour b:

    Q(s, a) = r + γ V(s')
    dqv:      V(s) = Σ_a b(a|s) (r + γ V(s'))               the behaviour's value
    dqv_max:  V(s) = Σ_a b(a|s) (r + γ max Q(s', ·))        biased
    bc_qvmax: V(s) = max Q(s, ·)                            the optimal value

in the last one whichever network gives max Q. b is uniform but for chance; what counts is the share
of each action in the replay memory, which is counted.

Tolerances. Block j fits Q to the targets of the copy it starts with; if its mean loss is l_j, and
each pair of a state and an action makes up a share of at least p of the memory, then its fit is off
by at most √(2 l_j / p). A copy passes γ times an error on, so after k blocks

    |Q − Q*| ≤ γ^k |Q_0 − Q*| + Σ_j γ^(k−j) √(2 l_j / p)

which the losses must bring below 0.02. RDQ's residuals do not vanish, at the solution they are
nβ|A(a)|, and minibatches let Q wander by a fraction of the largest: that is its tolerance (0.013 to
0.053). A wrong bootstrap, discount, copy or index moves some value by 0.25 or more, and the penalty
moves the first probe's by 0.026.

In BC-QVMAX an error goes from V to Q to V, by the target network in two blocks: l_j is then the sum
of both losses and γ^(k−j) is γ^⌊(k−j)/2⌋. In DQV and DQV-Max the residuals of V are σ, the standard
deviation of its targets. V averages over many minibatches of n transitions, so it is off by less
than the standard error of one of them: their tolerance is that of the fits and σ/√n (at most
0.125). One of the three for another moves a V by 0.5 or more in the last probe.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.agents import Agent, make_agent
from qduet.core.xla import jit_loops
from qduet.deep import replay, training
from qduet.deep.environment import Environment, Step, auto_reset
from qduet.minatar import bitboard
from qduet.tabular import operators
from qduet.tabular.mdp import MDP
from qduet.tabular.values import evaluate, optimum

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
PLAIN = {**SMALL, "network": "mlp"}
"""Any network will do for the QV family; this one is fast, and not fused."""
LARGE = {
    **PLAIN,
    "adam_epsilon": 1.0,
    "learning_rate": 4e-3,
    "batch_size": 256,
    "capacity": 8_000,
    "learn_from": 8_000,
}
"""For agents whose V has residuals: gradient descent that averages."""


RDQ = make_agent("rdq", beta=BETA, **SMALL)


class Family(NamedTuple):
    """Agents that are trained as the runs of one program."""

    agents: tuple[Agent, ...]
    blocks: int


FAMILIES = {
    "av": Family((make_agent("dqn", **SMALL), make_agent("dueling_dqn", **SMALL), RDQ), 12),
    "double av": Family((make_agent("double_dqn", **SMALL),), 12),
    "qv": Family(tuple(make_agent(x, **LARGE) for x in ("dqv", "dqv_max", "bc_qvmax")), 24),
    "qv_target": Family((make_agent("bc_qvmax_target", **PLAIN),), 48),
    "double qv_target": Family((make_agent("bc_qvmax_double", **PLAIN),), 48),
}


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
        return bitboard.pack(jnp.broadcast_to(lit, (1, 10)))

    game = Environment(
        name="Probe",
        num_actions=2,
        num_draws=1,
        observation=jax.ShapeDtypeStruct((10, 10, 1), jnp.bool_),
        reset=reset,
        step=step,
        encode=encode,
        decode=lambda packed: bitboard.unpack(packed, 1),
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


# --- The QV family --------------------------------------------------------------------------------


def qv_solution(probe, name, p):
    """V and Q of each state, by hand; `p` are the shares of action 1 in the two states."""
    biased = name in ("dqv", "dqv_max")
    if probe == "action":  # nothing follows
        return [Solution(2 - 3 * p[0] if biased else 2, None, np.array([2, -1]))]
    if probe == "both":
        last = 4 * p[1] if biased else 4
        follows = {"dqv": GAMMA * last, "dqv_max": GAMMA * 4}.get(name)  # of action 1 in state 0
        first = 1 - p[0] + p[0] * follows if biased else 2
        return [
            Solution(first, None, np.array([1, GAMMA * last])),
            Solution(last, None, np.array([0, 4])),
        ]
    # In the other probes all actions of a state are worth the same.
    values = {"constant": [2], "delayed": [1, 2], "observation": [1, -2]}[probe]
    return [Solution(v, None, np.array([v, v])) for v in values]


def spread(probe, name, p):
    """σ: the largest standard deviation of the targets of V, over states."""
    if name not in ("dqv", "dqv_max") or probe not in ("action", "both"):
        return 0.0
    return {"action": 3, "both": 4}[probe] * float(np.sqrt(p * (1 - p)).max())


def test_the_solutions_of_the_qv_family_are_those_of_the_theory():
    """The last probe as an MDP with an end, under a behaviour that is not uniform."""
    p = np.zeros((3, 2, 3))
    p[0, 0, 2] = p[0, 1, 1] = p[1, :, 2] = p[2, :, 2] = 1
    ends = [False, False, True]
    mdp = MDP(p, [[1, 0], [0, 4], [0, 0]], discount=GAMMA, terminal=ends, name="both")
    shares = np.array([0.3, 0.6])
    b = np.array([[0.7, 0.3], [0.4, 0.6], [0.5, 0.5]])
    exact = {
        "dqv": evaluate(mdp, b),
        "dqv_max": operators.solve_qvmax(mdp, b).values,
        "bc_qvmax": optimum(mdp),
    }
    for name, values in exact.items():
        found = qv_solution("both", name, shares)
        np.testing.assert_allclose([state.v for state in found], values.v[:2])
        np.testing.assert_allclose([state.q for state in found], values.q[:2])


# --- Trained --------------------------------------------------------------------------------------


class Trained(NamedTuple):
    q: jax.Array
    """``[agents, states, 2]``"""
    v: jax.Array
    """``[agents, states]``"""
    td: jax.Array
    """``[blocks, agents]``: ½ E[δ²]"""
    total: jax.Array
    """``[blocks, agents]``: the whole loss"""
    share: jax.Array
    """``[agents, states]``: of action 1 in the memory"""


def share_of_action_1(memory, steps, seen):
    """``[states]``: its share of the steps that the memory holds, in each of the states `seen`."""
    size = memory.actions.shape[0]
    t = jnp.arange(max(0, steps - (size - replay.STRIDE)), steps)
    marks, observations = memory.actions[t % size], memory.observations[(t + 3) % size]
    ones = jnp.where(marks < 0, -1 - marks, marks)
    there = [(observations == one[None]).all(axis=1) for one in seen]
    return jnp.stack([(ones * x).sum() / jnp.maximum(x.sum(), 1) for x in there])


def train(family, hypers, schemes, keys, probe):
    """The agents as runs of one program; their values of both states."""
    setting = training.make_setting(environment(probe), family.agents[0])
    runs = jax.vmap(functools.partial(training.init, setting))(schemes, keys)
    runs = jax.vmap(functools.partial(training.warm_up, setting))(hypers, runs)
    first, every = setting.agent.learn_from, setting.agent.sync_every
    block = lambda runs, step: training.over_runs(training.block, setting, hypers, runs, step)
    runs, losses = jax.lax.scan(block, runs, first + every * jnp.arange(family.blocks))
    seen = jax.vmap(setting.env.encode)(jnp.arange(2))
    outputs = jax.vmap(setting.compute.outputs, (0, None))(runs.params, seen)
    q = jax.vmap(jax.vmap(setting.algorithm.q, (None, 0)))(hypers.numbers, outputs)
    steps = first + every * family.blocks
    share = jax.vmap(lambda memory: share_of_action_1(memory, steps, seen))(runs.replay)
    return Trained(q, outputs.v, losses.td, losses.total, share)


@functools.cache
def trained(name):
    """By probe; all probes and agents of a family are one program, so that it is compiled once."""
    family = FAMILIES[name]
    stack = lambda trees: jax.tree.map(lambda *x: jnp.stack(x), *trees)
    hypers = stack([training.hyper(agent) for agent in family.agents])
    schemes = stack([agent.init_scheme() for agent in family.agents])
    keys = jax.vmap(jax.random.key)(jnp.arange(len(family.agents), dtype=jnp.uint32))
    probes = stack([Probe(*map(jnp.array, probe)) for probe in PROBES.values()])
    every_probe = jax.vmap(functools.partial(train, family), in_axes=(None, None, None, 0))
    results = jax.device_get(jit_loops(every_probe)(hypers, schemes, keys, probes))
    return {name: Trained(*(x[i] for x in results)) for i, name in enumerate(PROBES)}


def agents_of(*families):
    """Arguments of a test: the family, and the agent's number in it."""
    return [
        pytest.param(name, number, id=agent.name)
        for name in families
        for number, agent in enumerate(FAMILIES[name].agents)
    ]


def fit_tolerance(losses, blocks_per_copy=1):
    """What the losses ``[blocks]`` leave of an error, as the docstring says."""
    age = np.arange(len(losses))[::-1] // blocks_per_copy
    fits = np.sqrt(2 * losses / SHARE)
    return GAMMA ** (len(losses) // blocks_per_copy) * 4 + (GAMMA**age * fits).sum()


@pytest.mark.parametrize(("family", "number"), agents_of("av", "double av"))
@pytest.mark.parametrize("probe", PROBES)
def test_every_agent_learns_the_values(probe, family, number):
    solution = {
        "constant": constant,
        "delayed": delayed,
        "observation": observation,
        "action": action,
        "both": both,
    }[probe]
    beta, found = FAMILIES[family].agents[number].numbers.beta, trained(family)[probe]
    states = solution(beta)
    if beta == 0:
        tolerance = fit_tolerance(found.td[:, number])
        assert tolerance < 0.02
    else:
        tolerance = 2 * BETA * max(np.abs(state.adv).max() for state in states)
    for state, exact in enumerate(states):
        np.testing.assert_allclose(found.q[number, state], exact.q, atol=tolerance)


@pytest.mark.parametrize(("family", "number"), agents_of("qv", "qv_target", "double qv_target"))
@pytest.mark.parametrize("probe", PROBES)
def test_every_agent_of_the_qv_family_learns_both_values(probe, family, number):
    agent, found = FAMILIES[family].agents[number], trained(family)[probe]
    share = found.share[number]
    sigma = spread(probe, agent.name, share)
    if sigma:  # the loss of V does not vanish
        tolerance = fit_tolerance(found.td[:, number])
        assert tolerance < 0.1
        tolerance = sigma / np.sqrt(agent.batch_size)
    else:
        copies = 1 if family == "qv" else 2
        tolerance = fit_tolerance(2 * found.total[:, number], blocks_per_copy=copies)
        assert tolerance < 0.02
    for state, exact in enumerate(qv_solution(probe, agent.name, share)):
        assert abs(share[state] - 0.5) < 0.05
        np.testing.assert_allclose(found.q[number, state], exact.q, atol=tolerance)
        np.testing.assert_allclose(found.v[number, state], exact.v, atol=tolerance)
