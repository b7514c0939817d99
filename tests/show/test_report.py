"""The page: what it says is what the files and the command line say; what is missing is told."""

import json
import re
from pathlib import Path

import numpy as np
import planted
import planted_cells
import pytest
from pages import Reader, read

from qduet.cli import main
from qduet.core.errors import InputError
from qduet.core.files import write_json
from qduet.results import published, runs
from qduet.show.names import AGENTS, RULES, SPARE_COLOURS, VARIANT_COLOURS, on_screen
from qduet.show.report import build
from qduet.show.report.html import el

NASTY = "<img src=x onerror=alert(1)>"


def printed(capsys, arguments):
    """The JSON document that a command prints."""
    capsys.readouterr()
    main(arguments)
    return json.loads(capsys.readouterr().out)


def header(page):
    """The words at the top of a page."""
    return Reader(page.html.partition("</header>")[0]).text


# --- The numbers ---------------------------------------------------------------------------------


def test_tabular_numbers_are_those_of_summary_json(tmp_path, capsys):
    assert main(["reproduce", "figure1", "--scale", "smoke", "--out", str(tmp_path / "out")]) == 0
    summary = json.loads((tmp_path / "out" / "figure1" / "summary.json").read_text())
    page, reader = read([tmp_path / "out"])
    assert reader.embedded["data"]["tabular-0"]["table"] == summary["table"]
    markdown = (tmp_path / "out" / "figure1" / "summary.md").read_text()
    for row in (line.split(" | ") for line in markdown.splitlines() if "| qv_learning |" in line):
        for number in (row[3], row[6]):  # AUC and final error, as people read them
            assert number in reader.text
    assert "actions-18/qv_learning.npz" in reader.text
    assert page.problems == []


def test_theory_numbers_are_those_of_the_command(tmp_path, capsys):
    document = printed(capsys, ["theory", "--mdps", "2", "--claim", "qv_contraction", "--json"])
    (tmp_path / "theory.json").write_text(json.dumps(document))
    _, reader = read([tmp_path])
    told = reader.embedded["data"]["claims-0"]
    assert {key: told[key] for key in document} == document
    assert "QV contracts by γ" in reader.text
    assert str(tmp_path / "theory.json") in reader.text


def test_deep_numbers_are_those_of_compare_and_certify(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)  # certify looks for out/ here
    for game in ("Breakout", "Freeway"):
        planted.game(tmp_path / "deep" / game.lower(), game, np.random.default_rng(1), seeds=[3, 5])
    compared = printed(capsys, ["compare", "deep", "--json"])
    certified = printed(capsys, ["certify", "deep", "--json"])
    _, reader = read([Path("deep")])
    data = reader.embedded["data"]
    assert data["deep-0"]["numbers"] == [{key: compared[key] for key in ("step", "by_game")}]
    assert data["certificate-0"] == certified
    assert "deep/breakout/evaluations.csv" in reader.text


def test_the_top_of_the_page_counts_the_verdicts_and_names_what_is_undecided(tmp_path):
    generator = np.random.default_rng(1)
    planted.game(tmp_path / "a" / "seaquest", "Seaquest", generator, seeds=range(8))  # too few
    planted.game(tmp_path / "b" / "breakout", "Breakout", generator, protocol="paper")
    page, _ = read([tmp_path / "a", tmp_path / "b"])
    top = header(page)
    certificate = page.data["certificate-0"]
    verdicts = [c["verdict"] for c in certificate["claims"] if c["verdict"] != "no data"]
    told = re.search(r"(\d+) claims of the paper tested: (\d+) hold, .*?(\d+) und.*?(\d+) ref", top)
    counts = [verdicts.count(verdict) for verdict in ("holds", "undecided", "does not hold")]
    assert list(map(int, told.groups())) == [len(verdicts), *counts]
    cells = [c["verdict"] for c in certificate["cells"] if c["measure"] == "return"]
    assert f"{cells.count('agree')} of {len(cells)} cells agree" in top
    listed = top.split("What is undecided")[1]
    undecided = [c for c in certificate["claims"] if c["verdict"] == "undecided"]
    assert len(undecided) > 1
    for claim in undecided:
        assert f"Figure 6: {claim['statement']} ({claim['ours']})" in listed


def test_what_differs_is_named_at_the_top(tmp_path):
    planted.game(tmp_path, "Seaquest", np.random.default_rng(1), shift={"rdq": -4.0})
    page, _ = read([tmp_path])
    assert "What does not hold" in header(page)
    assert "Seaquest, RDQ: difference" in header(page).split("What does not hold")[1]


