"""One episode of a trained agent, step by step, with what its two value functions say.

    trained = weights.load("out/breakout/weights/rdq-0.safetensors")
    recording = record(trained, episode_seed=0, frames=1_000)
    recording.episode.adv[t], recording.episode.q[t]      # A(s_t, ·), Q(s_t, ·)

An action is greedy in Q with probability 1 − ε (ε = 0.01, as in evaluation), else uniform. Beside
each step stand the TD target of the same network and the realised return,

    target_t = r_t + γ max_a Q(s_{t+1}, a)   (r_t if the episode ends),      G_t = r_t + γ G_{t+1}.

If `frames` cut the episode short, `ended` is False, and G_t sums the recorded rewards alone.
`qduet.jobs.recording_file` writes and reads recordings.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qduet.agents import Agent
from qduet.core.errors import InputError
from qduet.deep import acting, environments
from qduet.deep.algorithms import Algorithm, Numbers, algorithm_of
from qduet.deep.layers import Outputs
from qduet.deep.networks import Network, make_network
from qduet.jobs.weights import Weights
from qduet.minatar import Environment, make, seeded_game

CHUNK = 250
"""Steps that are played before the host checks whether the episode is over."""

MOST_FRAMES = 50_000
"""Frames of the longest recording."""


class Steps(NamedTuple):
    """An episode of T steps; NumPy."""

    observations: np.ndarray
    """uint8[T + 1, bytes], packed; the last one is what the last step led to."""
    action: np.ndarray
    """uint8[T]: the agent's choice, an index into the environment's actions."""
    random: np.ndarray
    """bool[T]: the action was drawn at random; it may still be the greedy one."""
    executed: np.ndarray
    """uint8[T]: what the game executed, an index into `qduet.minatar.ACTION_NAMES`; with sticky
    actions, sometimes the action before instead of the choice."""
    reward: np.ndarray
    """``[T]``, of the environment's `reward_dtype`: int8 in MinAtar, else float32."""
    v: np.ndarray
    """float32[T]: V(s_t), as the network gives it."""
    adv: np.ndarray
    """float32[T, |A|]: A(s_t, ·), as the network gives it in AV-learning; in all else Q − V."""
    q: np.ndarray
    """float32[T, |A|]: Q(s_t, ·), the agent's read-out."""
    target: np.ndarray
    """float32[T]: r_t + γ max Q(s_{t+1}, ·)"""
    return_to_go: np.ndarray
    """float32[T]: G_t"""


class Recording(NamedTuple):
    """An episode and what played it."""

    env: str
    """``MinAtar/Breakout-v1``"""
    label: str
    """What the agent is called among others: ``rdq``, or ``rdq-beta-0.01``."""
    agent: Agent
    """Its settings."""
    seed: int
    """The run's seed."""
    step: int
    """Environment steps that the run was trained for."""
    episode_seed: int
    """Decides the episode's random numbers."""
    epsilon: float
    """Probability of a random action."""
    ended: bool
    """Whether the game was over after the last step; if not, the recording was cut short."""
    episode: Steps
    """What was seen, done and predicted, step by step."""

    @property
    def score(self) -> int | float:
        """The sum of the recorded rewards; an int if all rewards are whole."""
        rewards = self.episode.reward
        total = rewards.sum(dtype=np.int64 if rewards.dtype.kind == "i" else np.float64)
        return total.item()


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _play(
    env: Environment,
    network: Network,
    algorithm: Algorithm,
    epsilon: float,
    params: Any,
    numbers: Numbers,
    key: jax.Array,
    state: Any,
    start: jax.Array,
) -> tuple[Any, dict[str, jax.Array]]:
    """`CHUNK` steps from step `start` on: the last state, and arrays ``[CHUNK, ...]`` by name."""

    def values(state: Any) -> tuple[Outputs, jax.Array]:
        outputs = network.apply(params, env.observe(state).astype(jnp.float32))
        q = algorithm.q(numbers, outputs)
        return outputs if algorithm.name == "av" else Outputs(outputs.v, q - outputs.v), q

    def step(state: Any, number: jax.Array) -> tuple[Any, dict[str, jax.Array]]:
        words = jax.random.bits(jax.random.fold_in(key, number), (env.num_draws + 2,), jnp.uint32)
        outputs, q = values(state)
        action, random = acting.choose(q, epsilon, words)
        after, reward, ended = env.step(state, action, words[2:])
        return after, {
            "observation": env.pack(state),
            "action": action.astype(jnp.uint8),
            "random": random,
            "executed": after.last_action.astype(jnp.uint8),
            "reward": reward,
            "v": outputs.v,
            "adv": outputs.adv,
            "q": q,
            "next_observation": env.pack(after),
            "next_q": values(after)[1],
            "ended": ended,
        }

    return jax.lax.scan(step, state, start + jnp.arange(CHUNK))


