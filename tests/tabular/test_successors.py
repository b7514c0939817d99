"""An MDP as lists of successors: the same problem as its dense form, at any size."""

import dataclasses

import jax
import numpy as np
import pytest

from qduet.core.errors import InputError
from qduet.tabular import operators as ops
from qduet.tabular import trials
from qduet.tabular.grid_worlds import maze
from qduet.tabular.mdp import MDP, AVTables, QVTables, Successors, garnet, uniform_policy
from qduet.tabular.rules import make_rule
from qduet.tabular.sweeps import EpsilonGreedy, sweep

STATE = [[[1, 0], [1, 1]], [[0, 1], [1, 0]]]
HALVES = np.full((2, 1, 2), 0.5)
PROBABILITY = [[[0.25, 0.75], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]]


def test_lists_read_as_a_dense_array_by_hand():
    """State 1 is listed twice after action 1 in state 0: its rewards 4 and 8 have the mean 6."""
    reward = [[[1.0, 2.0], [4.0, 8.0]], [[3.0, 9.0], [9.0, 5.0]]]
    mdp = MDP(Successors(STATE, PROBABILITY), reward, 0.9)
    np.testing.assert_array_equal(mdp.p, [[[0.75, 0.25], [0, 1]], [[1, 0], [1, 0]]])
    np.testing.assert_array_equal(mdp.reward, [[[2, 1], [0, 6]], [[3, 0], [5, 0]]])
    np.testing.assert_allclose(mdp.r, [[0.25 + 1.5, 6.0], [3.0, 5.0]])


def test_a_terminal_state_leads_to_itself_whatever_its_lists_say():
    ends = [False, True]
    mdp = MDP(Successors(STATE, PROBABILITY), [[1.0, 2.0], [3.0, 4.0]], 0.9, terminal=ends)
    np.testing.assert_array_equal(mdp.p[1], [[0, 1], [0, 1]])
    np.testing.assert_array_equal(mdp.r, [[1.0, 2.0], [0.0, 0.0]])
    assert (mdp.successors.state[1] == 1).all()


def test_both_forms_are_one_problem():
    """Dense to lists and back; the digest, by which results name a problem, is the same."""
    dense = garnet(jax.random.key(0), num_states=9, num_actions=3, branching=4, discount=0.9)
    lists = MDP(dense.successors, dense.successor_reward, 0.9)
    assert dense.successors.state.shape == (9, 3, 4)
    np.testing.assert_array_equal(lists.p, dense.p)
    np.testing.assert_allclose(lists.r, dense.r, rtol=1e-14)
    again = MDP(lists.p, lists.reward, 0.9)
    assert again.digest == lists.digest
    assert dataclasses.replace(lists, name="other").digest == lists.digest
    assert dataclasses.replace(lists, discount=0.8).digest != lists.digest


def test_a_sweep_is_the_same_in_both_forms():
    """A maze of 31 × 33 = 1,023 cells with slipping, which both forms walk alike."""
    lists = maze(31, 33, slip=0.2, goals=np.arange(0, 1023, 41))
    dense = MDP(lists.p, lists.reward, lists.discount, start=lists.start, terminal=lists.terminal)
    rules = {name: make_rule(name, None) for name in ("q_learning", "bc_qvmax", "hard_rdq")}
    options = {"seeds": [0, 1], "steps": 20_000, "record_every": 5_000, "init_std": 1.0}
    from_lists, from_dense = (sweep(mdp, rules, [0.1, 0.3], **options) for mdp in (lists, dense))
    for name in rules:
        assert from_lists[name].percent[:, :, -1].max() < 99.0  # it learns
        np.testing.assert_allclose(from_lists[name].percent, from_dense[name].percent, rtol=1e-6)


@pytest.mark.parametrize(
    ("device", "behaviour"),
    [("cpu", None), ("another", None), ("cpu", EpsilonGreedy(0.3))],
)
def test_a_trial_cut_into_chunks_is_the_same_trial(behaviour, device, monkeypatch):
    """Also as devices other than a CPU run it: all seeds in one call."""
    mdp = dataclasses.replace(maze(4, 5, slip=0.1, step_reward=-0.3), reward_std=0.5)
    run = lambda: sweep(
        mdp,
        {"mine": make_rule("hard_rdq", None)},
        [0.1, 0.5],
        seeds=[3, 4],
        steps=600,
        init_std=1.0,
        behaviour=behaviour,
    )["mine"]
    whole = run()
    monkeypatch.setattr(jax, "default_backend", lambda: device)
    monkeypatch.setattr(trials, "CHUNK_STEPS", 200)
    assert trials.chunks_of(600, 100) == 3
    cut = run()
    np.testing.assert_allclose(cut.percent, whole.percent, rtol=1e-5)
    np.testing.assert_allclose(cut.initial_error, whole.initial_error, rtol=1e-6)


