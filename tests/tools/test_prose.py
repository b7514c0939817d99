"""Numbers in the text of docs/reproduction.md, computed again from the raw files with SciPy.

Each test names a part of the page by its heading and looks there for numbers, not for sentences.
Tables are generated (`docs_tables`) and have tests of their own.
"""

from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from raw import columns, curves

from qduet.results import published

ROOT = Path(__file__).parents[2]
PUBLISHED = Path(published.__file__).parent / "data" / "published_scores.csv"
GAMES, AGENTS = published.GAMES, published.AGENTS
LAST, MILLION = 10, 1
"""The index of the evaluation after 10M and after 1M steps."""
TEXT_AND_CODE = "## The paper's text and its released code"
TRAPEZOIDS = np.array([0.5] + [1.0] * 9 + [0.5]) / 10


@cache
def values(where, game, agent, column="return_mean"):
    """``[seeds, evaluations]``; `where` is ``published`` or a folder of ``results/``."""
    return curves(PUBLISHED if where == "published" else file(where, game), game, agent, column)


def file(where, game):
    folder = "space_invaders" if game == "SpaceInvaders" else game.lower()
    name = f"{folder}*" if where == "ablation" else folder  # breakout-rdq
    (found,) = (ROOT / "results" / where).glob(f"{name}/evaluations.csv")
    return found


def difference(x, y):
    """Mean and half-width of Welch's 95 % interval."""
    low, high = scipy.stats.ttest_ind(x, y, equal_var=False).confidence_interval()
    return (low + high) / 2, (high - low) / 2


def has(heading, *numbers, page="docs/reproduction.md"):
    """Asserts that the numbers are in the part of the page that begins with `heading`."""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert text.count(heading) == 1
    end = "\n#" if heading.startswith("#") else "\n\n"
    part = text.partition(heading)[2].partition(end)[0]
    missing = [number for number in numbers if number not in part]
    assert not missing, f"{page}, {heading}: not {missing}"


def told(mean, half, digits=1, sign=False):
    return f"{mean:{'+' if sign else ''}.{digits}f} ± {half:.{digits}f}".replace("-", "−")


def percent(share, digits=0):
    return f"{100 * share:.{digits}f} %"


def test_times():
    runs = product(GAMES, AGENTS)
    hours = sum(values("published", *run, "elapsed_seconds").max(axis=1).sum() for run in runs)
    minutes = [values("figure6", game, "rdq", "elapsed_seconds").max() / 60 for game in GAMES]
    has("## What was run", f"{hours / 3600:,.0f}")
    numbers = f"{hours / 3600:,.0f}", f"{min(minutes):.1f} ", f"{max(minutes):.1f} minutes"
    has("## What it costs\n", *numbers, page="docs/training.md")


@pytest.mark.parametrize("game", GAMES)
def test_over_estimation_at_the_end(game):
    means = [values("figure6", game, a, "q_overestimation")[:, LAST].mean() for a in AGENTS]
    assert means == sorted(means, reverse=True), "DQN over-estimates most and RDQ least"
    digits = 1 if means[0] > 1 else 2
    has("### Predicted values", ", ".join(f"{mean:.{digits}f}" for mean in means))


@pytest.mark.parametrize("game", GAMES)
def test_v_plus_a_is_what_was_published(game):
    """Dueling DQN's values from 2M to 10M steps, with the mean advantage left in."""
    signed = "mean_adv" in columns(file("figure6", game))
    shift = values("figure6", game, "dueling_dqn", "mean_adv" if signed else "mean_adv_abs")
    q, theirs = (values(w, game, "dueling_dqn", "q_value_mean") for w in ("figure6", "published"))
    apart = difference((q + shift)[:, 2:].mean(axis=1), theirs[:, 2:].mean(axis=1))
    digits = 3 if game == "Freeway" else 2
    has("## What differs, and why", told(*apart, digits, sign=True))


def over_cells(cells):
    """Of cells (ours, theirs): all differences, and in published sds their mean ± and χ²."""
    rows = [
        (x.mean() - y.mean(), np.hypot(scipy.stats.sem(x), scipy.stats.sem(y)), y.std(ddof=1))
        for x, y in cells
    ]
    d, error, spread = np.array(rows).T
    half = 1.96 * np.hypot.reduce(error / spread) / len(d)
    return d, ((d / spread).mean(), half), ((d / error) ** 2).sum()


def within_a_deviation(ours, theirs):
    """Whether a cell agrees: the 90 % interval lies within one published standard deviation."""
    test = scipy.stats.ttest_ind(ours, theirs, equal_var=False)
    return max(np.abs(test.confidence_interval(0.9))) < theirs.std(ddof=1)


def test_all_cells_together():
    cells = [
        [values(w, *cell) for w in ("figure6", "published")] for cell in product(GAMES, AGENTS)
    ]
    d, (mean, half), _ = over_cells([(x[:, LAST], y[:, LAST]) for x, y in cells])
    _, auc, _ = over_cells([(x @ TRAPEZOIDS, y @ TRAPEZOIDS) for x, y in cells])
    has("**Returns.**", f"{(d < 0).sum()} of", told(-mean, half, 2), told(*auc, 2, sign=True))


def test_the_dip_in_freeway():
    ours = values("figure6", "Freeway", "dqn")
    seed, before = np.unravel_index(np.argmin(ours[:, 1:]), ours[:, 1:].shape)
    scores = (f"{score:.1f}" for score in ours[seed, before : before + 3])
    has("**A dip.**", f"seed {seed}", f"{before + 1}M", *scores)


