"""`qduet watch`: from a directory, a weights file or a recording to a page and a GIF."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest

from qduet.agents import make_agent
from qduet.cli import main
from qduet.deep import board
from qduet.jobs import pretrained, recording_file, weights
from qduet.jobs.weights import Weights
from qduet.minatar import animation, make, render, unpack
from qduet.results import runs
from qduet.show.player import gif as gif_module
from qduet.show.player.page import embedded, page

pillow_image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
ENV = "MinAtar/Freeway-v1"
LABELS = ("dqn", "rdq")


def untrained(label, seed):
    env, agent = make(ENV), make_agent(label)
    key = jax.random.key(seed)
    params = board.init(key, env.num_channels, env.num_actions)
    return Weights(params, agent, ENV, label, seed, 1_000)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """What `qduet train` leaves."""
    place = tmp_path_factory.mktemp("trained")
    names = [{"label": label} for label in LABELS]
    settings = {"format": 1, "game": "Freeway", "agents": names, "seeds": [3, 5], "steps": 1_000}
    rows = [
        {"game": "Freeway", "agent": label, "seed": seed, "step": 1_000}
        for label in LABELS
        for seed in (3, 5)
    ]
    runs.write(place, settings, rows)
    for label in LABELS:
        weights.save(weights.path_of(place, label, 5), untrained(label, 5))
    weights.save(weights.path_of(place, "rdq", 3), untrained("rdq", 3))
    return place


def watch(capsys, *arguments):
    assert main(["watch", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_directory_gives_the_run_that_is_asked_for(directory, tmp_path, capsys):
    told = watch(capsys, directory, "--frames", "12", "--out", tmp_path)
    assert (told["label"], told["seed"], told["frames"], told["ended"]) == ("rdq", 3, 12, False)
    other = watch(
        capsys, directory, "--agent", "dqn", "--seed", 5, "--frames", 12, "--out", tmp_path
    )
    assert (other["label"], other["seed"]) == ("dqn", 5)
    names = {path.name for path in tmp_path.iterdir()}
    stems = ("freeway-rdq-3-step1000-episode0", "freeway-dqn-5-step1000-episode0")
    assert names == {f"{stem}.{kind}" for stem in stems for kind in ("json", "html", "gif")}
    assert told["sha256"] == json.loads((tmp_path / f"{stems[0]}.json").read_text())["sha256"]


def test_a_recording_gives_the_same_page_again(directory, tmp_path, capsys):
    path = weights.path_of(directory, "rdq", 5)
    arguments = ("--episode-seed", 2, "--frames", 8)
    first = watch(capsys, path, *arguments, "--out", tmp_path / "a")
    again = watch(capsys, first["json"], "--out", tmp_path / "b")
    for kind in ("json", "html", "gif"):
        a, b = (tmp_path / name / f"freeway-rdq-5-step1000-episode2.{kind}" for name in "ab")
        assert a.read_bytes() == b.read_bytes()
    assert again["episode_seed"] == 2


def test_an_episode_of_another_agent_is_not_overwritten(directory, tmp_path, refused, capsys):
    path, out = weights.path_of(directory, "rdq", 5), tmp_path / "out"
    known = weights.load(path)
    others = {
        "longer": known._replace(step=2_000),
        "other": known._replace(agent=known.agent.replace(n_step=3)),
    }
    for name, other in others.items():
        weights.save(tmp_path / f"{name}.safetensors", other)
    ours = [watch(capsys, path, "--frames", 8, "--out", out)["json"] for _ in range(2)]
    longer = watch(capsys, tmp_path / "longer.safetensors", "--frames", 8, "--out", out)["json"]
    assert ours[0] == ours[1] != longer
    refused(
        ["watch", str(tmp_path / "other.safetensors"), "--frames", "8", "--out", str(out)],
        "other settings (n_step is 1 there, 3 here): choose another --out",
    )
    assert {recording_file.read(out / name).step for name in (ours[0], longer)} == {1_000, 2_000}


def test_the_terminal_is_told_what_was_cut(directory, tmp_path, capsys):
    out = tmp_path / "new"
    assert main(["watch", str(directory), "--frames", "5", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "score 0 in 5 frames (cut short there; of weights, --frames N records more)" in told
    assert str(out / "freeway-rdq-3-step1000-episode0.html") in told


def test_wrong_input_is_refused_and_nothing_written(directory, tmp_path, refused):
    out = ["--out", str(tmp_path / "out")]
    path = str(weights.path_of(directory, "rdq", 3))
    other = tmp_path / "a.json"
    other.write_text("{}")
    refused(["watch", str(directory), "--agent", "rqd", *out], "did you mean 'rdq'?")
    refused(["watch", str(directory), "--seed", "4", *out], "its seeds: 3, 5")
    refused(["watch", str(directory), "--seed", "3", "--agent", "dqn", *out], "is not there")
    refused(["watch", path, "--seed", "3", *out], "--seed does not go with")
    refused(["watch", str(other), "--frames", "3", *out], "--frames does not go with")
    refused(["watch", str(other), *out], "is not a recording of qduet watch")
    refused(["watch", str(directory / "evaluations.csv"), *out], ".safetensors")
    refused(["watch", str(tmp_path), *out], "holds no training runs")
    refused(["watch", str(tmp_path / "no"), *out], "does not exist")
    refused(["watch", path, "--frames", "60_000", *out], "frames must be from 1 to 50000")
    assert not (tmp_path / "out").exists()


def test_the_gif_has_every_board_and_bars_of_the_right_length(directory, tmp_path, capsys):
    told = watch(capsys, directory, "--frames", 6, "--fps", 25, "--out", tmp_path)
    recording = recording_file.read(tmp_path / "freeway-rdq-3-step1000-episode0.json")
    steps, env = recording.episode, make(ENV)
    scale = max(steps.q.max(), steps.v.max(), 0) - min(steps.q.min(), steps.v.min(), 0)
    with pillow_image.open(told["gif"]) as gif:
        assert (gif.n_frames, gif.info["duration"]) == (7, 40)
        for t in (0, 4):
            gif.seek(t)
            pixels = np.asarray(gif.convert("RGB")).astype(int)
            seen = np.asarray(unpack(steps.observations[t], env.num_channels))
            board = render.rgb(seen, scale=1, palette="bright").astype(int)
            half = animation.MARGIN + animation.CELL // 2
            cells = pixels[half :: animation.CELL, half :: animation.CELL][:10, :10]
            np.testing.assert_array_equal(cells, board)
            row = animation.MARGIN + gif_module.ROW // 2 + 2 * gif_module.ROW
            for i in range(env.num_actions):
                line = pixels[row + i * gif_module.ROW + 3]
                long = (line == gif_module.Q).all(axis=1).sum()
                wanted = gif_module.BAR * abs(steps.q[t, i]) / scale
                assert long == pytest.approx(wanted, abs=2)


def test_a_page_holds_any_name_as_text(directory):
    nasty = "</script><script>alert(1)</script>\u2028<!--"
    element = embedded({"label": nasty}, "x")
    body = element.split(">", 1)[1].removesuffix("</script>")
    assert not set("<>&\u2028") & set(body)
    assert json.loads(body) == {"label": nasty}
    text = page([], title=nasty)
    assert "alert(1)</script>" not in text
    assert text.count("<script") == 2
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_missing_weights_of_finished_and_unfinished_runs(directory, tmp_path, refused):
    refused(["watch", str(directory), "--agent", "dqn", "--seed", "3"], "is finished, but ")
    found = runs.load(directory)
    rows = [{"game": "Freeway", "agent": "rdq", "seed": 3, "step": 0}]
    runs.write(tmp_path, found.config, rows)
    refused(["watch", str(tmp_path)], "is unfinished: continue it")


@pytest.fixture
def only_recordings(monkeypatch):
    """As if no weights came with qduet."""
    recorded = [one for one in pretrained.everything() if one.kind == "recording"]
    monkeypatch.setattr(pretrained, "everything", lambda: recorded)


def test_an_agent_that_comes_with_qduet_plays_any_episode(tmp_path, capsys):
    episodes = [
        watch(capsys, "rdq", "Breakout", "--episode-seed", n, "--frames", 60, "--out", tmp_path)
        for n in (1, 2, 1)
    ]
    assert episodes[0] == episodes[2] != episodes[1]


def test_a_recording_is_shown_where_there_are_no_weights(only_recordings, tmp_path, capsys):
    (known,) = (x for x in watch(capsys) if (x["label"], x["env"]) == ("dqn", ENV))
    shown = watch(capsys, "dqn", "freeway", "--out", tmp_path)
    assert (known["kind"], shown["score"]) == ("recording", known["score"])


def test_the_list_marks_recordings_that_were_cut(capsys):
    known = [Path(one["path"]) for one in watch(capsys) if one["kind"] == "recording"]
    assert main(["watch"]) == 0
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    marked = {path for path in known for x in lines if "(cut)" in x and x.endswith(path.name)}
    assert marked == {path for path in known if not recording_file.read(path).ended}
    assert marked


def test_refusals_of_agents_by_name(only_recordings, tmp_path, refused, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(["watch", "bc_qvmax_target", "Freeway"], f"qduet train bc_qvmax_target {ENV}")
    refused(["watch", "rdq"], "qduet watch rdq Breakout")
    refused(["watch", "dqn", "asterix", "--episode-seed", "3"], "which is a recording")
    refused(["watch", "a", "b", "c"], "AGENT and GAME")
    assert not [*tmp_path.iterdir()]
