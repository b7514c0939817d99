"""What the agents of one job may differ in."""

import dataclasses

import pytest

from qduet.agents import make_agent
from qduet.errors import InputError
from qduet.job import PER_RUN, Job

SHARED = {
    "adam_epsilon": 1e-3,
    "discount": 0.9,
    "batch_size": 16,
    "capacity": 400,
    "learn_from": 2_000,
    "sync_every": 500,
}
"""What there is one of in a compiled program, and another value of each."""


def job_of_two(**settings):
    two = (("one", make_agent("rdq")), ("other", make_agent("rdq", **settings)))
    return Job("MinAtar/Breakout-v1", two, (0,))


@pytest.mark.parametrize("name", SHARED)
def test_agents_of_one_job_share_what_the_program_has_once(name):
    with pytest.raises(InputError, match=f"the same {name}"):
        job_of_two(**{name: SHARED[name]})


def test_they_may_differ_in_all_else():
    own = {field.name for field in dataclasses.fields(make_agent("rdq"))} - SHARED.keys()
    assert own == PER_RUN
    assert job_of_two(beta=0.1, epsilon_hold_steps=0, learning_rate=1e-3).members[1].agent.w == 1