def test_every_undecided_cell_is_named_at_the_top(tmp_path):
    generator = np.random.default_rng(1)
    planted.game(tmp_path / "seaquest", "Seaquest", generator, shift={"rdq": 0.8})
    page, _ = read([tmp_path])
    cells = page.data["certificate-0"]["cells"]
    undecided = [cell for cell in cells if cell["verdict"] == "undecided"]
    assert {cell["agent"] for cell in undecided} == {"rdq"}
    top = header(page)
    listed = top.split("What is undecided")[1].split("What does not")[0]
    measures = {"return": "mean return", "auc": "AUC"}
    for cell in undecided:
        mean, low, high = (cell["difference"][key] for key in ("mean", "low", "high"))
        what = f"In {measures[cell['measure']]} at 10,000,000 steps, Seaquest, RDQ"
        difference = f"difference {mean:+.2f} ± {(high - low) / 2:.2f}"
        assert f"{what}: {difference}, margin {cell['margin']:.2f}" in listed
    assert listed.count("Seaquest, RDQ: ") == len(undecided)


def test_every_section_is_in_the_navigation(tmp_path):
    planted_cells.experiment(tmp_path / "figure5")
    page, _ = read([tmp_path])
    nav = Reader(page.html.partition("</nav>")[0])
    sections = re.findall(r'<section id="(\w+)">', page.html)
    assert set(sections) - {"absent"} <= set(nav.links)
    assert {"tabular", "theory", "provenance"} <= set(sections)


def test_the_papers_runs_come_first_and_their_time_is_told(tmp_path):
    generator = np.random.default_rng(4)
    for place, options in (("a", {"protocol": "paper"}), ("b", {})):
        planted.game(tmp_path / place / "breakout", "Breakout", generator, **options)
    page, reader = read([tmp_path])
    seconds = runs.load(tmp_path / "b" / "breakout").table["elapsed_seconds"].max()
    assert f"{seconds / 60:.1f} min" in reader.text.split("What was run, where")[1]
    first, second = (reader.text.index(f"{tmp_path / place}/breakout/eval") for place in "ba")
    assert first < second
    assert page.data["certificate-0"]["sources"][0]["directory"].endswith("b/breakout")


def test_version_0_of_a_game_is_not_beside_the_published_scores(tmp_path):
    env = "MinAtar/Breakout-v0"
    planted.game(tmp_path / "breakout", "Breakout", np.random.default_rng(6), env=env)
    page, reader = read([tmp_path])
    assert "dashed: the published scores" not in reader.text
    assert "Figure 6" not in reader.text
    assert page.data["deep-0"]["numbers"][0]["by_game"][0]["seeds"] == 30


def test_published_curves_are_explained_where_they_are_drawn(tmp_path):
    generator = np.random.default_rng(0)
    planted.game(tmp_path / "deep" / "breakout", "Breakout", generator, steps=planted.MILLION)
    config = planted.config("Breakout", steps=planted.MILLION, agents=("rdq",))
    config["agents"][0]["label"] = "rdq-init"
    sample = planted.resampled("Breakout", "rdq", generator)
    runs.write(tmp_path / "changed" / "b", config, planted.rows(config, {"rdq-init": sample}))
    told = "dashed: the published scores"
    assert told in build([tmp_path / "deep"]).html
    assert told not in build([tmp_path / "changed"]).html


def test_runs_that_cannot_be_compared_have_tables_of_their_own(tmp_path):
    generator = np.random.default_rng(1)
    million = {"seeds": [3, 5], "steps": 1_000_000}
    planted.game(tmp_path / "a", "Breakout", generator, **million)
    planted.game(tmp_path / "b", "Freeway", generator, **million)
    planted.game(tmp_path / "c", "Breakout", generator, env="MinAtar/Breakout-v0", **million)
    planted.game(tmp_path / "d", "Seaquest", generator, seeds=[0, 1])
    _, reader = read([tmp_path])
    numbers = reader.embedded["data"]["deep-0"]["numbers"]
    games = [list(dict.fromkeys(a["game"] for a in table["by_game"])) for table in numbers]
    assert games == [["Breakout", "Freeway", "Seaquest"], ["Breakout"]]
    assert "MinAtar/Breakout-v0; compare runs of one version of a game" in reader.text
    for name in "abcd":
        assert f"{name}/evaluations.csv" in reader.text


