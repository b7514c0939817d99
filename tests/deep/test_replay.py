import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.deep import replay
from qduet.deep.environments import make


def observation(t):
    return np.array([t % 251, t // 251], np.uint8)


def filled(capacity, steps):
    """A memory after `steps` steps in which everything tells its time."""
    memory = replay.empty(capacity, jnp.asarray(observation(0)), np.dtype(np.int8), 6)
    write = jax.jit(replay.write)
    for t in range(0, steps, 4):
        times = np.arange(t, t + 4)
        memory = write(
            memory,
            jnp.int32(t),
            jnp.asarray(times % 6),
            jnp.asarray(times % 11, jnp.float32),
            jnp.asarray(times % 7 == 0),
            None,
            jnp.asarray(np.stack([observation(u + 1) for u in times])),
        )
    return memory


@pytest.mark.parametrize("steps", [4, 20, 40, 44, 48, 400, 1000])
def test_every_transition_is_whole_and_all_kept_ones_occur(steps):
    capacity = 40
    words = jax.random.bits(jax.random.key(0), (4000,))
    batch = replay.sample(filled(capacity, steps), jnp.int32(steps), words, discount=0.9)
    time = batch.observations.astype(np.int32)
    time = np.asarray(time[:, 0] + 251 * time[:, 1])
    np.testing.assert_array_equal(batch.next_observations, [observation(t + 1) for t in time])
    np.testing.assert_array_equal(batch.actions, time % 6)
    np.testing.assert_array_equal(batch.rewards, time % 11)
    np.testing.assert_array_equal(batch.discounts, np.where(time % 7 == 0, 0, np.float32(0.9)))
    assert batch.weights is None
    assert set(time) == set(range(max(0, steps - capacity), steps))


@pytest.mark.parametrize(
    ("dtype", "scale"), [("int8", 1), ("float32", 1 / 3), ("float32", 200), ("float32", 1e-30)]
)
def test_rewards_that_an_environment_may_give_are_kept_exactly(dtype, scale):
    """Of `small_rewards`, whole numbers in [−128, 127]; of others, whatever they are."""
    memory = replay.empty(256, jnp.zeros(2, jnp.uint8), np.dtype(dtype), 6)
    rewards, zeros = np.float32(scale) * np.arange(-128, 128, dtype="f4"), jnp.zeros(4, jnp.int32)
    for t in range(0, 256, 4):
        four, seen = jnp.asarray(rewards[t : t + 4]), jnp.zeros((4, 2), jnp.uint8)
        memory = replay.write(memory, jnp.int32(t), zeros, four, zeros == 1, None, seen)
    words = jnp.asarray(np.arange(256, dtype=np.uint32) << 24)  # each transition once, in order
    batch = replay.sample(memory, jnp.int32(256), words, discount=0.9)
    np.testing.assert_array_equal(batch.rewards, rewards)


def test_sampling_is_uniform():
    """Chi-squared over 40 transitions, 40,000 draws: 39 degrees of freedom, 0.1 % point 72.1."""
    words = jax.random.bits(jax.random.key(1), (40_000,))
    batch = replay.sample(filled(40, 44), jnp.int32(44), words, discount=0.9)
    _, counts = np.unique(np.asarray(batch.observations[:, 0]), return_counts=True)
    assert len(counts) == 40
    assert ((counts - 1000) ** 2 / 1000).sum() < 72.1


def test_below_is_the_high_half_of_the_product():
    words = np.random.default_rng(0).integers(2**32, size=2000, dtype=np.uint32)
    words[:3] = 0, 2**32 - 1, 2**31
    for bound in (1, 3, 999, 65_535, 65_536, 100_000, 131_071):
        ours = replay.below(jnp.asarray(words), jnp.int32(bound))
        np.testing.assert_array_equal(ours, [int(w) * bound >> 32 for w in words])


@pytest.mark.parametrize(("game", "megabytes"), [("Breakout", 6), ("Seaquest", 14)])
def test_a_full_size_memory_is_small(game, megabytes):
    env = make(f"MinAtar/{game}-v1")
    first = jax.eval_shape(
        lambda draws: env.encode(env.reset(draws)), jnp.zeros(env.num_draws, "u4")
    )
    memory = lambda first: replay.empty(100_000, first, env.reward_dtype, env.num_actions)
    shapes = jax.eval_shape(memory, first)
    assert sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(shapes)) <= megabytes * 10**6


# --- Several steps, time limits, many actions -----------------------------------------------------


def stream(steps, num_actions=6, terminates=0.12, truncates=0.12):
    """A recorded stream: actions, rewards, terminated, truncated."""
    rng = np.random.default_rng(3)
    ends = rng.choice(3, size=steps, p=(1 - terminates - truncates, terminates, truncates))
    rewards = rng.normal(size=steps).astype(np.float32)
    return rng.integers(num_actions, size=steps), rewards, ends == 1, ends == 2


def recorded(capacity, actions, rewards, terminated, truncated, num_actions=6):
    """The memory after the stream; each observation tells its time."""
    memory = replay.empty(capacity, jnp.asarray(observation(0)), np.dtype("f4"), num_actions)
    write = jax.jit(replay.write)
    for t in range(0, len(actions), 4):
        now = (jnp.asarray(x[t : t + 4]) for x in (actions, rewards, terminated, truncated))
        seen = np.stack([observation(u + 1) for u in range(t, t + 4)])
        memory = write(memory, jnp.int32(t), *now, jnp.asarray(seen))
    return memory


def looped(t, n_step, rewards, terminated, truncated, discount):
    """Sum, discount, time of the next observation, and weight, step by step."""
    if truncated[t]:
        return None
    total, k = 0.0, 0
    while k < n_step and not truncated[t + k]:
        total += discount**k * float(rewards[t + k])
        k += 1
        if terminated[t + k - 1]:
            return total, 0.0, t + k, 1.0
    return total, discount**k, t + k, 1.0


@pytest.mark.parametrize("n_step", [1, 2, 3, 7])
@pytest.mark.parametrize("steps", [40, 100])
def test_sums_end_with_the_episode_and_before_a_cut(n_step, steps):
    """All transitions that are kept, against a loop; the memory of 60 has wrapped around or not."""
    capacity, discount = 60, 0.9
    taken = stream(steps)
    words = jax.random.bits(jax.random.key(0), (3_000,))
    batch = replay.sample(
        recorded(capacity, *taken),
        jnp.int32(steps),
        words,
        discount=discount,
        n_step=n_step,
        truncates=True,
    )
    time = batch.observations.astype(np.int32)
    time = np.asarray(time[:, 0] + 251 * time[:, 1])
    assert set(time) == set(range(max(0, steps - capacity), steps - n_step + 1))
    np.testing.assert_array_equal(batch.actions, taken[0][time])
    kinds = set()
    for i, t in enumerate(time):
        want = looped(t, n_step, *taken[1:], discount)
        assert float(batch.weights[i]) == (0.0 if want is None else 1.0)
        if want is None:
            kinds.add("cut at once")
            continue
        total, left, after, _ = want
        assert float(batch.rewards[i]) == pytest.approx(total, abs=1e-5)
        assert float(batch.discounts[i]) == pytest.approx(left, rel=1e-6)
        if left:
            np.testing.assert_array_equal(batch.next_observations[i], observation(after))
        kinds.add("ended" if left == 0 else "whole" if after - t == n_step else "cut short")
    assert kinds == {"cut at once", "ended", "whole"} | ({"cut short"} if n_step > 1 else set())


@pytest.mark.parametrize("num_actions", [64, 65, 128])
def test_more_than_64_actions_take_larger_marks(num_actions):
    taken = stream(200, num_actions)
    taken[0][:6] = [0, 63, num_actions - 1] * 2
    taken[2][:6], taken[3][:6] = [True] * 3 + [False] * 3, [False] * 3 + [True] * 3
    memory = recorded(200, *taken, num_actions=num_actions)
    assert memory.actions.dtype == (jnp.int8 if num_actions == 64 else jnp.int32)
    count = 256  # words in steps of 2²⁴, so that each transition is drawn
    words = jnp.asarray(np.arange(count, dtype=np.uint32) << 24)
    batch = replay.sample(memory, jnp.int32(200), words, discount=0.9, truncates=True)
    time = np.asarray(batch.observations[:, 0])
    assert set(time) == set(range(200))
    np.testing.assert_array_equal(batch.actions, taken[0][time])
    np.testing.assert_array_equal(batch.discounts == 0, taken[2][time])
    np.testing.assert_array_equal(batch.weights, 1 - taken[3][time])


def test_a_step_that_ends_and_is_cut_at_once_has_ended():
    both = np.array([False, True, True, False]), np.array([False, False, True, True])
    memory = recorded(4, np.arange(4), np.ones(4, np.float32), *both)
    words = jnp.asarray(np.arange(4, dtype=np.uint32) << 30)  # each transition once, in order
    batch = replay.sample(memory, jnp.int32(4), words, discount=0.5, truncates=True)
    assert batch.actions.tolist() == [0, 1, 2, 3]
    assert batch.discounts.tolist() == [0.5, 0, 0, 0.5]
    assert batch.weights.tolist() == [1, 1, 1, 0]
