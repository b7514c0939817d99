"""Evaluation as in the paper: 1,000 episodes per run, ε = 0.01, every episode counted once.

All episodes of all runs are played side by side, each in a *lane*. Once three quarters of the lanes
are idle, finished ones are dropped, so that a long episode does not make the short ones cost much.
Episodes end as the environment says, but after `guard` steps those still playing are cut short and
counted, so that a game that never ends cannot hang the program. An episode's random numbers depend
on its run, its number and the step, not on the other episodes.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from qduet.deep import acting
from qduet.deep.algorithms import Algorithm, Numbers
from qduet.deep.environment import Environment
from qduet.deep.layers import Outputs
from qduet.deep.plain import Computation

CHUNK = 50
"""Steps that are played before the host checks which episodes are over."""

SIZES = (250, 30)
"""Numbers of lanes to which a run can be cut down: few, because each is compiled separately."""


class Episode(NamedTuple):
    """Sums over the steps of one episode; scalars."""

    undiscounted: jax.Array
    """Σ r"""
    discounted: jax.Array
    """Σ γ^t r_t, from the first step"""
    returns_to_go: jax.Array
    """Σ_t G_t, the discounted returns from each step on"""
    q: jax.Array
    """Σ_t Q(s_t, a_t)"""
    v_squared: jax.Array
    """Σ_t V²"""
    adv_squared: jax.Array
    """Σ_t Σ_a A²"""
    mean_adv: jax.Array
    """Σ_t mean_a A"""
    mean_adv_abs: jax.Array
    """Σ_t |mean_a A|"""
    v_minus_max_q: jax.Array
    """Σ_t V − max_a Q"""
    q_spread: jax.Array
    """Σ_t max_a Q − min_a Q"""
    length: jax.Array
    """Steps."""


class Lane(NamedTuple):
    """One episode that is being played; scalars."""

    env: Any
    """The environment's state."""
    episode: Episode
    """The sums so far."""
    weight: jax.Array
    """γ^t"""
    trace: jax.Array
    """Σ_{i ≤ t} γ^(t−i): what a reward of 1 now adds to `returns_to_go`"""
    over: jax.Array
    """bool[]: whether the episode has ended"""
    number: jax.Array
    """Which of the run's episodes it is."""


def _start(env: Environment, words: jax.Array, number: jax.Array) -> Lane:
    zero = jnp.float32(0)
    episode = Episode(*[zero] * len(Episode._fields))
    return Lane(env.reset(words), episode, jnp.float32(1), zero, jnp.bool_(False), number)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _begin(env: Environment, episodes: int, keys: jax.Array) -> tuple[Lane, jax.Array]:
    """All lanes ``[runs, episodes]`` at their start, and the keys of their steps ``[runs]``."""

    def one_run(key: jax.Array) -> tuple[Lane, jax.Array]:
        words = jax.random.bits(jax.random.fold_in(key, 0), (episodes, env.num_draws), jnp.uint32)
        lanes = jax.vmap(functools.partial(_start, env))(words, jnp.arange(episodes))
        return lanes, jax.random.fold_in(key, 1)

    return jax.vmap(one_run)(keys)


def _step(
    env: Environment,
    discount: float,
    epsilon: float,
    q: jax.Array,
    lane: Lane,
    outputs: Outputs,
    words: jax.Array,
) -> Lane:
    """One ε-greedy step, given Q and the outputs; a finished lane plays on uncounted."""
    action = acting.choose(q, epsilon, words).action
    state, reward, terminated, truncated = env.step(lane.env, action, words[2:])
    ended = terminated if truncated is None else terminated | truncated
    trace = 1 + discount * lane.trace
    gained = Episode(
        undiscounted=reward,
        discounted=lane.weight * reward,
        returns_to_go=trace * reward,
        q=jnp.where(jnp.arange(env.num_actions) == action, q, 0.0).sum(),
        v_squared=outputs.v**2,
        adv_squared=(outputs.adv**2).sum(),
        mean_adv=outputs.adv.mean(),
        mean_adv_abs=jnp.abs(outputs.adv.mean()),
        v_minus_max_q=outputs.v - q.max(),
        q_spread=q.max() - q.min(),
        length=jnp.float32(1),
    )
    add = lambda total, x: total + jnp.where(lane.over, 0.0, x)
    return Lane(
        env=state,
        episode=jax.tree.map(add, lane.episode, gained),
        weight=lane.weight * discount,
        trace=trace,
        over=lane.over | ended,
        number=lane.number,
    )


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3, 4, 5), donate_argnums=8)
def _play(
    env: Environment,
    algorithm: Algorithm,
    compute: Computation,
    discount: float,
    epsilon: float,
    mesh: Mesh | None,
    params: Any,
    numbers: Numbers,
    lanes: Lane,
    keys: jax.Array,
    step: jax.Array,
) -> Lane:
    """`CHUNK` steps of all lanes ``[runs, lanes]``; params and keys ``[runs]``."""

    def one_run(
        params: Any, numbers: Numbers, lanes: Lane, key: jax.Array, step: jax.Array
    ) -> Lane:
        step_key = jax.random.fold_in(key, step)
        draw = lambda number: jax.random.bits(
            jax.random.fold_in(step_key, number), (env.num_draws + 2,), jnp.uint32
        )
        words = jax.vmap(draw)(lanes.number)
        outputs = compute.outputs(params, jax.vmap(env.encode)(lanes.env))
        q = jax.vmap(algorithm.q, (None, 0))(numbers, outputs)
        one = functools.partial(_step, env, discount, epsilon)
        return jax.vmap(one)(q, lanes, outputs, words)

    every = jax.vmap(one_run, in_axes=(0, 0, 0, 0, None))
    if mesh is not None:  # each device plays its runs: the compiler cannot split kernels
        runs = PartitionSpec("runs")
        specs = (runs, runs, runs, runs, PartitionSpec())
        every = jax.shard_map(every, mesh=mesh, in_specs=specs, out_specs=runs, check_vma=False)
    body = lambda lanes, i: (every(params, numbers, lanes, keys, i), None)
    return jax.lax.scan(body, lanes, step + jnp.arange(CHUNK))[0]