def test_lengths_are_told_in_the_order_of_numbers(tmp_path):
    for n in (1, 10, 2, 6):
        made = planted.config("Breakout", seeds=[n], steps=1_000 * n, evaluate_every=1_000)
        flat = {agent: np.zeros((1, n + 1)) for agent in published.AGENTS}
        runs.write(tmp_path / str(n), made, planted.rows(made, flat))
    _, reader = read([tmp_path])
    assert "Breakout: DQN, Dueling DQN, RDQ, 1,000, 2,000, 6,000 and 10,000 steps" in reader.text
    assert "12 runs of 1,000, 2,000, 6,000 and 10,000 steps" in reader.text


def test_curves_are_means_over_the_seeds_of_the_file(tmp_path):
    planted.game(tmp_path / "breakout", "Breakout", np.random.default_rng(2), seeds=[0, 1, 2])
    _, reader = read([tmp_path])
    values = runs.load(tmp_path / "breakout").scores("rdq").values
    theirs = published.scores("Breakout", "rdq").values
    (panel,) = reader.embedded["charts"]["deep-0"]["panels"]
    lines = [
        s for s in panel["series"] if s["group"] == "rdq" and s["when"]["metric"] == "return_mean"
    ]
    ours, drawn_beside = lines
    np.testing.assert_allclose(ours["y"], values.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(ours["seeds"], values, rtol=1e-3, atol=1e-6)
    assert ours["seed_names"] == [0, 1, 2]
    np.testing.assert_allclose(drawn_beside["y"], theirs.mean(axis=0), rtol=1e-5)
    assert drawn_beside["kind"] == "published"


def test_few_evaluations_are_marked_and_two_are_no_curve(tmp_path):
    generator = np.random.default_rng(2)
    planted.game(tmp_path / "short", "Breakout", generator, seeds=[0, 1], steps=1_000_000)
    planted.game(tmp_path / "long", "Freeway", generator, seeds=[0, 1])
    _, reader = read([tmp_path])
    panels = reader.embedded["charts"]["deep-0"]["panels"]
    assert all(line["marker"] for panel in panels for line in panel["series"])
    assert "Two evaluations only (at 0 and 1,000,000 steps)" in reader.text


def test_tabular_curves_are_means_at_the_best_step_size(tmp_path):
    planted_cells.experiment(tmp_path / "figure5")
    _, reader = read([tmp_path])
    left, centre, right = reader.embedded["charts"]["tabular-0"]["panels"]
    with np.load(tmp_path / "figure5" / "actions-6" / "hard_rdq.npz") as cell:
        percent = cell["percent"].astype(float)
    best = percent.mean(axis=(0, 2)).argmin()
    pick = lambda panel: next(
        s
        for s in panel["series"]
        if s["group"] == "hard_rdq" and s.get("when", {}).get("actions") == "6"
    )
    np.testing.assert_allclose(pick(left)["y"], percent[:, best].mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(pick(centre)["y"], percent.mean(axis=(0, 2)), rtol=1e-5)
    other = [s for s in left["series"] if s["group"] == "hard_rdq" and "low" not in s]
    chosen = next(s for s in other if s["when"] == {"actions": "6", "step_size": "1"})
    np.testing.assert_allclose(chosen["y"], percent[:, 1].mean(axis=0), rtol=1e-3)
    assert left["grids"][chosen["x"]] == [0, 100, 200, 300, 400]
    scaling = next(s for s in right["series"] if s["group"] == "hard_rdq")
    assert right["grids"][scaling["x"]] == [2, 6]
    assert scaling["y"][1] == pytest.approx(percent[:, best].mean(), rel=1e-5)


# --- What is missing, or strange -----------------------------------------------------------------


def test_a_rule_that_nobody_knows_is_shown_with_the_others(tmp_path):
    planted_cells.experiment(
        tmp_path / "figure5", rules=("q_learning", "dueling_q", "hard_rdq", "mine")
    )
    _, reader = read([tmp_path])
    groups = reader.embedded["charts"]["tabular-0"]["groups"]
    assert [g["id"] for g in groups] == ["q_learning", "dueling_q", "hard_rdq", "mine"]
    assert "Not in the paper: mine." in reader.text
    assert "are not judged on these data" in reader.text  # 4 seeds are not the paper's 100


def test_an_experiment_that_is_not_in_the_paper_is_shown(tmp_path):
    planted_cells.experiment(tmp_path / "my-idea", rules=("mine",), actions=(3,), problem="own")
    _, reader = read([tmp_path])
    assert "my-idea (not in the paper)" in reader.text
    assert "Problem “own”" in reader.text


def test_a_folder_named_like_a_diagram_is_its_own_experiment(tmp_path):
    planted_cells.experiment(tmp_path / "figure2", rules=("mine",), problem="own", actions=(3,))
    assert ">figure2 (not in the paper)<" in read([tmp_path])[0].html


def test_missing_cells_are_named(tmp_path):
    planted_cells.experiment(tmp_path / "figure5")
    (tmp_path / "figure5" / "actions-6" / "dueling_q.npz").unlink()
    _, reader = read([tmp_path])
    assert "No results of dueling_q at |A| = 6." in reader.text


def test_diverged_runs_are_counted_and_leave_a_gap(tmp_path):
    planted_cells.experiment(tmp_path / "figure5", diverged=(3,))
    _, reader = read([tmp_path])
    centre = reader.embedded["charts"]["tabular-0"]["panels"][1]["series"][0]
    assert centre["y"][3] is None
    assert centre["diverged"] == [0, 0, 0, 2]


def test_cells_all_diverged_are_told_as_such(tmp_path):
    planted_cells.experiment(tmp_path / "figure5", diverged=range(4))
    _, reader = read([tmp_path])
    assert reader.embedded["charts"]["tabular-0"]["panels"][0]["series"][0]["y"][-1] is None


def test_a_single_seed_has_no_interval(tmp_path):
    planted_cells.experiment(tmp_path / "figure5", seeds=1)
    planted.game(tmp_path / "breakout", "Breakout", np.random.default_rng(0), seeds=[7])
    _, reader = read([tmp_path])
    assert "a single seed (no intervals)" in reader.text
    assert "3 agents × a single seed" in reader.text
    charts = reader.embedded["charts"]
    assert not any("seeds" in s for p in charts["tabular-0"]["panels"] for s in p["series"])
    assert "low" not in charts["tabular-0"]["panels"][0]["series"][0]
    assert "low" not in charts["deep-0"]["panels"][0]["series"][0]
    assert "cannot be certified: it has a single seed" in reader.text


def test_a_diverged_training_run_is_named_and_not_averaged_away(tmp_path):
    config = planted.config("Breakout", seeds=[0, 1], agents=("rdq",))
    curves = {"rdq": np.ones((2, 11))}
    curves["rdq"][1, 5:] = np.nan
    runs.write(tmp_path / "breakout", config, planted.rows(config, curves))
    _, reader = read([tmp_path])
    line = reader.embedded["charts"]["deep-0"]["panels"][0]["series"][0]
    assert line["y"] == [1.0] * 5 + [None] * 6
    assert "no finite return of rdq, seed 1, from step 5,000,000 on: diverged" in reader.text


def test_unfinished_runs_are_shown_as_far_as_they_go(tmp_path):
    config = planted.config("Breakout", seeds=[0, 1], agents=("rdq", "dqn"))
    curves = {name: np.arange(22.0).reshape(2, 11) for name in ("rdq", "dqn")}
    rows = [row for row in planted.rows(config, curves) if row["step"] <= 3_000_000]
    runs.write(tmp_path / "breakout", config, rows)
    _, reader = read([tmp_path])
    assert "is unfinished: evaluated up to step 3,000,000 of 10,000,000" in reader.text
    panel = reader.embedded["charts"]["deep-0"]["panels"][0]
    assert panel["grids"][panel["series"][0]["x"]][-1] == 3_000_000


def test_runs_without_an_evaluation_are_named_and_not_drawn(tmp_path):
    runs.write(tmp_path / "breakout", planted.config("Breakout", seeds=[0, 1], agents=("rdq",)), [])
    page, reader = read([tmp_path])
    assert "has no evaluation yet: there is nothing to show" in reader.text
    assert "deep-0" not in reader.embedded["charts"]
    assert 'data-chart="deep-0"' not in page


def test_without_runs_nothing_is_said_of_agents(tmp_path):
    planted_cells.experiment(tmp_path / "figure5")
    _, reader = read([tmp_path])
    assert "Deep agents" not in reader.text
    assert "No training runs were given" in reader.text
    assert "No recorded play was given" in reader.text
    assert list(reader.embedded["charts"]) == ["tabular-0"]


def test_a_page_of_ones_own_runs_has_nothing_else_in_it(tmp_path):
    config = planted.config("Breakout", seeds=[0, 1], agents=("rdq",), protocol="paper")
    runs.write(tmp_path / "b", config, planted.rows(config, {"rdq": np.ones((2, 11))}))
    _, reader = read([tmp_path])
    assert list(reader.embedded["charts"]) == ["deep-0"]
    assert "Not here" in reader.text
    assert "No tabular results were given" in reader.text
    assert "its protocol is 'paper'" in reader.text
    assert {"tabular", "theory", "certificate"}.isdisjoint(reader.ids)


def test_a_figure_beside_ones_own_runs_is_no_page_of_the_paper(tmp_path):
    config = planted.config("Breakout", seeds=[0, 1], agents=("rdq",), protocol="paper")
    runs.write(tmp_path / "mine", config, planted.rows(config, {"rdq": np.ones((2, 11))}))
    planted_cells.experiment(tmp_path / "figure5")
    _, reader = read([tmp_path])
    assert list(reader.embedded["charts"]) == ["deep-0", "tabular-0"]
    assert "Other runs" not in reader.text
    assert {*reader.links} <= {*reader.ids}


def test_agents_of_ones_own_are_shown(tmp_path):
    config = planted.config("Breakout", seeds=[0, 1], agents=("rdq",))
    config["agents"][0] |= {"label": "rdq-beta0.5", "beta": 0.5}
    curves = {"rdq-beta0.5": np.array([np.arange(11.0), np.ones(11)])}
    runs.write(tmp_path / "mine", config, planted.rows(config, curves))
    _, reader = read([tmp_path])
    assert "rdq-beta0.5" in reader.text
    assert "beta = 0.5 (there 0.001)" in reader.text
    assert "cannot be certified" in reader.text


def test_a_damaged_file_is_left_out_and_named(tmp_path, capsys):
    planted_cells.experiment(tmp_path / "figure5")
    broken = planted_cells.cell(tmp_path / "figure3", "qvmax", 2)
    broken.write_bytes(broken.read_bytes()[:-40])
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "page.html")]) == 0
    told = capsys.readouterr()
    assert "qvmax.npz is damaged" in told.err
    assert "qvmax.npz is damaged" in Reader((tmp_path / "page.html").read_text()).text


