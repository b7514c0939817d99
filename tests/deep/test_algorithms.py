"""Read-outs and losses of one transition, against NumPy, closed forms and the tabular rules."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.agents import AGENTS, Agent, is_dqn, make_agent
from qduet.core.errors import InputError
from qduet.deep import algorithms
from qduet.deep.algorithms import AV, QV, Algorithm, Loss, Transition, algorithm_of
from qduet.deep.layers import Outputs
from qduet.tabular import rules

N, ACTIONS = 64, 3
NETS = ("online", "target", "next_online", "next_target")


def test_read_outs_are_the_papers():
    values = Outputs(jnp.float32(2.0), jnp.array([1.0, 2.0, 6.0]))
    expected = {"dqn": [1, 2, 6], "dueling_dqn": [0, 1, 5], "rdq": [3, 4, 8]}  # mean(A) = 3
    expected |= {"dqv": [1, 2, 6], "dqv_max": [1, 2, 6], "bc_qvmax_double": [1, 2, 6]}  # Q itself
    for name, q in expected.items():
        agent = AGENTS[name]
        np.testing.assert_allclose(algorithm_of(agent.algorithm).q(agent.numbers, values), q)
    between = algorithm_of("av").q(AV(w=0.5, c=0.25), values)  # ½ · 2 + A − ¼ · 3
    np.testing.assert_allclose(between, [1.25, 2.25, 6.25])
    np.testing.assert_allclose(algorithm_of("qv").q(QV(w=0.5), values), [2, 3, 7])


# --- Losses ---------------------------------------------------------------------------------------


def random_batch(seed=0):
    """Transitions ``[N]``, a third of which end an episode, and four networks' outputs."""
    rng = np.random.default_rng(seed)
    outputs = {x: Outputs(rng.normal(size=N), rng.normal(size=(N, ACTIONS))) for x in NETS}
    return Transition(
        **outputs,
        action=rng.integers(ACTIONS, size=N),
        reward=rng.normal(size=N),
        discount=np.where(rng.random(N) < 0.3, 0.0, 0.9),
    )


class Restated(NamedTuple):
    """The loss of one transition, and its derivatives by V(S) and A(S, ·)."""

    total: float
    td_error: float
    q: float
    by_v: float
    by_adv: np.ndarray


def av_in_numpy(numbers, t, i, double):
    """δ = r + γ Q⁻(S', a') − Q(S, a); ∂δ/∂V = −w, ∂δ/∂A(b) = c/n − 1{b = a}."""
    w, c, beta = numbers
    q_of = lambda x: w * x.v[i] + x.adv[i] - c * x.adv[i].mean()
    q, a = q_of(t.online), t.action[i]
    best = q_of(t.next_online if double else t.next_target).argmax()
    delta = t.reward[i] + t.discount[i] * q_of(t.next_target)[best] - q[a]
    v, adv = t.online.v[i], t.online.adv[i]
    total = delta**2 / 2 + beta / 2 * (v**2 + (adv**2).sum())
    by_adv = delta * (c / ACTIONS - np.eye(ACTIONS)[a]) + beta * adv
    return Restated(total, delta, q[a], -w * delta + beta * v, by_adv)


def qv_in_numpy(numbers, t, i, double, by_target):
    """δ = r + γ V⁻(S') − Q(S, a), ε = y − V(S); targets have no derivative."""
    bootstrap, maximum, correction, w, beta = numbers
    q_of = lambda x: w * x.v[i] + x.adv[i]
    q, a, r, gamma = q_of(t.online), t.action[i], t.reward[i], t.discount[i]
    next_best = q_of(t.next_online if double else t.next_target).argmax()
    best = q_of(t.online if double or not by_target else t.target).argmax()
    y = bootstrap * (r + gamma * t.next_target.v[i])
    y += maximum * (r + gamma * q_of(t.next_target)[next_best])
    y += correction * q_of(t.target if by_target else t.online)[best]
    v, adv = t.online.v[i], t.online.adv[i]
    delta, error = r + gamma * t.next_target.v[i] - q[a], y - v
    total = (delta**2 + error**2) / 2 + beta / 2 * (v**2 + (adv**2).sum())
    by_adv = -delta * np.eye(ACTIONS)[a] + beta * adv
    return Restated(total, delta, q[a], -w * delta - error + beta * v, by_adv)


