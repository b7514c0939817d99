"""The page of one's own rules, experiments and runs: names, colours, headings, panels."""

import re
from pathlib import Path

import numpy as np
import planted
import planted_cells
import pytest
from pages import read

from qduet.results import runs
from qduet.show.names import rule_styles
from qduet.show.report import build
from qduet.show.report.parts import on_screen

# --- Rules and experiments -----------------------------------------------------------------------


def test_a_rule_of_ones_own_has_the_colour_and_the_name_of_its_figure(tmp_path):
    own = ("rdq-share-0.25", "double_q", "averaged_q")  # in the order of somebody's code
    names = ("q_learning", "hard_rdq", *own)
    planted_cells.experiment(tmp_path / "mine", rules=names, problem="own", actions=(3,))
    _, reader = read([tmp_path])
    found = {g["id"]: g for g in reader.embedded["charts"]["tabular-0"]["groups"]}
    for name in names:
        style = rule_styles(names)[name]
        assert found[name]["label"] == style.label
        assert found[name].items() >= on_screen(style.colour).items()
    assert [found[name]["label"] for name in own] == list(own)


def test_a_best_step_size_at_the_edge_of_the_grid_is_told(tmp_path):
    planted_cells.experiment(tmp_path / "figure5", step_sizes=(0.05, 0.1, 0.2, 0.4))
    _, reader = read([tmp_path])
    assert reader.text.count(" 0.4000, edge of the grid ") == 6  # rows: the more the better
    planted_cells.experiment(tmp_path / "figure5")
    assert "edge of the grid" not in read([tmp_path])[1].text  # 1 is none


def test_headings_that_would_repeat_have_their_directories(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for place in ("a", "b"):
        planted_cells.experiment(Path(place, "lake"), rules=("mine",), actions=(3,), problem="own")
    planted_cells.experiment(Path("a/other"), rules=("mine",), actions=(3,), problem="own")
    planted_cells.experiment(Path("b/figure5"))
    headings = re.findall("<h3>(.*?)</h3>", build([Path()]).html)
    assert headings[:3] == [
        "lake (not in the paper) in a/lake/",
        "other (not in the paper)",
        "Figure 5: Off-policy control with AV-learning",
    ]
    assert headings[3] == "lake (not in the paper) in b/lake/"


def test_the_current_directory_goes_without_saying(tmp_path, monkeypatch):
    generator = np.random.default_rng(0)
    for game in ("Breakout", "Freeway"):
        planted.game(tmp_path / "runs" / game, game, generator, seeds=[0, 1])
    planted_cells.experiment(tmp_path / "lake", rules=("mine",), actions=(3,), problem="own")
    monkeypatch.chdir(tmp_path / "runs")
    assert "<h3>Training runs of 10M steps</h3>" in build([Path()]).html
    monkeypatch.chdir(tmp_path / "lake")
    page = build([Path()]).html
    assert "<h3>lake (not in the paper)</h3>" in page
    for html in (page, build([tmp_path / "runs"]).html):
        assert "<code>.</code>" not in html
        assert " ./" not in html


# --- Runs ----------------------------------------------------------------------------------------


def trained(directory, agents, *, game="Breakout", **settings):
    """A directory of two runs of each of `agents`, which may have any names."""
    config = planted.config(game, seeds=[0, 1], agents=("dqn",) * len(agents), **settings)
    for agent, label in zip(config["agents"], agents, strict=True):
        agent["label"] = label
    count = config["steps"] // config["evaluate_every"] + 1
    curves = {label: np.full((2, count), float(len(label))) for label in agents}
    runs.write(directory, config, planted.rows(config, curves))


def test_directories_of_one_game_share_a_panel(tmp_path):
    trained(tmp_path / "a", ["dqn"])
    trained(tmp_path / "b", ["mine"])
    trained(tmp_path / "c", ["mine"], game="Freeway")
    _, reader = read([tmp_path])
    chart = reader.embedded["charts"]["deep-0"]
    assert [panel["title"] for panel in chart["panels"]] == ["Breakout", "Freeway"]
    returns = [s for s in chart["panels"][0]["series"] if s["when"]["metric"] == "return_mean"]
    assert [(s["group"], s.get("kind")) for s in returns] == [
        ("dqn", None),
        ("dqn", "published"),
        ("mine", None),
    ]
    assert "Each directory: 1 agent × 2 seeds" in reader.text


@pytest.mark.parametrize(
    ("agents", "settings"),
    [
        (["mine", "dqn"], {}),
        (["mine"], {"protocol": "paper"}),
        (["mine"], {"steps": 5_000_000}),
        (["mine"], {"evaluate_every": 500_000}),
        (["mine"], {"episodes": 10}),
        (["mine"], {"env": "MinAtar/Breakout-v0"}),
        (["mine"], {"game_program": "0123"}),
    ],
    ids=str,
)
def test_directories_that_are_not_alike_have_panels_of_their_own(tmp_path, agents, settings):
    trained(tmp_path / "a", ["dqn"])
    trained(tmp_path / "b", agents, **settings)
    _, reader = read([tmp_path])
    panels = reader.embedded["charts"]["deep-0"]["panels"]
    assert [panel["title"] for panel in panels] == ["Breakout (a)", "Breakout (b)"]
