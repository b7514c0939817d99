import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from qduet.agents import AGENTS, make_agent
from qduet.deep import acting, board, replay, training
from qduet.deep.adam import Moments
from qduet.deep.algorithms import AV, Transition, algorithm_of
from qduet.deep.environments import make
from qduet.deep.fused import kernels
from qduet.deep.layers import Outputs
from qduet.minatar import unpack

SETTING = training.make_setting(make("MinAtar/Breakout-v1"), make_agent("rdq", capacity=400))
WARM_UP = jax.jit(jax.vmap(functools.partial(training.warm_up, SETTING)))
INIT = jax.jit(jax.vmap(functools.partial(training.init, SETTING)))
ITERATION = jax.jit(jax.vmap(functools.partial(training.iteration, SETTING), (0, 0, None, 0)))


def start(seeds, agent=SETTING.agent):
    stack = lambda x: jax.tree.map(lambda *y: jnp.stack(y), *[x] * len(seeds))
    keys = jax.vmap(jax.random.key)(jnp.array(seeds, jnp.uint32))
    hypers = stack(training.hyper(agent))
    return hypers, WARM_UP(hypers, INIT(stack(agent.init_scheme()), keys))


@pytest.fixture(scope="module")
def warm():
    return start([3, 8])


def run_of(runs, i):
    return jax.tree.map(lambda x: x[i], runs)


def test_warm_up_is_a_thousand_uniform_steps(warm):
    """ε = 1 throughout, so the steps can be taken again one by one with actions from the words."""
    env, run = SETTING.env, run_of(warm[1], 0)
    fresh = training.init(SETTING, SETTING.agent.init_scheme(), jax.random.key(3))
    first = replay.sample(
        fresh.replay, jnp.int32(1), jnp.zeros(1, jnp.uint32), discount=0.9
    ).observations
    np.testing.assert_array_equal(first[0], env.encode(fresh.env))
    assert first.any()
    state, step_env, encode = fresh.env, jax.jit(env.step), jax.jit(env.encode)
    seen, actions, rewards = map(np.asarray, run.replay)
    count = training.words_per_iteration(SETTING)
    size = 404
    for t in range(0, 1000, 4):
        words = jax.random.bits(jax.random.fold_in(run.key, t), (count,))[32:]
        for i, word in enumerate(np.asarray(words).reshape(4, -1)):
            action = int(word[1]) * env.num_actions >> 32
            state, reward, ended, _ = step_env(state, jnp.int32(action), jnp.asarray(word[2:]))
            if t + i >= 600:  # the last 400 are still there
                slot = (t + i) % size
                assert actions[slot] == (-1 - action if ended else action)
                assert rewards[slot] == int(reward)
                np.testing.assert_array_equal(seen[(t + i + 4) % size], encode(state))
    jax.tree.map(np.testing.assert_array_equal, run.env, state)


def test_play_is_greedy_at_the_end(warm):
    """With ε = 0."""
    run, agent = run_of(warm[1], 0), make_agent("rdq", epsilon_final=0.0)
    words = jax.random.bits(jax.random.key(2), (4 * (SETTING.env.num_draws + 2),), jnp.uint32)
    step = 400_000  # long after the last random action
    after = jax.jit(functools.partial(training.act, SETTING))(
        training.hyper(agent), run, jnp.int32(step), words
    )
    seen = run.observation
    for t in range(step, step + 4):
        best = int(board.apply(run.params, unpack(seen, 4)).adv.argmax())
        assert int(after.replay.actions[t % 404]) in (best, -1 - best)
        seen = after.replay.observations[(t + 4) % 404]


@pytest.mark.parametrize(
    ("protocol", "step", "expected"),
    [
        ("paper", 0, 1.0),
        ("paper", 1_000, 1.0),
        ("paper", 126_000, 1 - 0.99 / 2),
        ("paper", 251_000, 0.01),
        ("paper", 9_000_000, 0.01),
        ("reference", 0, 1.0),
        ("reference", 125_000, 1 - 0.99 / 2),
        ("reference", 250_000, 0.01),
    ],
)
def test_exploration_falls_as_each_protocol_says(protocol, step, expected):
    hyper = training.hyper(make_agent("dqn", protocol=protocol))
    assert float(acting.epsilon(hyper.exploration, step)) == pytest.approx(expected, abs=1e-6)


