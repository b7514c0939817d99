"""The shipped scores are the released ones, and are read as they stand."""

import csv
import hashlib
import importlib.resources

import numpy as np
import pytest

from qduet.core.errors import InputError
from qduet.results import published, runs

SOURCE = importlib.resources.files("qduet.results") / "data"

# Mean and 1.96 standard errors at 10M steps, computed from the release before this package existed.
FINAL = {
    "Asterix": ((36.95, 1.88), (29.96, 1.24), (40.46, 1.22)),
    "Breakout": ((44.15, 2.12), (51.09, 1.93), (57.72, 2.93)),
    "Freeway": ((60.50, 0.28), (61.97, 0.17), (62.91, 0.13)),
    "Seaquest": ((72.69, 4.58), (63.10, 2.90), (83.06, 3.80)),
    "SpaceInvaders": ((147.79, 6.46), (156.46, 6.66), (167.15, 4.65)),
}


def test_the_file_is_the_one_that_its_readme_describes():
    digest = hashlib.sha256((SOURCE / "published_scores.csv").read_bytes()).hexdigest()
    readme = (SOURCE / "README.md").read_text(encoding="utf-8")
    assert digest in readme
    assert "Copyright (c) 2025 Brett Daley and Prabhat Nagarajan" in readme


def test_442_runs_of_11_evaluations():
    rows = published.table()
    assert len(rows["step"]) == 442 * 11
    assert tuple(rows) == runs.KEYS + runs.PUBLISHED


@pytest.mark.parametrize("game", published.GAMES)
@pytest.mark.parametrize("agent", published.AGENTS)
def test_final_returns(game, agent):
    final = published.scores(game, agent).values[:, -1]
    mean, half = FINAL[game][published.AGENTS.index(agent)]
    assert final.mean() == pytest.approx(mean, abs=0.005)
    error = final.std(ddof=1) / np.sqrt(len(final))
    assert 1.96 * error == pytest.approx(half, abs=0.005)


def test_values_are_by_seed_and_step():
    scores = published.scores("Freeway", "rdq", "q_overestimation")
    assert scores.values.shape == (22, 11)
    np.testing.assert_array_equal(scores.steps, np.arange(11) * 1_000_000)
    with (SOURCE / "published_scores.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if (row["game"], row["agent"]) == ("Freeway", "rdq"):
                i = scores.seeds.tolist().index(int(row["seed"]))
                j = scores.steps.tolist().index(int(row["step"]))
                assert scores.values[i, j] == float(row["q_overestimation"])


def test_the_missing_seeds_are_named():
    missing = {(g, a): published.missing_seeds(g, a) for g in FINAL for a in published.AGENTS}
    assert missing.pop(("Freeway", "rdq")) == tuple(range(2, 10))
    assert set(missing.values()) == {()}


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (("Pong", "rdq"), "allowed: Asterix"),
        (("Breakout", "rqd"), "rdq"),
        (("Breakout", "rdq", "return"), "return_mean"),
    ],
)
def test_unknown_names_are_refused(arguments, near):
    with pytest.raises(InputError, match=near):
        published.scores(*arguments)