def _episode(
    env: Environment, weights: Weights, key: jax.Array, frames: int, epsilon: float
) -> dict[str, np.ndarray]:
    """The steps until the end of the episode, `frames` at most: arrays ``[T, ...]`` by name."""
    key_start, key_play = jax.random.split(key)
    agent = weights.agent
    network = make_network(agent.network, environments.make(weights.env_id))
    of = env, network, algorithm_of(agent.algorithm), epsilon, weights.params
    numbers = jax.tree.map(jnp.float32, agent.numbers)
    state = jax.jit(env.reset)(jax.random.bits(key_start, (env.num_draws,), jnp.uint32))
    chunks: list[dict[str, np.ndarray]] = []
    for start in range(0, frames, CHUNK):
        state, steps = _play(*of, numbers, key_play, state, jnp.int32(start))
        chunks.append(jax.tree.map(np.asarray, steps))
        if chunks[-1]["ended"].any():
            break
    whole = {name: np.concatenate([chunk[name] for chunk in chunks])[:frames] for name in chunks[0]}
    ended = whole["ended"]
    length = int(ended.argmax()) + 1 if ended.any() else frames
    return {name: array[:length] for name, array in whole.items()}


def record(
    weights: Weights, *, episode_seed: int = 0, frames: int = 1_000, epsilon: float = 0.01
) -> Recording:
    """Plays one episode with the weights of a run; the same `episode_seed` gives the same play."""
    if not 1 <= frames <= MOST_FRAMES:
        raise InputError(f"frames must be from 1 to {MOST_FRAMES}; it is {frames}")
    agent = weights.agent
    if not environments.make(weights.env_id).board:
        raise InputError(
            f"recordings show boards of 10 × 10, and {weights.env_id} has none: load its weights "
            "with qduet.jobs.load_weights and look at their values()"
        )
    env = make(weights.env_id, auto_reset=False)
    words = jnp.asarray(seeded_game.key_data(episode_seed))
    key = jax.random.wrap_key_data(words, impl="threefry2x32")
    steps = _episode(env, weights, key, frames, epsilon)
    given, ended = steps["reward"], steps["ended"]
    with np.errstate(invalid="ignore"):
        rewards = given.astype(env.reward_dtype)
    wrong = given[~(np.isfinite(given) & (rewards == given))]
    if wrong.size:
        kind = "a whole number in [−128, 127] (small_rewards)" if env.small_rewards else "finite"
        raise InputError(f"a reward of {weights.env_id} must be {kind}; one is {wrong[0]}")
    bootstrap = np.where(ended, 0.0, agent.discount * steps["next_q"].max(axis=1))
    episode = Steps(
        observations=np.concatenate([steps["observation"], steps["next_observation"][-1:]]),
        reward=rewards,
        target=(given + bootstrap).astype(np.float32),
        return_to_go=returns_to_go(given, agent.discount),
        **{name: steps[name] for name in ("action", "random", "executed", "v", "adv", "q")},
    )
    return Recording(
        env=weights.env_id,
        label=weights.label,
        agent=agent,
        seed=weights.seed,
        step=weights.step,
        episode_seed=episode_seed,
        epsilon=epsilon,
        ended=bool(ended[-1]),
        episode=episode,
    )


def returns_to_go(rewards: np.ndarray, discount: float) -> np.ndarray:
    """G_t = r_t + γ G_{t+1}, float32[T], summed in double precision."""
    returns = np.zeros(len(rewards) + 1)
    for t in reversed(range(len(rewards))):
        returns[t] = rewards[t] + discount * returns[t + 1]
    return returns[:-1].astype(np.float32)