@pytest.mark.parametrize(
    "name", ["theory.json", "figure4.json", "last-run.json", "b-episode0.json"]
)
@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"seconds": "long", "claims": [3], "panels": 1}']
)
def test_documents_that_are_none_are_left_out_and_named(tmp_path, name, content):
    planted_cells.experiment(tmp_path / "figure5")
    (tmp_path / name).write_text(content)
    page, reader = read([tmp_path])
    if (name, content) == ("last-run.json", "{}"):  # a log that says nothing is no problem
        assert page.problems == []
        return
    (problem,) = page.problems
    assert str(tmp_path / name) in problem
    assert problem in reader.text


def test_a_file_that_is_no_cell_costs_only_itself(tmp_path):
    planted_cells.experiment(tmp_path / "figure5")
    np.savez(tmp_path / "figure5" / "actions-2" / "notes.npz", x=np.zeros(3))
    page, reader = read([tmp_path])
    assert len(page.problems) == 1
    assert "notes.npz" in page.problems[0]
    assert len(reader.embedded["charts"]["tabular-0"]["groups"]) == 3


def test_cells_of_different_settings_are_not_mixed(tmp_path):
    planted_cells.experiment(tmp_path / "figure5", rules=("q_learning",))
    planted_cells.experiment(tmp_path / "figure5", rules=("mine",), steps=800)
    _, reader = read([tmp_path])
    charts = reader.embedded["charts"]
    assert [g["id"] for g in charts["tabular-0"]["groups"]] == ["mine"]
    assert [g["id"] for g in charts["tabular-1"]["groups"]] == ["q_learning"]


