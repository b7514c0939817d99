"""Each cell against its published scores: what agrees, what differs, what is undecided."""

import csv

import numpy as np
import planted
import pytest
import scipy.stats

from qduet.paper.agreement import MARGIN, compare_cells, over_cells
from qduet.paper.certificate import certify
from qduet.results import published, runs

MILLION = planted.MILLION


def verdicts(certificate, measure="return"):
    return {(c.game, c.agent): c.verdict for c in certificate.cells if c.measure == measure}


def test_a_cell_is_what_scipy_says(tmp_path, generator):
    planted.game(tmp_path, "Breakout", generator, shift={"dqn": 0.4})
    loaded = runs.load(tmp_path)
    cells = [c for c in compare_cells([loaded], 10 * MILLION) if c.measure == "return"]
    p_values = []
    for cell in cells:
        ours = loaded.scores(cell.agent).values[:, -1]
        theirs = published.scores("Breakout", cell.agent).values[:, -1]
        test = scipy.stats.ttest_ind(ours, theirs, equal_var=False)
        p_values.append(test.pvalue)
        interval = test.confidence_interval(0.95)
        assert cell.difference.low == pytest.approx(interval.low, rel=1e-6)
        assert cell.difference.high == pytest.approx(interval.high, rel=1e-6)
        margin = MARGIN * scipy.stats.tstd(theirs)
        assert cell.margin == pytest.approx(margin)
        below = scipy.stats.ttest_ind(ours - margin, theirs, equal_var=False, alternative="less")
        above = scipy.stats.ttest_ind(ours + margin, theirs, equal_var=False, alternative="greater")
        assert cell.equivalence_p == pytest.approx(max(below.pvalue, above.pvalue), rel=1e-6)
        ninety = test.confidence_interval(0.90)
        furthest = max(abs(ninety.low), abs(ninety.high))
        assert cell.shown_within * scipy.stats.tstd(theirs) == pytest.approx(furthest, rel=1e-6)
        assert (cell.shown_within < MARGIN) == (cell.verdict == "agree")
    order = np.argsort(p_values)
    scaled = np.maximum.accumulate(np.array(p_values)[order] * [15, 14, 13]).clip(max=1)
    np.testing.assert_allclose([cells[i].difference_p for i in order], scaled, rtol=1e-6)


def test_all_cells_together_are_a_mean_and_a_chi_square(tmp_path, generator):
    planted.game(tmp_path, "Breakout", generator, shift={"dqn": 0.4})
    loaded = runs.load(tmp_path)
    found = over_cells(compare_cells([loaded], 10 * MILLION), "return")
    d, variance, z = [], [], []
    for agent in published.AGENTS:
        ours = loaded.scores(agent).values[:, -1]
        theirs = published.scores("Breakout", agent).values[:, -1]
        d.append((ours.mean() - theirs.mean()) / theirs.std(ddof=1))
        variance.append((ours.var(ddof=1) / 30 + theirs.var(ddof=1) / 30) / theirs.var(ddof=1))
        z.append(scipy.stats.ttest_ind(ours, theirs, equal_var=False).statistic)
    assert found.difference.mean == pytest.approx(np.mean(d))
    assert found.difference.half_width == pytest.approx(1.96 * np.sqrt(sum(variance)) / 3)
    assert found.chi2 == pytest.approx(np.square(z).sum())
    assert found.p_value == pytest.approx(scipy.stats.chi2(3).sf(found.chi2))
    assert over_cells([], "return") is None
    few = planted.game(tmp_path / "few", "Breakout", generator, seeds=range(9))
    assert over_cells(compare_cells([runs.load(few)], 10 * MILLION), "return") is None


def test_the_auc_is_the_area_under_the_curve_over_its_length(tmp_path, generator):
    planted.game(tmp_path, "Asterix", generator, evaluate_every=MILLION)
    cells = {c.agent: c for c in compare_cells([runs.load(tmp_path)], 3 * MILLION)[3:]}
    with (tmp_path / "evaluations.csv").open(encoding="utf-8") as file:
        early = [  # at 0, 1M, 2M, 3M: trapezoids weigh them 1/6, 1/3, 1/3, 1/6
            float(row["return_mean"]) * (1 / 6 if int(row["step"]) in (0, 3 * MILLION) else 1 / 3)
            for row in csv.DictReader(file)
            if row["agent"] == "rdq" and int(row["step"]) <= 3 * MILLION
        ]
    assert len(early) == 4 * 30
    assert cells["rdq"].measure == "auc"
    assert cells["rdq"].ours.mean == pytest.approx(sum(early) / 30)
    theirs = published.scores("Asterix", "rdq").values[:, :4] @ [1 / 6, 1 / 3, 1 / 3, 1 / 6]
    assert cells["rdq"].margin == pytest.approx(theirs.std(ddof=1))


