"""The generated tables of the documentation, derived again from ``results/`` with SciPy."""

import json
import re
import shutil
from itertools import product
from pathlib import Path

import numpy as np
import planted
import pytest
import scipy.stats
from docs_tables.__main__ import main
from docs_tables.documents import DOCUMENTS, MARKED, PICTURES, SOURCES, digest, filled
from docs_tables.picture import protocols_chart
from docs_tables.protocols import shifts
from docs_tables.tables import protocol_shifts, protocols, rdq_table, tables
from PIL import Image
from raw import columns, curves

from qduet.agents import make_agent
from qduet.jobs import recording_file
from qduet.paper.certificate import Certificate
from qduet.paper.claims import Claim, rdq_outperforms
from qduet.results import published, runs

ROOT = Path(__file__).parents[2]
FIGURE6 = ROOT / "results" / "figure6"
MILLION = planted.MILLION
CELLS = [(game, agent) for game in published.GAMES for agent in published.AGENTS]
NAMES = {"dqn": "DQN", "dueling_dqn": "Dueling DQN", "rdq": "RDQ"}


def directory(game, under=FIGURE6):
    """Where the runs of `game` are."""
    configs = {path: json.loads(path.read_text("utf-8")) for path in under.glob("*/config.json")}
    (found,) = (path.parent for path, config in configs.items() if config["game"] == game)
    return found


def marked(document, name):
    """The rows of a generated table, as lists of text."""
    text = (ROOT / document).read_text(encoding="utf-8")
    (table,) = [m[3] for m in MARKED.finditer(text) if m[2] == name]
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


# --- The repository's own documents ---------------------------------------------------------------


def test_the_documents_are_up_to_date(capsys):
    assert main(["--root", str(ROOT), "--check"]) == 0
    assert capsys.readouterr().out == ""


def test_every_table_has_its_place():
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in DOCUMENTS]
    placed = {match[2] for text in texts for match in MARKED.finditer(text)}
    assert placed == set(tables(ROOT / "results"))


TRAPEZOIDS = np.array([0.5] + [1.0] * 9 + [0.5]) / 10
REDUCED = {
    "return": lambda values: values[:, -1],
    "auc": lambda values: values @ TRAPEZOIDS,
    "validation": lambda values: values[:, 1],  # at 1M steps
}


@pytest.mark.parametrize("table", REDUCED)
@pytest.mark.parametrize(("game", "agent"), CELLS)
def test_a_cell_of_the_documents_from_the_raw_files(game, agent, table):
    index = CELLS.index((game, agent))
    row = marked("docs/reproduction.md", table)[index]
    assert row[:2] == [published.title(game), NAMES[agent]]
    reduce = REDUCED[table]
    source = Path(published.__file__).parent / "data" / "published_scores.csv"
    theirs = reduce(curves(source, game, agent))
    assert row[2].split()[0] == f"{theirs.mean():.2f}"
    margin, share = row[5].removesuffix(" %)").split(" (")
    assert margin == f"{theirs.std(ddof=1):.2f}"
    assert float(share) == pytest.approx(100 * theirs.std(ddof=1) / theirs.mean(), abs=0.5)
    where = directory(
        game, ROOT / "results" / ("validation" if table == "validation" else "figure6")
    )
    ours = reduce(curves(where / "evaluations.csv", game, agent))
    assert ours.shape == (30,)
    test = scipy.stats.ttest_ind(ours, theirs, equal_var=False)
    low, high = test.confidence_interval(0.95)
    assert row[3].split()[0] == f"{ours.mean():.2f}"
    assert row[4] == f"{low / 2 + high / 2:+.2f} ± {(high - low) / 2:.2f}".replace("-", "−")
    low, high = test.confidence_interval(0.90)
    within = max(-low, high) / theirs.std(ddof=1)
    assert row[6] == f"{within:.2f} sd"
    assert (row[-1] == "agree") == (within < 1)


@pytest.mark.parametrize(("game", "agent"), CELLS)
def test_predicted_values_from_the_raw_files(game, agent):
    row = marked("docs/reproduction.md", "values")[CELLS.index((game, agent))]
    source = Path(published.__file__).parent / "data" / "published_scores.csv"
    theirs = curves(source, game, agent, "q_value_mean")[:, -1]
    assert row[2].split()[0] == f"{theirs.mean():.2f}"
    where = directory(game)
    read = lambda column: curves(where / "evaluations.csv", game, agent, column)[:, -1]
    has_sign = "mean_adv" in columns(where / "evaluations.csv")
    q, mean_adv = read("q_value_mean"), read("mean_adv" if has_sign else "mean_adv_abs")
    told = lambda x: [
        f"{x.mean():.2f}",
        f"{scipy.stats.ttest_ind(x, theirs, equal_var=False)[1]:.2g}",
    ]
    assert [row[3].split()[0], row[5]] == told(q)
    if agent == "dueling_dqn":
        assert [row[6].split()[0], row[8]] == told(q + mean_adv)
    else:
        assert row[6:] == ["–"] * 3


