"""The loss of RDQ (or Dueling DQN, or DQN) in JAX code of one's own.

    pip install optax
    python examples/rdq_loss.py

All that qduet needs is V(s) and A(s, ·), from whatever network you have: `losses.rdq_loss` makes Q
of them, takes the TD error against the target network's values, and adds the penalty. Here a small
network learns the action values of a random MDP from sampled transitions, and is compared with the
exact ones.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from qduet.losses import additive_readout, rdq_loss
from qduet.tabular.mdp import garnet
from qduet.tabular.values import optimum

STATES, ACTIONS, UNITS = 12, 4, 64
DISCOUNT = 0.9


def network(params, features):
    """A network of one's own: features [n] -> V(s) and A(s, ·)."""
    hidden = jax.nn.relu(params["hidden"] @ features + params["bias"])
    return params["v"] @ hidden, params["adv"] @ hidden


# --- The ten lines -------------------------------------------------------------------------------
optimiser = optax.adam(3e-3)


def loss(params, target, features, action, reward, next_features):
    """½ (R + γ max Q(S′) − Q(S, A))² + β/2 (V² + Σ A²) of one transition, β = 10⁻³."""
    now, after = network(params, features), network(target, next_features)
    return rdq_loss(*now, action, reward, DISCOUNT, *after).loss  # dueling_loss: Dueling DQN


@jax.jit
def update(params, target, state, batch):
    """One step of Adam on the mean loss of a batch."""
    mean = lambda params: jax.vmap(loss, (None, None, 0, 0, 0, 0))(params, target, *batch).mean()
    change, state = optimiser.update(jax.grad(mean)(params), state)
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
        batch = features[s], a, rewards, features[s2]
        params, state = update(params, target, state, batch)
    q = jax.vmap(lambda x: additive_readout(*network(params, x)))(features)
    exact = optimum(mdp).q
    error = float(np.abs(q - exact).max())
    print(f"rdq: Q is up to {exact.max():.2f}, the largest error {error:.2f}")
    return error


if __name__ == "__main__":
    main()
