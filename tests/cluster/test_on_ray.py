"""What the engine makes of what Ray tells it; Ray itself is in test_engines."""

from types import SimpleNamespace

import pytest

from qduet.cluster import on_ray
from qduet.cluster.engine import Options, Outcome
from qduet.cluster.estimates import Machine
from qduet.core.errors import InputError

MACHINE = Machine("cpu", 2, None)


class GivenUpError(Exception):
    """Stands for a RayError."""


class CancelledError(GivenUpError):
    """Stands for a TaskCancelledError."""


class FakeRay:
    """Tasks whose outcomes are known: each turn of a job takes the next one."""

    exceptions = SimpleNamespace(
        RayError=GivenUpError, RayTaskError=GivenUpError, TaskCancelledError=CancelledError
    )

    def __init__(self, outcomes=(), nodes=()):
        self.outcomes, self.turns, self.cancelled = dict(outcomes), [], []
        self.resources = nodes

    def remote(self, **options):
        def submit(directory, name, *_):
            self.turns.append(name)
            return name, len(self.turns)

        task = SimpleNamespace(remote=submit)
        return lambda function: SimpleNamespace(options=lambda **_: task)

    def wait(self, refs, **_):
        return refs[:1], refs[1:]

    def get(self, ref):
        outcome = self.outcomes[ref[0]].pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def cancel(self, ref, **_):
        self.cancelled.append(ref[0])

    def nodes(self):
        return [{"Alive": True, "Resources": resources} for resources in self.resources]


@pytest.fixture
def use(monkeypatch):
    def with_ray(ray):
        monkeypatch.setattr(on_ray, "connect", lambda options: ray)
        monkeypatch.setattr(on_ray, "PAUSE", 0.0)
        given_up = lambda directory, name, reason: Outcome("failed", reason)
        monkeypatch.setattr(on_ray, "give_up", given_up)
        return ray

    return with_ray


def test_jobs_that_were_lost_get_more_turns_and_others_do_not(use, tmp_path):
    done, bad, busy = ("finished", ""), ("failed", "no memory"), ("busy", "")
    stopped, unfit = ("stopped", ""), ("unfit", "node x has jax 0")
    ray = use(
        FakeRay(
            {
                "one": [unfit, busy, busy, stopped, done],
                "two": [bad],
                "three": [unfit, unfit, unfit],
                "four": [GivenUpError("its node died")],
            }
        )
    )
    outcomes = on_ray.run(tmp_path, [*ray.outcomes], MACHINE, Options(retries=2), lambda: False)
    assert outcomes["one"] == Outcome("finished")
    assert outcomes["two"] == Outcome("failed", "no memory")
    assert outcomes["three"] == Outcome("failed", "node x has jax 0")
    assert outcomes["four"].state == "failed"
    assert "its node died" in outcomes["four"].reason
    assert sorted(ray.turns) == ["four", *["one"] * 5, *["three"] * 3, "two"]
    assert not ray.cancelled


def test_what_is_pending_is_cancelled_when_the_sweep_is_stopped(use, tmp_path):
    ray = use(FakeRay({"one": [], "two": []}))
    assert on_ray.run(tmp_path, ["one", "two"], MACHINE, Options(), lambda: True) == {}
    assert ray.cancelled == ["one", "two"]


@pytest.mark.parametrize(
    ("nodes", "options", "workers"),
    [
        ([{"CPU": 1.0}] * 2, {}, 2),
        ([{"CPU": 3.0}, {"CPU": 5.0}], {"cpus": 2}, 3),
        ([{"CPU": 8.0, "GPU": 1.0}], {"gpus": 0.1, "cpus": 0.5}, 10),
        ([{"CPU": 8.0, "GPU": 4.0}, {"CPU": 64.0}], {"cpus": 4}, 2),
    ],
)
def test_workers_are_what_fits_onto_each_node(use, nodes, options, workers):
    use(FakeRay(nodes=nodes))
    assert on_ray.machine_at_hand("auto", Options(**options)).workers == workers


@pytest.mark.parametrize(
    ("nodes", "options"),
    [
        ([{"CPU": 1.0}] * 2, {"cpus": 2}),
        ([{"CPU": 8.0, "GPU": 1.0}], {"gpus": 4.0}),
        ([{"CPU": 8.0, "GPU": 1.0}], {"cpus": 16}),
    ],
)
def test_a_job_that_fits_onto_no_node_is_refused(use, nodes, options):
    use(FakeRay(nodes=nodes))
    with pytest.raises(InputError, match="no node of the Ray cluster"):
        on_ray.machine_at_hand("auto", Options(**options))
