import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.deep import evaluation as evaluation_module
from qduet.deep import networks
from qduet.deep.agents import AGENTS
from qduet.deep.evaluation import Episode, Evaluation, evaluate, summarise
from qduet.minatar import Environment, StepResult

LONGEST = 300
TORCH = networks.InitScheme(uniform_conv=True, uniform_streams=True)
"""Biases that are not zero."""


def clock(state, action, draws):
    """A game of known length that pays 1 per step; the state counts down."""
    left = state - 1
    return StepResult(jnp.where(left == 0, LONGEST, left), jnp.float32(1), left == 0)


GAME = Environment(
    name="clock",
    channels=("none",),
    actions=(0, 1),
    num_draws=1,
    reset=lambda draws: (draws[0] % LONGEST + 1).astype(jnp.int32),
    step=clock,
    rows=lambda state: jnp.zeros((1, 10), jnp.uint32),
)


@pytest.fixture(scope="module")
def evaluation():
    keys = jax.random.split(jax.random.key(0), 3)
    params = jax.vmap(lambda key: networks.init(key, 1, 2, TORCH))(keys)
    agents = [AGENTS["rdq"], AGENTS["dqn"], AGENTS["dueling_dqn"]]
    coefficients = jax.tree.map(
        lambda *x: jnp.stack(x), *(agent.coefficients() for agent in agents)
    )
    return params, evaluate(GAME, params, coefficients, keys, episodes=200, discount=0.9)


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
    step=lambda state, action, draws: StepResult(
        state, jnp.float32(draws[1] % 7), draws[0] % 97 == 0
    ),
)
"""Episodes of geometric length, with random rewards."""


def test_dropping_finished_episodes_changes_nothing(monkeypatch):
    """1,000 episodes, as the paper has them, are cut down twice; and never, for comparison."""
    keys = jax.random.split(jax.random.key(4), 2)
    params = jax.vmap(lambda key: networks.init(key, 1, 2, TORCH))(keys)
    coefficients = jax.tree.map(lambda x: jnp.stack([x, x]), AGENTS["rdq"].coefficients())
    sizes = []
    keep = evaluation_module._keep_playing
    monkeypatch.setattr(
        evaluation_module, "_keep_playing", lambda lanes, n: sizes.append(n) or keep(lanes, n)
    )
    dropped = evaluate(RANDOM, params, coefficients, keys, episodes=1_000)
    assert sizes == [250, 30]
    monkeypatch.setattr(evaluation_module, "SIZES", ())
    kept = evaluate(RANDOM, params, coefficients, keys, episodes=1_000)
    assert sizes == [250, 30]
    for name in ("length", "undiscounted", "discounted", "returns_to_go"):
        ours, theirs = (getattr(e.episodes, name) for e in (dropped, kept))
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_allclose(dropped.episodes.q, kept.episodes.q, rtol=1e-5)
    np.testing.assert_array_equal(dropped.cut, kept.cut)


def test_a_run_alone_plays_the_same_episodes():
    """Run 1 beside run 0, and by itself: a random policy (ε = 1), so that the draws decide."""
    keys = jax.random.split(jax.random.key(3), 2)
    params = jax.vmap(lambda key: networks.init(key, 1, 2, TORCH))(keys)
    coefficients = jax.tree.map(lambda x: jnp.stack([x, x]), AGENTS["rdq"].coefficients())
    both = evaluate(RANDOM, params, coefficients, keys, episodes=40, epsilon=1.0)
    last = lambda tree: jax.tree.map(lambda x: x[1:], tree)
    alone = evaluate(RANDOM, last(params), last(coefficients), keys[1:], episodes=40, epsilon=1.0)
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
        values = networks.apply(run, jnp.zeros((10, 10, 1)))
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


def test_the_guard_reports_what_it_cut():
    endless = GAME._replace(
        step=lambda state, action, draws: StepResult(state, jnp.float32(0), jnp.bool_(False))
    )
    key = jax.random.split(jax.random.key(0), 1)
    params = jax.vmap(lambda key: networks.init(key, 1, 2, TORCH))(key)
    coefficients = jax.tree.map(lambda x: x[None], AGENTS["rdq"].coefficients())
    result = evaluate(endless, params, coefficients, key, episodes=3, guard=100)
    assert result.cut.tolist() == [3]
    assert (result.episodes.length == 100).all()
