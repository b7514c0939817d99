"""Arguments of ``qduet train``, and what it says when something is missing; nothing is trained."""

import argparse
import signal
import sys
import types

import pytest

from qduet.agents import make_agent
from qduet.cli import main, tracking
from qduet.cli.live import Display
from qduet.cli.train import UNFINISHED, add_arguments, make_job
from qduet.cli.train import _report as report
from qduet.jobs import devices, trainer
from qduet.jobs.job import Job

GAME = "MinAtar/Breakout-v1"
SHORT = [GAME, "--steps", "2000", "--out", "nowhere"]


def job_of(*arguments):
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return make_job(parser.parse_args(list(arguments)))


def test_the_environment_is_the_last_argument():
    job = job_of("rdq", "dqn", "breakout-minatar", "--steps", "2e6", "--seeds", "3")
    assert job.env_id == GAME
    assert [label for label, _ in job.agents] == ["rdq", "dqn"]
    assert job.seeds == (0, 1, 2)
    assert job.evaluate_every == 1_000_000
    assert [(m.label, m.seed) for m in job.members][2:4] == [("rdq", 2), ("dqn", 0)]


def test_options_may_stand_between_agents_and_environment(refused):
    refused(["train", "rdq", "dqn", "--protocol", "paper", GAME], "--out DIR is missing")


@pytest.mark.parametrize(
    ("options", "meant"),
    [
        (("--seed", "3"), "did you mean --seeds?"),
        (("--learning_rate", "1e-3"), "did you mean --learning-rate?"),
        (("--import", "own_game"), "it stands before the command"),
    ],
)
def test_no_option_is_taken_for_another(options, meant, refused):
    refused(["train", "rdq", *SHORT, *options], f"unrecognized arguments: {options[0]}")
    refused(["train", "rdq", *SHORT, *options], meant)


def test_an_option_that_is_like_no_other_gets_no_suggestion(capsys):
    with pytest.raises(SystemExit):
        main(["train", "rdq", *SHORT, "--zzz", "0.5"])
    told = capsys.readouterr().err
    assert "unrecognized arguments: --zzz" in told
    assert "did you mean" not in told


def test_short_jobs_are_evaluated_at_their_end():
    assert job_of("rdq", GAME, "--steps", "3000").evaluate_every == 3_000


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("4", (0, 1, 2, 3)), ("10-12", (10, 11, 12)), ("17,", (17,)), ("3,1", (3, 1)), ("5-5", (5,))],
)
def test_seeds_are_a_number_a_range_or_a_list(text, seeds):
    assert job_of("rdq", GAME, "--seeds", text).seeds == seeds


def test_an_ablation_changes_one_setting_at_a_time():
    job = job_of("dqn", "rdq", GAME, "--protocol", "reference", "--ablate")
    reference = {name: make_agent(name, protocol="reference") for name in ("dqn", "rdq")}
    change = lambda name, **setting: reference[name].replace(**setting)
    assert dict(job.agents) == {
        "dqn-hold": change("dqn", epsilon_hold_steps=1_000),
        "dqn-init": change("dqn", initialisation="lecun"),
        "rdq-hold": change("rdq", epsilon_hold_steps=1_000),
        "rdq-init": change("rdq", initialisation="lecun"),
        "rdq-bias": change("rdq", shared_bias=False),
    }
    assert dict(job_of("rdq", GAME, "--ablate").agents)["rdq-bias"].shared_bias


def test_several_betas_make_several_agents():
    job = job_of("dqn", "rdq", GAME, "--beta", "1e-2", "0.1")
    assert [label for label, _ in job.agents] == ["dqn", "rdq-beta-0.01", "rdq-beta-0.1"]
    assert [agent.numbers.beta for _, agent in job.agents] == [0, 0.01, 0.1]
    (one,) = job_of("rdq", GAME, "--beta", "1.5").agents
    assert one == ("rdq-beta-1.5", make_agent("rdq", beta=1.5))
    assert job_of("rdq", GAME, "--beta", "1e-3").agents == (("rdq", make_agent("rdq")),)