def test_breakouts_mean_advantage_is_positive():
    """What its row relies on, as its file has the size alone: recorded play after 10M steps."""
    name = "breakout-dueling_dqn-0-episode0.json"
    recording = recording_file.read(ROOT / "results" / "recordings" / name)
    assert recording.step == 10 * MILLION
    mean = recording.episode.adv.mean(axis=1)
    assert mean.sum() > 0.99 * np.abs(mean).sum()


@pytest.mark.parametrize("game", published.GAMES)
def test_published_values_in_evaluations_and_in_training(game):
    rows = {row[0]: row[1:] for row in marked("docs/reproduction.md", "values-published")}
    source = Path(published.__file__).parent / "data" / "published_scores.csv"
    for agent, cell in zip(published.AGENTS, rows[published.title(game)], strict=True):
        read = lambda column, agent=agent: curves(source, game, agent, column)[:, -1]
        x = read("q_value_mean") - read("train_q_mean")
        half = scipy.stats.t.ppf(0.975, len(x) - 1) * scipy.stats.sem(x)
        assert cell == f"{x.mean():+.2f} ± {half:.2f}".replace("-", "−")


def test_figure_6_is_of_450_whole_runs():
    rows = set()
    for path in runs.find([FIGURE6]):
        loaded = runs.load(path)
        assert loaded.finished
        assert all(re.fullmatch("[0-9a-f]{7,40}", commit) for commit in loaded.commits.values())
        table = loaded.table
        assert all(np.isfinite(table[name]).all() for name in ("return_mean", "q_value_mean"))
        found = zip(table["agent"], table["seed"], table["step"], strict=True)
        rows |= {(loaded.game, str(agent), int(seed), int(step)) for agent, seed, step in found}
        assert len(table["step"]) == 3 * 30 * 11
    steps = range(0, 11 * MILLION, MILLION)
    assert rows == set(product(published.GAMES, published.AGENTS, range(30), steps))


@pytest.mark.parametrize("stem", SOURCES)
def test_the_pictures_were_drawn_from_these_data(stem):
    with Image.open(ROOT / PICTURES / f"{stem}.png") as picture:
        assert picture.text["Source"] == digest(ROOT / "results", stem), "make docs draws them anew"


# --- Planted repositories -------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path):
    """A repository with the documents of this one, and some runs."""
    for document in DOCUMENTS:
        (tmp_path / document).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / document, tmp_path / document)
    generator = np.random.default_rng(3)
    results = tmp_path / "results"
    planted.game(results / "figure6" / "freeway", "Freeway", generator, shift={"dqn": 3.0})
    planted.game(results / "validation" / "breakout", "Breakout", generator, steps=MILLION)
    planted.game(
        results / "paper-protocol" / "breakout",
        "Breakout",
        generator,
        steps=MILLION,
        protocol="paper",
        shift={"dueling_dqn": -2.0},
    )
    configuration = planted.config("Breakout", steps=MILLION, agents=("dueling_dqn",))
    configuration["agents"][0] |= {"label": "dueling_dqn-lecun", "initialisation": "lecun"}
    sample = planted.resampled("Breakout", "dueling_dqn", generator)
    table = planted.rows(configuration, {"dueling_dqn-lecun": sample})
    runs.write(results / "ablation" / "lecun" / "breakout", configuration, table)
    return tmp_path


def rows(text):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def test_tables_of_some_games(root):
    found = tables(root / "results")
    assert "Runs of 1 of 5 games" in found["state"]
    verdicts = {(row[0], row[1]): row[-1] for row in rows(found["return"])}
    assert verdicts["Freeway", "DQN"] == "differ"
    assert verdicts["Breakout", "DQN"] == "no data yet"
    early = {(row[0], row[1]): row[-1] for row in rows(found["validation"])}
    assert early["Breakout", "DQN"] == "agree"
    ahead = {row[0]: row[1:] for row in rows(found["rdq"])}
    claims = {row[1]: row[2:] for row in rows(found["claims"])}
    for game, others in ahead.items():
        for other, told in zip(("Dueling DQN", "DQN"), others, strict=True):
            ours, _, verdict = claims[f"{game}: RDQ outperforms {other}"]
            words = {"holds": "ahead", "does not hold": "behind", "undecided": "undecided"}
            there = f"{ours}: {words[verdict]}" if verdict != "no data" else "no data yet"
            assert told == there
    short = {row[0]: row[1:] for row in rows(found["verdicts"])}
    assert short["Freeway"][0].endswith(": differ")
    assert short["Seaquest"][0] == "72.7 → no data yet"


