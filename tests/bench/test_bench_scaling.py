"""`qduet bench --scaling`: readings of each part, one document, one picture."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from qduet.bench import deep, minatar, scaling, updates, workers
from qduet.bench.scaling import Reading, chart, show
from qduet.cli import main
from qduet.tabular.mdp import QTable
from qduet.tabular.rules import Transition

BENCH = ["bench", "--scaling"]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(updates, "STEPS", 64)
    monkeypatch.setattr(updates, "REPEATS", 1)
    monkeypatch.setattr(updates, "RULES", {"q_learning": updates.q_learning})
    monkeypatch.setattr(deep, "COPIED", 4_000_000)
    monkeypatch.setattr(scaling, "EPISODES", (2,))
    monkeypatch.setattr(scaling, "PRODUCT", 64)


def test_one_document_and_one_picture(small, monkeypatch, capsys, tmp_path):
    picture = tmp_path / "scaling.png"
    arguments = ["--parts", "tabular", "--states", "100", "--figure", str(picture), "--json"]
    assert main([*BENCH, *arguments]) == 0
    readings = [Reading(**r) for r in json.loads(capsys.readouterr().out)["readings"]]
    assert [(r.panel, r.x, r.line) for r in readings] == [
        (panel, size, line)
        for panel in ("maze", "random")
        for size in (10, 100)
        for line in (updates.WALK, "q_learning", updates.FLOOR)
    ]
    assert min(r.y for r in readings) > 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_training_beside_its_floor_and_peers(small, monkeypatch, capsys):
    asked = []
    peer = lambda *args, **options: asked.append((args, options)) or 7.0
    for name in (scaling.SCRIPT, scaling.PFRL):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(frames_per_second=peer))
    assert (
        main([*BENCH, "--parts", "training", "--runs", "2", "1", "--steps", "1000", "--json"]) == 0
    )
    readings = [Reading(**r) for r in json.loads(capsys.readouterr().out)["readings"]]
    at = {(r.panel, r.line, r.x): r.y for r in readings}
    lines = ["qduet", scaling.FLOOR, scaling.SCRIPT]
    speeds = {("training", line, runs) for line in lines for runs in (1, 2)}
    sizes = {(panel, line, x) for panel, xs in (("memory", (1, 2)), ("evaluation", (2,)))
             for line in lines[:2] for x in xs}  # fmt: skip
    assert set(at) == speeds | sizes | {("training", scaling.PFRL, 1)}
    assert at["training", scaling.FLOOR, 1] == pytest.approx(at["training", scaling.FLOOR, 2])
    for runs in (1, 2):  # a CPU's program has the state twice: 10 MB of weights, moments, memory
        assert at["memory", "qduet", runs] == pytest.approx(
            2 * at["memory", "floor", runs], rel=0.01
        )
        assert 7 * runs < at["memory", "floor", runs] < 12 * runs
    tuned = lambda runs: {"form": "tuned", "seeds": runs, "steps": 1000, "repeats": 1}
    script = [(("Breakout-MinAtar",), tuned(runs)) for runs in (1, 2)]
    assert asked == [script[0], ((1000,), {}), script[1]]


def test_runs_that_do_not_fit_into_memory_are_left_out(small, monkeypatch, capsys):
    monkeypatch.setattr(scaling, "_importable", lambda name: None)
    monkeypatch.setattr("qduet.jobs.devices.memory", lambda device: 30_000_000)
    found = list(scaling.training(0, ["Breakout"], [1, 2], 1000))
    assert {r.x for r in found if r.panel == "training"} == {1}
    assert "left out: 2 runs of about 18 MiB each do not fit" in capsys.readouterr().err


def test_the_script_of_benchmarks_is_a_peer(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    script = scaling._importable(scaling.SCRIPT)
    sizes = {"seeds": 1, "steps": 1_000, "repeats": 1}
    assert script.frames_per_second("Breakout-MinAtar", form="tuned", **sizes) > 10


def test_a_script_that_lacks_a_name_of_qduet_is_an_error(monkeypatch, tmp_path):
    (tmp_path / "old_script.py").write_text("import qduet.no_such_room\n")
    (tmp_path / "new_script.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert scaling._importable("new_script") is None
    with pytest.raises(ModuleNotFoundError):
        scaling._importable("old_script")


def test_games_that_are_not_installed_have_no_line(monkeypatch):
    speeds = {"qduet": 5.0, "minatar": 3.0, "gymnax": 2.0, "pgx": None}
    read = lambda name, form, game, batch, seconds: SimpleNamespace(steps_per_second=speeds[name])
    monkeypatch.setattr(minatar, "read", read)
    found = {(r.line, r.x): r.y for r in scaling.playing(10, ["Asterix"])}
    side_by_side = {(name, n): speeds[name] for name in ("qduet", "gymnax") for n in (1, 32, 1024)}
    assert found == side_by_side | {("minatar", 1): 3.0}


def test_a_sweep_is_measured_on_one_core_for_each_worker(monkeypatch, tmp_path):
    """Three cores; a job by ``qduet train`` takes 10 s, the sweep 30 s on one core."""
    alone = {"train": 10.0, "sweep": 30.0}
    asked = []

    def seconds(command, workers, *options):
        words = command(tmp_path / "out")
        asked.append((words[0], workers))
        return alone[words[0]] / workers

    monkeypatch.setattr(workers, "cores", lambda: 3)
    monkeypatch.setattr(workers, "_seconds", seconds)
    monkeypatch.setattr(workers, "find_spec", lambda name: None)
    assert [tuple(r) for r in workers.readings()] == [
        ("floor", 1, 40.0), ("local", 1, 30.0), ("floor", 2, 20.0), ("local", 2, 15.0),
    ]  # fmt: skip
    assert asked == [*[("train", 1)] * 4, ("sweep", 1), ("sweep", 2)]
    assert (
        main(["sweep", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "s"), "--dry-run"]) == 0
    )


def test_lines_and_tables_by_hand(capsys):
    readings = [
        Reading("training", game, line, runs, speed * runs)
        for game in ("Breakout", "Seaquest")
        for line, speed in (("floor", 900.0), ("qduet", 500.0))
        for runs in (4, 1)
    ]
    drawn = chart([*readings, Reading("workers", "", "local", 1, 0.123456)])
    titles = ["Training, Breakout", "Training, Seaquest", "A sweep of 4 jobs"]
    assert [panel.title for panel in drawn.panels] == titles
    lines = {s.group: (s.x.tolist(), s.y.tolist()) for s in drawn.panels[0].series}
    assert lines == {"qduet": ([1, 4], [500, 2000]), "floor": ([1, 4], [900, 3600])}
    assert list(drawn.groups) == ["qduet", "local", "floor"]
    show(readings[:3])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["1", "–", "900"] in rows
    assert ["4", "2,000", "3,600"] in rows


def test_the_floor_copies_one_row():
    q = np.arange(12.0).reshape(2, 3, 2)
    after = updates.touch().update(
        QTable(updates.jnp.asarray(q)), Transition(0, 2, 9.0, 0.9, 1), 0.5
    )
    q[0, 2] = q[1, 0]
    np.testing.assert_array_equal(after.q, q)


def test_the_random_problem_visits_all_states():
    assert len(np.unique(updates.random_mdp(100, 4).successors.state)) > 95


@pytest.mark.parametrize(
    ("figure", "told"),
    [
        ("scaling.jpeg", "--figure must name a .png file"),
        ("/dev/null/scaling.png", "/dev/null"),
    ],
)
def test_a_figure_that_cannot_be_written_is_refused_before_measuring(
    figure, told, refused, monkeypatch
):
    monkeypatch.setattr(scaling, "measure", lambda args: pytest.fail("measured"))
    refused([*BENCH, "--figure", figure], told)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--games", "Pong"], "unknown game 'Pong'"),
        (["--steps", "1_500"], "--steps must be a multiple of 1,000; it is 1,500"),
        (["--parts", "gpu"], "gpu"),
        (["--episodes", "3"], "--episodes is an option of --deep"),
        (["--parts", "workers", "--steps", "1000"], "--steps is for other parts than workers"),
    ],
)
def test_bad_input(refused, arguments, told):
    refused([*BENCH, *arguments], told)


def test_what_times_the_cpu_is_refused_elsewhere(refused, monkeypatch):
    monkeypatch.setattr(scaling, "_on_cpu", lambda: False)
    refused(
        [*BENCH, "--parts", "workers"],
        "--parts workers cannot be measured here: it needs JAX_PLATFORMS=cpu",
    )
