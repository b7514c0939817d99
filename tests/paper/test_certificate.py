"""The certificate: what agrees, what differs, what the paper claims, and what is refused."""

import csv
import json

import numpy as np
import planted
import pytest
import scipy.stats

from qduet.cli import main
from qduet.core.errors import InputError
from qduet.paper.agreement import MARGIN, compare_cells, over_cells
from qduet.paper.certificate import Certificate, certify, cost
from qduet.paper.certificate_tables import sources_table
from qduet.paper.claims import Claim, _more_efficient, _no_clear_winner
from qduet.results import published, runs

MILLION = planted.MILLION


@pytest.fixture
def generator():
    return np.random.default_rng(6)


def verdicts(certificate, measure="return"):
    return {(c.game, c.agent): c.verdict for c in certificate.cells if c.measure == measure}


# --- Cells ---------------------------------------------------------------------------------------


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
    """Run k scores k at 0, 1M and 2M, and 1,000 between: its return and its AUC are k."""
    half = MILLION // 2
    config = planted.config("Breakout", steps=5 * half, evaluate_every=half, seeds=range(10))
    curves = np.array([[k, 1_000, k, 1_000, k, 1_000] for k in range(10)])
    runs.write(tmp_path, config, planted.rows(config, dict.fromkeys(published.AGENTS, curves)))
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


# --- Claims --------------------------------------------------------------------------------------

DEEP = 12
"""The claims on MinAtar, which are the first."""

TRAPEZOIDS = np.array([0.5] + [1.0] * 9 + [0.5]) / 10


def test_the_published_scores_bear_out_the_claims(tmp_path, generator):
    """Given the released scores as ours, every claim on MinAtar holds, by the tests of SciPy."""
    for name in published.GAMES:
        configuration = planted.config(name)
        curves = {}
        for agent in published.AGENTS:
            curve = published.scores(name, agent).values
            curves[agent] = np.concatenate([curve, curve[: 30 - len(curve)] + 1e-3])
        runs.write(tmp_path / name, configuration, planted.rows(configuration, curves))
    claims = certify([tmp_path]).claims[:DEEP]
    assert {claim.verdict for claim in claims} == {"holds"}
    largest = scipy.stats.ttest_ind(  # the weakest of the ten, hence not multiplied
        published.scores("SpaceInvaders", "rdq").values[:, -1],
        published.scores("SpaceInvaders", "dueling_dqn").values[:, -1],
        equal_var=False,
        alternative="greater",
    )
    assert claims[8].statement == "Space Invaders: RDQ outperforms Dueling DQN"
    assert claims[8].ours.endswith(f"p = {largest.pvalue:.2g}")
    assert claims[8].theirs == claims[8].ours
    assert claims[10].ours == claims[10].theirs
    areas = [
        published.scores(game, agent).values @ TRAPEZOIDS
        for game in published.GAMES
        for agent in ("rdq", "dueling_dqn")
    ]
    p_values = [
        scipy.stats.ttest_ind(rdq, dueling, equal_var=False, alternative="greater").pvalue
        for rdq, dueling in zip(areas[::2], areas[1::2], strict=True)
    ]
    corrected = np.maximum.accumulate(np.sort(p_values) * np.arange(5, 0, -1))
    assert claims[10].theirs == f"of 5 games, RDQ ahead in 5, largest p = {corrected.max():.2g}"
    assert claims[11].ours == claims[11].theirs
    assert claims[11].ours == (
        "of 5 games, Dueling DQN ahead: Breakout, Freeway; DQN ahead: Asterix, Seaquest"
    )


def test_claims_that_fail_and_claims_without_data(tmp_path, generator):
    planted.game(tmp_path / "a", "Breakout", generator, shift={"rdq": -4.0})
    claims = {claim.statement: claim.verdict for claim in certify([tmp_path]).claims}
    assert claims["Breakout: RDQ outperforms Dueling DQN"] == "does not hold"
    assert claims["Asterix: RDQ outperforms DQN"] == "no data"
    assert claims["Neither DQN nor Dueling DQN is clearly superior"] == "no data"
    assert claims[EFFICIENT] == "does not hold"


