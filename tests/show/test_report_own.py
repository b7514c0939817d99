"""The page of one's own rules, experiments and runs: names, colours, headings, panels."""

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import planted
import planted_cells
import pytest
from pages import read

from qduet.cli import main
from qduet.paper.admission import is_figure6
from qduet.paper.claims import rdq_outperforms
from qduet.results import runs
from qduet.results.comparison import compare
from qduet.show.charts.training import runs_chart
from qduet.show.names import on_screen, rule_styles
from qduet.show.report import build

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
        "lake (not in the paper) in a/lake/ in numbers",  # its figure is at the top
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


def test_seeds_of_an_agent_in_two_directories_are_one_line(tmp_path):
    """As the jobs of a sweep have them; the third has not come as far."""
    made = {"a": ((4, 2), (4.0, 2.0)), "b": ((3,), (3.5,)), "c": ((5,), (9.0,))}
    for name, (seeds, returns) in made.items():
        config = planted.config("Breakout", agents=["dqn"], seeds=seeds, steps=2_000_000)
        rows = planted.rows(config, {"dqn": np.repeat(np.array(returns)[:, None], 3, axis=1)})
        runs.write(tmp_path / name, config, [row for row in rows if name + str(row["step"]) < "c2"])
    panel, other = runs_chart([runs.load(tmp_path / name) for name in "abc"]).panels
    assert (panel.title, other.title) == ("Breakout (a, b)", "Breakout (c)")
    line = panel.series[0]
    assert line.x.tolist() == [0, 1_000_000, 2_000_000]
    assert line.y == pytest.approx([9.5 / 3] * 3)
    assert line.seed_names == (2, 3, 4)
    assert line.seeds[:, 0].tolist() == [2.0, 3.5, 4.0]


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


# --- What runs are about ------------------------------------------------------------------------

RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize("directory", ["figure6", "validation", "qv", "family"])
def test_figure6_is_known_by_what_is_in_it(directory):
    found = [runs.load(path) for path in runs.find([RESULTS / directory])]
    assert is_figure6(found) == (directory == "figure6")
    few = [dataclasses.replace(r, config={**r.config, "seeds": [0, 1]}) for r in found]
    assert not is_figure6(few)


def test_a_folder_says_what_its_runs_are_about(tmp_path):
    normal(tmp_path / "mine" / "b", {"mine": 9.0, "dqn": 5.0, "other": 5.1})
    normal(tmp_path / "others" / "b", {"before": 4.0, "unused": 1.0})
    said = {
        "title": "Is <mine> better?",
        "about": "Mine is new.",
        "beside": ["others", "nowhere"],
        "pairs": [[["mine", "before"], ["mine", "not run"]], [["mine", "other"]]],
    }
    (tmp_path / "mine" / "experiment.json").write_text(json.dumps(said))
    page, reader = read([tmp_path])
    item = next(name for name, data in page.data.items() if len(data.get("comparisons", ())) == 2)
    pairs = [(effect["x"], effect["y"]) for effect in page.data[item]["comparisons"]]
    assert pairs == [("mine", "before"), ("mine", "other")]
    assert "Is <mine> better?" in reader.text
    assert "Mine is new." in reader.text


def test_a_game_that_was_planned_and_not_run_counts_as_a_test(tmp_path):
    normal(tmp_path / "mine" / "b", {"mine": 9.0, "dqn": 8.0})
    p_values = []
    for games, pairs in ((1, True), (5, True), (5, False)):
        said = {"title": "", "games": games} | ({"pairs": [[["mine", "dqn"]]]} if pairs else {})
        (tmp_path / "mine" / "experiment.json").write_text(json.dumps(said))
        page, reader = read([tmp_path])
        p_values.append(page.data["deep-0"]["comparisons"][0]["p_value"])
        assert ("1 of 5 planned games have been run" in reader.text) == (games == 5)
    assert p_values[1] == p_values[2] == pytest.approx(min(1.0, 5 * p_values[0]))


def test_a_job_that_has_just_begun_is_in_no_comparison(tmp_path):
    normal(tmp_path / "jobs" / "a", {"mine": 9.0, "dqn": 5.0})
    config = planted.config("Breakout", seeds=[7], agents=("dqn", "dqn"))
    config["agents"][0]["label"] = "mine"
    rows = planted.rows(config, {label: np.full((1, 11), 3.0) for label in ("mine", "dqn")})
    runs.write(tmp_path / "jobs" / "b", config, [row for row in rows if row["step"] == 0])
    page, reader = read([tmp_path])
    (comparison,) = page.data["deep-0"]["comparisons"]
    (alone,) = compare(tmp_path / "jobs" / "a").pairs
    assert comparison["p_value"] == pytest.approx(alone.welch_holm)
    assert "mean returns at step 10,000,000" in reader.text
    assert [panel["title"] for panel in reader.embedded["charts"]["deep-0"]["panels"]] == [
        "Breakout (a)",
        "Breakout (b)",
    ]


