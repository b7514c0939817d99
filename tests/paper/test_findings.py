import numpy as np
import pytest

from qduet.paper.figures import FIGURES
from qduet.paper.findings import _NAMES, _scatter, findings
from qduet.show import names
from qduet.tabular.rules import RULES
from qduet.tabular.running import Results
from qduet.tabular.summary import summarise_all
from qduet.tabular.sweeps import Curves
from qduet.theory import CLAIMS

POINTS = np.linspace(0, 1, 41)


def made_up(figure, level, rates=None, diverged=(), scatter=None):
    """Results whose rule r at |A| = n decays from 100 % to `level(r, n)`; noise differs by seed.

    By exp(−8) until the end, or exp(−rate) if it is in `rates`. A rule in `scatter` swings about
    that by so much from point to point.
    """
    experiment = FIGURES[figure].small()
    alphas = experiment.step_sizes
    rng = np.random.default_rng(0)
    cells = {}
    for n in experiment.actions:
        noise = rng.normal(0, 0.01, size=(6, len(alphas), 1))
        cells[n] = {}
        for spec in experiment.rules:
            end = np.array([level(spec.id, n, alpha) for alpha in alphas])[None, :, None]
            rate = (rates or {}).get(spec.id, 8.0)
            percent = end + (100 - end) * np.exp(-rate * POINTS) + noise
            percent += (scatter or {}).get(spec.id, 0.0) * (-1.0) ** np.arange(len(POINTS))
            at = np.full((6, len(alphas)), -1)
            for k, alpha in enumerate(alphas):
                if (spec.id, round(alpha, 4)) in diverged:
                    percent[:, k, 1:], at[:, k] = np.inf, 100
            cells[n][spec.id] = Curves(percent.astype(np.float32), np.ones(6), at)
    results = Results(experiment, tuple(spec.id for spec in experiment.rules), cells)
    found = findings(results, summarise_all(results))
    for finding in found:
        assert not any(code in finding.evidence for code in RULES), "a name of code in a sentence"
    return {f.claim: f.holds for f in found}


def test_rules_are_called_what_they_are_called_in_figures():
    assert _NAMES.items() <= {rule: name for rule, (name, _) in names.RULES.items()}.items()


def verdict(verdicts, words):
    return next(holds for claim, holds in verdicts.items() if words in claim)


@pytest.mark.parametrize(("sarsa", "expected"), [(3.0, True), (0.5, False)])
def test_scaling_with_the_action_set(sarsa, expected):
    slopes = {"expected_sarsa": sarsa, "qv_learning": 1.0}
    verdicts = made_up("figure1", lambda rule, n, a: slopes[rule] * n)
    assert verdict(verdicts, "grows more slowly") is expected
    assert verdict(verdicts, "more accurate solution in the end") is not expected


def test_it_is_the_growth_that_counts_and_not_where_it_ends():
    """QV-learning is behind at every |A|, but grows by one a time against three."""
    slopes = {"expected_sarsa": (0, 3.0), "qv_learning": (60, 1.0)}
    verdicts = made_up("figure1", lambda rule, n, a: slopes[rule][0] + slopes[rule][1] * n)
    assert verdict(verdicts, "grows more slowly")


def test_qvmax_levels_off():
    level = {"qvmax": 40.0, "q_learning": 0.0, "bc_qvmax": 0.0}
    assert verdict(made_up("figure3", lambda r, n, a: level[r]), "levels off")
    fallen = {**level, "qvmax": 0.0}
    assert not verdict(made_up("figure3", lambda r, n, a: fallen[r]), "levels off")
    # all three far from zero
    assert not verdict(made_up("figure3", lambda r, n, a: 40.0 - (r != "qvmax")), "levels off")
    # far from zero, but still falling: a tenth of its way is in the last quarter
    slow = made_up("figure3", lambda r, n, a: level[r], rates={"qvmax": 2.0})
    assert not verdict(slow, "levels off")


