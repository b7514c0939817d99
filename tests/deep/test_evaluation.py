import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.agents import AGENTS
from qduet.deep import board, training
from qduet.deep import evaluation as evaluation_module
from qduet.deep.algorithms import algorithm_of
from qduet.deep.environments import Environment, Step
from qduet.deep.evaluation import Episode, Evaluation, summarise
from qduet.deep.layers import InitScheme
from qduet.minatar.bitboard import packed_size, unpack

LONGEST = 300
TORCH = InitScheme(uniform_conv=True, uniform_streams=True)
"""Biases that are not zero."""


def clock(state, action, draws):
    """A game of known length that pays 1 per step; the state counts down."""
    left = state - 1
    return Step(jnp.where(left == 0, LONGEST, left), jnp.float32(1), left == 0, None)


GAME = Environment(
    name="clock",
    num_actions=2,
    num_draws=1,
    observation=jax.ShapeDtypeStruct((10, 10, 1), jnp.bool_),
    reset=lambda draws: (draws[0] % LONGEST + 1).astype(jnp.int32),
    step=clock,
    encode=lambda state: jnp.zeros(packed_size(1), jnp.uint8),
    decode=lambda packed: unpack(packed, 1),
    board=True,
)


def evaluate(env, params, numbers, keys, **options):
    compute = training.make_setting(env, AGENTS["rdq"]).compute
    av = algorithm_of("av")
    return evaluation_module.evaluate(env, av, compute, params, numbers, keys, **options)


def numbers_of(*names):
    """Of agents by their names, ``[runs]``."""
    each = [jax.tree.map(jnp.float32, AGENTS[name].numbers) for name in names]
    return jax.tree.map(lambda *x: jnp.stack(x), *each)


@pytest.fixture(scope="module")
def evaluation():
    keys = jax.random.split(jax.random.key(0), 3)
    params = jax.vmap(lambda key: board.init(key, 1, 2, TORCH))(keys)
    numbers = numbers_of("rdq", "dqn", "dueling_dqn")
    return params, evaluate(GAME, params, numbers, keys, episodes=200, discount=0.9)


def test_every_episode_counts_once_whatever_its_length(evaluation):
    """Lengths are uniform on 1…300: were short episodes repeated, their mean would be far lower."""
    lengths = evaluation[1].episodes.length
    assert lengths.shape == (3, 200)
    assert lengths.min() >= 1
    assert lengths.max() > 250
    standard_error = np.sqrt(300**2 / 12 / 600)
    assert abs(lengths.mean() - 150.5) < 4 * standard_error
    np.testing.assert_array_equal(evaluation[1].episodes.undiscounted, lengths)


RANDOM = GAME._replace(
    num_draws=2,
    step=lambda state, action, draws: Step(
        state, jnp.float32(draws[1] % 7), draws[0] % 97 == 0, None
    ),
)
"""Episodes of geometric length, with random rewards."""


def test_dropping_finished_episodes_changes_nothing(monkeypatch):
    """1,000 episodes, as the paper has them, are cut down twice; and never, for comparison."""
    keys = jax.random.split(jax.random.key(4), 2)
    params = jax.vmap(lambda key: board.init(key, 1, 2, TORCH))(keys)
    numbers = numbers_of("rdq", "rdq")
    sizes = []
    keep = evaluation_module._keep_playing
    monkeypatch.setattr(
        evaluation_module, "_keep_playing", lambda lanes, n: sizes.append(n) or keep(lanes, n)
    )
    dropped = evaluate(RANDOM, params, numbers, keys, episodes=1_000)
    assert sizes == [250, 30]
    monkeypatch.setattr(evaluation_module, "SIZES", ())
    kept = evaluate(RANDOM, params, numbers, keys, episodes=1_000)
    assert sizes == [250, 30]
    for name in ("length", "undiscounted", "discounted", "returns_to_go"):
        ours, theirs = (getattr(e.episodes, name) for e in (dropped, kept))
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_allclose(dropped.episodes.q, kept.episodes.q, rtol=1e-5)
    np.testing.assert_array_equal(dropped.cut, kept.cut)


def test_a_run_alone_plays_the_same_episodes():
    """Run 1 beside run 0, and by itself: a random policy (ε = 1), so that the draws decide."""
    keys = jax.random.split(jax.random.key(3), 2)
    params = jax.vmap(lambda key: board.init(key, 1, 2, TORCH))(keys)
    numbers = numbers_of("rdq", "rdq")
    both = evaluate(RANDOM, params, numbers, keys, episodes=40, epsilon=1.0)
    last = lambda tree: jax.tree.map(lambda x: x[1:], tree)
    alone = evaluate(RANDOM, last(params), last(numbers), keys[1:], episodes=40, epsilon=1.0)
    np.testing.assert_array_equal(alone.episodes.length[0], both.episodes.length[1])
    np.testing.assert_array_equal(alone.episodes.undiscounted[0], both.episodes.undiscounted[1])
    assert not np.array_equal(both.episodes.length[0], both.episodes.length[1])
    assert len(set(both.episodes.length[0].tolist())) > 20  # and no two episodes are the same
    assert len(set(both.episodes.undiscounted[0].tolist())) > 20