EFFICIENT = "RDQ is more sample efficient than Dueling DQN in the five games (AUC)"


@pytest.mark.parametrize(
    ("shift", "games", "verdict", "ahead"),
    [(9.0, 5, "holds", 5), (9.0, 4, "no data", 4), (0.0, 5, "undecided", 0)],
)
def test_more_efficient_only_if_ahead_in_every_game(shift, games, verdict, ahead):
    def samples(game, agent):
        there = game in published.GAMES[:games]
        return np.arange(30) % 5 + shift * (agent == "rdq") if there else None

    claim = _more_efficient(samples, samples)
    assert claim.verdict == verdict
    assert f"of {games} games, RDQ ahead in {ahead}" in claim.ours


def test_our_evidence_is_of_our_runs_and_theirs_of_the_published(tmp_path, generator):
    planted.game(tmp_path, "Breakout", generator, shift={"rdq": 5.0})
    claim = next(c for c in certify([tmp_path]).claims if "Breakout: RDQ" in c.statement)
    assert "outperforms Dueling DQN" in claim.statement
    for evidence, scores in (
        (claim.ours, runs.load(tmp_path).scores),
        (claim.theirs, lambda agent: published.scores("Breakout", agent)),
    ):
        rdq, other = (scores(agent).values[:, -1].mean() for agent in ("rdq", "dueling_dqn"))
        assert evidence.startswith(f"{rdq - other:+.2f} ±")


def test_a_claim_that_fails_differs_as_a_cell_does():
    claim = Claim("Fig 6", "a statement", "ours", "theirs", "does not hold")
    assert Certificate(None, (), (), (claim,)).differs
    assert not Certificate(None, (), (), (claim._replace(verdict="undecided"),)).differs


def test_one_small_p_value_of_ten_is_no_refutation(tmp_path):
    """RDQ behind both others with p = 0.02, which is 0.2 among ten tests."""
    dqn = np.repeat(np.linspace(10.0, 12.0, 30)[:, None], 11, axis=1)
    curves = {"dqn": dqn, "dueling_dqn": dqn, "rdq": dqn - 0.32}
    behind = scipy.stats.ttest_ind(
        curves["rdq"][:, 0], dqn[:, 0], equal_var=False, alternative="less"
    )
    assert 0.005 < behind.pvalue < 0.05
    configuration = planted.config("Breakout")
    runs.write(tmp_path, configuration, planted.rows(configuration, curves))
    claims = {claim.statement: claim.verdict for claim in certify([tmp_path]).claims}
    assert claims["Breakout: RDQ outperforms DQN"] == "undecided"
    assert claims["Breakout: RDQ outperforms Dueling DQN"] == "undecided"


def test_one_agent_ahead_everywhere_is_a_clear_winner(tmp_path, generator):
    for name in published.GAMES:
        planted.game(tmp_path / name, name, generator, shift={"dqn": 8.0})
    claims = {claim.statement: claim for claim in certify([tmp_path]).claims}
    claim = claims["Neither DQN nor Dueling DQN is clearly superior"]
    assert claim.verdict == "does not hold"
    assert "Dueling DQN ahead: none" in claim.ours


@pytest.mark.parametrize(
    ("dueling", "dqn", "verdict"),
    [
        (0, 0, "undecided"),  # no evidence is not evidence of no difference
        (2, 0, "undecided"),
        (3, 0, "does not hold"),
        (0, 3, "does not hold"),
        (4, 1, "holds"),
    ],
)
def test_neither_is_superior_if_each_is_ahead_somewhere(dueling, dqn, verdict):
    ahead = {"dueling_dqn": published.GAMES[:dueling], "dqn": published.GAMES[5 - dqn :]}
    samples = lambda game, agent: np.arange(30) % 5 + 9.0 * (game in ahead[agent])
    assert _no_clear_winner(samples, samples).verdict == verdict