@functools.partial(jax.jit, static_argnums=1)
def _keep_playing(lanes: Lane, size: int) -> Lane:
    """`size` lanes of each run, those that are still playing first."""
    chosen = jnp.argsort(lanes.over, axis=1)[:, :size]
    take = jax.vmap(lambda x, i: x[i])
    return jax.tree.map(lambda x: take(x, chosen), lanes)


class Evaluation(NamedTuple):
    """The episodes of all runs."""

    episodes: Episode
    """Fields ``[runs, episodes]``, NumPy."""
    cut: np.ndarray
    """``[runs]``: how many episodes the guard cut short."""


def evaluate(
    env: Environment,
    algorithm: Algorithm,
    compute: Computation,
    params: Any,
    numbers: Numbers,
    keys: jax.Array,
    *,
    episodes: int = 1_000,
    epsilon: float = 0.01,
    discount: float = 0.99,
    guard: int = 200_000,
    mesh: Mesh | None = None,
    check: Callable[[], None] = lambda: None,
) -> Evaluation:
    """Plays `episodes` episodes with each run's weights; params, numbers and keys ``[runs]``.

    If a `mesh` of devices is given, its one axis is ``"runs"``, over which these arrays must be
    sharded. `check` is called before every `CHUNK` steps, and may raise to give up.
    """
    lanes, key_play = _begin(env, episodes, keys)
    blank: Any = [np.zeros((len(keys), episodes), np.float32) for _ in Episode._fields]
    record = Episode(*blank)
    size, step = episodes, 0
    while True:
        check()
        now = jnp.int32(step)
        constants = env, algorithm, compute, discount, epsilon, mesh
        lanes = _play(*constants, params, numbers, lanes, key_play, now)
        step += CHUNK
        playing = int((~lanes.over).sum(axis=1).max())
        finished = playing == 0 or step >= guard
        smaller = [s for s in SIZES if playing <= s <= size // 4]
        if finished or smaller:
            _copy_sums(record, lanes)
            if finished:
                return Evaluation(record, np.asarray((~lanes.over).sum(axis=1)))
            size = min(smaller)
            lanes = _keep_playing(lanes, size)


def _copy_sums(record: Episode, lanes: Lane) -> None:
    """Copies the lanes' sums into the record, at the numbers of their episodes."""
    number = np.asarray(lanes.number)
    rows = np.arange(number.shape[0])[:, None]
    for total, now in zip(record, lanes.episode, strict=True):
        total[rows, number] = np.asarray(now)


def summarise(evaluation: Evaluation) -> dict[str, np.ndarray]:
    """The columns of the published scores, and those that describe V and A, each ``[runs]``.

    Means over steps are taken within each episode first, then over episodes, as in the published
    ``q_value_mean`` and ``q_overestimation``.
    """
    e = evaluation.episodes
    per_step = lambda x: (x.astype(np.float64) / e.length).mean(axis=1)
    returns = e.undiscounted.astype(np.float64)
    return {
        "return_mean": returns.mean(axis=1),
        "return_median": np.median(returns, axis=1),
        "return_std": returns.std(axis=1, ddof=1) if returns.shape[1] > 1 else 0 * returns[:, 0],
        "return_max": returns.max(axis=1),
        "return_min": returns.min(axis=1),
        "q_value_mean": per_step(e.q),
        "q_overestimation": per_step(e.q) - per_step(e.returns_to_go),
        "discounted_return_mean": e.discounted.astype(np.float64).mean(axis=1),
        "v_rms": np.sqrt(per_step(e.v_squared)),
        "adv_rms": np.sqrt(per_step(e.adv_squared)),
        "mean_adv_abs": per_step(e.mean_adv_abs),
        "mean_adv": per_step(e.mean_adv),
        "v_minus_max_q": per_step(e.v_minus_max_q),
        "q_spread": per_step(e.q_spread),
        "episode_length_mean": e.length.astype(np.float64).mean(axis=1),
        "episodes_cut": evaluation.cut,
    }