@pytest.mark.parametrize("name", ["bc_qvmax", "hard_rdq"])
@pytest.mark.parametrize("behaviour", [None, EpsilonGreedy(0.3)])
def test_large_tables_give_the_errors_of_small_ones(name, behaviour, monkeypatch):
    """Errors are summed in another order, and ε-greedy runs follow one another."""
    mdp = maze(4, 5, slip=0.1, goals=[3, 19])
    run = lambda: sweep(
        mdp,
        {name: make_rule(name, None)},
        [0.1, 0.5],
        seeds=[3],
        steps=600,
        init_std=1.0,
        behaviour=behaviour,
    )[name]
    small = run()
    monkeypatch.setattr(trials, "DIRECT_STATES", 5)
    np.testing.assert_allclose(run().percent, small.percent, rtol=1e-5)


@pytest.mark.parametrize(
    ("steps", "record_every", "chunks"),
    [
        (20_000, 100, 1),
        (2**20, 2**10, 1),
        (3 * 2**20, 2**19, 3),
        (10**7, 10**6, 10),
        (10**7, 10**7, 1),
    ],
)
def test_chunks_are_equal_and_hold_whole_blocks(steps, record_every, chunks):
    assert trials.chunks_of(steps, record_every) == chunks


def test_operators_need_no_dense_form():
    """At 1,023 states they use the lists; the dense product is the oracle."""
    mdp = maze(31, 33, slip=0.2, goal_reward=3.0)
    rng = np.random.default_rng(0)
    v, q = rng.normal(size=1023), rng.normal(size=(1023, 4))
    b = uniform_policy(mdp)
    np.testing.assert_allclose(ops.P(mdp, v), mdp.p @ v, atol=1e-14)
    np.testing.assert_allclose(ops.T(mdp, q), mdp.r + 0.99 * mdp.p @ q.max(axis=1), atol=1e-13)
    np.testing.assert_allclose(mdp.r, (mdp.p * mdp.reward).sum(axis=2), atol=1e-14)
    y = ops.bc_qvmax(mdp, b, QVTables(q, v))
    np.testing.assert_allclose(y.q, mdp.r + 0.99 * mdp.p @ v, atol=1e-13)
    error = 0.25 * (mdp.r + 0.99 * mdp.p @ (v + q.max(axis=1)) - v[:, None] - q)
    moved = ops.hard_rdq(mdp, b, AVTables(v, q))
    np.testing.assert_allclose(moved.v, v + error.sum(axis=1), atol=1e-13)


@pytest.mark.parametrize(
    ("p", "message"),
    [
        (Successors([[[2, 0]], [[0, 1]]], HALVES), r"from 0 to 1; state\[0, 0, 0\] is 2"),
        (Successors([[[0, 0]], [[0, -1]]], HALVES), r"state\[1, 0, 1\] is -1"),
        (Successors([[[1, 0]], [[0, 1]]], 0.8 * HALVES), r"must sum to 1; .* 0\.8$"),
        (Successors([[[1, 0]], [[0, 1]]], [[[1.5, -0.5]], [[1, 0]]]), "negative"),
        (Successors([[[1, 0]], [[0, 1]]], np.ones((2, 1, 1))), r"shape \[S, A, k\]"),
        (Successors([[1, 0], [0, 1]], [[1, 0], [1, 0]]), r"shape \[S, A, k\]"),
        (Successors([[[0.5]], [[1.0]]], np.ones((2, 1, 1))), "must be integers"),
    ],
)
def test_bad_lists_are_refused(p, message):
    with pytest.raises(InputError, match=message):
        MDP(p, np.zeros((2, 1)), 0.9)


def test_a_reward_of_another_width_is_refused():
    with pytest.raises(InputError, match=r"reward must have shape \[2, 2, 2\]; it has \[2, 2, 3\]"):
        MDP(Successors(STATE, PROBABILITY), np.zeros((2, 2, 3)), 0.9)


@pytest.mark.parametrize(
    "dense_only",
    [
        lambda mdp: mdp.p,
        lambda mdp: ops.solve_qvmax(mdp, uniform_policy(mdp)),
        lambda mdp: ops.qv_learning_affine(mdp, uniform_policy(mdp)),
        lambda mdp: dataclasses.replace(mdp, name="other"),
    ],
)
def test_what_needs_the_dense_form_of_a_large_mdp_says_so(dense_only):
    """16,900 states: p would take 9 GB."""
    with pytest.raises(InputError, match=r"16,900 states, too many for p\[s, a, s'\].*successors"):
        dense_only(maze(130, 130))


def test_the_digest_of_a_large_mdp_is_of_its_lists():
    one, two = maze(130, 130), maze(130, 130, step_reward=-2.0)
    assert one.digest == maze(130, 130).digest
    assert one.digest != two.digest
    assert repr(one) == "MDP(maze:130x130: 16,900 states, 4 actions, γ = 0.99)"