def test_a_million_steps_say_nothing_of_ten(tmp_path, generator):
    planted.game(tmp_path, "Breakout", generator, steps=MILLION)
    certificate = certify([tmp_path])
    assert certificate.step == MILLION
    assert {cell.measure for cell in certificate.cells} == {"return"}
    assert {claim.verdict for claim in certificate.claims} == {"no data"}


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("theory/theory.json", "{}"),
        ("theory/theory.json", '{"claims": [{"where": "here"}]}'),
        ("figure2/summary.json", '{"findings": [{"x": 1}]}'),
        ("figure2/summary.json", '{"findings": 7}'),
        ("figure2/summary.json", "[]"),
        ("figure2/summary.json", "{"),
    ],
)
def test_damaged_files_of_claims_are_one_line(tmp_path, generator, refused, file, content):
    planted.game(tmp_path / "runs", "Breakout", generator)
    (tmp_path / file).parent.mkdir()
    (tmp_path / file).write_text(content)
    command = ["certify", str(tmp_path / "runs"), "--reproduced", str(tmp_path)]
    refused(command, "delete it, and run what wrote it again")


def test_runs_without_their_times_are_certified(tmp_path, generator):
    configuration = planted.config("Breakout")
    curves = {a: planted.resampled("Breakout", a, generator) for a in published.AGENTS}
    times = ("elapsed_seconds", "frames_per_second")
    rows = [
        {key: value for key, value in row.items() if key not in times}
        for row in planted.rows(configuration, curves)
    ]
    runs.write(tmp_path, configuration, rows)
    (source,) = certify([tmp_path]).sources
    assert np.isnan(source.cost.seconds)
    assert np.isnan(source.cost.microseconds_per_iteration)


def test_claims_on_tables_and_theory_are_read_from_their_files(tmp_path, generator):
    finding = {"figure": "figure2", "claim": "C", "holds": False, "evidence": "E"}
    theory = {"where": "Thm 1", "statement": "T", "holds": True, "failures": 0, "problems": 7}
    for path, document in (
        ("figure2/summary.json", {"findings": [finding]}),
        ("figure3/summary.json", {"findings": []}),  # a smoke run
        (
            "theory/theory.json",
            {"claims": [theory, {**theory, "where": "ours"}, {**theory, "paper": "P"}]},
        ),
    ):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(json.dumps(document), encoding="utf-8")
    claims = certify([], reproduced=tmp_path).claims[DEEP:]
    assert [(c.statement, c.ours, c.verdict) for c in claims if c.verdict != "no data"] == [
        ("C", "E", "does not hold"),
        ("T", "0 failures on 7 MDPs", "holds"),
        ("T", "0 failures on 7 MDPs", "holds (corrected)"),
    ]
    assert claims[-1].theirs == "its text: P"
    assert "not run: qduet reproduce figure3" in [claim.ours for claim in claims]


# --- Refusals ------------------------------------------------------------------------------------


def damaged(directory, generator, *, change_config=None, change_rows=None):
    configuration = planted.config("Breakout", steps=MILLION, seeds=range(4))
    curves = {
        agent: planted.resampled("Breakout", agent, generator, seeds=4)
        for agent in published.AGENTS
    }
    table = planted.rows(configuration, curves)
    if change_config:
        change_config(configuration)
    runs.write(directory, configuration, change_rows(table) if change_rows else table)
    return directory


def set_agent(**values):
    return lambda configuration: configuration["agents"][2].update(values)


def first_as_second(table):
    """Seed 1 of every agent becomes a copy of seed 0, written down a second later."""
    first = {(r["agent"], r["step"]): r for r in table if r["seed"] == 0}
    later = lambda row: {"seed": 1, "elapsed_seconds": row["elapsed_seconds"] + 1}
    copy = lambda row: first[row["agent"], row["step"]] | later(row)
    return [copy(row) if row["seed"] == 1 else row for row in table]


