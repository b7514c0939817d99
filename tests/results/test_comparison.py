"""Runs of several directories, put together or refused; numbers against scipy and the paper."""

import dataclasses

import numpy as np
import planted
import pytest
from scipy import stats as scipy_stats

from qduet.core.errors import InputError
from qduet.results import compare, published, runs
from qduet.results.by_game import Resampling, area
from qduet.results.collect import collect, sources
from qduet.results.comparison import normalised, summarise

FAST = Resampling(resamples=100)
AGENT = {"w": 1.0, "c": 0.0, "beta": 1e-3, "learning_rate": 2.5e-4}


def write(
    directory, labels=("rdq", "dqn"), seeds=(0, 1, 2), steps=(0, 10, 20), *,
    game="Breakout", score=lambda label, seed, step: len(label) + seed + step, end=20,
    agent=AGENT, **settings,
):  # fmt: skip
    config = {
        "format": runs.FORMAT,
        "game": game,
        "protocol": "reference",
        "episodes": 1000,
        "agents": [{"label": label, "name": label, **agent} for label in labels],
        "seeds": list(seeds),
        "steps": end,
        **settings,
    }
    keys = [(label, seed, step) for label in labels for seed in seeds for step in steps]
    rows = [
        {"game": game, "agent": label, "seed": seed, "step": step,
         "return_mean": float(score(label, seed, step)), "v_rms": float(step) or None}
        for label, seed, step in keys
    ]  # fmt: skip
    runs.write(directory, config, rows)
    return str(directory)


def gather(*texts, **options):
    return collect([source for text in texts for source in sources(text)], **options)


# --- Collecting ----------------------------------------------------------------------------------


def test_directories_of_one_game_are_put_together(tmp_path):
    a = write(tmp_path / "a", ["rdq"], [5, 3])
    b = write(tmp_path / "b", ["rdq", "dqn"], [4])
    found = gather(a, b)
    assert found.agents == ("rdq", "dqn")
    assert found.at == 20
    assert found.notes == ("A single seed gives no interval and no test; they are left empty.",)
    np.testing.assert_array_equal(found.curves["Breakout", "rdq"].seeds, [3, 4, 5])
    np.testing.assert_array_equal(found.curves["Breakout", "rdq"].last, [26, 27, 28])
    np.testing.assert_array_equal(found.curves["Breakout", "dqn"].values, [[7, 17, 27]])


def test_a_directory_of_directories_is_all_of_them(tmp_path):
    write(tmp_path / "freeway", game="Freeway")
    write(tmp_path / "asterix", game="Asterix")
    assert gather(str(tmp_path)).games == ("Asterix", "Freeway")


def test_a_run_counts_once(tmp_path):
    a = write(tmp_path / "a", ["rdq"], [0, 1])
    b = write(tmp_path / "b", ["rdq"], [1, 2])
    with pytest.raises(InputError, match=r"seed 1 of 'rdq' on Breakout is both in .*a and in .*b"):
        gather(a, b)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"episodes": 10}, "episodes is 1000 there and 10 here"),
        ({"agent": {**AGENT, "beta": 0.1}}, "beta is 0.001 there and 0.1 here"),
        ({"game": "Freeway", "agent": {**AGENT, "beta": 0.1}}, "beta is 0.001 there"),
    ],
)
def test_one_label_means_one_agent(tmp_path, settings, told):
    a = write(tmp_path / "a", ["rdq"], [0])
    b = write(tmp_path / "b", ["rdq"], [1], **settings)
    with pytest.raises(InputError, match=told):
        gather(a, b)
    named = gather(f"first={a}", f"second={b}")
    assert named.agents == ("rdq@first", "rdq@second")


def test_versions_of_a_game_are_not_mixed(tmp_path):
    a = write(tmp_path / "a", ["rdq"], env="MinAtar/Breakout-v0")
    b = write(tmp_path / "b", ["dqn"], env="MinAtar/Breakout-v1")
    with pytest.raises(InputError, match=r"of MinAtar/Breakout-v0 and .* of MinAtar/Breakout-v1"):
        gather(a, b)


