"""The loss of RDQ (or Dueling DQN, or DQN) in JAX code of one's own.

    pip install optax
    python examples/rdq_loss.py

All that qduet needs is V(s) and A(s, ·), from whatever network you have: `agents.loss` makes Q of
them, takes the TD error against the target network's values, and adds the penalty. Here a small
network learns the action values of a random MDP from sampled transitions, and is compared with the
exact ones.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from qduet.deep import Batch, Outputs, loss, make_agent, q_values
from qduet.tabular.mdp import garnet, optimum

STATES, ACTIONS, UNITS = 12, 4, 64
DISCOUNT = 0.9


def network(params, features):
    """A network of one's own: features [n] -> V(s) and A(s, ·)."""
    hidden = jax.nn.relu(params["hidden"] @ features + params["bias"])
    return Outputs(v=params["v"] @ hidden, adv=params["adv"] @ hidden)


# --- The ten lines -------------------------------------------------------------------------------
agent = make_agent("rdq")  # make_agent("dueling_dqn"), make_agent("rdq", beta=1e-2), ...
coefficients, optimiser = agent.coefficients(), optax.adam(3e-3)


def batch_loss(params, target, batch):
    """½ E[(R + γ max Q(S′) − Q(S, A))²] + β/2 E[V² + Σ A²]."""
    outputs = jax.vmap(network, (None, 0))(params, batch.observations)
    next_outputs = jax.vmap(network, (None, 0))(target, batch.next_observations)
    return loss(outputs, next_outputs, coefficients, DISCOUNT, batch).total


@jax.jit
def update(params, target, state, batch):
    """One step of Adam."""
    change, state = optimiser.update(jax.grad(batch_loss)(params, target, batch), state)
    return optax.apply_updates(params, change), state


# -------------------------------------------------------------------------------------------------


def init(key, inputs):
    """LeCun normal."""
    shapes = {"hidden": (UNITS, inputs), "v": (UNITS,), "adv": (ACTIONS, UNITS)}
    keys = jax.random.split(key, len(shapes))
    normal = lambda k, shape: jax.random.normal(k, shape) / jnp.sqrt(shape[-1])
    params = {name: normal(k, shape) for k, (name, shape) in zip(keys, shapes.items(), strict=True)}
    return {**params, "bias": jnp.zeros(UNITS)}


def main(updates: int = 1_500) -> float:
    """Learns from random transitions; the largest error of Q."""
    mdp = garnet(
        jax.random.key(0), num_states=STATES, num_actions=ACTIONS, branching=1, discount=DISCOUNT
    )
    rng = np.random.default_rng(0)
    features = np.eye(STATES, dtype=np.float32)  # whatever your network sees
    params = target = init(jax.random.key(1), STATES)
    state = optimiser.init(params)
    for i in range(updates):
        if i % 20 == 0:
            target = params
        s, a = rng.integers(STATES, size=64), rng.integers(ACTIONS, size=64)
        s2 = mdp.p[s, a].argmax(axis=1)
        rewards = mdp.reward[s, a, s2].astype(np.float32)
        batch = Batch(features[s], a, rewards, np.zeros(64, bool), features[s2])
        params, state = update(params, target, state, batch)
    q = jax.vmap(lambda x: q_values(network(params, x), coefficients))(features)
    exact = optimum(mdp).q
    error = float(np.abs(q - exact).max())
    print(f"{agent.name}: Q is up to {exact.max():.2f}, the largest error {error:.2f}")
    return error


if __name__ == "__main__":
    main()
