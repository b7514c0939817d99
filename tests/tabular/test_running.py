import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.core.errors import InputError
from qduet.paper.figures import FIGURES
from qduet.tabular.rules import Rule, make_rule, q_learning
from qduet.tabular.running import fingerprint, run
from qduet.tabular.summary import summarise, summarise_all, table


def must_not_run(*args, **options):
    pytest.fail("ran")


@pytest.fixture(scope="module")
def tiny():
    """Figure 5 with two seeds, so that a test runs it in a second or two."""
    return dataclasses.replace(
        FIGURES["figure5"].small(), actions=(2,), step_sizes=(0.1353, 1.0), seeds=2, steps=200
    )


@pytest.fixture(scope="module")
def done(tiny, tmp_path_factory):
    directory = tmp_path_factory.mktemp("results")
    return directory, run(tiny, directory)


def test_the_reference_protocol_normalises_jointly(tiny, done, tmp_path):
    """Item 3: all rules of a seed share the error that counts as 100 %."""
    reference = run(dataclasses.replace(tiny, protocol="reference"), tmp_path).curves[2]
    errors = {tuple(curves.initial_error) for curves in reference.values()}
    assert len(errors) == 1
    paper = done[1].curves[2]
    assert len({tuple(curves.initial_error) for curves in paper.values()}) == 2  # Dueling's differs


def test_the_reference_protocol_cuts_off_and_pools(done):
    """Items 6 and 7: errors are cut off at 10⁹ and the interval pools seeds and points."""
    curves = done[1].curves[2]["hard_rdq"]
    percent = curves.percent.copy()
    percent[:, 1, 1:] = np.inf
    broken = curves._replace(percent=percent)
    alphas = done[1].experiment.step_sizes
    assert np.isposinf(summarise(broken, alphas, "paper").intervals[1].mean)
    reference = summarise(broken, alphas, "reference")
    points = percent.shape[-1]
    assert reference.intervals[1].mean == pytest.approx((100 + (points - 1) * 1e9) / points)
    assert reference.intervals[0].n == 2 * points
    assert summarise(broken, alphas, "paper").intervals[0].n == 2


def test_a_finished_curves_file_is_not_run_again(tiny, done, monkeypatch):
    directory, results = done
    monkeypatch.setattr("qduet.tabular.running.sweep", must_not_run)
    again = run(tiny, directory)
    for name, curves in results.curves[2].items():
        np.testing.assert_array_equal(again.curves[2][name].percent, curves.percent)


def test_only_what_is_missing_is_run_and_it_is_the_same(tiny, done):
    directory, _ = done
    path = directory / "figure5" / "actions-2" / "dueling_q.npz"
    others = {p: p.stat().st_mtime_ns for p in path.parent.iterdir() if p != path}
    before = path.read_bytes()
    path.unlink()
    run(tiny, directory)
    assert path.read_bytes() == before
    assert {p: p.stat().st_mtime_ns for p in others} == others


def test_other_settings_never_land_in_the_same_file(tiny, done):
    with pytest.raises(InputError, match="steps is 200 there, 300 here"):
        run(dataclasses.replace(tiny, steps=300), done[0])


def my_rule(step=1.0):
    def update(q, t, step_size):
        target = t.reward + t.discount * q[t.next_state].max()
        return q.at[t.state, t.action].add(step * step_size * (target - q[t.state, t.action]))

    return Rule(init=lambda v, adv: v[:, None] + adv, update=update, q=lambda q: q)


def test_a_rule_of_ones_own_joins_a_figure(tiny, tmp_path):
    results = run(tiny, tmp_path, extra_rules={"mine": my_rule()})
    assert results.rules == ("q_learning", "dueling_q", "hard_rdq", "mine")
    curves = results.curves[2]
    np.testing.assert_allclose(curves["mine"].percent, curves["q_learning"].percent, rtol=1e-5)
    assert [row["rule"] for row in table(summarise_all(results))][-1] == "mine"


