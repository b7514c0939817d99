"""Numbers in the text of the documentation, computed again from the raw files with SciPy.

Each test names a part of the page by its heading and looks there for numbers, not for sentences.
Tables are generated (`docs_tables`) and have tests of their own.
"""

import json
from functools import cache
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from docs_tables.beta import beta_tables
from docs_tables.mechanism import mechanism_table
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


# --- docs/study.md --------------------------------------------------------------------------------

STUDY = "docs/study.md"
SIX = (*AGENTS, "dqv", "dqv_max", "bc_qvmax_double")


@cache
def of_study(game, agent, column="return_mean"):
    """``[seeds, evaluations]`` of one of the six agents; None where it has not been run."""
    if agent in AGENTS:
        return values("figure6", game, agent, column)
    name = file("figure6", game).parent.name
    for path in (ROOT / "results" / "family").glob(f"{name}*/evaluations.csv"):
        if f"{game},{agent}," in path.read_text(encoding="utf-8"):
            return curves(path, game, agent, column)
    return None


def means(at, *cells, column="return_mean", digits=1):
    return [f"{of_study(*cell, column)[:, at].mean():.{digits}f}" for cell in cells]


def p_between(game, x, y, column="return_mean"):
    samples = (of_study(game, agent, column)[:, LAST] for agent in (x, y))
    return scipy.stats.ttest_ind(*samples, equal_var=False).pvalue


def change(game, agent):
    """Of over-estimation from 1M to 10M steps: 1 if it rises, −1 if it falls, 0 if neither."""
    column = of_study(game, agent, "q_overestimation")
    test = scipy.stats.ttest_1samp(column[:, LAST] - column[:, MILLION], 0)
    return int(np.sign(test.statistic)) if test.pvalue < 0.05 else 0


def test_what_of_the_study_has_been_run():
    n = sum(all(of_study(game, agent) is not None for agent in SIX) for game in GAMES)
    has("**Status.**", f"{n} of 5 games at 10M steps", "(e) has not been run", page=STUDY)
    has("*The family* (run 2;", f"{n} of 5 games.", page=STUDY)
    configs = [json.loads(p.read_text()) for p in (ROOT / "results").rglob("config.json")]
    keys = "game", "protocol", "steps"
    found = {tuple(config.get(key) for key in keys) for config in configs}
    assert ("Seaquest", "paper", 10_000_000) not in found


def test_the_family_after_1m_and_10m_steps():
    pairs = {game: [(game, "dqv_max"), (game, "rdq")] for game in ("Asterix", "Breakout")}
    tests = {
        (game, other): p_between(game, "dqv_max", other)
        for game, other in product(GAMES, ("dqn", "rdq"))
        if of_study(game, "dqv_max") is not None
    }
    smaller = sum(p < tests["Asterix", "rdq"] for p in tests.values())
    corrected = f"p = {(10 - smaller) * tests['Asterix', 'rdq']:.2g} "
    numbers = [" to ".join(means(LAST, *pair)) for pair in pairs.values()]
    has("**Beyond the paper** (", *numbers, page="README.md")
    told = [", to RDQ's ".join(means(MILLION, *pairs["Asterix"])), corrected, *numbers]
    told[0] = told[0].replace(",", " after 1M steps,")
    told.append(" to ".join(means(MILLION, *pairs["Breakout"])))
    has("- **`dqv_max` starts well", *told, page=STUDY)
    for game in pairs:
        assert min(p_between(game, "dqv_max", y) for y in ("dqn", "bc_qvmax_double")) > 0.05
    assert min(SIX, key=lambda a: of_study("Breakout", a)[:, LAST].mean()) == "dqv"
    dqv, others = (means(LAST, ("Asterix", a), ("Breakout", a)) for a in ("dqv", "dqn"))
    rdq = means(LAST, ("Asterix", "rdq"))[0]
    has("- **`dqv`**, which", f"{dqv[0]} to RDQ's {rdq}", f"({dqv[1]})", page=STUDY)
    told = f"{dqv[0]} to DQN's {others[0]}", f"{dqv[1]} to {others[1]}"
    has("**Against the paper.**", *told, page=STUDY)


