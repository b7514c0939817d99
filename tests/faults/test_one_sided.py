"""What hangs on one-sided tests: `certify` and `compare` on the runs in results/."""

from pathlib import Path

import pytest

from qduet.cli import main
from qduet.paper import certify
from qduet.paper.claims import rdq_outperforms
from qduet.results.by_game import Resampling
from qduet.results.comparison import compare

FIGURE6 = Path(__file__).parents[2] / "results" / "figure6"
OTHERS = ("dueling_dqn", "dqn")


@pytest.fixture(scope="module")
def claims():
    return {claim.statement: claim for claim in certify([FIGURE6]).claims}


def pairs(baseline):
    summary = compare(FIGURE6, baseline=baseline, resampling=Resampling(resamples=100))
    return {(pair.game, pair.x): pair for pair in summary.pairs if pair.y == "rdq"}


def test_compare_and_certify_agree_on_what_both_ask(claims):
    """SciPy's Welch tests of the ten pairs, Holm-corrected, give the same: test_prose."""
    found = pairs("rdq")
    assert len(found) == 10
    for (game, other), pair in found.items():
        two_sided = claims[rdq_outperforms(game, other)].two_sided_p
        assert two_sided == pytest.approx(pair.welch_holm, rel=1e-9)


def test_space_invaders_by_every_test(claims):
    told = [claims[rdq_outperforms("SpaceInvaders", other)] for other in OTHERS]
    assert [claim.verdict for claim in told] == ["holds", "holds"]
    assert [claim.two_sided_p for claim in told] == pytest.approx([0.0504, 0.0431], abs=1e-4)
    among_all = [pairs(None)["SpaceInvaders", other] for other in OTHERS]
    assert [p.welch_holm for p in among_all] == pytest.approx([0.076, 0.057], abs=1e-3)
    assert [p.paired_holm for p in among_all] == pytest.approx([0.045, 0.092], abs=2e-3)


def test_both_commands_say_which_question_they_ask(capsys):
    for command in ("certify", "compare"):
        main([command, str(FIGURE6)])
        text = " ".join(capsys.readouterr().out.split())
        assert all(words in text for words in ("one-sided", "two-sided", "--baseline rdq"))
