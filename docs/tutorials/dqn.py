# %% [markdown]
# # RDQ in your own DQN
#
# You have a DQN. Two changes make it Regularized Dueling Q-learning (RDQ):
#
# 1. The network has two outputs, V(s) and A(s, ·), and **Q is their sum**.
# 2. The loss is DQN's, plus a small **penalty on V² and A²**: call `rdq_loss`.
#
# Replay memory, target network, exploration and optimiser stay as they are. This page does it on
# CartPole, from the first line to a pole that stands. It needs
#
# ```
# pip install gymnasium optax
# ```
#
# beside qduet, and about ten seconds on one CPU core.

# %%
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import optax

from qduet.losses import additive_readout, rdq_loss

# %% [markdown]
# ## The network: two outputs
#
# Plain functions here; flax, equinox and haiku do as well. Only the last line of `network` is
# special: it returns V(s), a number, and A(s, ·), one number for each action.


# %%
def layer(key, rows, columns):
    """The weights and the bias of one layer."""
    return jax.random.normal(key, (rows, columns)) / rows**0.5, jnp.zeros(columns)


def init(key, num_actions=2):
    """Two hidden layers, and a last one of 1 + |A| columns."""
    first, second, last = jax.random.split(key, 3)
    return [layer(first, 4, 128), layer(second, 128, 128), layer(last, 128, 1 + num_actions)]


def network(params, observation):
    """V(s) [] and A(s, ·) [2] of one observation [4]."""
    x = observation * jnp.array([1.0, 1.0, 10.0, 1.0])  # the pole's angle is small
    for weights, bias in params[:-1]:
        x = jax.nn.relu(x @ weights + bias)
    weights, bias = params[-1]
    x = x @ weights + bias
    return x[0], x[1:]


# %% [markdown]
# ## The loss: `rdq_loss` of a batch
#
# `rdq_loss` takes *one* transition, so that there is no batch axis to get wrong; `jax.vmap` makes a
# batch of it. Its arguments have rlax's names: `…_tm1` is at S, `…_t` at S′. An episode's end is
# `discount_t = 0`. A time limit is not an end: there `discount_t` stays γ.


# %%
optimiser = optax.adam(optax.linear_schedule(2e-3, 0.0, 10_000))


def batch_loss(params, target, batch):
    v_tm1, adv_tm1 = jax.vmap(network, (None, 0))(params, batch["obs"])
    v_t, adv_t = jax.vmap(network, (None, 0))(target, batch["next_obs"])
    one = lambda *transition: rdq_loss(*transition, beta=1e-2).loss
    each = jax.vmap(one)(
        v_tm1, adv_tm1, batch["action"], batch["reward"], batch["discount"], v_t, adv_t
    )
    return each.mean()


@jax.jit
def update(params, target, state, batch):
    gradient = jax.grad(batch_loss)(params, target, batch)
    change, state = optimiser.update(gradient, state)
    params = optax.apply_updates(params, change)
    return params, optax.incremental_update(params, target, 0.1), state


@jax.jit
def greedy(params, observation):
    return additive_readout(*network(params, observation)).argmax()  # Q = V + A


# %% [markdown]
# ## The loop: any DQN's
#
# Nothing in it knows of RDQ. Rewards are scaled so that values are at most 1; that is a habit of
# this page, not of RDQ, but β is a matter of scale: for larger values take a smaller one. (The
# paper has β = 10⁻³ on MinAtar.)


# %%
def train(steps=20_000, seed=0, discount=0.99, batch_size=64):
    """The return of each episode."""
    env, rng = gymnasium.make("CartPole-v1"), np.random.default_rng(seed)
    params = target = init(jax.random.key(seed))
    state = optimiser.init(params)
    memory = np.zeros(
        steps,
        [
            ("obs", "4f4"),
            ("action", "i4"),
            ("reward", "f4"),
            ("discount", "f4"),
            ("next_obs", "4f4"),
        ],
    )
    obs, _ = env.reset(seed=seed)
    returns = [0.0]
    for step in range(steps):
        explore = rng.random() < max(0.01, 1 - step / 5_000)
        action = int(rng.integers(2) if explore else greedy(params, obs))
        next_obs, reward, terminated, truncated, _ = env.step(action)
        gamma = 0.0 if terminated else discount
        memory[step] = (obs, action, (1 - discount) * reward, gamma, next_obs)
        obs, returns[-1] = next_obs, returns[-1] + reward
        if terminated or truncated:
            obs, _ = env.reset()
            returns.append(0.0)
        if step >= 1_000 and step % 2 == 0:
            rows = memory[rng.integers(step, size=batch_size)]
            batch = {name: rows[name] for name in rows.dtype.names}
            params, target, state = update(params, target, state, batch)
    return returns[:-1]


returns = train()
for first in range(0, len(returns), 25):
    print(
        f"episodes {first} to {first + 24}: mean return {np.mean(returns[first : first + 25]):.0f}"
    )

# %%
import matplotlib.pyplot as plt

plt.figure(figsize=(7, 3))
plt.plot(returns)
plt.xlabel("episode")
plt.ylabel("return (500 is the most)")
plt.show()

# %% [markdown]
# One run shows that it works, and nothing else: whether RDQ is *better* than DQN takes many seeds
# ([Comparing honestly](comparing.py)).
#
# ## Dueling DQN, DQN and the others
#
# | agent | read-out | loss |
# | --- | --- | --- |
# | RDQ | `additive_readout` | `rdq_loss` |
# | Dueling DQN | `dueling_readout` | `dueling_loss` |
# | Double DQN, with RDQ's penalty | `additive_readout` | `squared(double_q_learning_error(…)) + beta * rdq_penalty(v_tm1, adv_tm1)` |
# | DQV-Max (a network with V and Q) | Q itself | `qvmax_loss` |
#
# Huber's loss is `rdq_loss(…, loss_fn=huber)`; importance weights and priorities are one line each:
# `help(qduet.losses)`, or the reference page qduet.losses of the site that `make site` builds.
#
# ## In PyTorch
#
# The loss is four lines; `q` and `q_next` are `v + adv` of the network and of the target network:
#
# ```python
# q = v + adv                                                      # [n, 1] + [n, |A|]
# target = reward + discount * q_next.max(dim=1).values            # discount: 0 at an end
# error = target.detach() - q.gather(1, action[:, None])[:, 0]
# loss = (0.5 * error**2 + 0.5 * beta * (v[:, 0] ** 2 + (adv**2).sum(dim=1))).mean()
# ```
#
# ## Without a loop of your own
#
# `qduet train rdq gymnax/CartPole-v1` trains many seeds at once, evaluates, saves and resumes:
# [Training](../training.md).
