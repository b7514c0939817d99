"""A job of agents that need several programs: run by run it is the jobs of one agent each.

All built-in agents and a third of three steps, in MountainCar: vectors, and a time limit of 200
steps that cuts every episode of an agent that knows nothing.
"""

import numpy as np
import pytest
from small_jobs import assert_same, untimed

from qduet import agents
from qduet.core import tensors
from qduet.deep.replay import _cut
from qduet.jobs import checkpoint, trainer, weights
from qduet.jobs.job import Job
from qduet.jobs.program import groups

GROUPS = [
    ["dqn", "dueling_dqn", "rdq"],
    ["double_dqn"],
    ["dqv", "dqv_max", "bc_qvmax"],
    ["bc_qvmax_target"],
    ["bc_qvmax_double"],
    ["rdq-three"],
]


def job_of(*labels):
    """Each agent once, for 600 steps."""
    options = {"rdq-three": {"n_step": 3}}
    small = {
        label: agents.AGENTS[label.partition("-")[0]].replace(**options.get(label, {}))
        for label in labels
    }
    return Job("gymnax/MountainCar-v0", small, (4,), 600, 300, 3)


@pytest.fixture(scope="module")
def all_agents(place):
    return job_of(*(label for group in GROUPS[::-1] for label in group[::-1]))


@pytest.fixture(scope="module")
def whole(place, all_agents):
    """Without interruption, its last checkpoint kept."""
    assert trainer.train(all_agents, place / "groups", keep_checkpoint=True).finished
    return place / "groups"


def test_agents_are_grouped_by_what_a_program_has_once(all_agents):
    members = all_agents.members
    found = [[members[i].label for i in group] for group in groups(members)]
    assert found == [group[::-1] for group in GROUPS[::-1]]
    mixed = job_of("dqv", "rdq", "dqv_max", "dqn").members
    assert groups(mixed) == ((0, 2), (1, 3))


def test_the_time_limit_has_cut_episodes(whole):
    arrays, _ = tensors.read(checkpoint.path_of(whole))
    for i in range(len(GROUPS)):
        marks = arrays[f"runs.{i}.replay.actions"]
        assert ((marks >= _cut(marks.dtype)).sum(axis=1) == 3).all()  # at 199, 399 and 599


@pytest.mark.parametrize("label", ["dqn", "dqv_max", "bc_qvmax_double", "rdq-three"])
def test_an_agent_alone_has_the_same_bits(whole, place, label):
    """Weights and losses. Episodes are played side by side: their values may differ by rounding."""
    assert trainer.train(job_of(label), place / label).finished
    name = weights.path_of("", label, 4)
    assert (place / label / name).read_bytes() == (whole / name).read_bytes()
    rows = [row for row in untimed(whole) if row["agent"] == label]
    assert [row["step"] for row in rows] == ["0", "300", "600"]
    exact = ("return_mean", "episode_length_mean", "train_loss_mean", "train_total_loss_mean")
    for one, two in zip(rows, untimed(place / label), strict=True):
        assert all(one[column] == two[column] for column in (*exact, "train_q_mean"))
        for column in ("q_value_mean", "v_rms", "v_minus_max_q", "q_spread"):
            assert float(one[column]) == pytest.approx(float(two[column]), rel=1e-4, abs=1e-6)


def test_no_two_agents_learn_the_same(whole):
    """But for the double forms, as long as both networks rank the actions alike."""
    labels = [label for group in GROUPS for label in group if "double" not in label]
    found = {label: weights.load(weights.path_of(whole, label, 4)).params for label in labels}
    flat = {label: np.concatenate([x.ravel() for x in p.hidden[-1]]) for label, p in found.items()}
    for i, (one, a) in enumerate(flat.items()):
        for other, b in [*flat.items()][i + 1 :]:
            assert np.abs(a - b).max() > 1e-6, (one, other)


class Killed(BaseException):
    """Ends a job as a kill does: nothing catches it."""


@pytest.mark.parametrize("count", [2, 4])
def test_killed_and_continued_it_ends_with_the_same_bits(
    whole, all_agents, tmp_path, monkeypatch, count
):
    """Just before checkpoint number `count`, one of which is written after each call."""
    save, calls = checkpoint.save, []

    def counted(*arguments):
        calls.append(arguments)
        if len(calls) == count:
            raise Killed
        save(*arguments)

    monkeypatch.setattr(trainer, "CALL_SECONDS", 0.0)  # a call is one block
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save", counted)
        with pytest.raises(Killed):
            trainer.train(all_agents, tmp_path, checkpoint_minutes=0)
    assert checkpoint.path_of(tmp_path).exists()
    assert trainer.train(all_agents, tmp_path).finished
    assert_same(tmp_path, whole)