@pytest.mark.parametrize("game", ["Asterix", "Breakout"])
def test_over_estimation_in_the_study(game):
    column = "q_overestimation"
    last = {agent: of_study(game, agent, column)[:, LAST].mean() for agent in SIX}
    assert max(last, key=last.get) == "dqn"
    assert min(last, key=last.get) == "dqv"
    raw = [
        p_between(g, *pair, column)
        for g, pair in product(GAMES, combinations(SIX, 2))
        if all(of_study(g, agent) is not None for agent in pair)
    ]
    apart = lambda *pair: (
        (75 - sum(p < p_between(game, *pair, column) for p in raw)) * p_between(game, *pair, column)
        < 0.05
    )  # Holm's correction for 15 pairs in five games
    assert not apart("dqv_max", "bc_qvmax_double")
    assert apart("dqv", "rdq") == apart("dqv_max", "rdq") == (game == "Asterix")
    assert all(apart(agent, "dqn") for agent in ("dqv_max", "bc_qvmax_double"))
    pair = [(game, "dqv_max"), (game, "rdq")]
    ends = [" to ".join(means(at, *pair, column=column, digits=2)) for at in (MILLION, LAST)]
    has("After 1M steps `dqv_max` over-estimates less", *ends, page=STUDY)
    assert [change(game, a) for a in ("rdq", "dqv", "dqv_max")] == [-1, 1, 0]
    assert change("Asterix", "bc_qvmax_double") == -1
    returns = [of_study(game, agent)[:, LAST].mean() for agent in SIX]
    rho = scipy.stats.spearmanr(list(last.values()), returns).statistic
    assert (rho < 0) == (game == "Asterix")


def test_explanations_of_the_study():
    cells = [(game, "dqv_max") for game in ("Asterix", "Breakout")]
    most = " and ".join(means(LAST, *cells, column="q_overestimation", digits=2))
    below = lambda *agents: max(
        abs(of_study(game, agent, "v_minus_max_q")[:, LAST].mean())
        for game, agent in product(GAMES, agents)
        if of_study(game, agent) is not None
    )
    table = "| explanation | tested? | what came out |"
    has(table, f"within {below('dqv_max'):.2f} of max Q", f" is {most} |", page=STUDY)
    told = f"within {below('dqv', 'dqv_max', 'bc_qvmax_double'):.2f} of max Q"
    has("*What V and Q look like", told, page=STUDY)
    noisy = next(row for row in mechanism_table().rows if row[:2] == ("noise alone", "1"))
    q, qvmax = (float(noisy[i].split()[0]) for i in (2, 3))
    has("- **m1 holds", f"({qvmax / q:.2f} at ε = 1)", page=STUDY)
    has("- QVMAX: b = γ V", f"= {0.9 / 1.9:.2f} of it", page=STUDY)


def test_beta_in_the_study():
    tables = {
        name: [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
        for name, text in beta_tables(ROOT / "results").items()
    }
    games = tables["beta"][0][1:]
    marks = {row[0]: [cell.split()[3:] for cell in row[1:]] for row in tables["beta"][2:]}
    lower = lambda beta: [g for g, m in zip(games, marks[beta], strict=True) if m == ["lower"]]
    assert [len(lower(beta)) for beta in ("0.0001", "0.01", "0.1")] == [3, 3, 5]
    assert (lower("0.0003"), lower("0.003")) == (["Asterix", "Freeway"], ["Freeway"])
    assert lower("0") == ["Asterix", "Freeway", "Seaquest"]
    assert all(["lower"] in m or ["higher"] in m for b, m in marks.items() if b != "0.001")
    zero = {row[0]: (row[3], row[4]) for row in tables["beta-zero"][2:]}
    ahead = [
        g for g, (lead, p) in zero.items() if lead[0] == "+" and (p[0] == "<" or float(p) < 0.05)
    ]
    assert ahead == ["Asterix", "Space Invaders"]
    lead = tables["beta-choice"][2][3]
    has("- **(d)** β = 10⁻³ is", lead, "three games of five", "two games of five", page=STUDY)
    value, _, high = (x.strip("[],") for x in lead.split())
    has("- **Is 10⁻³ a good choice?**", value, high, page=STUDY)
    for game in GAMES:
        path = file("beta", game)
        by_beta = {b: curves(path, game, f"rdq-beta-{b}")[:, -1].mean() for b in marks}
        assert max(by_beta, key=by_beta.get) in ("0.001", "0.003")
        assert min(by_beta, key=by_beta.get) == "0.1"