def test_what_is_undecided():
    ours, theirs = (values(w, "SpaceInvaders", "rdq")[:, LAST] for w in ("figure6", "published"))
    mean, half = difference(ours, theirs)
    has("**One cell is undecided**", told(-mean, half))
    for where in ("figure6", "published"):
        rdq, dqn = (values(where, "Seaquest", agent) for agent in ("rdq", "dqn"))
        gap = told(*difference(rdq[:, LAST], dqn[:, LAST]))
        auc = told(*difference(rdq @ TRAPEZOIDS, dqn @ TRAPEZOIDS))
        has("**One claim is undecided.**", gap, auc)


def loss(game, agent, where="paper-protocol", suffix=""):
    """What the protocol, or one setting of it, takes off the return at 1M steps, as a share."""
    reference = values("validation", game, agent)[:, MILLION].mean()
    return 1 - values(where, game, agent + suffix)[:, MILLION].mean() / reference


def test_what_the_protocol_of_the_text_takes_off():
    cells = [
        [values(where, *cell)[:, MILLION] for where in ("paper-protocol", "published")]
        for cell in product(GAMES, AGENTS)
    ]
    _, interval, chi2 = over_cells(cells)
    has(TEXT_AND_CODE, told(*interval, 2), f"{chi2:.0f}")
    agree = sum(within_a_deviation(*cell) for cell in cells)
    has("**After 10M steps**", f"{agree} of 15", f"= {chi2:.1f} ", page="docs/paper.md")
    has("**Verdict.**", f"{agree} of 15 cells agree, χ²(15) = {chi2:.0f}.", page="README.md")
    cells = [
        [values(where, *cell)[:, LAST] for where in ("figure6", "published")]
        for cell in product(GAMES, AGENTS)
    ]
    agree = sum(within_a_deviation(*cell) for cell in cells)
    chi2 = over_cells(cells)[2]
    has("**After 10M steps**", f"{agree} of 15", f"= {chi2:.1f} ", page="docs/paper.md")
    has("**Verdict.**", f"{agree} of 15 cells (", f"χ²(15) = {chi2:.1f} (", page="README.md")
    seaquest = [percent(loss("Seaquest", agent)) for agent in AGENTS]
    freeway = percent(loss("Freeway", "dueling_dqn")), percent(loss("Freeway", "rdq"), 1)
    has(TEXT_AND_CODE, *seaquest, percent(loss("Asterix", "dueling_dqn")), *freeway)


def test_what_single_settings_take_off():
    seaquest = [percent(loss("Seaquest", agent, "ablation", "-init")) for agent in AGENTS]
    freeway = [percent(loss("Freeway", a, "ablation", "-init"), 1) for a in AGENTS[1:]]
    has("**The initial weights**", *seaquest, *freeway)
    paper = values("paper-protocol", "Asterix", "dueling_dqn")[:, MILLION]
    for setting in ("init", "bias", "hold"):
        alone = values("ablation", "Asterix", f"dueling_dqn-{setting}")[:, MILLION]
        has("**Dueling DQN in Asterix**", told(*difference(paper, alone)))


def test_the_least_settled_cell():
    """Where standard deviations over seeds after 1M steps are furthest above the published ones."""
    spreads = {
        cell: [values(w, *cell)[:, MILLION].std(ddof=1) for w in ("validation", "published")]
        for cell in product(GAMES, AGENTS)
    }
    ours, theirs = spreads["Breakout", "dueling_dqn"]
    assert ours / theirs == max(a / b for a, b in spreads.values())
    p = 2 * scipy.stats.f.sf((ours / theirs) ** 2, 29, 29)
    has("**Dueling DQN in Breakout**", f"{ours:.1f}", f"{theirs:.1f}", f"{p:.3f}", f"{15 * p:.2f}")


def test_the_verdict_of_the_readme():
    """RDQ ahead: one-sided Welch tests, Holm-corrected over the ten."""
    last = lambda game, agent: values("figure6", game, agent)[:, LAST]
    p = {
        (game, other): scipy.stats.ttest_ind(
            last(game, "rdq"), last(game, other), equal_var=False, alternative="greater"
        ).pvalue
        for game, other in product(GAMES, ("dueling_dqn", "dqn"))
    }
    ahead = {"dueling_dqn": 0, "dqn": 0}
    for i, (game, other) in enumerate(sorted(p, key=p.get)):
        if (10 - i) * p[game, other] >= 0.05:
            break
        ahead[other] += 1
    told = f"Dueling DQN in {ahead['dueling_dqn']} games of 5", f"of DQN in {ahead['dqn']}."
    has("**Verdict.**", *told, page="README.md")


def test_what_hangs_on_one_sided_tests():
    """Space Invaders: two-sided Holm p of ten tests, and of the fifteen of `qduet compare`."""
    p = lambda game, x, y: (
        scipy.stats.ttest_ind(
            *(values("figure6", game, agent)[:, LAST] for agent in (x, y)), equal_var=False
        ).pvalue
    )
    pairs = [("rdq", "dueling_dqn"), ("rdq", "dqn"), ("dueling_dqn", "dqn")]
    for compared in (pairs[:2], pairs):
        found = {(game, *pair): p(game, *pair) for game in GAMES for pair in compared}
        corrected, largest = {}, 0.0
        for i, (key, value) in enumerate(sorted(found.items(), key=lambda item: item[1])):
            corrected[key] = largest = max(largest, (len(found) - i) * value)
        both = [corrected["SpaceInvaders", *pair] for pair in pairs[:2]]
        told = [f"{p:.{3 if round(p, 2) == 0.05 else 2}g}" for p in both]
        has("## What differs, and why", *told)
        if compared == pairs[:2]:
            has("**Verdict.**", " and ".join(told), page="README.md")