def test_evaluations_between_the_published_steps_have_no_part_in_a_cell(tmp_path):
    """Run k scores k at 0, 1M and 2M, and far more between: its return and its AUC are k."""
    half = MILLION // 2
    config = planted.config("Breakout", steps=5 * half, evaluate_every=half, seeds=range(10))
    curves = {
        agent: np.array([[k, more, k, more, k, more] for k in range(10)])
        for agent, more in zip(published.AGENTS, (1_000, 2_000, 3_000), strict=True)
    }
    runs.write(tmp_path, config, planted.rows(config, curves))
    certificate = certify([tmp_path])
    assert certificate.step == 2 * MILLION
    cells = certificate.cells
    assert [cell.measure for cell in cells] == ["return"] * 3 + ["auc"] * 3
    assert [cell.ours.mean for cell in cells] == pytest.approx([4.5] * 6)


def test_resampled_published_runs_agree(tmp_path, generator):
    """Nearly always: a resample is even closer to its source than a second experiment is."""
    found = []
    for repetition in range(12):
        for name in ("Breakout", "Freeway", "Seaquest"):
            planted.game(tmp_path / f"{repetition}" / name, name, generator)
        found += verdicts(certify([tmp_path / f"{repetition}"])).values()
    assert len(found) == 108
    assert found.count("agree") >= 0.95 * len(found)
    assert "differ" not in found


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", published.GAMES)
def test_a_shift_of_two_standard_deviations_differs(tmp_path, generator, name, sign):
    for game in published.GAMES:
        shift = {"rdq": 2.0 * sign} if game == name else None
        planted.game(tmp_path / game, game, generator, shift=shift)
    certificate = certify([tmp_path])
    found = verdicts(certificate)
    assert found.pop((name, "rdq")) == "differ"
    assert "differ" not in found.values()
    assert certificate.differs


def test_few_seeds_leave_it_undecided(tmp_path, generator):
    planted.game(tmp_path, "Breakout", generator, seeds=range(3))
    assert "agree" not in verdicts(certify([tmp_path])).values()


def test_a_significant_difference_within_the_margin_agrees(tmp_path, generator):
    """1,000 seeds on our side: what is left is the error of their 30."""
    theirs = {a: published.scores("Breakout", a).values for a in published.AGENTS}
    configuration = planted.config("Breakout", seeds=range(1_000))
    jitter = generator.standard_normal((1_000, 11))
    curves = {
        a: curve.mean(axis=0) + (0.63 + 0.01 * jitter) * curve.std(axis=0, ddof=1)
        for a, curve in theirs.items()
    }
    runs.write(tmp_path, configuration, planted.rows(configuration, curves))
    cell = certify([tmp_path]).cells[0]
    assert cell.difference.low > 0
    assert cell.difference_p < 0.05
    assert cell.verdict == "agree"


def power(generator, shift, *, repetitions=20_000):
    """Shares of agree and differ with 30 normal seeds on each side, in plain NumPy and SciPy."""
    ours = generator.standard_normal((repetitions, 30)) + shift
    theirs = generator.standard_normal((repetitions, 30))
    difference = ours.mean(axis=1) - theirs.mean(axis=1)
    a, b = ours.var(axis=1, ddof=1) / 30, theirs.var(axis=1, ddof=1) / 30
    freedom = 29 * (a + b) ** 2 / (a**2 + b**2)
    quantile = scipy.stats.t.ppf(0.95, freedom) * np.sqrt(a + b)
    agree = abs(difference) + quantile < MARGIN * theirs.std(axis=1, ddof=1)
    p = 2 * scipy.stats.t.sf(abs(difference) / np.sqrt(a + b), freedom)
    return agree.mean(), (~agree & (p < 0.05 / 15)).mean()


@pytest.mark.parametrize(
    ("shift", "agree", "differ"),
    [
        (0, 0.96, 0.003),
        (0.25, 0.87, 0.02),
        (0.5, 0.59, 0.14),
        (0.75, 0.25, 0.44),
        (1, 0.06, 0.79),
        (1.25, 0.01, 0.96),
        (2, 0, 1),
    ],
)
def test_the_power_in_the_docstring(generator, shift, agree, differ):
    np.testing.assert_allclose(power(generator, shift), (agree, differ), atol=0.012)