def test_discounted_returns_are_geometric_sums(evaluation):
    episodes = evaluation[1].episodes
    n = episodes.length.astype(np.float64)
    np.testing.assert_allclose(episodes.discounted, (1 - 0.9**n) / 0.1, rtol=1e-4)
    # Σ_t G_t with G_t = (1 − γ^(n−t)) / (1 − γ), t = 0…n−1
    total = [sum((1 - 0.9**k) / 0.1 for k in range(1, int(m) + 1)) for m in n.ravel()]
    np.testing.assert_allclose(episodes.returns_to_go.ravel(), total, rtol=1e-4)


def test_q_is_read_at_the_action_taken(evaluation):
    """The board is always empty, so Q is constant: mean Q lies between its two values."""
    params, result = evaluation
    columns = summarise(result)
    for i, (w, c) in enumerate([(1, 0), (0, 0), (1, 1)]):
        run = jax.tree.map(lambda x, i=i: x[i], params)
        values = board.apply(run, jnp.zeros((10, 10, 1)))
        q = w * float(values.v) + np.asarray(values.adv) - c * float(values.adv.mean())
        greedy, other = float(q.max()), float(q.min())
        expected = 0.995 * greedy + 0.005 * other  # ε = 0.01, half of it on the greedy action
        assert columns["q_value_mean"][i] == pytest.approx(expected, abs=0.003 * (greedy - other))
        assert columns["v_rms"][i] == pytest.approx(abs(float(values.v)), rel=1e-4)
        adv_rms = np.sqrt((np.asarray(values.adv) ** 2).sum())
        assert columns["adv_rms"][i] == pytest.approx(adv_rms, rel=1e-4)
        mean_adv = float(values.adv.mean())
        assert columns["mean_adv"][i] == pytest.approx(mean_adv, rel=1e-4)
        assert columns["mean_adv_abs"][i] == pytest.approx(abs(mean_adv), rel=1e-4)
        assert columns["v_minus_max_q"][i] == pytest.approx(float(values.v) - greedy, rel=1e-4)
        assert columns["q_spread"][i] == pytest.approx(greedy - other, rel=1e-4)
        lengths = result.episodes.length[i].astype(np.float64)
        # G averaged over an episode of n steps: Σ_k (1 − γ^k) / (1 − γ) / n, k = 1…n
        to_go = [np.mean((1 - 0.9 ** np.arange(1, n + 1)) / 0.1) for n in lengths]
        over = columns["q_value_mean"][i] - np.mean(to_go)
        assert columns["q_overestimation"][i] == pytest.approx(over, rel=1e-3)


def test_columns_of_three_episodes_by_hand():
    """Returns 1, 2, 6 in 1, 2 and 4 steps; what is averaged over steps, within an episode first."""
    zeros = np.zeros((1, 3), np.float32)
    episodes = Episode(*[zeros] * len(Episode._fields))._replace(
        undiscounted=np.float32([[1, 2, 6]]),
        discounted=np.float32([[1, 1.5, 2]]),
        returns_to_go=np.float32([[1, 4, 12]]),
        q=np.float32([[2, 2, 16]]),
        length=np.float32([[1, 2, 4]]),
    )
    columns = summarise(Evaluation(episodes, np.array([0])))
    assert columns["return_mean"] == [3]
    assert columns["return_median"] == [2]
    assert columns["return_std"] == pytest.approx([np.sqrt((4 + 1 + 9) / 2)])
    assert columns["return_max"] == [6]
    assert columns["return_min"] == [1]
    assert columns["discounted_return_mean"] == [1.5]
    assert columns["q_value_mean"] == pytest.approx([(2 + 1 + 4) / 3])
    assert columns["q_overestimation"] == pytest.approx([(2 + 1 + 4) / 3 - (1 + 2 + 3) / 3])
    assert columns["episode_length_mean"] == pytest.approx([7 / 3])


def test_the_guard_reports_what_it_cut(evaluation):
    params, whole = evaluation
    keys, numbers = jax.random.split(jax.random.key(0), 3), numbers_of("rdq", "dqn", "dueling_dqn")
    result = evaluate(GAME, params, numbers, keys, episodes=200, discount=0.9, guard=100)
    lengths = whole.episodes.length
    np.testing.assert_array_equal(result.cut, (lengths > 100).sum(axis=1))
    np.testing.assert_array_equal(result.episodes.length, np.minimum(lengths, 100))


def test_a_time_limit_ends_an_episode_too():
    """Each episode is cut after as many steps as its start says, and none of them terminates."""

    def step(state, action, draws):
        return Step(state - 1, jnp.float32(1), jnp.bool_(False), state == 1)

    limited = GAME._replace(step=step, truncates=True)
    key = jax.random.split(jax.random.key(0), 1)
    params = jax.vmap(lambda key: board.init(key, 1, 2, TORCH))(key)
    result = evaluate(limited, params, numbers_of("rdq"), key, episodes=50, guard=400)
    terminated = evaluate(GAME, params, numbers_of("rdq"), key, episodes=50, guard=400)
    assert result.cut.tolist() == [0]
    np.testing.assert_array_equal(result.episodes.length, terminated.episodes.length)