def test_protocols_become_part_of_the_labels(tmp_path):
    a = write(tmp_path / "a", ["rdq"])
    b = write(tmp_path / "b", ["rdq"], protocol="paper", agent={**AGENT, "shared_bias": False})
    assert gather(a, b).agents == ("rdq@reference", "rdq@paper")


def test_unfinished_runs_are_compared_where_all_are(tmp_path):
    a = write(tmp_path / "a", ["rdq"])
    b = write(tmp_path / "b", ["dqn"], steps=(0, 10))
    found = gather(a, b)
    assert found.steps.tolist() == [0, 10]
    assert found.notes == (
        f"{a} goes on to step 20; step 10 is the last that all runs have.",
        f"{b} is unfinished: 0 of its 3 runs have reached step 20.",
        "Two evaluations only (at 0 and 10 steps): what is between is a straight line, and the "
        "mean over training the mean of the two.",
    )
    assert gather(a, b, at=0).curves["Breakout", "rdq"].values.shape == (3, 1)
    with pytest.raises(InputError, match=r"--at 20: not all runs .* they have 0, 10"):
        gather(a, b, at=20)


def test_steps_without_a_value_are_left_out(tmp_path):
    found = gather(write(tmp_path), metric="v_rms")
    assert found.steps.tolist() == [10, 20]
    assert normalised(found) == {}
    assert summarise(found, FAST).overall == ()
    with pytest.raises(InputError, match="value of q_value_mean"):
        gather(write(tmp_path), metric="q_value_mean")
    with pytest.raises(InputError, match="did you mean 'return_mean'"):
        gather(write(tmp_path), metric="retun_mean")


def test_trained_runs_are_not_compared_before_their_training(tmp_path):
    a = write(tmp_path / "a", ["rdq"], steps=(0, 10))
    b = write(tmp_path / "b", ["dqn"], steps=(0,))
    with pytest.raises(
        InputError, match=r"b has no return_mean of every seed of 'dqn' after step 0"
    ):
        gather(a, b)
    other = write(tmp_path / "c", ["dqn"], steps=(0, 7))
    with pytest.raises(InputError, match="step 0 is the only step"):
        gather(a, other)
    assert gather(b).at == 0


def test_runs_without_a_common_step_are_refused(tmp_path):
    a = write(tmp_path / "a", ["rdq"], steps=(10,))
    b = write(tmp_path / "b", ["dqn"], steps=(20,))
    with pytest.raises(InputError, match="steps differ"):
        gather(a, b)


def test_runs_before_their_first_evaluation_are_refused(tmp_path):
    with pytest.raises(InputError, match="no evaluation of 'rdq'"):
        gather(write(tmp_path, steps=()))


def test_what_is_no_directory_is_refused(tmp_path):
    for text in (str(tmp_path), str(tmp_path / "absent"), "name="):
        with pytest.raises(InputError, match=r"holds no training runs|does not exist|NAME=DIR"):
            gather(text)


def test_agents_that_miss_a_game_are_not_aggregated(tmp_path):
    a = write(tmp_path / "a", ["rdq", "dqn"])
    b = write(tmp_path / "b", ["rdq"], game="Freeway", seeds=(0, 1))
    summary = summarise(gather(a, b), FAST)
    assert [o.agent for o in summary.overall] == ["rdq"]
    assert len(summary.agents) == 3
    assert len(summary.pairs) == 1
    assert "Not in every game, so not in the aggregates: dqn." in gather(a, b).notes
    assert any("2 to 3 seeds per game" in note for note in gather(a, b).notes)


# --- Numbers -------------------------------------------------------------------------------------


def last(game, agent):
    return published.scores(game, agent).values[:, -1]


def trained(game, agent):
    """Mean over training, by trapezoids of eleven evaluations."""
    return published.scores(game, agent).values @ [0.05, *[0.1] * 9, 0.05]


