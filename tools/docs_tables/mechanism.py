"""The mechanism of docs/study.md: a maximum's bias, and QVMAX's bias toward the behaviour.

    biases(qvmax(), gap=0.2, noise=1.0, epsilon=0.1)      # [seeds]: mean of max_a Q(s, a) − v_*(s)

A ring of states, in which every action leads to the next one. Action 0 pays `gap`, the others
nothing, and rewards are noisy. The behaviour is ε-greedy on the rule's own Q. All is computed in
double precision: in single precision another processor rounds otherwise, one greedy action in
50,000 steps is then another one, and so are the numbers.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from qduet.core.tables import Table
from qduet.stats import mean_interval, number
from qduet.tabular import Rule, Transition, bc_qvmax, q_learning, qvmax

STATES, ACTIONS, DISCOUNT, STEP_SIZE = 10, 6, 0.9, 0.1
STEPS, SEEDS = 50_000, 30
PARTS = slice(0, -10_000), slice(-10_000, None)
"""Of the steps: those that are learned from alone, and those that are measured too."""
GAP, NOISE = 0.2, 1.0
EPSILONS = (1.0, 0.3, 0.1, 0.03, 0.01)
RULES = {"Q-learning": q_learning, "QVMAX": qvmax, "BC-QVMAX": bc_qvmax}
CASES = {"noise alone": (0.0, NOISE), "gap alone": (GAP, 0.0), "both": (GAP, NOISE)}


@functools.partial(jax.jit, static_argnums=0)
def _bias(rule: Rule, gap: float, noise: float, epsilon: float, key: jax.Array) -> jax.Array:
    """Of one seed: the bias, averaged over states and the last steps."""
    key_act, key_explore, key_noise = jax.random.split(key, 3)
    draws = (
        jax.random.randint(key_act, STEPS, 0, ACTIONS),
        jax.random.uniform(key_explore, STEPS) < epsilon,
        noise * jax.random.normal(key_noise, STEPS),
        jnp.arange(STEPS),
    )
    optimal = gap / (1 - DISCOUNT)

    def learn(tables: Any, draw: Any) -> tuple[Any, None]:
        random_action, explore, reward_noise, t = draw
        state = t % STATES
        action = jnp.where(explore, random_action, rule.q(tables)[state].argmax())  # type: ignore[misc]
        reward = jnp.where(action == 0, gap, 0.0) + reward_noise
        experience = Transition(state, action, reward, DISCOUNT, (state + 1) % STATES)
        return rule.update(tables, experience, STEP_SIZE), None

    def learn_and_measure(tables: Any, draw: Any) -> tuple[Any, jax.Array]:
        tables, _ = learn(tables, draw)
        return tables, rule.q(tables).max(axis=1).mean() - optimal  # type: ignore[misc]

    tables = rule.init(jnp.full(STATES, optimal), jnp.zeros((STATES, ACTIONS)))
    before, last = (tuple(draw[part] for draw in draws) for part in PARTS)
    tables, _ = jax.lax.scan(learn, tables, before)
    return jax.lax.scan(learn_and_measure, tables, last)[1].mean()


def biases(rule: Rule, *, gap: float, noise: float, epsilon: float) -> np.ndarray:
    """The bias of each seed: ``[seeds]``."""
    with jax.enable_x64(True):
        keys = jax.vmap(jax.random.key)(jnp.arange(SEEDS))
        return np.asarray(jax.vmap(lambda key: _bias(rule, gap, noise, epsilon, key))(keys))


@functools.cache
def mechanism_table() -> Table:
    """The bias of each rule by case and ε, with its interval over seeds."""
    rules = {name: make() for name, make in RULES.items()}
    rows = []
    for case, (gap, noise) in CASES.items():
        for epsilon in EPSILONS:
            row = [case, f"{epsilon:g}"]
            for rule in rules.values():
                interval = mean_interval(biases(rule, gap=gap, noise=noise, epsilon=epsilon))
                row.append(f"{number(interval.mean, '+.3f')} ± {interval.half_width:.3f}")
            rows.append(tuple(row))
    return Table("Mechanism", ("rewards", "ε", *RULES), rows)