REFUSED = {
    "another protocol": (lambda c: c.update(protocol="paper"), None, "its protocol is 'paper'"),
    "episodes": (lambda c: c.update(episodes=10), None, "its episodes is 10"),
    "six actions": (lambda c: c.update(env="MinAtar/Breakout-v0"), None, "its env is"),
    "learning rate": (set_agent(learning_rate=1e-3), None, "learning_rate of rdq is 0.001"),
    "batch": (set_agent(batch_size=64), None, "batch_size of rdq is 64"),
    "beta": (set_agent(beta=0.01), None, "beta of rdq is 0.01"),
    "initialisation": (set_agent(initialisation="lecun"), None, "initialisation of rdq is lecun"),
    "agent of one's own": (set_agent(label="mine"), None, "no published scores of 'mine'"),
    "game": (lambda c: c.update(game="Pong"), None, "no published scores of Pong"),
    "seed twice": (lambda c: c.update(seeds=[0, 1, 1, 3]), None, "seed 1 is there twice"),
    "one seed": (
        lambda c: c.update(seeds=[0]),
        lambda t: [r for r in t if r["seed"] == 0],
        "a single seed",
    ),
    "steps": (lambda c: c.update(evaluate_every=300_000), None, "evaluations every 300,000"),
    "too long": (lambda c: c.update(steps=11 * MILLION), None, "steps up to 11,000,000"),
    "no seeds": (lambda c: c.pop("episodes"), None, "no 'episodes'"),
    "a missing run": (None, lambda t: [r for r in t if r["seed"] != 2], "6 of 24 evaluations"),
    "a missing evaluation": (None, lambda t: t[:-1], "seed 3 of rdq at step 1,000,000"),
    "a row twice": (None, lambda t: [*t, t[0]], "seed 0 of dqn at step 0 is there twice"),
    "another's row": (None, lambda t: [*t, {**t[0], "seed": 9}], "is not of its config.json"),
    "another game's row": (None, lambda t: [{**t[0], "game": "Freeway"}, *t[1:]], "another game"),
    "an empty return": (None, lambda t: [{**t[0], "return_mean": None}, *t[1:]], "no return"),
    "a copied run": (None, first_as_second, "seeds 0 and 1 of dqn are the same run"),
}


@pytest.mark.parametrize(("config", "rows", "told"), REFUSED.values(), ids=REFUSED)
def test_data_that_are_not_ours_to_certify(tmp_path, generator, refused, config, rows, told):
    damaged(tmp_path / "a", generator, change_config=config, change_rows=rows)
    refused(["certify", str(tmp_path / "a")], told)


def test_what_was_not_damaged_is_admitted(tmp_path, generator):
    assert certify([damaged(tmp_path, generator)]).cells


def test_episodes_that_were_cut_short_are_counted(tmp_path, generator):
    cut = lambda table: [{**row, "episodes_cut": row["seed"]} for row in table]
    (source,) = certify([damaged(tmp_path, generator, change_rows=cut)]).sources
    assert source.episodes_cut == (0 + 1 + 2 + 3) * 3 * 2  # seeds × agents × evaluations


def test_an_edited_file_is_refused(tmp_path, generator, refused):
    path = damaged(tmp_path / "a", generator) / "evaluations.csv"
    path.write_text(path.read_text().replace("Breakout,rdq,0,0,", "Breakout,rdq,0,0,9"))
    refused(["certify", str(tmp_path)], "its checksum differs")