@pytest.fixture(scope="module")
def as_published(tmp_path_factory):
    """The published scores as directories of runs."""
    root = tmp_path_factory.mktemp("published")
    for game in published.GAMES:
        table = published.table()
        mine = table["game"] == game
        config = {
            "format": runs.FORMAT, "game": game, "protocol": "reference", "steps": 10_000_000,
            "agents": [{"label": agent} for agent in ("rdq", "dueling_dqn", "dqn")],
            "seeds": list(range(30)),
        }  # fmt: skip
        rows = [{name: table[name][i] for name in table} for i in np.flatnonzero(mine)]
        runs.write(root / game, config, rows)
    return gather(str(root))


@pytest.fixture(scope="module")
def summary(as_published):
    return summarise(as_published, FAST)


def test_means_are_the_published_ones(summary):
    """The table of the paper's final returns, mean ± 1.96 standard errors."""
    found = {(a.game, a.agent): a for a in summary.agents}
    rdq = found["Breakout", "rdq"]
    assert rdq.mean.mean == pytest.approx(57.72, abs=0.005)
    error = rdq.mean.half_width / scipy_stats.t.ppf(0.975, 29)
    assert 1.96 * error == pytest.approx(2.93, abs=0.005)
    assert found["Freeway", "rdq"].seeds == 22
    assert rdq.median == np.median(last("Breakout", "rdq"))
    assert rdq.iqm.value == pytest.approx(scipy_stats.trim_mean(last("Breakout", "rdq"), 0.25))
    assert rdq.iqm.low < rdq.iqm.value < rdq.iqm.high
    assert rdq.auc.mean == pytest.approx(trained("Breakout", "rdq").mean())


def test_pairs_are_scipys(summary):
    assert len(summary.pairs) == 15
    for pair in summary.pairs:
        x, y = last(pair.game, pair.x), last(pair.game, pair.y)
        test = scipy_stats.ttest_ind(x, y, equal_var=False)
        assert pair.welch_p == pytest.approx(test.pvalue, rel=1e-9)
        u = scipy_stats.mannwhitneyu(x, y).statistic
        assert pair.improvement.value == pytest.approx(u / (len(x) * len(y)))
    for test in ("welch", "paired"):
        p, holm = (
            np.array([getattr(pair, f"{test}_{kind}") for pair in summary.pairs])
            for kind in ("p", "holm")
        )
        order = np.argsort(p)
        scaled = np.maximum.accumulate(p[order] * np.arange(15, 0, -1)).clip(max=1)
        np.testing.assert_allclose(holm[order], scaled, rtol=1e-12)


def test_pairs_use_the_seeds_that_both_have(as_published, summary):
    """Freeway's RDQ has 22 of 30 seeds; pandas' pivot of the published scores gives 0.359."""
    (pair,) = [p for p in summary.pairs if (p.game, p.x, p.y) == ("Freeway", "rdq", "dqn")]
    assert pair.correlation == pytest.approx(0.358663, abs=1e-6)
    assert pair.paired_p < 1e-4
    turned = summarise(as_published, FAST, baseline="rdq").pairs
    (other,) = [p for p in turned if (p.game, p.x) == ("Freeway", "dqn")]
    assert other.correlation == pytest.approx(pair.correlation)
    assert other.difference.mean == -pair.difference.mean


def test_two_seeds_have_no_correlation(tmp_path):
    """Two points are always on a line."""
    noisy = lambda label, seed, step: (seed if label == "rdq" else -seed) + step
    two, three = (
        summarise(gather(write(tmp_path / str(n), seeds=range(n), score=noisy)), FAST).pairs[0]
        for n in (2, 3)
    )
    assert np.isnan(two.correlation)
    assert three.correlation == pytest.approx(-1)


