import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from qduet.core.errors import InputError
from qduet.paper.figures import FIGURES
from qduet.tabular.experiments import RuleSpec
from qduet.tabular.mdp import four_state, uniform_policy
from qduet.tabular.rules import Transition
from qduet.tabular.running import fingerprint


def test_the_declared_sizes_are_the_papers():
    # 8 rule/experiment pairs × 5 action counts × 61 step sizes × 100 trials × 20,000 steps
    paper = [FIGURES[name] for name in ("figure1", "figure3", "figure5")]
    assert sum(figure.updates for figure in paper) == 8 * 5 * 61 * 100 * 20_000 == 4_880_000_000
    for figure in paper:
        assert figure.actions == (2, 6, 10, 14, 18)
        assert len(figure.points) == 201
        alphas = figure.step_sizes
        assert (len(alphas), alphas[-1]) == (61, 1.0)
        np.testing.assert_allclose(np.log(alphas), np.arange(-60, 1) / 10, atol=1e-12)


def test_the_default_step_sizes_are_the_same_on_every_machine():
    """Files are compared by them, and the last bits of e^x differ from one libm to another."""
    assert FIGURES["figure5"].step_sizes[::30] == (0.00247875217667, 0.0497870683679, 1.0)
    assert FIGURES["figure5"].small().step_sizes[::3] == (0.00247875217667, 0.0497870683679, 1.0)


def test_step_sizes_must_be_different():
    figure = FIGURES["figure5"]
    for step_sizes, protocol in (
        ([0.1, 0.1], "paper"),
        ([0.0001, 0.00011], "reference"),
        ([0.00001, 0.1], "reference"),
    ):
        with pytest.raises(InputError, match=r"step_sizes must be different .* they are"):
            dataclasses.replace(figure, step_sizes=step_sizes, protocol=protocol)
    assert dataclasses.replace(figure, step_sizes=[0.0001, 0.00011]).step_sizes[0] == 0.0001


def test_step_sizes_are_taken_as_they_are_and_distinguished():
    mine = dataclasses.replace(FIGURES["figure5"], step_sizes=[0.3, 0.1])
    assert mine.step_sizes == (0.1, 0.3) == mine.settings()["step_sizes"]
    assert mine == dataclasses.replace(mine)
    assert mine != dataclasses.replace(mine, step_sizes=[0.1, 0.3 + 1e-15])


def test_the_reference_protocol_switches_what_the_list_says():
    reference = dataclasses.replace(FIGURES["figure5"], protocol="reference")
    mdp = four_state("dueling", 3)
    # 1: q_* = 1/(1−γ) for every action
    np.testing.assert_allclose(reference.targets(mdp)["optimal"].q, 1000.0, rtol=1e-9)
    assert FIGURES["figure5"].targets(mdp)["optimal"].q[0, 1] == pytest.approx(998.0)
    # 5: step sizes rounded to four decimals; exp(−6) = 0.00247875
    assert reference.step_sizes[0] == 0.0025
    # 2 and 4: other rules under the same names
    behaviour = uniform_policy(mdp)
    for spec in (RuleSpec("soft_rdq", beta=1e-3), RuleSpec("dueling_q")):
        ours, theirs = (spec.make(behaviour, p) for p in ("paper", "reference"))
        assert fingerprint(ours, 4, 3) != fingerprint(theirs, 4, 3)
    # the others are the same rule
    ours, theirs = (RuleSpec("hard_rdq").make(behaviour, p) for p in ("paper", "reference"))
    assert fingerprint(ours, 4, 3) == fingerprint(theirs, 4, 3)


def test_unknown_protocol_is_refused():
    with pytest.raises(InputError, match="did you mean 'reference'"):
        dataclasses.replace(FIGURES["figure1"], protocol="referense")


def test_jax_sees_the_rule_options():
    """β reaches the update: one step from V = A = 1 with δ = 0 leaves 1 − β."""
    rule = RuleSpec("soft_rdq", beta=0.25).make(np.ones((1, 1)), "paper")

    tables = rule.update(
        rule.init(jnp.ones(1), jnp.ones((1, 1))), Transition(0, 0, 2.0, 0.0, 0), 0.1
    )
    assert tables.v[0] == 0.75