def test_a_directory_given_twice_is_shown_once(tmp_path):
    planted.game(tmp_path / "a" / "breakout", "Breakout", np.random.default_rng(0), seeds=[0, 1])
    _, reader = read([tmp_path, tmp_path / "a", tmp_path / "a" / "breakout"])
    assert len(reader.embedded["charts"]["deep-0"]["panels"]) == 1
    assert "deep-1" not in reader.embedded["charts"]


def test_links_are_followed_and_not_in_circles(tmp_path):
    place = planted.game(tmp_path / "runs", "Breakout", np.random.default_rng(0), seeds=[0, 1])
    (tmp_path / "shown").mkdir()
    (tmp_path / "shown" / "breakout").symlink_to(place)
    (tmp_path / "shown" / "again").symlink_to(tmp_path / "shown")
    _, reader = read([tmp_path / "shown"])
    assert len(reader.embedded["charts"]["deep-0"]["panels"]) == 1
    assert "deep-1" not in reader.embedded["charts"]


# --- The command and the file --------------------------------------------------------------------


def test_names_from_the_data_are_text(tmp_path):
    folder = tmp_path / NASTY
    config = planted.config("Breakout", seeds=[0, 1], agents=("rdq",))
    config["agents"][0]["label"] = NASTY
    runs.write(folder / "b", config, planted.rows(config, {NASTY: np.ones((2, 11))}))
    page, reader = read([tmp_path])
    assert NASTY in reader.text
    assert NASTY not in page.html
    assert reader.embedded["charts"]["deep-0"]["groups"][0]["label"] == NASTY
    assert page.html.count("<script") == page.html.count("</script>")