def test_what_the_table_of_rdq_calls_each_verdict():
    claim = Claim("Fig 6", "", "+1.00 ± 0.50", "", "")
    words = {"holds": "ahead", "does not hold": "behind", "undecided": "undecided"}
    for verdict, word in words.items():
        named = [
            claim._replace(statement=rdq_outperforms(game, other), verdict=verdict)
            for game in published.GAMES
            for other in ("dueling_dqn", "dqn")
        ]
        table = rdq_table(Certificate(None, (), (), tuple(named)))
        assert {cell for row in table.rows for cell in row[1:]} == {f"+1.00 ± 0.50: {word}"}


def test_the_protocols_table_is_what_scipy_says(root):
    found = {(row[0], row[1]): row for row in rows(tables(root / "results")["protocols"])}
    x, y = (
        curves(root / "results" / name / "breakout" / "evaluations.csv", "Breakout", "dueling_dqn")
        for name in ("paper-protocol", "validation")
    )
    low, high = scipy.stats.ttest_ind(x[:, 1], y[:, 1], equal_var=False).confidence_interval()
    row = found["Breakout", "Dueling DQN"]
    assert row[4] == f"{low / 2 + high / 2:+.2f} ± {(high - low) / 2:.2f}".replace("-", "−")
    spread = published.scores("Breakout", "dueling_dqn").values[:, 1].std(ddof=1)
    assert row[5] == f"{(low / 2 + high / 2) / spread:+.2f}".replace("-", "−")
    assert float(row[6]) < 0.001
    assert found["Freeway", "DQN"][3] == "no data yet"
    theirs = published.scores("Breakout", "dueling_dqn").values[:, 1]
    low, high = scipy.stats.ttest_ind(x[:, 1], theirs, equal_var=False).confidence_interval(0.9)
    assert (row[7] == "agree") == (max(-low, high) < spread)
    assert (row[7], found["Freeway", "DQN"][7]) == ("differ", "–")


def test_the_leads_table_is_what_scipy_says(root):
    found = {row[0]: row[1:] for row in rows(tables(root / "results")["leads"])}
    told = []
    for other in ("dueling_dqn", "dqn"):
        for name in ("validation", "paper-protocol"):
            path = root / "results" / name / "breakout" / "evaluations.csv"
            x, y = (curves(path, "Breakout", agent)[:, 1] for agent in ("rdq", other))
            low, high = scipy.stats.ttest_ind(x, y, equal_var=False).confidence_interval()
            told.append(f"{low / 2 + high / 2:+.2f} ± {(high - low) / 2:.2f}".replace("-", "−"))
    assert found["Breakout"] == told
    assert found["Freeway"] == ["no data yet"] * 4


@pytest.mark.parametrize(("before", "after"), [(3, 2), (2, 3)])
def test_protocols_are_compared_where_both_are_and_corrected_together(tmp_path, before, after):
    generator = np.random.default_rng(4)
    reference, paper = (
        planted.game(tmp_path / protocol, "Asterix", generator, protocol=protocol, **options)
        for protocol, options in (
            ("reference", {"steps": before * MILLION}),
            ("paper", {"steps": after * MILLION, "shift": {"rdq": 0.8, "dqn": -0.6}}),
        )
    )
    found = shifts([runs.load(reference)], [runs.load(paper)])
    x, y = (
        np.array([curves(path / "evaluations.csv", "Asterix", s.agent)[:, 2] for s in found])
        for path in (paper, reference)
    )
    p = scipy.stats.ttest_ind(x, y, axis=1, equal_var=False).pvalue
    order = np.argsort(p)
    scaled = np.maximum.accumulate(p[order] * [15, 14, 13]).clip(max=1)
    assert [shift.step for shift in found] == [2 * MILLION] * 3
    np.testing.assert_allclose([shift.before.mean for shift in found], y.mean(axis=1))
    np.testing.assert_allclose([shift.after.mean for shift in found], x.mean(axis=1))
    np.testing.assert_allclose([found[i].p_value for i in order], scaled, rtol=1e-6)


