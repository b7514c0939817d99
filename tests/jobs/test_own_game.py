"""A game of one's own all the way: training, evaluation, recording, page; in Python and by command.

The game is the example's, Catch, or one that pays `REWARD` in its only step.
"""

import functools
import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from examples_by_path import ROOT, example

from qduet.agents import make_agent
from qduet.cli import main, play
from qduet.core.errors import InputError
from qduet.core.reading import checksum
from qduet.deep import acting, board, environments, training
from qduet.deep.evaluation import evaluate
from qduet.deep.fused import scalars
from qduet.jobs import recording_file, resuming
from qduet.jobs.job import Job
from qduet.jobs.recording import record
from qduet.jobs.weights import Weights
from qduet.minatar import Environment, StepResult, make, register
from qduet.results import runs

REWARD = float(np.float32(200.3))
"""Neither whole, nor below 128, nor of few bits."""
SMALL = {"capacity": 400, "learn_from": 100, "sync_every": 100, "batch_size": 16}


def paying(env_id, reward, **options):
    game = Environment(
        name="Paying",
        channels=("nothing",),
        actions=(0, 5),
        num_draws=1,
        reset=lambda draws: jnp.int32(0),
        step=lambda state, action, draws: StepResult(state, jnp.float32(reward), jnp.bool_(True)),
        rows=lambda state: jnp.zeros((1, 10), jnp.uint32),
        **options,
    )
    register(env_id, game)
    return make(env_id)


def blank(env):
    params = board.init(jax.random.key(0), env.num_channels, env.num_actions)
    return jax.tree.map(jnp.zeros_like, params)


@pytest.mark.parametrize("reward", [0.5, 200.0, -1e6])
def test_a_reward_comes_unchanged_to_the_td_target(reward):
    """With Q = 0 and episodes of one step, δ = r: the loss is ½ r²."""
    env_id, agent = f"Paying{reward:g}-v0".replace("+", ""), make_agent("dqn", **SMALL)
    env = paying(env_id, reward)
    setting = training.make_setting(environments.make(env_id), agent)
    hyper = training.hyper(agent)
    run = training.init(setting, agent.init_scheme(), jax.random.key(0))
    run = run._replace(params=blank(env), target=blank(env))
    run = jax.jit(functools.partial(training.warm_up, setting, hyper))(run)
    np.testing.assert_array_equal(run.replay.rewards[:100], np.float32(reward))
    words = jnp.arange(agent.batch_size, dtype=jnp.uint32)
    learn = jax.jit(functools.partial(training.learn, setting, hyper))
    losses = learn(run, jnp.int32(100), words)[1]
    np.testing.assert_allclose(losses.td, 0.5 * reward**2, rtol=1e-6)


def test_a_reward_comes_unchanged_to_evaluation_and_recording(tmp_path):
    env, agent = paying("Paying-v0", REWARD), make_agent("rdq")
    stack = lambda tree: jax.tree.map(lambda x: x[None], tree)
    keys = jax.random.split(jax.random.key(0), 1)
    numbers = stack(training.hyper(agent).numbers)
    setting = training.make_setting(environments.make("Paying-v0"), agent)
    parts = setting.env, setting.algorithm, setting.compute
    played = evaluate(*parts, stack(blank(env)), numbers, keys, episodes=3)
    np.testing.assert_array_equal(played.episodes.undiscounted, REWARD)
    recording = record(Weights(blank(env), agent, "Paying-v0", "rdq", 0, 0))
    recording_file.write(tmp_path / "p.json", recording)
    back = recording_file.read(tmp_path / "p.json")
    assert (recording.score, back.score, back.ended) == (REWARD, REWARD, True)
    assert back.episode.reward.dtype == np.float32
    document = json.loads((tmp_path / "p.json").read_text())
    assert (document["rewards"], document["actions"]) == ("float32", ["noop", "fire"])
    document["rewards"] = "int8"
    del document["sha256"]
    with pytest.raises(InputError, match="rewards are not those of Paying-v0"):
        recording_file.parse({**document, "sha256": checksum(document)})


def test_a_reward_comes_unchanged_to_the_player(capsys):
    paying("Played-v0", REWARD)
    game = play.Game(make("Played-v0", auto_reset=False), seed=0, keep_frames=False)
    game.step(1)
    assert (game.score, game.best, game.over) == (REWARD, REWARD, True)
    assert game.progress().endswith("score 200.3")


def test_a_directory_of_another_game_of_the_same_id_is_refused(tmp_path):
    paying("Changed-v0", 1.0)
    job = Job("Changed-v0", (("rdq", make_agent("rdq", **SMALL)),), (0,), 100, 100)
    there = job.config({}) | {"game_program": "another"}
    row = dict.fromkeys(runs.COLUMNS) | {"game": "Changed-v0", "agent": "rdq", "seed": 0}
    runs.write(tmp_path, there, [row | {"step": 100}])
    with pytest.raises(InputError, match=r"other settings \(the game has changed since\)"):
        resuming.examine(tmp_path, job, {})


