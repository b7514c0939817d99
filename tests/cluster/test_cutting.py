import dataclasses
from pathlib import Path

import pytest

from qduet.agents import make_agent
from qduet.cluster import cutting
from qduet.cluster.cutting import Sweep, extended
from qduet.cluster.estimates import Machine
from qduet.cluster.plan import Plan
from qduet.core.errors import InputError

GPU, GPUS = Machine("NVIDIA H200", 1, 10**11), Machine("NVIDIA H200", 8, 10**11)
CPU = Machine("cpu", 2, 10**10)
OUT = Path("out")


def plan(agents=("rdq",), seeds=range(30), environments=("MinAtar/Breakout-v1",), **options):
    made = tuple((name, make_agent(name, **options)) for name in agents)
    return Plan(tuple(environments), made, tuple(seeds), 10**6, 10**6, 1_000, ())


def cut(given, machine=GPU, there=None, most=None):
    return extended(there and Sweep(there, {}, 1, ()), given, machine, most, OUT)


def runs_of(tasks):
    return sorted(
        (task.settings["env"], agent["label"], seed)
        for task in tasks
        for agent in task.settings["agents"]
        for seed in task.settings["seeds"]
    )


@pytest.mark.parametrize("machine", [GPU, GPUS, CPU])
@pytest.mark.parametrize("most", [None, 1, 7, 50])
def test_every_run_is_in_one_job_and_no_job_is_too_large(machine, most):
    wanted = plan(("dqn", "rdq", "dqv_max"), environments=("MinAtar/Breakout-v1", "gymnax/X-v0"))
    tasks = cut(wanted, machine, most=most)
    every = [(e, a, s) for e in wanted.environments for a, _ in wanted.agents for s in range(30)]
    assert runs_of(tasks) == sorted(every)
    assert all(task.runs <= (most or 120) for task in tasks)
    assert len({task.name for task in tasks}) == len(tasks)


def test_agents_that_share_a_program_share_jobs_and_others_do_not():
    one, other = cut(plan(("dqn", "rdq", "dqv_max")))
    assert [agent["label"] for agent in one.settings["agents"]] == ["dqn", "rdq"]
    assert [agent["label"] for agent in other.settings["agents"]] == ["dqv_max"]


@pytest.mark.parametrize(
    ("workers", "sizes"),
    [
        (1, [90, 90]),  # 2 × 405 µs; in jobs of 60, 3 × 315
        (2, [90, 90]),
        (4, [44, 46, 44, 46]),  # all four at once
        (8, [30] * 6),  # smaller ones would take nearly as long
    ],
)
def test_jobs_are_of_the_size_that_ends_the_sweep_soonest(workers, sizes):
    many = plan(("dqn", "rdq"), range(90))
    assert [task.runs for task in cut(many, GPU._replace(workers=workers))] == sizes


def test_a_job_is_named_by_its_settings():
    (one,), (again,), (other,) = cut(plan()), cut(plan()), cut(plan(n_step=3))
    assert one == again
    assert one.name != other.name
    assert one.name.startswith("breakout-")


def test_a_plan_that_grows_keeps_its_jobs():
    old = cut(plan(seeds=range(10)))
    more = plan(("rdq", "dqn", "dqv_max"), range(20), ("MinAtar/Breakout-v1", "MinAtar/Asterix-v1"))
    tasks = cut(more, there=old)
    assert tasks[: len(old)] == old
    assert len(runs_of(tasks)) == 2 * 3 * 20 == len(set(runs_of(tasks)))
    assert cut(more, there=tasks) == tasks


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (plan(seeds=range(9)), "rdq with seed 9"),
        (plan(("dqn",), range(10)), "rdq with seed 0"),
        (plan(seeds=range(10), batch_size=16), "batch_size is 32 there, 16 here"),
    ],
)
def test_a_plan_that_shrank_or_changed_is_refused(other, words):
    with pytest.raises(InputError, match=words):
        cut(other, there=cut(plan(seeds=range(10))))


def test_more_runs_than_fit_are_refused_with_how_many_would():
    small = Machine("NVIDIA H200", 1, 2**30)
    with pytest.raises(InputError, match=r"at most \d+ fit"):
        cut(plan(seeds=range(200)), small, most=1_000)
    assert cut(plan(), small, most=1_000) == cut(plan(), GPU, most=30)  # there are no more than 30
    assert all(task.runs < 60 for task in cut(plan(seeds=range(200)), small))


def test_a_sweep_is_read_as_it_was_written(tmp_path):
    tabular = ({"figure": "figure5", "seeds": 3},)
    tasks = cut(dataclasses.replace(plan(), tabular=tabular))
    assert [task.kind for task in tasks] == ["train", "tabular"]
    sweep = Sweep(tasks, {"jax": "1"}, 2, ("my_game",))
    cutting.save(tmp_path, sweep)
    assert cutting.load(tmp_path) == sweep
    assert cutting.load(tmp_path / "nothing") is None


@pytest.mark.parametrize("change", [('"steps": 1000000', '"steps": 2000000'), ('"rdq"', '"rd"')])
def test_a_sweep_that_was_edited_is_refused(tmp_path, change):
    cutting.save(tmp_path, Sweep(cut(plan()), {}, 1, ()))
    path = tmp_path / cutting.FILE
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(InputError, match=r"sweep\.json"):
        cutting.load(tmp_path)