def test_switches_override_the_protocol():
    (_, agent), = job_of("rdq", GAME, "--protocol", "reference").agents  # fmt: skip
    assert agent == make_agent("rdq", protocol="reference")
    switches = ["--initialisation", "lecun", "--no-shared-bias", "--epsilon-hold", "1000"]
    (_, agent), = job_of("rdq", GAME, "--protocol", "reference", *switches).agents  # fmt: skip
    assert agent == make_agent("rdq", protocol="paper")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["rqd", *SHORT], "did you mean 'rdq'"),
        (["rdq", "MinAtar/Braekout-v1", *SHORT[1:]], "did you mean 'MinAtar/Breakout-v1'"),
        (["rdq", "dqn", *SHORT[1:]], "'dqn' is an agent; the environment comes last"),
        (["rdq", "rdq", *SHORT], "agent rdq is there twice"),
        (["rdq", *SHORT, "--seeds", "0"], "'0' is neither a number of at least 1"),
        (["rdq", *SHORT, "--seeds", "9-3"], "'9-3' is neither"),
        (["rdq", *SHORT, "--seeds", "3,x"], "'3,x' is neither"),
        (["rdq", *SHORT, "--seeds", "1e9"], "'1e9' are more than 10,000 seeds"),
        (["rdq", *SHORT, "--seeds", "0-4294967296"], "are more than 10,000 seeds"),
        (["rdq", *SHORT, "--seeds", "3,3"], "seed 3 is there twice"),
        (["rdq", *SHORT, "--seeds", "4294967296,"], "seeds must be in [0, 2^32)"),
        (["rdq", *SHORT, "--beta", "inf"], "'inf' is not a number in [0, inf)"),
        (["rdq", *SHORT, "--beta", "-0.1"], "'-0.1' is not a number in [0, inf)"),
        (["rdq", *SHORT, "--learning-rate", "-1"], "'-1' is not a number in [0, 1]"),
        (["dqn", *SHORT, "--beta", "0.1"], "--beta is for agents with a penalty"),
        (
            ["rdq", *SHORT, "--ablate", "--beta", "0.1"],
            "leave out the other settings of the agents",
        ),
        (
            ["dqn", *SHORT, "--ablate", "--epsilon-hold", "5"],
            "leave out the other settings of the agents",
        ),
        (["rdq", GAME, "--steps", "2500", "--out", "x"], "train: steps must be a multiple"),
        (
            ["rdq", GAME, "--steps", "500", "--out", "x"],
            "train: steps must be at least 1,000 (learn_from",
        ),
        (["rdq", GAME, "--steps", "1500000", "--out", "x"], "multiple of 1,000,000"),
        (["rdq", *SHORT, "--evaluate-every", "500"], "at least 1,000"),
        (["rdq", *SHORT, "--evaluate-every", "1500"], "multiple of 1,000"),
        (["rdq", *SHORT, "--device", "gpu"], "device gpu: jax finds none here"),
        (["rdq", *SHORT, "--max-minutes", "0"], "'0' is not a number in (0, inf)"),
        (["rdq", GAME, "--steps", "2000"], "--out DIR is missing"),
    ],
)
def test_bad_arguments_are_one_line(arguments, told, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(["train", *arguments], told)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["x", "x/y"])
def test_a_directory_of_directories_of_runs_is_refused(place, refused, tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "keep_compiled", lambda: None)
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / "config.json").write_text("{}")
    before = sorted(tmp_path.rglob("*"))
    told = f"has directories of runs in it, such as {tmp_path / place}: choose another"
    refused(["train", "rdq", GAME, "--steps", "2000", "--out", str(tmp_path)], told)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("option", "package"), [("--tensorboard", "tensorboardX"), ("--wandb", "wandb")]
)
def test_a_missing_tracker_says_what_to_install(option, package, refused, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(devices, "keep_compiled", lambda: None)
    monkeypatch.chdir(tmp_path)
    refused(["train", "rdq", *SHORT, option, "x"], f"{package}: pip install 'qduet[track]'")
    assert not list(tmp_path.iterdir())


def row(step, score):
    return {"agent": "rdq", "seed": 3, "step": step, "return_mean": score, "train_loss_mean": None}


def test_trackers_get_each_new_row_once(monkeypatch, tmp_path):
    seen = []

    class Writer:
        def __init__(self, logdir):
            self.name = logdir

        def add_scalar(self, column, value, step):
            seen.append((self.name, column, value, step))

        flush = close = lambda self: None

    fake = types.SimpleNamespace(
        log=lambda values, step: seen.append((values, step)), finish=lambda: seen.append("finish")
    )
    monkeypatch.setitem(sys.modules, "tensorboardX", types.SimpleNamespace(SummaryWriter=Writer))
    monkeypatch.setitem(
        sys.modules, "wandb", types.SimpleNamespace(init=lambda project, config: fake)
    )
    job = Job(GAME, (("rdq", make_agent("rdq")),), (3,), 2_000, 1_000)
    rows = [row(0, 0.5)]  # what a checkpoint had
    with tracking.Tracker(job, tmp_path, "project") as track:
        track(rows)
        rows.append(row(1_000, 1.5))
        track(rows)
        track(rows)
    assert seen == [
        (str(tmp_path / "rdq-3"), "return_mean", 1.5, 1_000),
        ({"rdq-3/return_mean": 1.5}, 1_000),
        "finish",
    ]


@pytest.mark.parametrize("failing", ["init", "log", "finish"])
def test_a_tracker_that_fails_is_dropped_with_one_line(failing, monkeypatch, capsys):
    calls = []

    def call(name):
        def made(*_, **__):
            calls.append(name)
            if name == failing:
                raise ConnectionError("no\nnetwork")
            return fake

        return made

    fake = types.SimpleNamespace(log=call("log"), finish=call("finish"))
    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace(init=call("init")))
    job = Job(GAME, (("rdq", make_agent("rdq")),), (3,), 2_000, 1_000)
    with tracking.Tracker(job, None, "project") as track:
        assert not calls  # a job that is refused or finished opens nothing
        track([])
        track([row(0, 0.5)])
        track([row(0, 0.5), row(1_000, 0.5)])
    told = capsys.readouterr().err
    assert told == "qduet train: --wandb failed and is left out from here on (no network)\n"
    assert calls.count("log") == {"init": 0, "log": 1, "finish": 2}[failing]