def test_bc_qvmax_against_q_learning():
    lag = {"qvmax": 40.0, "q_learning": 5.0, "bc_qvmax": 6.0}
    lags_below_one = made_up(
        "figure3", lambda r, n, a: lag["q_learning"] if r == "bc_qvmax" and a == 1 else lag[r]
    )
    assert verdict(lags_below_one, "lags behind")
    assert verdict(lags_below_one, "equals Q-learning")
    differs = made_up("figure3", lambda r, n, a: lag[r])
    assert not verdict(differs, "equals Q-learning")
    ahead = made_up("figure3", lambda r, n, a: 4.0 if r == "bc_qvmax" else lag[r])
    assert not verdict(ahead, "lags behind")


def test_dueling_against_q_learning_and_hard_rdq():
    level = {"q_learning": 60.0, "dueling_q": 20.0, "hard_rdq": 18.0}
    high = [(rule, 1.0) for rule in ("dueling_q", "hard_rdq")]
    early = [(rule, round(float(np.exp(-3)), 4)) for rule in ("dueling_q", "hard_rdq")]
    verdicts = made_up("figure5", lambda r, n, a: level[r], diverged=high)
    assert verdict(verdicts, "beat Q-learning")
    assert verdict(verdicts, "ahead of Dueling")
    assert not verdict(verdicts, "unstable at a step size near 0.5")  # only at 1, not from 0.5 on
    assert not verdict(
        made_up("figure5", lambda r, n, a: level[r], diverged=high + early), "unstable"
    )
    worse = {**level, "hard_rdq": 21.0, "dueling_q": 20.0}
    assert not verdict(made_up("figure5", lambda r, n, a: worse[r]), "ahead of Dueling")
    # ahead at one of two |A|: that is no majority
    half = lambda r, n, a: 22.0 if r == "hard_rdq" and n > 2 else level[r]
    assert not verdict(made_up("figure5", half), "ahead of Dueling")
    # at each step size of the largest |A|; not those at which a run diverges, if any are left
    once = lambda r, n, a: 20.5 if r == "hard_rdq" and n > 2 and 0.1 < a < 0.2 else level[r]
    across = "across the range of step sizes"
    assert verdict(verdicts, across)
    assert not verdict(made_up("figure5", once, diverged=high), across)
    only_there = [("hard_rdq", round(float(np.exp(-2)), 4))]
    assert verdict(made_up("figure5", once, diverged=high + only_there), across)
    everywhere = [("hard_rdq", round(a, 4)) for a in FIGURES["figure5"].small().step_sizes]
    assert not verdict(made_up("figure5", lambda r, n, a: level[r], diverged=everywhere), across)
    lost = {**level, "hard_rdq": 61.0}
    assert not verdict(made_up("figure5", lambda r, n, a: lost[r]), "beat Q-learning")


@pytest.mark.parametrize(
    ("scatter", "expected"),
    [({"soft_rdq-beta-0.001": 1.0}, True), ({"hard_rdq": 1.0, "soft_rdq-beta-0.001": 0.9}, False)],
)
def test_soft_rdq_is_noisy_if_runs_scatter_about_their_trend(scatter, expected):
    # A steeper curve is no noise: the levels alone change nothing.
    level = {"q_learning": 60.0, "hard_rdq": 10.0}
    found = made_up("figure5-soft", lambda r, n, a: level.get(r, 30.0), scatter=scatter)
    assert verdict(found, "Soft RDQ is noisy") == expected


def test_scatter_is_what_a_fitted_line_leaves():
    curves = np.random.default_rng(3).normal(size=(4, 41)) + np.linspace(0, 9, 41)
    late = curves[:, 30:]
    t = np.arange(late.shape[1])
    fits = [np.polynomial.Polynomial.fit(t, run, 1)(t) for run in late]
    assert _scatter(curves) == pytest.approx((late - fits).std(axis=1))


def test_the_numbers_are_those_of_the_papers_source():
    """In paper.tex: on-policy_prediction, qv_flowchart, qvmax, rdq_geometry, dueling, minatar."""
    problems = {name: figure.problem for name, figure in FIGURES.items()}
    assert problems["figure1"] == "on-policy"
    assert "figure2" not in problems
    assert (problems["figure3"], problems["figure5"]) == ("qvmax", "dueling")
    assert CLAIMS["bootstrapping"].where == "Fig 2"