def test_an_update_is_optax_adam_on_the_same_gradient(warm):
    """Three updates in a row: moments, bias correction and the place of ε must all be right."""
    agent = SETTING.agent.replace(learning_rate=1e-3, adam_epsilon=1e-2, learn_from=800)
    hyper, run = training.hyper(agent), run_of(warm[1], 0)
    optimiser = optax.adam(1e-3, eps=1e-2)
    params, state = run.params, optimiser.init(run.params)
    words = jax.random.bits(jax.random.key(5), (3, 32))
    learn = jax.jit(functools.partial(training.learn, training.make_setting(SETTING.env, agent)))
    for i in range(3):
        after, _ = learn(hyper, run, jnp.int32(800 + 4 * i), words[i])
        # the gradient is what moved the first moment: m' = 0.9 m + 0.1 g
        gradient = jax.tree.map(
            lambda m2, m: (m2 - 0.9 * m) / 0.1, after.optimiser.m, run.optimiser.m
        )
        updates, state = optimiser.update(gradient, state)
        params = optax.apply_updates(params, updates)
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-7),
            after.params,
            params,
        )
        run = after


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in AGENTS),
        *((name, {"protocol": "reference"}) for name in ("dqn", "dueling_dqn", "rdq")),
        ("bc_qvmax_double", {"w": 0.5, "maximum": 0.5}),
    ],
    ids=str,
)
def test_the_gradient_is_autodiffs_through_the_network(warm, name, options):
    """From zero averages m becomes a tenth of the gradient, which JAX finds from the loss alone."""
    agent = make_agent(name, capacity=400, discount=0.9, **options)
    hyper, run = training.hyper(agent), run_of(warm[1], 0)
    run = run._replace(target=run_of(warm[1], 1).params)  # another network altogether
    words = jax.random.bits(jax.random.key(5), (32,))
    learn = functools.partial(training.learn, training.make_setting(SETTING.env, agent))
    after, losses = jax.jit(learn)(hyper, run, jnp.int32(1000), words)
    batch = replay.sample(run.replay, jnp.int32(1000), words, discount=0.9)
    algorithm = algorithm_of(agent.algorithm)
    outputs = lambda p, packed: jax.vmap(lambda x: board.apply(p, unpack(x, 4)))(packed)
    here, there = batch.observations, batch.next_observations

    def losses_of(params, loss_of_one):
        transitions = Transition(
            outputs(params, here),
            outputs(run.target, here),
            outputs(run.params, there),
            outputs(run.target, there),
            *(batch.actions, batch.rewards, batch.discounts),
        )
        return jax.vmap(loss_of_one, (None, 0))(hyper.numbers, transitions).total

    forms = algorithm.loss, algorithm.double_loss
    loss = lambda params: losses_of(params, forms[agent.double]).mean()
    value, gradient = jax.value_and_grad(loss)(run.params)
    if agent.has_shared_bias():
        b = jnp.full(3, gradient.adv.b.sum())
        gradient = gradient._replace(adv=gradient.adv._replace(b=b))
    np.testing.assert_allclose(losses.total, value, rtol=1e-5)
    for m, g in zip(jax.tree.leaves(after.optimiser.m), jax.tree.leaves(gradient), strict=True):
        np.testing.assert_allclose(10 * m, g, rtol=1e-4, atol=1e-6)
    assert float(jnp.abs(gradient.conv.w).max()) > 1e-4
    if agent.double:  # on this batch the two forms are not the same
        single, double = (float(losses_of(run.params, form).mean()) for form in forms)
        assert abs(single - double) > 1e-3


def test_the_update_descends_the_loss_of_its_batch(warm):
    hyper, run = run_of(warm[0], 0), run_of(warm[1], 0)
    words = jax.random.bits(jax.random.key(5), (32,))
    learn = jax.jit(functools.partial(training.learn, SETTING))
    first = None
    for i in range(60):
        run, losses = learn(hyper, run, jnp.int32(1000 + 4 * i), words)
        first = first if first is not None else float(losses.total)
    assert float(losses.total) < 0.5 * first


def iterated(hypers, runs, step):
    """The runs after one iteration, with words from each run's own key."""
    shape = (training.words_per_iteration(SETTING),)
    words = jax.vmap(lambda key: jax.random.bits(jax.random.fold_in(key, step), shape))(runs.key)
    return ITERATION(hypers, runs, jnp.int32(step), words)


