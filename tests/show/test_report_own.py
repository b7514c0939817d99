"""The page of one's own rules, experiments and runs: names, colours, headings, panels."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import planted
import planted_cells
import pytest
from pages import read

from qduet.cli import main
from qduet.paper.claims import rdq_outperforms
from qduet.results import runs
from qduet.results.comparison import compare
from qduet.show.names import on_screen, rule_styles
from qduet.show.report import build
from qduet.show.report.kinds import kind_of

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
    page = build([Path()]).html
    headings = re.findall("<h3>(.*?)</h3>", page[page.index('id="tabular"') :])
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
    assert "Breakout and Freeway: DQN, Dueling DQN, RDQ, 10M steps<" in build([Path()]).html
    monkeypatch.chdir(tmp_path / "lake")
    page = build([Path()]).html
    assert ">lake (not in the paper)<" in page
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


# --- Conclusions ---------------------------------------------------------------------------------


def normal(directory, means, *, seeds=6, game="Breakout"):
    """Runs whose last returns scatter by 1 about `means`, by agent; two agents or more."""
    config = planted.config(game, seeds=range(seeds), agents=("dqn",) * len(means))
    for agent, label in zip(config["agents"], means, strict=True):
        agent["label"] = label
    generator = np.random.default_rng(5)
    noise = lambda: generator.normal(size=(seeds, 11))
    curves = {label: mean + noise() for label, mean in means.items()}
    runs.write(directory, config, planted.rows(config, curves))


def test_each_comparison_has_a_conclusion_with_the_numbers_of_compare(tmp_path):
    normal(tmp_path / "mine" / "b", {"mine": 9.0, "dqn": 5.0, "other": 5.1})
    page, reader = read([tmp_path / "mine"])
    found = {(p.x, p.y): p for p in compare(tmp_path / "mine").pairs}
    better = found["mine", "dqn"].difference
    told = f"mine ahead of DQN by {better.mean:.2f} ± {better.half_width:.2f}."
    assert told in reader.text
    assert "DQN and other: no difference shown (" in reader.text
    for effect in page.data["deep-0"]["comparisons"]:
        pair = found[effect["x"], effect["y"]]
        assert effect["p_value"] == pytest.approx(pair.welch_holm)
        assert effect["difference"]["low"] == pytest.approx(pair.difference.low)


def test_a_single_seed_concludes_nothing(tmp_path):
    normal(tmp_path / "b", {"mine": 9.0, "dqn": 5.0}, seeds=1)
    _, reader = read([tmp_path])
    assert "mine and DQN: a single seed, so no difference can be shown." in reader.text
    assert "ahead of" not in reader.text


def test_a_page_of_ones_own_is_named_by_its_title_or_directory(tmp_path, capsys):
    normal(tmp_path / "my-agent" / "b", {"mine": 9.0, "dqn": 5.0})
    page, reader = read([tmp_path / "my-agent"])
    assert "<h1>my-agent</h1>" in page.html
    assert "These runs have no counterpart in the paper." in reader.text
    out = tmp_path / "page.html"
    title = "Mine <b>& others"
    command = ["report", str(tmp_path / "my-agent"), "--title", title, "-o", str(out)]
    assert main(command) == 0
    assert "<h1>Mine &lt;b&gt;&amp; others</h1>" in out.read_text()


# --- What runs are for ---------------------------------------------------------------------------

RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize(
    ("directory", "kind"),
    [
        ("figure6", "figure6"),
        ("validation", "validation"),
        ("paper-protocol", "protocol"),
        ("ablation", "ablation"),
        ("beta", "beta"),
        ("qv", "qv"),
        ("choice", "choice"),
        ("screening", "screening"),
    ],
)
def test_our_results_are_known_by_what_is_in_them(directory, kind):
    found = [runs.load(path) for path in runs.find([RESULTS / directory])]
    assert kind_of(found).id == kind
    few = [dataclasses.replace(r, config={**r.config, "seeds": [0, 1]}) for r in found]
    assert kind_of(few).id == "own"


def test_the_leads_of_figure6_are_judged_as_the_claims_are():
    page = build([RESULTS])
    assert page.problems == []
    verdicts = {c["statement"]: c["verdict"] for c in page.data["certificate-0"]["claims"]}
    rdq = [e for e in page.data["deep-0"]["comparisons"] if e["x"] == "rdq"]
    assert len(rdq) == 10
    for effect in rdq:
        claim = verdicts[rdq_outperforms(effect["game"], effect["y"])]
        assert (effect["p_value"] < 0.05) == (claim == "holds")
