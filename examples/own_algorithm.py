"""An agent of one's own, known to the command: Munchausen DQN (Vieillard et al., 2020).

    qduet --import own_algorithm train munchausen dqn MinAtar/Breakout-v1 --seeds 5 --out out/mine

run in this directory. Munchausen DQN adds a clipped log-probability of the action to the reward,
and bootstraps from the soft value of a policy π = softmax(Q⁻/τ), both by the target network:

    y = R + α max(τ log π(A|S), l₀) + γ Σ_a π(a|S') (Q⁻(S', a) − τ log π(a|S'))

An algorithm is its numbers, how Q is read off the network's outputs, and the loss of one
transition. Its numbers are data of a run: ``--set tau=0.1`` changes one.
"""

from typing import NamedTuple

import jax

from qduet.deep import Agent, Algorithm, Loss, register_agent, register_algorithm


class Munchausen(NamedTuple):
    """The numbers of Munchausen DQN."""

    tau: float = 0.03
    alpha: float = 0.9
    lowest: float = -1.0


def q_values(numbers, outputs):
    """Q(s, ·) is the second output alone, as in DQN."""
    return outputs.adv


def loss(numbers, t):
    """½ (y − Q(S, A))²."""
    log_pi = jax.nn.log_softmax(t.target.adv / numbers.tau)
    next_log_pi = jax.nn.log_softmax(t.next_target.adv / numbers.tau)
    bonus = jax.numpy.clip(numbers.tau * log_pi[t.action], numbers.lowest, 0.0)
    soft = t.next_target.adv - numbers.tau * next_log_pi
    value = (jax.numpy.exp(next_log_pi) * soft).sum()
    y = t.reward + numbers.alpha * bonus + t.discount * value
    error = jax.lax.stop_gradient(y) - t.online.adv[t.action]
    return Loss(total=0.5 * error**2, td_error=error, q=t.online.adv[t.action])


register_algorithm(
    Algorithm("munchausen", Munchausen, q_values, loss, uses_v=lambda numbers: False)
)
register_agent(Agent("munchausen", "munchausen", Munchausen()))
