"""The simulation of sweeps on many GPUs: small cases by hand, and its tables in docs/cluster.md."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from raw import curves

from qduet.cluster.plan import read_plan

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "cluster.md"


@pytest.fixture(scope="module")
def simulation():
    path = ROOT / "benchmarks" / "cluster_simulation.py"
    spec = importlib.util.spec_from_file_location("cluster_simulation", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["cluster_simulation"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["cluster_simulation"]


def job(simulation, *stretches, saving=0.0):
    return simulation.Job(stretches, 0.0, saving, 0.0, 0.0, 0.0)


def test_one_gpu_without_failures_takes_the_sum_of_the_jobs(simulation):
    plans = simulation.workloads()["paper"]
    jobs = simulation.jobs_of(simulation.tasks_of(plans, 1), simulation.Assumed())
    done = simulation.simulate(jobs, 1)
    assert done.wall == pytest.approx(sum(job.seconds for job in jobs), rel=1e-12)
    assert done.idle == 0
    assert sum(done[1:8]) == pytest.approx(1)


def test_jobs_go_to_the_next_free_gpu_in_their_order(simulation):
    """Two GPUs: 30 beside 10, then 15 from 10 to 25, then 20 from 25 to 45; idle from 30 to 45."""
    done = simulation.simulate([job(simulation, x) for x in (30.0, 10.0, 15.0, 20.0)], 2)
    assert done.wall == 45
    assert done.idle == pytest.approx(15 / 90)


def test_checkpoints_wait_for_the_disk(simulation):
    """Both want to write at 10, for 4 seconds each: the second one waits until 14."""
    done = simulation.simulate([job(simulation, 10.0, saving=4.0)] * 2, 2)
    assert done.wall == 18
    assert done.saving == pytest.approx((4 + 8) / 36)


def test_a_failure_costs_the_work_since_the_checkpoint_the_repair_and_the_restart(simulation):
    """A job of 4 × 100 s; of 200 seeds those with no failure and with one are checked."""
    assumed = simulation.Assumed(restart=7.0, repair=50.0)
    jobs = [job(simulation, *[100.0] * 4)]
    found = set()
    for seed in range(200):
        chance = simulation.random.Random(seed)
        first, second = (chance.expovariate(1 / 360) for _ in range(2))
        done = simulation.simulate(jobs, 1, 0.1, seed, assumed)
        if first > 400:
            assert done.wall == 400
            found.add("none")
        elif second > 407:
            lost = first % 100
            assert done.wall == pytest.approx(400 + lost + 50 + 7)
            assert done.failures == pytest.approx((lost + 57) / done.wall)
            found.add("one")
    assert found == {"none", "one"}


def test_when_checkpoints_are_written(simulation):
    """Start-up of 20 s, evaluations of 2 s, every 300 s; after an evaluation if 60 s are over."""
    stretches = simulation._stretches
    assert stretches(20, 100, 2, 3, 300) == [124, 102, 102]
    assert stretches(20, 40, 2, 4, 300) == [64, 84, 42]
    assert stretches(20, 500, 2, 1, 300) == [300, 224]


@pytest.mark.parametrize("game", ["Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders"])
def test_evaluations_take_what_was_measured(simulation, game):
    """What an evaluation adds to the job's clock, beside training, from 2M steps on."""
    folder = "space_invaders" if game == "SpaceInvaders" else game.lower()
    path = ROOT / "results" / "figure6" / folder / "evaluations.csv"
    elapsed, rate = (
        curves(path, game, "rdq", column)[0] for column in ("elapsed_seconds", "frames_per_second")
    )
    each = np.diff(elapsed) - 90 * 1_000_000 / rate[1:]
    assert simulation.EVALUATION[game] == pytest.approx(each[1:].mean(), abs=0.3)


def test_the_page_has_the_tables_that_the_script_makes(simulation):
    text = PAGE.read_text(encoding="utf-8")
    found = text.partition(simulation.BEGIN)[2].partition(simulation.END)[0]
    assert found.strip() == simulation.tables(), "benchmarks/cluster_simulation.py --write"


def test_the_plan_of_the_page_is_one(tmp_path):
    text = PAGE.read_text(encoding="utf-8")
    path = tmp_path / "plan.toml"
    path.write_text(text.partition("```toml\n")[2].partition("```")[0], encoding="utf-8")
    plan = read_plan(path)
    assert [len(x) for x in (plan.environments, plan.agents, plan.seeds)] == [2, 9, 30]
    labels = [label for label, _ in plan.agents]
    assert {"rdq-beta-0.001-rate-0.0001", "dqv_max-3"} <= {*labels}
