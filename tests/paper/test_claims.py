"""The claims of the paper on planted runs."""

import json

import numpy as np
import planted
import pytest
import scipy.stats

from qduet.paper.certificate import Certificate, certify
from qduet.paper.claims import Claim, _efficiency, _winners
from qduet.results import published, runs

MILLION = planted.MILLION


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
    two_sided = f"(two-sided {2 * largest.pvalue:.2g})"
    assert claims[8].ours.endswith(f"p = {largest.pvalue:.2g} {two_sided}")
    assert claims[8].two_sided_p == pytest.approx(2 * largest.pvalue)
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

    evidence, judged = _efficiency(samples)
    assert judged == verdict
    assert f"of {games} games, RDQ ahead in {ahead}" in evidence


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
    curves = {"dqn": dqn, "dueling_dqn": dqn + 1e-6, "rdq": dqn - 0.32}  # no copies
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
    assert _winners(samples)[1] == verdict


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
        ("figure1/summary.json", '{"findings": [{"x": 1}]}'),
        ("theory/theory.json", '{"claims": [{"where": "here", "statement": {}}]}'),
        ("figure1/summary.json", '{"findings": [{"claim": [], "evidence": "", "holds": true}]}'),
        ("figure1/summary.json", '{"findings": 7}'),
        ("figure1/summary.json", "[]"),
        ("figure1/summary.json", "{"),
    ],
)
def test_damaged_files_of_claims_are_one_line(tmp_path, generator, refused, file, content):
    planted.game(tmp_path / "runs", "Breakout", generator)
    (tmp_path / file).parent.mkdir()
    (tmp_path / file).write_text(content)
    command = ["certify", str(tmp_path / "runs"), "--reproduced", str(tmp_path)]
    refused(command, "run what wrote it again")


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
    finding = {"figure": "figure1", "claim": "C", "holds": False, "evidence": "E"}
    theory = {"where": "Thm 1", "statement": "T", "holds": True, "failures": 0, "problems": 7}
    for path, document in (
        ("figure1/summary.json", {"findings": [finding]}),
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