CASES = [
    *(("av", AV(w, c, beta)) for w, c, beta in ((0, 0, 0), (1, 1, 0), (1, 0, 1e-3), (0.7, 0.3, 2))),
    *(
        (name, numbers)
        for name in ("qv", "qv_target")
        for numbers in (
            QV(bootstrap=1.0),
            QV(maximum=1.0),
            QV(correction=1.0),
            QV(0.2, 0.3, 0.5, w=0.4, beta=0.1),
        )
    ),
]


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("double", [False, True], ids=["single", "double"])
@pytest.mark.parametrize(("name", "numbers"), CASES, ids=str)
def test_losses_and_gradients_of_a_batch_are_the_equations(name, numbers, double):
    t, algorithm = random_batch(), algorithm_of(name)
    one = algorithm.double_loss if double else algorithm.loss

    def both(nets, *taken):
        loss = one(numbers, Transition(*nets, *taken))
        return loss.total, loss

    batch = jax.vmap(jax.value_and_grad(both, has_aux=True))
    (total, losses), gradient = batch(jax.tree.map(jnp.asarray, t[:4]), *map(jnp.asarray, t[4:]))
    np.testing.assert_array_equal(total, losses.total)
    for i in range(N):
        if name == "av":
            want = av_in_numpy(numbers, t, i, double)
        else:
            want = qv_in_numpy(numbers, t, i, double, by_target=name == "qv_target")
        found = [*(x[i] for x in losses), gradient[0].v[i], *gradient[0].adv[i]]
        np.testing.assert_allclose(found, np.hstack(want), rtol=1e-12, atol=1e-12)
    assert not any(x.any() for x in jax.tree.leaves(gradient[1:]))  # targets have none


@pytest.mark.parametrize("name", AGENTS)
def test_what_follows_the_end_of_an_episode_is_not_read(name):
    """Not even if it is not a number."""
    agent = AGENTS[name]
    algorithm = algorithm_of(agent.algorithm)
    here = Outputs(jnp.float32(2), jnp.array([1.0, 3.0]))
    t = Transition(here, here, here, here, jnp.int32(1), jnp.float32(7), jnp.float32(0))
    nothing = jax.tree.map(lambda x: x * jnp.nan, here)
    one = algorithm.double_loss if agent.double else algorithm.loss
    want = one(agent.numbers, t)
    found = one(agent.numbers, t._replace(next_online=nothing, next_target=nothing))
    np.testing.assert_array_equal(found, want)
    assert float(want.td_error) == float(7 - algorithm.q(agent.numbers, here)[1])


# --- One-hot features -----------------------------------------------------------------------------

TABULAR = {
    "dqn": rules.q_learning(),
    "double_dqn": rules.q_learning(),
    "dueling_dqn": rules.dueling_q(),
    "rdq": rules.soft_rdq(beta=0.05 * 0.3),
    "dqv": rules.qv_learning(),
    "dqv_max": rules.qvmax(),
    "bc_qvmax": rules.bc_qvmax(),
    "bc_qvmax_target": rules.bc_qvmax(),
    "bc_qvmax_double": rules.bc_qvmax(),
}
"""With the online network as the target network the forms of an algorithm are the same."""


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", AGENTS)
def test_a_one_hot_linear_network_with_sgd_is_the_tabular_rule(name):
    """V = v·x(s), A = adv·x(s), x one-hot; RDQ's penalty β = 0.05, step size α = 0.3.

    SGD shrinks V and A by αβ, so the tabular rule has that as its β. Both networks are the same. A
    tabular rule with V and A moves both at once. One with V and Q moves Q, and V toward a target of
    the new Q: here that is a step of the second weights, then one of the first.
    """
    num_states, num_actions, alpha = 5, 3, 0.3
    agent, tabular, rng = AGENTS[name], TABULAR[name], np.random.default_rng(0)
    if name == "rdq":
        agent = agent.replace(beta=0.05)
    algorithm = algorithm_of(agent.algorithm)
    one = algorithm.double_loss if agent.double else algorithm.loss
    v = jnp.asarray(rng.normal(size=num_states)) * (not is_dqn(agent))
    adv = jnp.asarray(rng.normal(size=(num_states, num_actions)))
    tables, learns_q = tabular.init(v, adv), agent.algorithm != "av"
    weights = Outputs(v, tables.q if learns_q else adv)

    def total(weights, t):
        x, x2 = jnp.eye(num_states)[t.state], jnp.eye(num_states)[t.next_state]
        here, there = (Outputs(x @ weights.v, x @ weights.adv) for x in (x, x2))
        return one(agent.numbers, Transition(here, here, there, there, *t[1:4])).total

    gradient_of, update = jax.jit(jax.grad(total)), jax.jit(tabular.update)
    for i in range(200):
        t = rules.Transition(
            int(rng.integers(num_states)),
            int(rng.integers(num_actions)),
            float(rng.normal()),
            0.0 if i % 9 == 0 else 0.9,
            int(rng.integers(num_states)),
        )
        for moved in (("adv",), ("v",)) if learns_q else (("adv", "v"),):
            gradient = gradient_of(weights, t)
            step = {x: getattr(weights, x) - alpha * getattr(gradient, x) for x in moved}
            weights = weights._replace(**step)
        tables = update(tables, t, alpha)
    learned = tables.adv if hasattr(tables, "adv") else tables.q
    np.testing.assert_allclose(weights.adv, learned, rtol=1e-12, atol=1e-12)
    if hasattr(tables, "v"):
        np.testing.assert_allclose(weights.v, tables.v, rtol=1e-12, atol=1e-12)
    else:
        assert not weights.v.any()  # DQN leaves V where it was