def test_a_changed_rule_under_the_same_name_is_noticed(tiny, tmp_path):
    run(tiny, tmp_path, extra_rules={"mine": my_rule()})
    with pytest.raises(InputError, match="the rule has changed since"):
        run(tiny, tmp_path, extra_rules={"mine": my_rule(step=0.5)})


def test_double_precision_elsewhere_changes_no_fingerprint(tiny, tmp_path):
    run(tiny, str(tmp_path))
    with jax.enable_x64(True):
        run(tiny, tmp_path)  # reads all of it


def test_a_terminal_changes_no_fingerprint():
    import jax

    without_colours = fingerprint(my_rule(), 4, 2)
    before = jax.config.jax_pprint_use_color
    try:
        jax.config.update("jax_pprint_use_color", not before)
        assert fingerprint(my_rule(), 4, 2) == without_colours
    finally:
        jax.config.update("jax_pprint_use_color", before)


def test_a_changed_read_out_or_goal_is_noticed():
    mine = my_rule()
    prints = {
        fingerprint(rule, 4, 2)
        for rule in (mine, mine._replace(q=lambda q: 2 * q), mine._replace(goal="behaviour"))
    }
    assert len(prints) == 3


def test_a_damaged_file_is_reported_before_anything_runs(tiny, tmp_path, monkeypatch):
    two_sizes = dataclasses.replace(tiny, actions=(2, 3))
    run(two_sizes, tmp_path)
    (tmp_path / "figure5" / "actions-3" / "hard_rdq.npz").unlink()
    (tmp_path / "figure5" / "actions-2" / "hard_rdq.npz").write_bytes(b"broken")
    monkeypatch.setattr("qduet.tabular.running.sweep", must_not_run)
    with pytest.raises(InputError, match="damaged"):
        run(two_sizes, tmp_path)


@pytest.mark.parametrize("name", ["hard_rdq", "../evil", ""])
def test_an_extra_rule_needs_a_name_of_its_own(tiny, tmp_path, name):
    with pytest.raises(InputError, match="name of its own"):
        run(tiny, tmp_path, extra_rules={name: my_rule()})
    assert list(tmp_path.iterdir()) == []


def test_a_fingerprint_tells_how_curves_round(monkeypatch):
    before = fingerprint(my_rule(), 4, 2)
    monkeypatch.setattr("qduet.tabular.running.ROUNDING", 0)
    assert fingerprint(my_rule(), 4, 2) != before


def test_fingerprints_see_constants():
    policies = [np.full((4, 2), 0.5), np.tile([0.4, 0.6], (4, 1))]
    prints = {fingerprint(make_rule("expected_sarsa", pi), 4, 2) for pi in policies}
    assert len(prints) == 2
    assert fingerprint(my_rule(), 4, 2) == fingerprint(my_rule(), 4, 2)


def test_summary_reports_the_best_step_size(done):
    results = done[1]
    summary = summarise_all(results)[2]["hard_rdq"]
    aucs = results.curves[2]["hard_rdq"].percent.mean(axis=-1)
    assert summary.best.which == int(aucs.mean(axis=0).argmin())
    np.testing.assert_allclose(summary.best_aucs, aucs[:, summary.best.which], rtol=1e-5)
    row = next(r for r in table(summarise_all(results)) if r["rule"] == "q_learning")
    assert row["auc_minus_first_rule"].mean == 0.0  # it is the first rule


def test_a_fingerprint_is_of_the_arrays_in_inner_functions_and_of_keys():
    def rule_with(value, key):
        @jax.jit
        def scaled(step_size):
            return step_size * jnp.asarray(value)[0] * jax.random.uniform(key)

        base = q_learning()
        return base._replace(update=lambda tables, t, a: base.update(tables, t, scaled(a)))

    key = jax.random.key(0)
    found = fingerprint(rule_with(np.array([1.0, 2.0]), key), 4, 2)
    assert fingerprint(rule_with(np.array([1.0, 2.0]), key), 4, 2) == found
    assert fingerprint(rule_with(np.array([1.5, 2.0]), key), 4, 2) != found
    assert fingerprint(rule_with(np.array([1.0, 2.0]), jax.random.key(1)), 4, 2) != found
