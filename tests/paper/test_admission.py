"""Runs that may not be compared with the published scores are refused."""

import planted
import pytest

from qduet.core.errors import InputError
from qduet.paper.certificate import certify
from qduet.results import published, runs

MILLION = planted.MILLION


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
    "a run of another agent": (
        None,
        lambda t: (
            [r for r in t if r["agent"] != "rdq"]
            + [{**r, "agent": "rdq"} for r in t if r["agent"] == "dqn"]
        ),
        "seed 0 of dqn and seed 0 of rdq are the same run",
    ),
    "a copied run": (None, first_as_second, "seed 0 of dqn and seed 1 of dqn are the same run"),
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