# --- Algorithms of one's own ----------------------------------------------------------------------


class Temperature(NamedTuple):
    tau: float = 0.5


class Needs(NamedTuple):
    tau: float


def soft_loss(numbers, t):
    """Soft Q-learning: the value of S' is τ log Σ exp(Q / τ)."""
    value = numbers.tau * jax.nn.logsumexp(t.next_target.adv / numbers.tau)
    error = jax.lax.stop_gradient(t.reward + t.discount * value) - t.online.adv[t.action]
    return Loss(0.5 * error**2, error, t.online.adv[t.action])


SOFT = Algorithm("soft", Temperature, lambda numbers, outputs: outputs.adv, soft_loss)


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(algorithms, "ALGORITHMS", {**algorithms.ALGORITHMS})


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"name": "av"}, "'av' is a built-in one; choose another name"),
        ({"numbers": dict}, "numbers must be a NamedTuple of floats"),
        ({"numbers": Needs}, "each of its numbers needs a default"),
        ({"loss": lambda numbers, t: soft_loss(numbers, t).total}, "a Loss of three scalars"),
        ({"loss": lambda numbers, t: soft_loss(numbers, t)._replace(q=t.online.adv)}, "of three"),
        ({"loss": lambda numbers, t: t.nonsense}, "does not work on a transition: .*nonsense"),
        ({"q": lambda numbers, outputs: outputs.v}, r"q must give \[3\] .* it gives \[\]"),
        ({"q": lambda numbers, outputs: outputs.q}, "does not work on a transition"),
    ],
)
def test_an_algorithm_that_cannot_work_is_refused(changes, told):
    with pytest.raises(InputError, match=told):
        algorithms.register_algorithm(SOFT._replace(**changes))
    assert "soft" not in algorithms.ALGORITHMS


@pytest.mark.usefixtures("registry")
def test_an_algorithm_of_ones_own_makes_agents_and_has_a_fingerprint():
    algorithms.register_algorithm(SOFT)
    agent = Agent("mine", "soft", Temperature(0.25))
    assert agent.replace(tau=2).fields()["tau"] == 2.0
    with pytest.raises(InputError, match="algorithm soft has no double form"):
        agent.replace(double=True)
    with pytest.raises(InputError, match=r"numbers of algorithm soft must be Temperature\(…\)"):
        Agent("mine", "soft", AV())
    first = algorithms.fingerprint("soft")
    assert first == algorithms.fingerprint("soft")
    algorithms.register_algorithm(
        SOFT._replace(loss=lambda n, t: soft_loss(n, t)._replace(q=n.tau))
    )
    assert algorithms.fingerprint("soft") != first
    assert algorithms.fingerprint("av") is None
    with pytest.raises(InputError, match="did you mean 'soft'"):
        algorithm_of("sotf")


def test_beta_is_a_number_of_both_families_and_never_negative():
    assert make_agent("dqv_max", beta=0.1).numbers == QV(maximum=1.0, beta=0.1)
    for name in ("rdq", "dqv_max"):
        with pytest.raises(InputError, match="beta must be ≥ 0"):
            make_agent(name, beta=-0.1)
