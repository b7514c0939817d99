"""The tables of docs/study.md on the QV family, derived again from the raw files with SciPy."""

import json
from pathlib import Path

import pytest
import scipy.stats
from docs_tables.qv import SCREENED, qv_tables
from raw import curves

from qduet.cluster.plan import read_plan
from qduet.results import published

RESULTS = Path(__file__).parents[2] / "results"
WHERE = {"rdq": "validation", "dqv_max": "qv"}


def sample(name, game, agent):
    """The last returns of an agent's seeds, from whichever directory has them; None if none has."""
    folder = published.title(game).lower().replace(" ", "_")
    inside = RESULTS / ("choice" if name == "bc-choice" else WHERE.get(agent, "screening"))
    for path in inside.glob(f"{folder}*/evaluations.csv"):
        if f",{agent}," in path.read_text():
            return curves(path, game, agent)[:, -1]
    return None


def published_dqn(game):
    return published.scores(game, "dqn").values[:, -1].mean()


@pytest.mark.parametrize(("name", "seeds"), [("bc-choice", 15), ("screening", 30)])
def test_scores_are_means_with_intervals_over_seeds(name, seeds):
    lines = qv_tables(RESULTS)[name].splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    for agent, *cells, score in table[2:]:
        samples = [sample(name, game, agent) for game in published.GAMES]
        for cell, values in zip(cells, samples, strict=True):
            if values is None:
                assert cell == "no data yet"
                continue
            assert len(values) == seeds
            half = scipy.stats.sem(values) * scipy.stats.t.ppf(0.975, seeds - 1)
            assert cell == f"{values.mean():.2f} ± {half:.2f}"
        if all(values is not None for values in samples):
            pairs = zip(published.GAMES, samples, strict=True)
            scores = [values.mean() / published_dqn(game) for game, values in pairs]
            assert score == f"{sum(scores) / 5:.3f}"
        else:
            assert score == "no data yet"


def test_the_choice_was_made_on_seeds_that_judge_nothing():
    for path in (RESULTS / "choice").glob("*/evaluations.csv"):
        rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
        assert {int(row[2]) for row in rows} == set(range(30, 45))


def test_the_plan_of_the_screening_has_the_agents_that_were_run():
    planned = dict(read_plan(RESULTS / "plans" / "screening.toml").agents)
    assert tuple(planned) == SCREENED
    for path in (RESULTS / "screening").glob("*/config.json"):
        for fields in json.loads(path.read_text())["agents"]:
            assert {"label": fields["label"], **planned[fields["label"]].fields()} == fields