def test_elements_escape_their_text_and_attributes():
    assert el("p", '<b>&"', title='"<') == '<p title="&quot;&lt;">&lt;b&gt;&amp;&quot;</p>'


@pytest.mark.parametrize("section", ["", "checks"])
def test_links_within_the_page_lead_somewhere_and_ids_are_unique(tmp_path, section):
    planted_cells.experiment(tmp_path / "figure5")
    place = tmp_path / "runs"
    planted.game(place / "breakout", "Breakout", np.random.default_rng(0), seeds=[0, 1])
    if section:
        write_json(place / "experiment.json", {"title": "A check", "section": section})
    page, reader = read([tmp_path])
    assert set(reader.links) <= set(reader.ids)
    assert len(set(reader.ids)) == len(reader.ids)
    assert "default-src &#x27;none&#x27;" in page.html
    assert not re.search(r'(src|href)="(?!#|data:)', page.html)


def test_the_command_says_where_the_page_is(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    planted_cells.experiment(tmp_path / "out" / "figure5")
    assert main(["report"]) == 0
    assert str(tmp_path / "report.html") in capsys.readouterr().out
    assert (tmp_path / "report.html").stat().st_size < 15_000_000


def test_refusals(tmp_path, refused, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(["report", "nowhere"], "nowhere is not a directory")
    (tmp_path / "empty").mkdir()
    refused(["report", "empty"], "nothing to show in empty")
    planted_cells.experiment(tmp_path / "out" / "figure5")
    refused(["report", "-o", "empty"], "-o empty is a directory")
    assert list(tmp_path.glob("*.html")) == []
    with pytest.raises(InputError):
        build([])


@pytest.mark.parametrize("name", ["curves", "runs", "theory"])
def test_a_page_of_damaged_files_alone_is_not_written(name, tmp_path, refused):
    """At 7b1f1a8 it showed the paper's own curves, with exit code 0. One sound file is enough."""
    results, page = tmp_path / name, tmp_path / "page.html"
    if name == "runs":
        planted.game(results, "Breakout", np.random.default_rng(0), seeds=[0, 1])
        path = results / "evaluations.csv"
    elif name == "curves":
        path = planted_cells.cell(results / "figure5", "hard_rdq", 2)
    else:
        path = results / "theory.json"
        write_json(path, {"claims": [], "seconds": 1.5})
    assert build([results]).problems == []
    path.write_bytes(path.read_bytes().replace(b"1", b"2"))
    refused(["report", str(results), "-o", str(page)], str(path))
    assert not page.exists()
    planted_cells.experiment(tmp_path / "sound" / "figure3")
    assert len(build([results, tmp_path / "sound"]).problems) == 1


def contrast(*colours):
    """The contrast ratio of two colours, from 1 to 21, as WCAG defines it."""
    linear = lambda c: c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
    channels = lambda colour: [linear(int(colour[i : i + 2], 16) / 255) for i in (1, 3, 5)]
    low, high = sorted(np.dot(channels(c), [0.2126, 0.7152, 0.0722]) for c in colours)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    "colour", sorted({c for _, c in (RULES | AGENTS).values()} | {*SPARE_COLOURS, *VARIANT_COLOURS})
)
def test_every_colour_stands_out_in_both_themes(colour):
    """WCAG 2.2, 1.4.11: a line needs a contrast of 3 : 1. The grounds are those of page.css."""
    shown = on_screen(colour)
    assert contrast(shown["light"], "#ffffff") >= 3
    assert contrast(shown["dark"], "#15181d") >= 3