@pytest.mark.parametrize(
    ("labels", "against_beta"),
    [
        (["rdq-beta-0", "rdq-beta-0.1", "rdq-beta-1e-05"], [10.0, 14.0, 12.0]),  # their lengths
        (["rdq-beta-0.1"], None),
        (["rdq-beta-0", "rdq-beta-."], None),
        (["rdq-beta-0", "dqn"], None),
    ],
    ids=str,
)
def test_rdq_with_several_betas_is_drawn_against_beta(tmp_path, labels, against_beta):
    trained(tmp_path / "b", labels, steps=1_000_000)
    page, reader = read([tmp_path])
    assert page.problems == []
    chart = reader.embedded["charts"]["deep-0"]
    assert bool(chart["selects"]) == (against_beta is None)  # learning curves can be of any metric
    if against_beta:
        assert chart["panels"][0]["series"][0]["y"] == against_beta


@pytest.mark.parametrize(
    "change",
    [
        {"titel": "a"},
        {"title": 3},
        {"about": None},
        {"section": "minatar"},
        {"section": []},
        {"order": 1.5},
        {"games": 10**12},
        {"games": True},
        {"beside": "others"},
        {"beside": [1]},
        {"one_sided": 1},
        {"pairs": [["ab"]]},
        {"pairs": [[["a", "b", "c"]]]},
        {"pairs": ["ab", "cd"]},
        {"pairs": {"a": "b"}},
    ],
    ids=str,
)
def test_the_page_does_without_what_a_folder_must_not_say(tmp_path, change):
    normal(tmp_path / "mine" / "b", {"mine": 9.0, "dqn": 5.0})
    path = tmp_path / "mine" / "experiment.json"
    path.write_text(json.dumps({"title": "Mine to name"} | change))
    page, reader = read([tmp_path])
    (problem,) = page.problems
    assert str(path) in problem
    assert "Mine to name" not in reader.text
    assert len(page.data["deep-0"]["comparisons"]) == 1, "the runs are there"


@pytest.mark.parametrize(
    ("said", "told"),
    [({"titel": "a"}, "did you mean 'title'"), ({"about": "a"}, "it has no title")],
)
def test_what_is_wrong_with_a_folders_words_is_told(tmp_path, said, told):
    normal(tmp_path / "mine" / "b", {"mine": 9.0})
    (tmp_path / "mine" / "experiment.json").write_text(json.dumps(said))
    assert told in read([tmp_path])[0].problems[0]


def test_only_the_first_family_is_one_sided(tmp_path):
    """A one-sided p is half of the two-sided one, for the agent that leads."""
    normal(tmp_path / "mine" / "b", {"mine": 9.0, "dqn": 8.5, "rdq": 8.7})
    asked = "(one-sided tests)"
    found = []
    for one_sided in (True, False):
        pairs = [[["mine", "dqn"]], [["mine", "rdq"]]]
        said = {"title": "", "one_sided": one_sided, "pairs": pairs}
        (tmp_path / "mine" / "experiment.json").write_text(json.dumps(said))
        page, reader = read([tmp_path])
        assert reader.text.count(asked) == one_sided
        found.append([effect["p_value"] for effect in page.data["deep-0"]["comparisons"]])
    (first, second), (two_sided, same) = found
    assert first == pytest.approx(two_sided / 2)
    assert second == same


def test_pairs_that_are_not_on_the_page_are_told(tmp_path):
    normal(tmp_path / "mine" / "b", {"mine": 9.0, "dqn": 8.5})
    said = {"title": "", "one_sided": True, "pairs": [[["mine", "rqd"]]]}
    (tmp_path / "mine" / "experiment.json").write_text(json.dumps(said))
    page, reader = read([tmp_path])
    assert "No pair of experiment.json is on this page" in reader.text
    assert "one-sided" not in reader.text
    assert [e["y"] for e in page.data["deep-0"]["comparisons"]] == ["dqn"]


def test_folders_beside_are_found_from_within(tmp_path, monkeypatch):
    normal(tmp_path / "mine" / "b", {"mine": 9.0})
    normal(tmp_path / "others" / "b", {"before": 4.0})
    said = {"title": "", "beside": ["others"], "pairs": [[["mine", "before"]]]}
    (tmp_path / "mine" / "experiment.json").write_text(json.dumps(said))
    monkeypatch.chdir(tmp_path / "mine")
    page, _ = read([Path("."), Path("../others")])
    pairs = [(e["x"], e["y"]) for d in page.data.values() for e in d.get("comparisons", ())]
    assert ("mine", "before") in pairs


def test_our_results_say_what_they_are_about():
    page = build([RESULTS]).html
    headings = re.findall("<h2>(.*?)</h2>|<h3>(.*?)[:,?] ", page)
    told = [section or item for section, item in headings]
    assert told[told.index("Beyond the paper") : told.index("Every claim")] == [
        "Beyond the paper",
        "β",
        "The QV family with deep networks",
        "The QV family with deep networks",
        "Which BC-QVMAX",
        "Screening",
        "Checks",
        "Validation",
        "Protocol",
        "Ablation",
    ]


def test_the_leads_of_figure6_are_judged_as_the_claims_are():
    page = build([RESULTS])
    assert page.problems == []
    verdicts = {c["statement"]: c["verdict"] for c in page.data["certificate-0"]["claims"]}
    rdq = [e for e in page.data["deep-0"]["comparisons"] if e["x"] == "rdq"]
    assert len(rdq) == 10
    for effect in rdq:
        claim = verdicts[rdq_outperforms(effect["game"], effect["y"])]
        assert (effect["p_value"] < 0.05) == (claim == "holds")
