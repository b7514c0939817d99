"""Sweeps in processes of their own: on this machine, disturbed, and on a Ray cluster."""

import csv
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from qduet.cli import main
from qduet.cluster import cutting, local, status
from qduet.cluster.engine import Options, Outcome
from qduet.cluster.estimates import Machine

ROOT = Path(__file__).parents[2]

PLAN = """
environments = ["MinAtar/Breakout-v1"]
seeds = 2
steps = 1_200
evaluate_every = 600
episodes = 5

[[agents]]
name = "rdq"
capacity = 400
learn_from = 100
sync_every = 100

[[tabular]]
figure = "figure5"
seeds = 4
steps = 400
step_sizes = [0.1, 1.0]
actions = [2]
"""
SAME = ["train", "rdq", "MinAtar/Breakout-v1", "--seeds", "2", "--steps", "1200", "--replay", "400"]
SAME += [
    "--evaluate-every",
    "600",
    "--episodes",
    "5",
    "--learn-from",
    "100",
    "--target-every",
    "100",
]


def benchmark():
    """benchmarks/cluster.py as a module."""
    spec = importlib.util.spec_from_file_location("cluster", ROOT / "benchmarks" / "cluster.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


results = benchmark().results


def start(*words):
    """``qduet`` in a process of its own."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "NPROC": "1"}
    command = [sys.executable, "-m", "qduet", *map(str, words)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, env=environment, **streams)


def ended(process):
    """How a process ended: its exit code, and what it printed."""
    told, _ = process.communicate(timeout=300)
    return process.returncode, told


def sweep(plan, out, *options):
    return start("sweep", plan, "--out", out, "--runs-per-job", 1, *options)


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "plan.toml"
    path.write_text(PLAN)
    return path


@pytest.fixture(scope="module")
def done(plan, tmp_path_factory):
    """A sweep that nobody disturbed."""
    out = tmp_path_factory.mktemp("done") / "sweep"
    code, told = ended(sweep(plan, out))
    assert code == 0, told
    return out


def test_each_job_is_a_directory_named_in_the_sweep(done):
    tasks = cutting.load(done).tasks
    assert [task.kind for task in tasks] == ["train", "train", "tabular"]
    assert all((done / task.name).is_dir() for task in tasks)
    assert len(results(done)) == 2 * 2 + 3  # evaluations and weights; a curves file for each rule


def test_collected_runs_are_those_of_one_command(done, tmp_path, capsys):
    code, told = ended(start(*SAME, "--out", tmp_path / "one"))
    assert code == 0, told
    assert main(["sweep", "collect", str(done), "--out", str(tmp_path / "all")]) == 0
    assert "of 1 environment in" in capsys.readouterr().out
    one, collected = results(tmp_path / "one" / ".."), results(tmp_path / "all" / "..")
    assert one["one/evaluations.csv"] == collected["all/breakout/evaluations.csv"]
    weights = {path.name: path.read_bytes() for path in done.glob("*/weights/*")}
    assert len(weights) == 2
    copies = (tmp_path / "all" / "breakout" / "weights").iterdir()
    assert {path.name: path.read_bytes() for path in copies} == weights
    with (tmp_path / "all" / "all.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["agent"], row["seed"], row["step"]) for row in rows] == [
        ("rdq", seed, step) for seed in "01" for step in ("0", "600", "1200")
    ]


def test_compare_and_report_take_the_directory_as_it_is(done, tmp_path, capsys):
    assert main(["compare", str(done), "--resamples", "100", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["by_game"][0]["seeds"] == 2
    assert main(["report", str(done), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "Breakout" in page
    assert "hard_rdq" in page


def test_a_dry_run_counts_what_is_finished(plan, done, capsys):
    assert main(["sweep", str(plan), "--out", str(done), "--dry-run"]) == 0
    assert capsys.readouterr().out == "3 of 3 jobs are finished already\n"
    assert main(["sweep", str(plan), "--out", str(done), "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["finished"], told["jobs"]) == (3, [])


def test_status_tells_that_all_is_done(done, capsys):
    assert main(["sweep", "status", str(done), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["finished"], told["running"], told["waiting"], told["failed"]) == (3, 0, 0, 0)


def test_a_finished_sweep_is_left_as_it_is(done, plan):
    before = {path: path.stat().st_mtime_ns for path in done.rglob("*.*") if path.is_file()}
    assert ended(sweep(plan, done))[0] == 0
    after = {path: path.stat().st_mtime_ns for path in done.rglob("*.*") if path.is_file()}
    assert after.items() >= {x: t for x, t in before.items() if not x.name.startswith(".")}.items()


def workers_of(out):
    """The processes that are at work on jobs of a sweep."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"qduet.cluster.work" in words and str(out).encode() in words:
            found.append(int(entry.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc")
def test_killed_and_stopped_and_continued_by_two_drivers(done, plan, tmp_path):
    out = tmp_path / "sweep"
    driver = sweep(plan, out, "--checkpoint-minutes", 0)
    deadline = time.monotonic() + 120
    while not workers_of(out) and time.monotonic() < deadline:
        time.sleep(0.1)
    os.kill(workers_of(out)[0], signal.SIGKILL)
    time.sleep(5)
    driver.send_signal(signal.SIGTERM)
    code, told = ended(driver)
    assert code in (0, 75), told
    assert not workers_of(out)
    pair = [sweep(plan, out), sweep(plan, out)]
    assert [ended(process)[0] for process in pair] == [0, 0]
    assert results(out) == results(done)


def test_a_job_whose_results_are_gone_is_not_finished(done, tmp_path):
    copy = shutil.copytree(done, tmp_path / "copy")
    first, *_, last = cutting.load(copy).tasks
    assert status.look(copy).count("finished") == 3
    shutil.rmtree(copy / first.name)
    shutil.rmtree(copy / last.name)
    assert status.look(copy).count("waiting") == 2


def test_a_job_that_others_end_is_started_again_and_given_up_at_last(done, tmp_path, monkeypatch):
    copy = shutil.copytree(done, tmp_path / "copy")
    name = cutting.load(copy).tasks[0].name
    shutil.rmtree(copy / name)
    turns = []

    def ended_by_others(*arguments):
        turns.append(arguments[1])
        return Outcome("stopped") if len(turns) % 2 else Outcome("killed", "by SIGKILL")

    monkeypatch.setattr(local, "_process", ended_by_others)
    one = Machine("cpu", 1, None)
    outcomes = local.run(copy, [name], one, Options(retries=3), lambda: False)
    assert turns == [name] * 4
    assert outcomes[name] == Outcome("failed", "ended 4 times by others; by SIGKILL")
    (failed,) = status.look(copy).of("failed")
    assert failed.note["reason"] == outcomes[name].reason


def test_without_ray_the_command_says_what_to_install(plan, tmp_path, monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "ray", None)
    command = ["sweep", str(plan), "--out", str(tmp_path / "x"), "--engine", "ray"]
    refused(command, "pip install 'qduet[cluster]'")
    assert not (tmp_path / "x").exists()


def test_a_dry_run_needs_no_jax_and_writes_nothing(plan, tmp_path):
    code = "import sys; from qduet.cli import main; main(sys.argv[1:]); print('jax' in sys.modules)"
    words = [sys.executable, "-c", code, "sweep", str(plan), "--dry-run", "--out", "x"]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stdout.endswith("False\n")
    assert "2 runs on" in ended.stdout
    assert not list(tmp_path.iterdir())


def test_a_job_that_cannot_be_run_is_named_and_the_others_go_on(done, plan, tmp_path):
    first, *_ = cutting.load(done).tasks
    (tmp_path / "sweep" / first.name).mkdir(parents=True)
    (tmp_path / "sweep" / first.name / "config.json").write_text("{}")
    code, told = ended(sweep(plan, tmp_path / "sweep"))
    assert code == 1
    assert f"{first.name} failed: " in told
    assert "2 of 3 jobs finished" in told
    assert (tmp_path / "sweep" / first.name / "config.json").read_text() == "{}"


def test_shards_share_the_jobs_without_knowing_of_each_other(done, plan, tmp_path):
    pair = [sweep(plan, tmp_path / "s", "--shard", f"{i}/2", "--json") for i in (1, 2)]
    told = [json.loads(ended(process)[1]) for process in pair]
    assert [x["finished"] for x in told] == [2, 1]
    assert results(tmp_path / "s") == results(done)


def test_a_ray_cluster_of_two_nodes_gives_the_same_bytes_when_it_is_disturbed(tmp_path):
    """Workers are killed, a node is killed and another one joins, the driver is killed."""
    pytest.importorskip("ray")
    words = [sys.executable, ROOT / "benchmarks" / "cluster.py", "faults", "--small"]
    words += ["--kills", "3", "--out", tmp_path / "faults"]
    ended = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stdout + ended.stderr[-2_000:]
    told = json.loads(ended.stdout)
    assert told["different"] == []
    assert (told["workers killed"], told["nodes killed"], told["drivers killed"]) == (3, 1, 1)
