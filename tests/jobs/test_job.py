"""What the agents of one job may differ in."""

import dataclasses

import optax
import pytest

from qduet.agents import PER_RUN, make_agent
from qduet.core.errors import InputError
from qduet.deep.algorithms import AV, QV
from qduet.deep.optimisers import register_optimiser
from qduet.jobs.job import Job
from qduet.jobs.program import groups

SHARED = {"learn_from": 2_000, "sync_every": 500}
"""What there is one of in a job, and another value of each."""
OF_A_GROUP = {
    "algorithm": "qv",
    "double": True,
    "n_step": 3,
    "network": "board-one",
    "optimiser": "sgd",
    "adam_epsilon": 1e-3,
    "discount": 0.9,
    "batch_size": 16,
    "capacity": 400,
}
"""What there is one of in a compiled program, and another value of each."""


def job_of_two(**settings):
    two = (("one", make_agent("rdq")), ("other", make_agent("rdq", **settings)))
    return Job("MinAtar/Breakout-v1", two, (0,))


@pytest.mark.parametrize("name", SHARED)
def test_agents_of_one_job_share_what_all_runs_do_together(name):
    with pytest.raises(InputError, match=f"the same {name}"):
        job_of_two(**{name: SHARED[name]})


def test_they_may_differ_in_all_else():
    names = {field.name for field in dataclasses.fields(make_agent("rdq"))} - {"numbers"}
    assert names == PER_RUN | SHARED.keys() | OF_A_GROUP.keys()
    job = job_of_two(beta=0.1, epsilon_hold_steps=0, learning_rate=1e-3)
    assert job.members[1].agent.numbers == AV(w=1, c=0, beta=0.1)
    assert groups(job.members) == ((0, 1),)


@pytest.mark.parametrize("name", OF_A_GROUP)
def test_what_a_program_has_once_makes_a_group(name):
    register_optimiser("sgd", optax.sgd)
    other = {name: OF_A_GROUP[name]}
    other |= {"numbers": QV(maximum=1.0)} if name == "algorithm" else {}
    two = (("one", make_agent("rdq")), ("other", make_agent("rdq", **other)))
    job = Job("MinAtar/Breakout-v1", two, (0, 1))
    assert groups(job.members) == ((0, 1), (2, 3))


def test_what_is_left_out_is_made_of_the_rest():
    short = Job("MinAtar/Breakout-v1", {"mine": make_agent("rdq")}, range(3), steps=5_000)
    assert (short.evaluate_every, short.seeds, short.protocol) == (5_000, (0, 1, 2), "paper")
    assert [member.label for member in short.members] == ["mine"] * 3
    whole = Job("MinAtar/Breakout-v1", short.agents, (0,))
    assert (whole.steps, whole.evaluate_every) == (10_000_000, 1_000_000)


@pytest.mark.parametrize(
    ("agents", "protocol"),
    [
        (("paper", "paper"), "paper"),
        (("reference", "reference"), "reference"),
        (("paper", "reference"), "own"),
    ],
)
def test_the_protocol_is_what_the_agents_say(agents, protocol):
    both = {f"{i}": make_agent("rdq", protocol=p) for i, p in enumerate(agents)}
    job = Job("MinAtar/Breakout-v1", both, (0,))
    assert job.config(None)["protocol"] == protocol
    changed = {"rdq": make_agent("rdq", protocol=agents[0], shared_bias=agents[0] == "paper")}
    assert Job("MinAtar/Breakout-v1", changed, (0,)).protocol == "own"
    named = [Job("MinAtar/Breakout-v1", a, (0,), protocol="reference") for a in (both, changed)]
    told = protocol if protocol != "own" else "reference"
    assert [job.protocol for job in named] == [told, "reference"]
    assert named[1].identity() == Job("MinAtar/Breakout-v1", changed, (0,)).identity()


def test_other_kinds_of_values_are_refused():
    agent = {"rdq": make_agent("rdq")}
    with pytest.raises(InputError, match=r"such as range\(30\); it is 3"):
        Job("MinAtar/Breakout-v1", agent, 3)
    for agents in ([agent["rdq"]], {"rdq": "rdq"}, {1: agent["rdq"]}, 5, "rdq"):
        with pytest.raises(InputError, match="agents must be given as"):
            Job("MinAtar/Breakout-v1", agents, (0,))
    listed = Job("MinAtar/Breakout-v1", (pair for pair in agent.items()), (0,))
    assert hash(listed) == hash(Job("MinAtar/Breakout-v1", agent, (0,)))
    with pytest.raises(InputError, match="env_id must be a text; it is None"):
        Job(None, agent, (0,))
    with pytest.raises(InputError, match="protocol must be a text; it is None"):
        Job("MinAtar/Breakout-v1", agent, (0,), protocol=None)
    with pytest.raises(InputError, match="unknown protocol 'banana'"):
        Job("MinAtar/Breakout-v1", agent, (0,), protocol="banana")


def test_lengths_that_no_program_can_have_are_refused():
    """The step counter is an int32, and a block begins where learning does."""
    with pytest.raises(InputError, match="steps must be at most 2,146,435,072"):
        Job("MinAtar/Breakout-v1", {"a": make_agent("rdq")}, (0,), steps=2_147_000_000)
    odd = make_agent("rdq", learn_from=1_000, sync_every=400)
    with pytest.raises(InputError, match=r"multiple of sync_every \(400\); it is 1000"):
        Job("MinAtar/Breakout-v1", {"a": odd}, (0,), steps=2_000)