def test_a_tracker_that_is_never_used_is_never_opened(monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace())
    job = Job(GAME, (("rdq", make_agent("rdq")),), (3,), 2_000, 1_000)
    with tracking.Tracker(job, None, "project"):
        pass


@pytest.mark.parametrize(("cut", "told"), [([0, 3, 0], "3 of 15 evaluation episodes"), ([0], "")])
def test_the_summary_tells_of_episodes_cut_short(cut, told, capsys):
    job = Job(GAME, (("rdq", make_agent("rdq")),), (3,), 2_000, 1_000, 5)
    shown = {"q_value_mean": 1.0, "q_overestimation": 1.0}
    rows = [{**row(1_000 * i, 0.5), **shown, "episodes_cut": n} for i, n in enumerate(cut)]
    result = trainer.TrainingResult(True, 2_000, 60.0, rows)
    args = argparse.Namespace(json=False, out="out")
    assert report(args, job, result) == 0
    out = capsys.readouterr().out
    assert told in out
    assert ("cut short" in out) == bool(told)
    assert "Q − discounted" in out


@pytest.mark.parametrize(
    ("step", "told"),
    [(0, "stopped before anything was written\n"), (1_000, "stopped at step 1,000 of 2,000, ")],
)
def test_a_job_that_was_stopped_says_what_is_saved(step, told, capsys):
    job = Job(GAME, (("rdq", make_agent("rdq")),), (3,), 2_000, 1_000, 5)
    for reason, code in ((signal.SIGINT, 130), (signal.SIGTERM, UNFINISHED)):
        result = trainer.TrainingResult(False, step, 1.0, [], stopped_by=reason)
        assert report(argparse.Namespace(json=False, out="out"), job, result) == code
        assert f"qduet train: {told}" in capsys.readouterr().err


def test_without_a_terminal_an_evaluation_is_told_before_and_after(capsys):
    job = Job(GAME, (("rdq", make_agent("rdq")),), (3,), 2_000, 1_000, 500)
    with Display(job) as show:
        show(trainer.Progress("evaluating", 0, 0.0, []))
        assert capsys.readouterr().err == "step 0: evaluating 1 run × 500 episodes\n"
        show(trainer.Progress("evaluating", 0, 0.0, [row(0, 0.5)]))
        assert capsys.readouterr().err == "step 0: return rdq 0.50\n"
        show(trainer.Progress("evaluating", 1_000, 0.0, [row(0, 0.5)]))
        assert "step 1,000: evaluating" in capsys.readouterr().err


def test_the_time_left_does_not_count_compilation(capsys, monkeypatch):
    job = Job(GAME, (("rdq", make_agent("rdq")),), (3,), 10_000, 1_000, 500)
    reports = [("compiling", 0, 0), ("compiling", 1_000, 90), ("training", 2_000, 200)]
    reports += [("evaluating", 2_000, 240), ("training", 4_000, 320)]
    with Display(job) as show:
        for doing, step, seconds in reports:
            monkeypatch.setattr("time.monotonic", lambda seconds=seconds: seconds)
            show(trainer.Progress(doing, step, 50.0, []))
    told = [line for line in capsys.readouterr().err.splitlines() if " of " in line]
    assert told == [
        "step 2,000 of 10,000  50 frames/s",
        "step 4,000 of 10,000  50 frames/s  0:06:00 left",  # 2,000 steps in the last 120 s
    ]


def test_help_has_an_example(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    assert "qduet train rdq" in capsys.readouterr().out