def test_the_ablation_names_what_was_changed_and_what_is_left(root):
    ((game, agent, changed, *_, left),) = rows(tables(root / "results")["ablation"])
    assert (game, agent, changed) == (
        "Breakout",
        "Dueling DQN",
        "LeCun initialisation everywhere (10)",
    )
    assert make_agent("dueling_dqn", protocol="paper").initialisation == "lecun"
    x, y = (
        curves(root / "results" / name / "breakout" / "evaluations.csv", "Breakout", label)[:, 1]
        for name, label in (
            ("paper-protocol", "dueling_dqn"),
            ("ablation/lecun", "dueling_dqn-lecun"),
        )
    )
    low, high = scipy.stats.ttest_ind(x, y, equal_var=False).confidence_interval()
    assert left == f"{low / 2 + high / 2:+.2f} ± {(high - low) / 2:.2f}".replace("-", "−")


def test_the_picture_of_the_protocols_shows_their_tables(root):
    whole, alone = protocol_shifts(*protocols(root / "results"))
    panels = protocols_chart(whole, alone).panels
    assert [panel.title for panel in panels[:2]] == ["Asterix (no data yet)", "Breakout"]
    texts = panels[0].y.names
    ours, paper, lecun = (
        curves(root / "results" / part / "breakout" / "evaluations.csv", "Breakout", label)[:, 1]
        for part, label in (
            ("validation", "dueling_dqn"),
            ("paper-protocol", "dueling_dqn"),
            ("ablation/lecun", "dueling_dqn-lecun"),
        )
    )
    drawn = {s.y[0]: s for s in panels[1].series if len(s.x) == 1}
    first = texts.index("Dueling DQN: all")
    for row, (text, values) in enumerate((("all", paper), ("initial weights", lecun)), first):
        assert texts[row].endswith(text)
        assert drawn[len(texts) - row].x[0] == pytest.approx(
            100 * (values.mean() / ours.mean() - 1)
        )
    assert len(drawn) == 4
    assert not panels[0].series


def test_without_runs_of_the_paper_nothing_is_left_to_it(root):
    shutil.rmtree(root / "results" / "paper-protocol")
    ((*_, left),) = rows(tables(root / "results")["ablation"])
    assert left == "–"


def test_stale_documents_are_noticed_and_written_anew(root, capsys):
    arguments = ["--root", str(root)]
    before = [(root / name).read_bytes() for name in DOCUMENTS]
    assert main([*arguments, "--check"]) == 1
    assert "README.md is stale" in capsys.readouterr().out
    assert [(root / name).read_bytes() for name in DOCUMENTS] == before
    assert main(arguments) == 0
    assert main([*arguments, "--check"]) == 0
    assert "60.5 →" in (root / "README.md").read_text(encoding="utf-8")
    assert {path.stem for path in (root / PICTURES).iterdir()} == set(SOURCES)
    for stem in ("figure6", "study-family"):
        with Image.open(root / PICTURES / f"{stem}.png") as picture:
            source = picture.text["Source"]
        assert source == digest(root / "results", stem) != digest(ROOT / "nowhere", stem)


def test_a_picture_is_stale_when_its_own_data_change(root):
    results = root / "results"
    before = {stem: digest(results, stem) for stem in SOURCES}
    planted.game(results / "family" / "asterix", "Asterix", np.random.default_rng(0))
    changed = {stem for stem in SOURCES if digest(results, stem) != before[stem]}
    assert changed == {stem for stem in SOURCES if "family" in SOURCES[stem]}
    assert changed == {"study-family", "study-overestimation", "study-overestimation-steps"}


def test_edited_data_and_unknown_tables_are_refused(root, capsys):
    text = filled("a\n<!-- table: x -->\nold\n<!-- end -->\nb", {"x": "| new |"})
    assert text == "a\n<!-- table: x -->\n\n| new |\n\n<!-- end -->\nb"
    path = root / "README.md"
    path.write_text("<!-- table: nonsense -->\n<!-- end -->", encoding="utf-8")
    assert main(["--root", str(root), "--check"]) == 2
    assert "no table 'nonsense'" in capsys.readouterr().err
    data = root / "results" / "figure6" / "freeway" / "evaluations.csv"
    data.write_text(data.read_text().replace("Freeway,dqn,0,0,", "Freeway,dqn,0,0,7"))
    assert main(["--root", str(root), "--check"]) == 2
    assert "checksum" in capsys.readouterr().err