def test_a_turn_of_it_is_one_kernel_on_a_gpu():
    example("own_game")
    env = environments.make("Catch-v0")
    exploration = training.hyper(make_agent("rdq")).exploration
    state = env.reset(jnp.zeros(env.num_draws, jnp.uint32))
    words = jnp.zeros(env.num_draws + 2, jnp.uint32)
    args = exploration, state, jnp.zeros(env.num_actions), jnp.int32(0), words
    turn = scalars.as_kernel(functools.partial(acting.turn, env))
    assert [eqn.primitive.name for eqn in jax.make_jaxpr(turn)(*args).eqns] == ["pallas_call"]


def qduet(*arguments, folder):
    code = "from qduet.cli import main; raise SystemExit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=folder, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def test_the_command_trains_and_watches_a_game_of_ones_own(tmp_path):
    pytest.importorskip("PIL", reason="pillow is not installed")
    ours = ("--import", "own_game")
    out, folder = tmp_path / "catch", ROOT / "examples"
    train = ("train", "rdq", "Catch-v0", "--steps", "2000", "--episodes", "20", "--json")
    trained = qduet(*ours, *train, "--out", out, folder=folder)
    assert trained.returncode == 0, trained.stderr
    assert json.loads(trained.stdout)["env"] == "Catch-v0"
    config = json.loads((out / "config.json").read_text())
    assert (config["game"], len(config["seeds"])) == ("Catch", 1)
    watched = qduet(*ours, "watch", out, "--json", "--out", tmp_path / "watch", folder=folder)
    assert watched.returncode == 0, watched.stderr
    told = json.loads(watched.stdout)
    assert told["frames"] == 9
    assert told["score"] in (1, -1)
    names = {path.name for path in (tmp_path / "watch").iterdir()}
    assert names == {f"catch-rdq-0-step2000-episode0.{kind}" for kind in ("json", "html", "gif")}
    alone = qduet("watch", out, "--out", tmp_path / "alone", folder=folder)
    assert alone.returncode == 2
    assert "unknown environment 'Catch-v0'" in alone.stderr
    assert "qduet --import MODULE" in alone.stderr
    assert not (tmp_path / "alone").exists()
    # Tables and pages need the module only for recordings, and say so.
    assert qduet("compare", out, folder=folder).returncode == 0
    page = tmp_path / "report.html"
    without = qduet("report", tmp_path, "-o", page, folder=folder)
    assert without.returncode == 0
    assert "cannot be used: unknown environment 'Catch-v0'" in without.stderr
    assert "if it is your own, name its module: qduet --import MODULE" in without.stderr
    assert "Catch" in page.read_text(encoding="utf-8")
    assert "10,000,000" not in page.read_text(encoding="utf-8")  # nothing of the paper's training


def test_a_module_that_cannot_be_imported_is_one_line(refused, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "needs_more.py").write_text("import no_such_module_at_all\n")
    train = ["train", "rdq", "Catch-v0", "--out", "x"]
    misnamed = "No module named 'nowhere'; give a module's name as in Python"
    for name in ("nowhere", "nowhere.game"):
        refused(["--import", name, *train], f"--import {name}: {misnamed}")
    missing = "No module named 'no_such_module_at_all'; needs_more needs this package, which is not"
    refused(["--import", "needs_more", *train], f"--import needs_more: {missing} installed")
    (tmp_path / "wrong.py").write_text(
        "from qduet.minatar import make, register\nregister('a b', make('MinAtar/Breakout-v1'))\n"
    )
    refused(["--import", "wrong", *train], "environment id 'a b' must be")
    assert [path.name for path in tmp_path.glob("x")] == []


@pytest.mark.parametrize(
    ("small", "reward", "told"), [(True, 200.0, "whole number"), (False, np.inf, "finite")]
)
def test_a_reward_that_cannot_be_kept_is_not_recorded(small, reward, told):
    env, agent = paying(f"Odd{small}-v0", reward, small_rewards=small), make_agent("rdq")
    with pytest.raises(InputError, match=rf"must be .*{told}.*; one is {reward}"):
        record(Weights(blank(env), agent, f"Odd{small}-v0", "rdq", 0, 0))


@pytest.mark.parametrize("name", ["./mine.py", ".mine", ""])
def test_what_is_no_modules_name_is_not_imported(name, capsys):
    assert main(["--import", name, "train", "rdq", "Mine-v0"]) == 2
    assert "give a module's name as in Python" in capsys.readouterr().err
