"""The library used wrongly from Python, as a new user would: an error in one line each."""

import subprocess
import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import qduet
from qduet import InputError, make_agent, stats
from qduet.jobs import Job, train
from qduet.losses import rdq_loss
from qduet.minatar import Environment, StepResult, make, register
from qduet.tabular import (
    MDP,
    RULES,
    Transition,
    expected_sarsa,
    four_state,
    hard_rdq,
    make_rule,
    q_learning,
    sweep,
    under,
)

UNIFORM = np.full((4, 2), 0.5)


def refuses(function, *told):
    """Checks that `function()` raises an `InputError` of one line that holds all of `told`."""
    with pytest.raises(InputError) as caught:
        function()
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert not [text for text in told if text not in message]


def tables_of(rule):
    return rule.init(jnp.zeros(4), jnp.ones((4, 2)))


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(
    ("field", "value", "last"),
    [("state", 4, 3), ("state", -1, 3), ("next_state", np.int32(9), 3), ("action", 2, 1)],
)
def test_states_and_actions_out_of_range(name, field, value, last):
    """jax would take the nearest entry of a table, or write to none."""
    rule = make_rule(name, UNIFORM)
    t = Transition(0, 1, 1.0, 0.9, 3)
    rule.update(tables_of(rule), t, 0.5)
    if name == "td0" and field == "action":
        return
    wrong = t._replace(**{field: value})
    refuses(lambda: rule.update(tables_of(rule), wrong, 0.5), field, f"0 to {last}", f"{value}")


def test_rules_can_still_be_traced():
    rule = hard_rdq()
    update = jax.jit(
        lambda state: rule.update(tables_of(rule), Transition(state, 0, 1.0, 0.9, 1), 1.0)
    )
    assert update(2).v.tolist() == pytest.approx([0, 0, 1.9 - 1, 0])


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("num_actions", [2, 4])
def test_v_and_adv_in_the_wrong_order(name, num_actions):
    """With as many actions as states the shapes would even broadcast."""
    rule = make_rule(name, np.full((4, num_actions), 1 / num_actions))
    refuses(lambda: rule.init(jnp.zeros((4, num_actions)), jnp.zeros(4)), "v[S] and then adv[S, A]")


def one_sweep(rule):
    return sweep(four_state("dueling", 2), {"mine": rule}, [0.1], seeds=[0], steps=100)


def test_an_update_that_gives_a_bare_array():
    bare = q_learning()._replace(update=lambda tables, t, step_size: tables.q)
    refuses(lambda: one_sweep(bare), "mine", "QTable(q=float32[4, 2])", "gives float32[4, 2]")


def test_a_policy_of_another_problem():
    """Its last row would have stood for the states that it lacks."""
    refuses(lambda: one_sweep(expected_sarsa(under(UNIFORM[:3]))), "(4, 2)", "(3, 2)")


class State(NamedTuple):
    x: jax.Array


def game(num_draws, *, reset_reads=0, step_reads=0):
    ends = jnp.float32(0), jnp.bool_(False)
    return Environment(
        "game",
        ("x",),
        (0, 1),
        num_draws,
        lambda draws: State(draws[reset_reads]),
        lambda state, action, draws: StepResult(State(draws[step_reads]), *ends),
        lambda state: jnp.zeros((1, 10), jnp.uint32),
    )


@pytest.mark.parametrize("reads", [{"reset_reads": 2}, {"step_reads": 5}])
def test_a_game_that_reads_draws_it_is_not_given(reads):
    refuses(lambda: register("Few-v0", game(2, **reads)), "num_draws", "2")


@pytest.mark.parametrize("number", [-1, 2.0, None])
def test_a_number_of_draws_that_is_none(number):
    refuses(lambda: register("Number-v0", game(number)), "num_draws")


def test_draws_may_be_chosen_by_other_draws():
    """An index that depends on a draw can only be known by playing."""
    chosen = lambda draws: State(jax.lax.dynamic_index_in_dim(draws, draws[0] % 2, keepdims=False))
    register("Chosen-v0", game(2)._replace(reset=chosen))
    assert make("Chosen-v0").num_actions == 2


def test_an_id_that_is_registered_twice():
    register("Again-v0", game(2))
    register("Again-v0", game(2))
    refuses(lambda: register("Again-v0", game(2, reset_reads=1)), "Again-v0", "already")


def test_an_action_that_a_game_does_not_have():
    env = make("MinAtar/Breakout-v1")
    draws = jnp.zeros(env.num_draws, jnp.uint32)
    refuses(lambda: env.step(env.reset(draws), 3, draws), "3", "0 noop, 1 left, 2 right")


def test_an_action_that_a_transition_does_not_have():
    """Its Q would have been 0."""
    v, adv = jnp.float32(0), jnp.zeros(3)
    refuses(lambda: rdq_loss(v, adv, 3, 1.0, 0.99, v, adv), "0 to 2")


def test_a_setting_that_no_agent_has():
    refuses(lambda: make_agent("rdq", learning_rat=0.1), "'learning_rate'?", "beta", "sync_every")


def test_a_job_or_a_directory_that_is_none(tmp_path):
    job = Job("MinAtar/Breakout-v1", {"rdq": make_agent("rdq")}, (0,), steps=1_000)
    refuses(lambda: train(job, None), "directory must be the path of one; it is None")
    refuses(lambda: train("x", tmp_path / "y"), "job must be a qduet.jobs.Job; it is 'x'")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", [None, 3])
def test_a_name_that_is_no_text(name):
    refuses(lambda: make_agent(name), str(name), "dueling_dqn")
    refuses(lambda: make(name), str(name), "MinAtar/Breakout-v1")


def test_a_missing_extra_says_what_to_install():
    code = "import sys; sys.modules['gymnasium'] = None; import qduet.minatar.gym"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "pip install 'qduet[gym]'" in ended.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: stats.mean_interval(np.zeros((5, 3))), "[5, 3] (of several columns, pass one"),
        (lambda: stats.welch_test(np.zeros((5, 3)), np.zeros(5)), "[5, 3]"),
        (lambda: stats.mean_interval([]), "n ≥ 1"),
        (lambda: stats.best(np.zeros(3)), "aucs must be [seeds, step_sizes]"),
        (lambda: stats.holm([2.0, -1.0]), "p-values must be in [0, 1]"),
    ],
)
def test_statistics_of_arrays_that_are_no_samples(call, told):
    refuses(call, told)


def test_lists_are_samples():
    assert stats.mean_interval([1, 2, 3]).mean == stats.auc([1, 2, 3]) == 2


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: sweep("dueling", {}, [0.1], seeds=[0], steps=100), "mdp must be an MDP"),
        (lambda: four_state("dueling", num_actions="6"), "num_actions must be a whole number"),
        (lambda: four_state("dueling", num_actions=2.5), "num_actions must be a whole number"),
        (lambda: MDP(np.full((2, 3, 2), 0.5), np.zeros(2), 0.9), "reward must have shape [2, 3];"),
    ],
)
def test_problems_that_are_none(call, told):
    refuses(call, told)


def test_whole_floats_are_whole_numbers():
    mdp = four_state("dueling", num_actions=2.0)
    (curves,) = sweep(mdp, {"q": q_learning()}, [0.1], seeds=[0], steps=1e2, init_std=1).values()
    assert curves.percent.shape == (1, 1, 2)


def test_a_front_door_shows_what_there_is():
    assert {"Job", "train", "compare", "losses", "tabular"} <= {*dir(qduet)}
    assert "importlib" not in dir(qduet)