def test_blocks_are_their_iterations_one_by_one(warm):
    hypers, runs = warm
    short = SETTING._replace(agent=SETTING.agent.replace(sync_every=8))
    block = jax.jit(functools.partial(training.over_runs, training.block, short))
    done, first = block(hypers, runs, jnp.int32(1000))
    done, second = block(hypers, done, jnp.int32(1008))
    losses = []
    for step in (1000, 1004, 1008, 1012):
        runs = runs._replace(target=runs.params) if step % 8 == 0 else runs
        runs, now = iterated(hypers, runs, step)
        losses.append(now.total)
    jax.tree.map(np.testing.assert_array_equal, done.replay, runs.replay)
    close = functools.partial(np.testing.assert_allclose, atol=1e-6)
    jax.tree.map(close, done.params, runs.params)
    pairs = np.reshape(losses, (2, 2, -1))
    means = [first.total, second.total]
    np.testing.assert_allclose(means, pairs.mean(axis=1), rtol=1e-4)


def test_a_block_copies_the_target_then_updates_before_it_acts(warm):
    hypers, runs = warm
    runs = runs._replace(target=jax.tree.map(lambda x: x + 0.1, runs.params))
    keep = jax.tree.map(jnp.copy, runs)
    to_evaluate = functools.partial(training.over_runs, training.weights_to_evaluate, SETTING)
    due = jax.jit(to_evaluate)(hypers, runs, jnp.int32(1000))
    synced = runs._replace(target=runs.params)
    after, _ = iterated(hypers, synced, 1000)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-7), due, after.params)
    block = jax.jit(functools.partial(training.over_runs, training.block, SETTING))
    done, losses = block(hypers, keep, jnp.int32(1000))
    np.testing.assert_array_equal(done.target.conv.w, runs.params.conv.w)
    assert losses.total.shape == (2,)
    assert bool(jnp.isfinite(losses.total).all())
    moved = jnp.abs(done.params.conv.w - runs.params.conv.w).max()
    assert float(moved) > 1e-4


def test_seeds_differ_in_weights_experience_and_sampling(warm):
    a, b = run_of(warm[1], 0), run_of(warm[1], 1)
    assert not jnp.allclose(a.params.conv.w, b.params.conv.w)
    assert not jnp.array_equal(a.replay.actions, b.replay.actions)
    assert not jnp.array_equal(a.replay.observations, b.replay.observations)
    bits = [jax.random.bits(jax.random.fold_in(r.key, 1000), (32,)) for r in (a, b)]
    assert not jnp.array_equal(*bits)


def test_a_seed_alone_is_the_same_run_as_in_a_batch(warm):
    hypers, runs = start([8])
    alone, among = run_of(runs, 0), run_of(warm[1], 1)
    np.testing.assert_array_equal(alone.replay.actions, among.replay.actions)
    np.testing.assert_array_equal(alone.replay.observations, among.replay.observations)
    learn = jax.jit(jax.vmap(functools.partial(training.learn, SETTING), (0, 0, None, 0)))
    words = jax.random.bits(jax.random.key(1), (2, 32))
    one, _ = learn(hypers, runs, jnp.int32(1000), words[1:])
    two, _ = learn(warm[0], warm[1], jnp.int32(1000), words)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a[0], b[1], atol=1e-6), one.params, two.params
    )


def test_on_cpus_a_run_has_the_same_bits_in_any_batch(warm):
    block = jax.jit(functools.partial(training.over_runs, training.block, SETTING))
    among, _ = block(*warm, jnp.int32(1000))
    alone, _ = block(*jax.tree.map(lambda x: x[1:], warm), jnp.int32(1000))
    plain = lambda runs: runs._replace(key=jax.random.key_data(runs.key))
    same = lambda a, b: np.testing.assert_array_equal(a[0], b[1])
    jax.tree.map(same, plain(alone), plain(among))


def test_dqn_never_moves_the_state_value_stream():
    agent = make_agent("dqn", capacity=400)
    hypers, runs = start([0], agent)
    run, hyper = run_of(runs, 0), run_of(hypers, 0)
    after, _ = jax.jit(functools.partial(training.learn, SETTING))(
        hyper, run, jnp.int32(1000), jax.random.bits(jax.random.key(0), (32,))
    )
    np.testing.assert_array_equal(after.params.v_hidden.w, run.params.v_hidden.w)
    assert isinstance(after.optimiser, Moments)
    assert isinstance(after.params, board.Params)
    assert not jnp.array_equal(after.params.adv.w, run.params.adv.w)


