import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from qduet.cli import COMMANDS, main
from qduet.tabular import RuleSpec, TabularExperiment, run, summarise_all

SMOKE = ["reproduce", "figure1", "--scale", "smoke", "--out"]


def command(*arguments):
    return [
        sys.executable,
        "-c",
        "from qduet.cli import main; raise SystemExit(main())",
        *arguments,
    ]


def results_of(directory):
    """A digest of every file but the log of the last run."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != "last-run.json"
    }


def wait_for(directory, pattern):
    deadline = time.monotonic() + 120
    while not any(directory.glob(pattern)) and time.monotonic() < deadline:
        time.sleep(0.05)


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    assert main([*SMOKE, str(out)]) == 0
    return out


def test_reproduce_writes_figures_and_tables(reproduced):
    files = results_of(reproduced)
    for name in ("figure1.png", "figure1.pdf", "figure1.svg", "settings.json"):
        assert name in files
    document = json.loads((reproduced / "figure1" / "summary.json").read_text())
    assert {row["rule"] for row in document["table"]} == {"expected_sarsa", "qv_learning"}
    assert document["findings"] == []  # 4 seeds × 400 steps prove nothing
    assert "| 18 | qv_learning |" in (reproduced / "figure1" / "summary.md").read_text()


def test_running_again_changes_nothing(reproduced):
    before = results_of(reproduced)
    assert main([*SMOKE, str(reproduced)]) == 0
    assert results_of(reproduced) == before


def test_killed_and_run_again_ends_with_the_same_bytes(reproduced, tmp_path):
    process = subprocess.Popen(command(*SMOKE, str(tmp_path)), stdout=subprocess.DEVNULL)
    wait_for(tmp_path, "figure1/*/*.npz")
    process.kill()
    process.wait()
    assert main([*SMOKE, str(tmp_path)]) == 0
    ours = {name: digest for name, digest in results_of(tmp_path).items() if "/." not in f"/{name}"}
    assert ours == results_of(reproduced)


def test_two_at_once_do_no_harm(reproduced, tmp_path):
    pair = [
        subprocess.Popen(command(*SMOKE, str(tmp_path)), stdout=subprocess.DEVNULL)
        for _ in range(2)
    ]
    assert [process.wait(timeout=300) for process in pair] == [0, 0]
    assert results_of(tmp_path) == results_of(reproduced)


def test_interrupting_says_how_to_continue(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "qduet", "reproduce", "figure5", "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(tmp_path, "settings.json")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "run the same command again to continue" in errors
    assert "Traceback" not in errors


def test_damaged_results_are_told_and_kept(reproduced, tmp_path, capsys):
    import shutil

    out = tmp_path / "copy"
    shutil.copytree(reproduced, out)
    curves = out / "figure1" / "actions-18" / "qv_learning.npz"
    curves.write_bytes(b"broken")
    assert main([*SMOKE, str(out)]) == 2
    message = capsys.readouterr().err
    assert "qv_learning.npz is damaged" in message
    assert "delete it and run" in message
    assert curves.read_bytes() == b"broken"


def test_other_settings_in_the_directory_are_refused(reproduced, capsys):
    before = results_of(reproduced)
    arguments = [*SMOKE, str(reproduced), "--protocol", "reference"]
    assert main(arguments) == 2
    assert "protocol is paper there, reference here" in capsys.readouterr().err
    assert results_of(reproduced) == before


BAD = [
    (["tabular", "q_lerning"], "did you mean 'q_learning'"),
    (["tabular", "q_learning", "--mdp", "duelling"], "did you mean 'dueling'"),
    (["tabular", "q_learning", "--mdp", "FrozenPond-v1"], "FrozenPond"),
    (["tabular", "q_learning", "--step-size", "0"], "--step-size: '0' is not a number in (0, inf)"),
    (["tabular", "q_learning", "--step-size", "nan"], "--step-size"),
    (["tabular", "q_learning", "--step-size", "inf"], "--step-size"),
    (["tabular", "q_learning", "--actions", "0"], "--actions: '0' is not a whole number of at"),
    (["tabular", "q_learning", "--seeds", "0"], "--seeds"),
    (["tabular", "q_learning", "--seeds", "1.5"], "--seeds"),
    (["tabular", "q_learning", "--discount", "1"], "--discount: '1' is not a number in [0, 1)"),
    (["tabular", "q_learning", "--steps", "150"], "multiple of record_every"),
    (["tabular", "q_learning", "--beta", "0.1"], "--beta belongs to soft_rdq"),
    (["tabular", "td0", "--epsilon", "0.1"], "td0 learns no action values"),
    (["tabular", "qv_learning", "--epsilon", "0.1"], "qv_learning estimates a fixed policy's"),
    (["tabular", "q_learning", "--mdp", "Taxi-v3", "--actions", "2"], "--actions belongs to"),
    (["tabular"], "RULE"),
    ([], "COMMAND is missing: one of reproduce, tabular"),
    (["tabular", "q_learning", "--sed", "3"], "--sed"),
    (["reproduce", "figure7"], "unknown figure 'figure7'"),
    (["reproduce", "figure11", "--scale", "smoke"], "did you mean 'figure1'"),
    (["reproduce", "--scale", "huge"], "--scale"),
    (["reproduce", "--scale", "laptop"], "invalid choice: 'laptop'"),
    (["reproduce", "figure1", "--out", "/proc/nowhere"], "cannot write"),
    (["reprduce"], "did you mean 'reproduce'"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda x: " ".join(x)[:40])
def test_bad_input_is_one_line_and_exit_code_2(arguments, message, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(arguments, message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_with_an_example(name, capsys):
    with pytest.raises(SystemExit) as stop:
        main([name, "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert f"qduet {name}" in text.split("example:")[1]


def test_certify_lists_its_exit_codes(capsys):
    with pytest.raises(SystemExit):
        main(["certify", "--help"])
    assert "  1  something differs" in capsys.readouterr().out


def test_help_tells_the_default_problem(capsys):
    with pytest.raises(SystemExit):
        main(["tabular", "--help"])
    assert "(default on-policy, for every rule)" in " ".join(capsys.readouterr().out.split())
    assert main(["tabular", "hard_rdq", "--seeds", "2", "--steps", "100"]) == 0
    assert capsys.readouterr().out.startswith("hard_rdq on on-policy-18 ")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("reproduce", "(default out)"),
        ("theory", "(default: neither is written)"),
        ("train", "(there is no default)"),
        ("watch", "(default out/watch)"),
    ],
)
def test_help_tells_the_default_of_out(name, told, capsys):
    with pytest.raises(SystemExit):
        main([name, "--help"])
    assert told in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("steps", ["500", "20000"])
def test_tabular_numbers_stand_in_one_column(steps, capsys):
    assert main(["tabular", "q_learning", "--actions", "2", "--seeds", "2", "--steps", steps]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert len(rows) == 3
    assert len({re.match(r"  \w.*?  +", row).end() for row in rows}) == 1


def test_tabular_json_is_one_document_with_the_numbers(capsys):
    arguments = ["tabular", "q_learning", "--mdp", "qvmax", "--actions", "1", "--seeds", "3"]
    assert main([*arguments, "--step-size", "1", "--steps", "400", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    # |A| = 1: every step pays 1, so the errors shrink from 100 % and q_* = 100 everywhere
    assert document["initial_rms_error"] == pytest.approx(100.0)
    assert document["seeds"] == 3
    assert document["diverged"] == 0
    low, high = document["auc_ci95"]
    assert low < document["auc_mean"] < high < 100
    assert 0 < document["final_error_mean"] < document["auc_mean"]
    assert document["seconds"] > 0


@pytest.mark.parametrize("rule", ["dueling_q", "soft_rdq", "hard_rdq"])
@pytest.mark.parametrize("protocol", ["paper", "reference"])
def test_tabular_is_one_point_of_a_figure(rule, protocol, capsys, tmp_path):
    """The same rule, |A|, step size and seeds as an experiment under the same protocol."""
    spec = RuleSpec(rule, 0.01 if rule == "soft_rdq" else None)
    settings = {"init_std": 2.0, "actions": (2,), "step_sizes": (0.13534,), "seeds": 4}
    figure = TabularExperiment(
        "one", "One", "dueling", (spec,), **settings, steps=400, protocol=protocol
    )
    expected = summarise_all(run(figure, tmp_path))[2][spec.id]
    options = ["--actions", "2", "--step-size", "0.13534", "--seeds", "4", "--steps", "400"]
    beta = ["--beta", "0.01"] if rule == "soft_rdq" else []
    command = ["tabular", rule, "--mdp", "dueling", *options, *beta, "--protocol", protocol]
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["step_size"] == (0.1353 if protocol == "reference" else 0.13534)
    assert document["auc_mean"] == expected.best.auc.mean
    assert document["auc_ci95"] == [expected.best.auc.low, expected.best.auc.high]
    assert document["final_error_mean"] == expected.final_error.mean


@pytest.mark.parametrize(
    "extra", [["--mdp", "FrozenLake-v1"], ["--epsilon", "0.1"], ["--discount", "0.5"]]
)
def test_tabular_knows_the_released_code_on_the_papers_problems_alone(extra, refused):
    command = ["tabular", "q_learning", "--seeds", "1", "--steps", "100"]
    refused([*command, "--protocol", "reference", *extra], "protocol='reference'")


def test_tabular_reports_divergence(capsys):
    arguments = ["tabular", "hard_rdq", "--mdp", "dueling", "--actions", "6", "--seeds", "2"]
    assert main([*arguments, "--step-size", "1.9", "--steps", "2000", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["diverged"] == 2
    assert document["auc_mean"] == "Infinity"
    assert set(document["diverged_at"]) == {"0", "1"}


@pytest.mark.parametrize(("step_size", "count"), [("2.1", 3), ("1.9", 0)])
def test_tabular_counts_runs_that_end_worse_than_they_began(step_size, count, capsys):
    """With |A| = 1 and γ = 0 each visit multiplies the error of a state by 1 − α."""
    arguments = ["tabular", "q_learning", "--actions", "1", "--discount", "0", "--seeds", "3"]
    arguments += ["--steps", "100", "--step-size", step_size]
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["ended_above_start"], document["diverged"]) == (count, 0)
    assert main(arguments) == 0
    assert (f"{count} of 3 runs" in capsys.readouterr().out) == bool(count)


def test_tabular_in_double_precision_agrees_with_single(capsys):
    means = []
    for extra in ([], ["--float64"]):
        arguments = ["tabular", "bc_qvmax", "--actions", "2", "--seeds", "2", "--steps", "500"]
        assert main([*arguments, "--json", *extra]) == 0
        means.append(json.loads(capsys.readouterr().out)["auc_mean"])
    assert means[0] != means[1]
    np.testing.assert_allclose(*means, rtol=1e-4)


TINY = ["tabular", "q_learning", "--actions", "2", "--seeds", "1", "--steps", "100"]


def test_a_pipe_closed_by_its_reader_is_no_error():
    """Buffered output meets the closed pipe only when it is flushed, at the latest at exit."""
    buffered = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    process = subprocess.Popen(
        command(*TINY, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=buffered
    )
    process.stdout.close()
    errors = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(timeout=120) == 141
    assert errors == ""


@pytest.mark.parametrize(
    ("name", "kept"), [("reproduce", True), ("tabular", False), ("theory", False)]
)
def test_only_commands_that_keep_results_say_so(name, kept, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def interrupted(args):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"qduet.cli.{name}.run", interrupted)
    arguments = [name, *(["q_learning"] if name == "tabular" else [])]
    assert main(arguments) == 130
    nothing = "; nothing was written" if kept else ""
    assert capsys.readouterr().err == f"\nqduet {name}: interrupted{nothing}\n"
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "settings.json").touch()
    assert main(arguments) == 130
    assert ("run the same command again" in capsys.readouterr().err) == kept
