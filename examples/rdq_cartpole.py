"""RDQ in a DQN of your own: CartPole with Gymnasium, Equinox and optax.

    pip install gymnasium equinox optax
    python examples/rdq_cartpole.py [steps] [seed]

All of RDQ is in `rdq_loss` and `additive_readout`. For Dueling DQN, import `dueling_loss` and
`dueling_readout` instead.
"""

import functools
import sys

import equinox as eqx
import gymnasium
import jax
import numpy as np
import optax

from qduet.losses import additive_readout, rdq_loss

STEPS, LEARN_FROM, CAPACITY, BATCH, DISCOUNT = 40_000, 1_000, 50_000, 64, 0.99
SCALES = np.array([1, 1, 10, 1], np.float32)  # the pole's angle is small
MEMORY = "4f4, i4, f4, f4, 4f4"  # observation, action, reward, discount, next observation
loss = functools.partial(rdq_loss, beta=1e-2)  # the paper has 1e-3; this was found by trial
optimiser = optax.adam(optax.linear_schedule(2e-3, 0.0, STEPS // 2))  # an update every two steps


class Network(eqx.Module):
    """Observation [4] -> V(s) [] and A(s, ·) [2]."""

    hidden: list[eqx.nn.Linear]
    v: eqx.nn.Linear
    adv: eqx.nn.Linear

    def __init__(self, key):
        keys = jax.random.split(key, 4)
        self.hidden = [eqx.nn.Linear(4, 128, key=keys[0]), eqx.nn.Linear(128, 128, key=keys[1])]
        self.v = eqx.nn.Linear(128, "scalar", key=keys[2])
        self.adv = eqx.nn.Linear(128, 2, key=keys[3])

    def __call__(self, observation):
        """The values of one state."""
        x = SCALES * observation
        for layer in self.hidden:
            x = jax.nn.relu(layer(x))
        return self.v(x), self.adv(x)


@jax.jit
def greedy(network, observation):
    """The action of the largest Q."""
    return additive_readout(*network(observation)).argmax()


@jax.jit
def update(network, target, state, observation, a_tm1, r_t, discount_t, next_observation):
    """One step of Adam on the mean loss of a batch; the target network follows slowly."""

    def batch_loss(network):
        v_tm1, adv_tm1 = jax.vmap(network)(observation)
        v_t, adv_t = jax.vmap(target)(next_observation)
        return jax.vmap(loss)(v_tm1, adv_tm1, a_tm1, r_t, discount_t, v_t, adv_t).loss.mean()

    change, state = optimiser.update(jax.grad(batch_loss)(network), state)
    network = optax.apply_updates(network, change)
    return network, optax.incremental_update(network, target, 0.1), state


def main(steps=STEPS, seed=0):
    """Trains, and gives the return of each episode."""
    env, rng = gymnasium.make("CartPole-v1"), np.random.default_rng(seed)
    network = target = Network(jax.random.key(seed))
    state, memory, returns = optimiser.init(network), np.zeros(CAPACITY, MEMORY), [0.0]
    observation, _ = env.reset(seed=seed)
    for step in range(steps):
        explore = rng.random() < max(0.01, 1 - step / 5_000)
        action = int(rng.integers(2) if explore else greedy(network, observation))
        following, reward, terminated, truncated, _ = env.step(action)
        discount = 0.0 if terminated else DISCOUNT  # a time limit is no end of the episode
        scaled = (1 - DISCOUNT) * reward  # values are then at most 1
        memory[step % CAPACITY] = (observation, action, scaled, discount, following)
        observation, returns[-1] = following, returns[-1] + reward
        if terminated or truncated:
            observation, _ = env.reset()
            if len(returns) % 20 == 0:
                print(f"step {step:,}: mean return {np.mean(returns[-20:]):.0f}", flush=True)
            returns.append(0.0)
        if step >= LEARN_FROM and step % 2 == 0:
            batch = memory[rng.integers(min(step, CAPACITY), size=BATCH)]
            columns = (batch[name] for name in batch.dtype.names)
            network, target, state = update(network, target, state, *columns)
    return returns[:-1]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
