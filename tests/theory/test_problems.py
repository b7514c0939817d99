import numpy as np
import pytest

from qduet.core.errors import InputError
from qduet.tabular.mdp import MDP, four_state, uniform_policy
from qduet.theory.problems import (
    load_problem,
    problem_json,
    problem_of,
    random_problem,
    visitation,
)
from qduet.theory.suite import CLAIMS, check_problem, results_on


def test_visitation_of_a_chain_with_restarts():
    # 0 → 1 → end, or 0 → end with probability 1/2: state 1 is visited half as often as state 0.
    p = np.zeros((3, 1, 3))
    p[0, 0, 1:], p[1, 0, 2], p[2, 0, 2] = 0.5, 1.0, 1.0
    mdp = MDP(p, np.zeros((3, 1)), 0.9, terminal=np.array([False, False, True]))
    np.testing.assert_allclose(visitation(mdp, np.ones((3, 1))), [2 / 3, 1 / 3, 0.0], atol=1e-8)


def test_the_random_family_is_as_wide_as_it_says():
    problems = [random_problem(seed) for seed in range(400)]
    assert {p.mdp.num_states for p in problems} == set(range(2, 21))
    assert {p.mdp.num_actions for p in problems} == set(range(1, 11))
    discounts = np.array([p.mdp.discount for p in problems])
    assert discounts.min() == 0
    assert 0.99 < discounts.max() <= 0.999
    assert any(((p.mdp.p == 0) | (p.mdp.p == 1)).all() for p in problems)
    assert any((p.mdp.p > 0).all() for p in problems)
    assert any(p.mdp.terminal.any() for p in problems)


def test_problems_survive_a_file_exactly(tmp_path):
    problem, path = random_problem(31), tmp_path / "problem.json"
    path.write_bytes(problem_json(problem, claim="x"))
    back = load_problem(path)
    np.testing.assert_array_equal(back.mdp.p, problem.mdp.p)
    np.testing.assert_array_equal(back.mdp.reward, problem.mdp.reward)
    np.testing.assert_array_equal(back.behaviour, problem.behaviour)
    np.testing.assert_array_equal(back.visits, problem.visits)
    assert back.mdp.discount == problem.mdp.discount
    assert back.seed == problem.seed


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "problem.json is damaged"), ('{"format": "x"}', "not a problem of this version")],
)
def test_files_that_hold_no_problem_are_refused(tmp_path, content, message):
    path = tmp_path / "problem.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        load_problem(path)
    with pytest.raises(InputError, match="does not exist"):
        load_problem(tmp_path / "absent.json")


def test_uniform_is_the_default_behaviour():
    mdp = four_state("qvmax", 3)
    np.testing.assert_array_equal(problem_of(mdp).behaviour, uniform_policy(mdp))


def test_an_mdp_in_place_of_a_problem_is_refused_with_the_remedy():
    mdp = four_state("qvmax", 2)
    for use in (check_problem, results_on, CLAIMS["qvmax_bias"].check):
        with pytest.raises(InputError, match=r"not MDP: problem_of\(mdp\) makes one"):
            use(mdp)
    assert CLAIMS["qvmax_bias"].check(problem_of(mdp)).holds