def test_more_runs_change_nothing_for_the_others(warm, x64):
    """Two hundred updates of seed 8, alone and beside another: the same, but for the last digits.

    Side by side, as on GPUs. In float64, because in float32 a unit that is off in one and on in the
    other by a rounding error can make the weights part.
    """
    double = lambda x: x.astype(jnp.float64) if x.dtype == jnp.float32 else x
    both = jax.tree.map(double, warm)
    one = jax.vmap(functools.partial(training.learn, SETTING), (0, 0, None, 0))

    def update(carry, step):
        hypers, runs = carry
        draw = lambda run: jax.random.bits(jax.random.fold_in(run.key, step), (32,), jnp.uint32)
        return (hypers, one(hypers, runs, step, jax.vmap(draw)(runs))[0]), None

    trained = jax.jit(lambda carry: jax.lax.scan(update, carry, 1000 + 4 * jnp.arange(200))[0][1])
    among = run_of(trained(both), 1)
    alone = run_of(trained(jax.tree.map(lambda x: x[1:], both)), 0)
    for a, b in zip(jax.tree.leaves(alone.params), jax.tree.leaves(among.params), strict=True):
        assert a.dtype == jnp.float64
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_a_block_is_lowered_for_gpus_with_kernels_and_for_cpus_without(warm, h200, monkeypatch):
    def lowered(setting, platform):
        block = functools.partial(training.over_runs, training.block, setting)
        traced = jax.jit(block).trace(*warm, jnp.int32(1000))
        return traced.lower(lowering_platforms=(platform,)).as_text()

    on_gpu = SETTING._replace(on_cpu=False)
    assert "triton" in lowered(on_gpu, "cuda")
    assert "triton" not in lowered(SETTING, "cpu")
    monkeypatch.setattr(kernels, "triton", None)  # a jax without it
    assert "triton" not in lowered(on_gpu, "cuda")


@pytest.mark.parametrize(("w", "beta"), [(0.0, 0.0), (1.0, 0.0), (0.5, 1e-3), (0.0, 1e-3)])
def test_a_stream_without_a_part_in_the_loss_has_no_gradient(w, beta):
    """What lets a GPU leave V's weights alone."""
    numbers, outputs = AV(*map(jnp.float32, (w, 0.0, beta))), Outputs(jnp.float32(2), jnp.ones(3))
    t = Transition(None, None, None, outputs, jnp.int32(0), jnp.float32(1), jnp.float32(0.9))
    algorithm = algorithm_of("av")
    loss = lambda v: algorithm.loss(numbers, t._replace(online=outputs._replace(v=v))).total
    assert bool(jax.grad(loss)(outputs.v) != 0) == bool(algorithm.uses_v(numbers))


def test_a_truncated_step_has_no_part_in_an_update():
    """A reward of 10⁶ there changes nothing; the same reward elsewhere does."""
    small = {"capacity": 40, "batch_size": 40, "learn_from": 40}
    env, agent = make("gymnax/CartPole-v1"), make_agent("rdq", **small)
    setting, hyper = training.make_setting(env, agent), training.hyper(agent)
    init = jax.jit(functools.partial(training.init, setting))
    run = init(agent.init_scheme(), jax.random.key(0))
    seen = jax.random.normal(jax.random.key(1), run.replay.observations.shape)
    cut, steps = jnp.arange(44) % 5 == 4, jnp.arange(44) % 2
    marks = jnp.where(cut, 64 + steps, steps).astype(jnp.int8)
    words = jnp.asarray(np.arange(40, dtype=np.uint64) * 2**32 // 40 + 2**20, jnp.uint32)
    learn = jax.jit(lambda run: training.learn(setting, hyper, run, jnp.int32(40), words))

    def learned(rewards):
        memory = replay.Replay(seen, marks, rewards)
        return learn(run._replace(replay=memory))

    (want, losses), (same, _), (other, _) = map(
        learned, (jnp.ones(44), jnp.where(cut, 1e6, 1.0), jnp.where(cut, 1.0, 1e6))
    )
    jax.tree.map(np.testing.assert_array_equal, same.params, want.params)
    assert not jnp.array_equal(other.params.adv.w, want.params.adv.w)
    # means are over the rest of the batch: four fifths of it
    batch = replay.sample(
        replay.Replay(seen, marks, jnp.ones(44)),
        jnp.int32(40),
        words,
        discount=agent.discount,
        truncates=True,
    )
    assert float(batch.weights.sum()) == 32
    outputs = setting.compute.outputs(run.params, batch.observations)
    q = jax.vmap(setting.algorithm.q, (None, 0))(hyper.numbers, outputs)
    chosen = q[jnp.arange(40), batch.actions]
    np.testing.assert_allclose(losses.q, (batch.weights * chosen).sum() / 32, rtol=1e-5)
