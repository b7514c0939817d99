# %% [markdown]
# # Your own game, network and agent
#
# This page trains an agent that is not in the paper, with a network that is not, in a game that is
# not: some sixty lines, and then everything else works with them: many seeds at once, evaluation,
# resuming, comparison, the command.
#
# ## A game
#
# *Catch*: a ball falls, and a paddle catches it (+1) or does not (−1). A game is pure functions of
# one state. Chance comes in as `draws`, random 32-bit words, so that a seed decides everything. The
# picture is a board of 10 × 10 bits in some channels, here one for the paddle and one for the ball.
# (Other observations, and a time limit: [own_environment.py](../../examples/own_environment.py).)

# %%
from typing import NamedTuple

import jax
import jax.numpy as jnp

from qduet.minatar import LEFT, NOOP, RIGHT, Environment, StepResult, register
from qduet.minatar.bitboard import one_cell
from qduet.minatar.random_words import below


class Catch(NamedTuple):
    ball_y: jax.Array
    ball_x: jax.Array
    paddle: jax.Array


def reset(draws):
    ball_x, paddle = (below(draw, jnp.int32(10)) for draw in (draws[0], draws[1]))
    return Catch(jnp.int32(0), ball_x, paddle)


def step(state, action, draws):
    paddle = jnp.clip(state.paddle + (action == RIGHT) - (action == LEFT), 0, 9)
    after = Catch(state.ball_y + 1, state.ball_x, paddle)
    landed = after.ball_y == 9
    reward = jnp.where(after.ball_x == paddle, 1.0, -1.0)
    return StepResult(after, jnp.where(landed, reward, 0.0), landed)


def rows(state):  # uint32[2, 10]: bit x of a row is column x
    return jnp.stack([one_cell(jnp.int32(9), state.paddle), one_cell(state.ball_y, state.ball_x)])


channels, actions, num_draws = ("paddle", "ball"), (NOOP, LEFT, RIGHT), 2
register("Catch-v0", Environment("Catch", channels, actions, num_draws, reset, step, rows))

# %% [markdown]
# `register` has checked shapes and types. One step, drawn in letters:

# %%
from qduet.minatar import make, render

env = make("Catch-v0")
state = env.reset(jax.random.bits(jax.random.key(3), (env.num_draws,)))
state, reward, terminated = env.step(state, 1, jnp.zeros(env.num_draws, jnp.uint32))
print(render.ansi(env.observe(state), env.channels, colour=False))

# %% [markdown]
# ## A network
#
# Two functions: `init` makes the parameters, any pytree; `apply` gives V(s) and A(s, ·). Modules of
# flax and equinox fit the same way ([own_network.py](../../examples/own_network.py)).

# %%
from qduet.deep import register_network


def init(key, observation, num_actions):
    key_hidden, key_last = jax.random.split(key)
    hidden = jax.random.normal(key_hidden, (observation.size, 256))
    last = jax.random.normal(key_last, (256, 1 + num_actions)) / 256**0.5
    return {"hidden": hidden, "last": last}


def apply(params, observation):
    both = jax.nn.relu(observation.reshape(-1) @ params["hidden"]) @ params["last"]
    return both[0], both[1:]


register_network("small", init, apply)

# %% [markdown]
# ## An agent
#
# An algorithm is its *numbers*, how Q is read off the network's outputs, and the loss of one
# transition. Ours is RDQ with Huber's loss in place of the square: `t.online` are the outputs at S,
# `t.next_target` those of the target network at S′.

# %%
from qduet.deep import Agent, Algorithm, Loss, register_agent, register_algorithm
from qduet.losses import additive_readout, huber, q_learning_error, rdq_penalty


class Numbers(NamedTuple):
    beta: float = 1e-3


def q_values(numbers, outputs):
    return outputs.v + outputs.adv


def loss(numbers, t):
    q, q_next = additive_readout(*t.online), additive_readout(*t.next_target)
    error = q_learning_error(q, t.action, t.reward, t.discount, q_next)
    total = huber(error) + numbers.beta * rdq_penalty(*t.online)
    return Loss(total=total, td_error=error, q=q[t.action])


register_algorithm(Algorithm("huber_rdq", Numbers, q_values, loss, uses_v=lambda numbers: True))
register_agent(Agent("huber_rdq", "huber_rdq", Numbers()))

# %% [markdown]
# ## Train and compare
#
# The new agent beside DQN, three seeds each. Run the cell again and it reads what is finished;
# interrupt it and it continues.

# %%
from qduet import Job, compare, make_agent, train

settings = {
    "network": "small",
    "learning_rate": 1e-3,
    "epsilon_decay_steps": 10_000,
    "learn_from": 1_000,
    "sync_every": 500,
    "capacity": 10_000,
}
agents = {name: make_agent(name, **settings) for name in ("huber_rdq", "dqn")}
job = Job("Catch-v0", agents, seeds=range(3), steps=20_000, episodes=200)
result = train(job, "out/catch")
for row in result.rows:
    print(f"{row['agent']:10} seed {row['seed']} step {row['step']:6,}: {row['return_mean']:+.2f}")

# %%
for pair in compare("out/catch").pairs:
    print(f"{pair.x} − {pair.y}: {pair.difference}, p = {pair.welch_p:.2f}")

# %% [markdown]
# ## From the command
#
# Put the three parts into a file, say `mine.py`, and name it:
#
# ```
# qduet --import mine train huber_rdq dqn Catch-v0 --network small --steps 20_000 --out out/catch
# qduet --import mine watch out/catch --agent huber_rdq
# qduet compare out/catch
# ```
#
# A fingerprint of what game, network and agent compute is kept with the results. If one of them
# changes, the directory is not continued: nothing is mixed.
#
# [Agents, networks, environments](../agents.md) has the rest.
