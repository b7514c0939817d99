import numpy as np
import pytest

from qduet.tabular.summary import summarise, table
from qduet.tabular.sweeps import Curves

STEP_SIZES = np.array([0.1, 0.2, 0.4])


def curves(*last):
    """Runs that start at 100 % and end at `last[seed][step size]`; ∞ is a run that diverged."""
    end = np.array(last, np.float64)
    percent = np.stack([np.full(end.shape, 100.0), end], axis=-1)
    return Curves(percent, np.ones(len(end)), np.where(np.isinf(end), 100, -1))


def test_a_row_of_the_table_by_hand():
    """The AUC of a run is (100 + its last error) / 2."""
    inf = np.inf
    first = curves((20, 0, inf), (20, 60, inf), (20, 0, 90), (20, 60, 90))
    second = curves((30, 10, inf), (34, 12, inf), (30, 14, inf), (34, 16, inf))
    rules = {"first": first, "second": second}
    by_rule = {name: summarise(each, STEP_SIZES, "paper") for name, each in rules.items()}
    one, two = table({6: by_rule})
    # AUCs of the first: 60 at 0.1, and 50, 80, 50, 80 at 0.2, which is better on the even seeds.
    assert one["best_step_size"] == 0.1
    assert one["auc"].mean == 60
    assert one["held_out_step_size"] == 0.2
    assert one["auc_held_out"].mean == 80
    assert (one["step_sizes_with_divergence"], one["diverged_runs"]) == (1, 2)
    # AUCs of the second at 0.2: 55, 56, 57, 58.
    assert two["best_step_size"] == 0.2
    assert two["auc_minus_first_rule"].mean == pytest.approx(-3.5)
    assert two["final_error"].mean == pytest.approx(13)
    assert (two["step_sizes_with_divergence"], two["diverged_runs"]) == (1, 4)


def test_in_the_reference_protocol_curves_are_cut_off_too():
    """Where every step size diverges, the best one's curve is what the released code draws."""
    found = summarise(curves(*[(np.inf,) * 3] * 2), STEP_SIZES, "reference")
    np.testing.assert_array_equal(found.curves, [[100, 1e9]] * 2)


@pytest.mark.parametrize(
    ("aucs", "step_sizes", "edge"),
    [
        ((30, 20, 10), STEP_SIZES, True),
        ((10, 20, 30), STEP_SIZES, True),
        ((30, 10, 20), STEP_SIZES, False),
        ((30, 10, 20), np.array([0.2, 0.1, 0.4]), True),  # in any order
        ((30, 20, 10), np.array([0.25, 0.5, 1.0]), False),  # 1 is the natural end
        ((np.inf,) * 3, STEP_SIZES, False),  # none is best
        ((30,), STEP_SIZES[:1], False),  # no grid
    ],
)
def test_a_best_step_size_at_an_end_of_the_grid_is_at_its_edge(aucs, step_sizes, edge):
    found = summarise(curves(aucs, aucs), step_sizes, "paper")
    assert found.best_at_edge is edge
    assert table({2: {"mine": found}})[0]["best_at_edge"] is edge
