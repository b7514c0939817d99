import pytest

from qduet.core.errors import InputError
from qduet.theory.check import conclude, equal
from qduet.theory.problems import Problem
from qduet.theory.suite import CLAIMS, run_suite


def test_processes_find_what_one_process_finds():
    names = ["minimum_norm", "qvmax_fixed_point"]
    alone = run_suite(range(60), names, workers=1)
    counted = []
    shared = run_suite(range(60), names, workers=2, on_progress=counted.append)
    assert sum(counted) == 60
    for one, other in zip(alone, shared, strict=True):
        assert one.worst == other.worst
        assert one.problem.seed == other.problem.seed


def test_unknown_claims_name_the_nearest_one():
    with pytest.raises(InputError, match="did you mean 'qvmax_bias'"):
        run_suite(range(1), ["qvmax_bais"])


def test_a_failing_problem_is_reported(monkeypatch):
    def check(problem: Problem):
        return conclude("fails", equal("actions", problem.mdp.num_actions, 3))

    monkeypatch.setitem(CLAIMS, "fails", CLAIMS["minimum_norm"]._replace(function=check))
    (result,) = run_suite(range(20), ["fails"], workers=1)
    assert not result.holds
    assert 0 < result.failures < 20
    assert result.problem.mdp.num_actions != 3