def test_other_refusals(tmp_path, generator, refused):
    refused(["certify", str(tmp_path)], "holds no training runs")
    refused(["certify", str(tmp_path / "nowhere")], "nowhere does not exist; give the --out")
    damaged(tmp_path / "a", generator)
    refused(["certify", str(tmp_path), "--at", "2e6"], "the runs end at 1,000,000")
    refused(["certify", str(tmp_path), "--at", "5e5"], "every 1,000,000 steps")
    refused(["certify", str(tmp_path), "--reproduced", str(tmp_path / "b")], "no such directory")
    damaged(tmp_path / "b", generator)
    refused(["certify", str(tmp_path)], "Breakout is in both")
    planted.game(tmp_path / "c", "Freeway", generator, steps=2 * MILLION)
    refused(["certify", str(tmp_path / "a"), str(tmp_path / "c")], "choose one with --at")
    with pytest.raises(InputError, match="choose one"):
        certify([tmp_path / "a", tmp_path / "c"])
    assert certify([tmp_path / "a", tmp_path / "c"], step=MILLION).step == MILLION


# --- The command ---------------------------------------------------------------------------------


def test_the_command_prints_writes_and_exits(tmp_path, generator, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    planted.game(tmp_path / "r" / "freeway", "Freeway", generator, shift={"dqn": 3.0})
    code = main(["certify", "r", "--markdown", "c.md"])
    text = capsys.readouterr().out
    assert code == 1
    for told in ("differ", "lack seeds 2, 3, 4, 5, 6, 7, 8, 9: 22 of 30", "Runs of 1 of 5 games"):
        assert told in text
        assert told in (tmp_path / "c.md").read_text(encoding="utf-8")
    assert main(["certify", "r", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["differs"]
    assert document["cells"][0]["verdict"] == "differ"
    assert document["sources"][0]["cost"]["microseconds_per_iteration"] == pytest.approx(600)


@pytest.mark.parametrize(("device", "told"), [("NVIDIA H200", "2.4"), ("cpu", "–")])
def test_the_cost_is_beside_the_floor(tmp_path, generator, device, told):
    """600,000 frames a second are 600 µs for 4 steps of 90 runs; the floor of an H200 is 250 µs."""
    provenance = {"device": device, "jax": "0.11.2"}
    planted.game(tmp_path, "Breakout", generator, provenance=provenance)
    (row,) = sources_table(certify([tmp_path]).sources).rows
    assert row[3:] == (device, "0.11.2", "unknown", "25.0 min", "600", told)


def test_the_time_of_an_iteration_is_a_mean_of_times(tmp_path):
    """Two runs at 100,000 and then at 300,000 frames a second: 80 µs and 80/3 µs for 8 frames."""
    config = planted.config("Breakout", agents=["dqn"], seeds=range(2), steps=2 * MILLION)
    speeds = {0: None, MILLION: 1e5, 2 * MILLION: 3e5}
    rows = planted.rows(config, {"dqn": np.zeros((2, 3))})
    told = [row | {"frames_per_second": speeds[row["step"]]} for row in rows]
    runs.write(tmp_path, config, told)
    found = cost(runs.load(tmp_path))
    assert (found.runs, found.seconds) == (2, 300)
    assert found.microseconds_per_iteration == pytest.approx((80 + 80 / 3) / 2)


def test_every_commit_that_was_at_work_is_named(tmp_path, generator):
    later = [{"commit": "b" * 40, "step": 3_000_000}]
    provenance = {"commit": "a" * 40, "continued": later}
    planted.game(tmp_path, "Breakout", generator, provenance=provenance)
    (row,) = sources_table(certify([tmp_path]).sources).rows
    assert row[5] == "aaaaaaa, bbbbbbb from step 3,000,000"


@pytest.mark.parametrize(
    "provenance", ["by hand", {"continued": 1}, {"continued": [{"commit": "b"}]}]
)
def test_provenance_of_another_shape_is_damage(tmp_path, generator, provenance):
    planted.game(tmp_path, "Breakout", generator, provenance=provenance)
    with pytest.raises(InputError, match="is damaged"):
        certify([tmp_path])


def test_nothing_that_differs_is_code_0(tmp_path, generator, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    planted.game(tmp_path / "r", "Breakout", generator)
    assert main(["certify", "r"]) == 0
    assert "1 agents" not in capsys.readouterr().out