def test_aggregates_are_of_all_games(summary):
    by_agent = {o.agent: o for o in summary.overall}
    assert by_agent["dqn"].mean.value == pytest.approx(1.0)  # the unit of the scores
    scores = [last(game, "rdq") / last(game, "dqn").mean() for game in published.GAMES]
    pooled = np.concatenate(scores)
    assert by_agent["rdq"].iqm.value == pytest.approx(scipy_stats.trim_mean(pooled, 0.25))
    assert by_agent["rdq"].mean.value == pytest.approx(np.mean([x.mean() for x in scores]))
    areas = [trained(game, "rdq") / last(game, "dqn").mean() for game in published.GAMES]
    auc = scipy_stats.trim_mean(np.concatenate(areas), 0.25)
    assert by_agent["rdq"].auc.value == pytest.approx(auc)
    (rdq,) = [line for line in summary.profile if line.agent == "rdq"]
    assert rdq.y.value[0] == 1.0
    assert rdq.y.value[-1] == 0.0
    for tau, fraction in zip(rdq.x, rdq.y.value, strict=True):
        assert fraction == pytest.approx((pooled > tau).mean())
    (rdq,) = [line for line in summary.sample_efficiency if line.agent == "rdq"]
    assert rdq.x.tolist() == list(range(0, 10_000_001, 1_000_000))
    assert rdq.y.value[-1] == pytest.approx(by_agent["rdq"].iqm.value)


def test_improvement_is_averaged_over_games(summary):
    (pair,) = [p for p in summary.overall_pairs if (p.x, p.y) == ("rdq", "dqn")]
    games = [p.improvement.value for p in summary.pairs if (p.x, p.y) == ("rdq", "dqn")]
    assert pair.improvement.value == pytest.approx(np.mean(games))


def test_numbers_do_not_depend_on_the_company(as_published, summary):
    alone = {key: curves for key, curves in as_published.curves.items() if key[1] == "dqn"}
    found = summarise(dataclasses.replace(as_published, curves=alone), FAST)
    assert found.overall[0] == summary.overall[-1]
    assert found.pairs == ()
    other = summarise(as_published, FAST._replace(seed=1))
    assert other.overall[0].iqm.low != summary.overall[0].iqm.low
    assert summarise(as_published, FAST).pairs == summary.pairs


def test_a_baseline_halves_the_comparisons(as_published):
    found = summarise(as_published, FAST, baseline="dqn")
    assert {(p.x, p.y) for p in found.pairs} == {("rdq", "dqn"), ("dueling_dqn", "dqn")}
    assert [(p.x, p.y) for p in found.overall_pairs] == [("rdq", "dqn"), ("dueling_dqn", "dqn")]
    with pytest.raises(InputError, match="did you mean 'dueling_dqn'"):
        summarise(as_published, FAST, baseline="dueling")


def test_area_is_the_mean_over_training():
    # From 0 to 4 in 10 steps, then flat for 30: (2·10 + 4·30) / 40.
    assert area(np.array([0, 10, 40]), np.array([[0.0, 4.0, 4.0]])).tolist() == [3.5]
    # Where the first evaluation has no value, training is from the second one on.
    assert area(np.array([10, 20, 50]), np.array([[0.0, 4.0, 4.0]])).tolist() == [3.5]
    assert np.isnan(area(np.array([10]), np.array([[1.0]]))).all()


@pytest.mark.parametrize("version", ["v0", "v1"])
def test_only_games_of_the_published_scores_are_normalised(tmp_path, version):
    """Version 0 has other actions: it is another task."""
    env = f"MinAtar/Breakout-{version}"
    planted.game(tmp_path, "Breakout", np.random.default_rng(5), env=env)
    assert bool(normalised(collect(sources(str(tmp_path))))) == (version == "v1")


def test_compare_collects_and_summarises(tmp_path):
    a, b = write(tmp_path / "a", ["rdq"]), write(tmp_path / "b", ["dqn"])
    found = compare(a, f"second={b}", at=10, baseline="rdq", resampling=FAST)
    assert found.collection.agents == ("rdq", "dqn@second")
    assert found.collection.at == 10
    assert [(pair.x, pair.y) for pair in found.pairs] == [("dqn@second", "rdq")]
    assert found.agents == summarise(gather(a, f"second={b}", at=10), FAST).agents
    assert any(note.startswith("Fewer than 10 seeds") for note in found.notes)


def test_nothing_to_compare_is_said():
    with pytest.raises(InputError, match="none was given"):
        compare()
