"""An experiment on an MDP of one's own: curves files, figure, report."""

import dataclasses
import hashlib
import json
import re
import shutil
import struct

import jax
import numpy as np
import planted_cells
import pytest

from qduet.core.errors import InputError
from qduet.core.files import to_json
from qduet.paper.figures import FIGURES
from qduet.show.charts.tabular import tabular_chart
from qduet.show.report import build
from qduet.tabular.experiments import RuleSpec, TabularExperiment
from qduet.tabular.mdp import MDP, garnet
from qduet.tabular.rules import q_learning
from qduet.tabular.running import run
from qduet.tabular.summary import summarise_all, table
from qduet.tabular.sweeps import sweep


def lake(**changes):
    """A random MDP with a name; the same one at each call."""
    mdp = garnet(jax.random.key(0), num_states=5, num_actions=3, branching=2, discount=0.9)
    return dataclasses.replace(mdp, name="lake", **changes)


def declare(problem, **options):
    rules = (RuleSpec("q_learning"), RuleSpec("hard_rdq"))
    small = {"step_sizes": (0.05, 0.4, 1.0), "seeds": 4, "steps": 200}
    return TabularExperiment("my-lake", "My lake", problem, rules, **small | options)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    directory = tmp_path_factory.mktemp("own")
    return directory, run(declare(lake()), directory, extra_rules={"a-mine": q_learning()})


def plain(page):
    """The words of a page, without its data."""
    return " ".join(re.sub(r"<[^>]+>", " ", page.html.partition("qduet-data")[0]).split())


def test_its_curves_are_those_of_a_sweep_on_the_mdp(done):
    directory, results = done
    assert results.experiment.actions == (3,) == results.experiment.small().actions
    assert (directory / "my-lake" / "actions-3" / "hard_rdq.npz").exists()
    alphas = [0.05, 0.4, 1.0]
    wanted = sweep(lake(), {"q": q_learning()}, alphas, seeds=range(4), steps=200)["q"]
    np.testing.assert_allclose(results.curves[3]["q_learning"].percent, wanted.percent, rtol=1e-6)


def test_an_equal_mdp_reads_the_files_and_another_one_is_refused(done, monkeypatch):
    monkeypatch.setattr("qduet.tabular.running.sweep", lambda *a, **k: pytest.fail("ran"))
    again = run(declare(lake()), done[0])
    np.testing.assert_array_equal(
        again.curves[3]["hard_rdq"].percent, done[1].curves[3]["hard_rdq"].percent
    )
    with pytest.raises(
        InputError, match=r"step_sizes is \[0.05, 0.4, 1.0\] there, \[0.05, 0.41, 1.0\] here"
    ):
        run(declare(lake(), step_sizes=(0.05, 0.41, 1.0)), done[0])
    other = lake(discount=0.95)
    message = f"problem is lake#{lake().digest} there, lake#{other.digest} here"
    with pytest.raises(InputError, match=message):
        run(declare(other), done[0])


def test_a_digest_is_of_all_that_makes_the_problem_and_of_nothing_else():
    def changed(field, *index):
        array = np.array(getattr(lake(), field))
        array[index] += 0.5
        return {field: array}

    p = np.array(lake().p)
    others = [
        {"p": p[:, :, ::-1]},
        changed("reward", 1, 2, 3),
        {"start": np.eye(5)[1]},
        {"terminal": np.eye(5, dtype=bool)[4]},
        {"discount": 0.8},
        {"reward_std": 0.1},
    ]
    digests = [lake(**other).digest for other in others]
    assert len({lake().digest, *digests}) == 7
    assert dataclasses.replace(lake(), name="pond").digest == lake().digest
    zero, minus = (MDP(np.ones((1, 1, 1)), np.full((1, 1), x), 0.5).digest for x in (0.0, -0.0))
    assert zero == minus


def test_a_digest_stays_what_it_was():
    """Else every cell on disk would be refused. By hand: sha256 of the shape and the numbers."""
    mdp = MDP(np.ones((1, 2, 1)), [[1.0, 2.0]], 0.5)
    numbers = struct.pack("<8d", 1, 1, 1, 2, 1, 0, 0.5, 0)  # p, reward, start, terminal, γ, std
    assert mdp.digest == hashlib.sha256(b"(1, 2, 1)" + numbers).hexdigest()[:12]


def test_a_single_number_of_actions_is_drawn_as_two_panels(done):
    summary = summarise_all(done[1])
    chart = tabular_chart(done[1], summary).shown
    _, centre = chart.panels
    assert "|A| = 3" in chart.title
    crosses = [
        (x, auc)
        for s in centre.series
        for x, auc in zip(s.x, s.held_out, strict=True)
        if np.isfinite(auc)
    ]
    held = [summary[3][name].held_out for name in done[1].rules]
    wanted = [(done[1].experiment.step_sizes[h.which], h.auc.mean) for h in held]
    np.testing.assert_allclose(crosses, wanted)
    document = {"experiment": done[1].experiment.settings(), "table": table(summary)}
    written = json.loads(to_json(document))["experiment"]
    assert (written["problem"], written["actions"]) == (f"lake#{lake().digest}", [3])


def test_it_stands_in_the_report_as_what_it_is(done):
    page = build([done[0]])
    text = plain(page)
    assert page.problems == []
    assert "Problem “lake”, |A| = 3; 4 seeds, 200 steps, 3 step sizes." in text  # and no protocol
    assert "My lake (not in the paper): 36 runs /" in text  # 3 rules × 3 step sizes × 4 seeds
    assert "paper’s scale" not in text
    assert "4-state" not in text
    assert "AUC − that of q_learning" in text  # built-in rules first, then one's own
    embedded = page.html.partition('id="qduet-data"')[2].partition(">")[2].partition("</script>")[0]
    charts = json.loads(embedded)["charts"]
    assert list(charts) == ["tabular-0"]  # nothing of the paper
    (choice,) = (c for c in charts["tabular-0"]["selects"] if c["id"] == "step_size")
    assert choice["labels"] == ["each rule’s best", "0.0500", "0.4000", "1.0000"]
    assert [panel["title"] for panel in charts["tabular-0"]["panels"]] == [
        "Learning curves",
        "Step sizes",
    ]
    assert [g["id"] for g in charts["tabular-0"]["groups"]] == ["q_learning", "hard_rdq", "a-mine"]


def test_another_title_refuses_nothing(done, tmp_path, monkeypatch):
    shutil.copytree(done[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr("qduet.tabular.running.sweep", lambda *a, **k: pytest.fail("ran"))
    renamed = dataclasses.replace(declare(lake()), title="<b>My</b>\npond")
    run(renamed, tmp_path)
    assert ">&lt;b&gt;My&lt;/b&gt; pond (not in the paper)<" in build([tmp_path]).html
    about = tmp_path / "my-lake" / "experiment.json"
    about.unlink()
    about.mkdir()  # nothing can be written there
    run(renamed, tmp_path)
    with pytest.raises(InputError, match="title must be a text; it is None"):
        dataclasses.replace(renamed, title=None)


def test_without_its_file_the_folder_is_the_title(done, tmp_path):
    shutil.copytree(done[0], tmp_path, dirs_exist_ok=True)
    about = tmp_path / "my-lake" / "experiment.json"
    about.write_text('{"title": " "}')
    page = build([tmp_path])
    assert ">my-lake (not in the paper)<" in page.html
    about.unlink()
    assert ">my-lake (not in the paper)<" in build([tmp_path]).html
    assert page.problems == []


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", '{"title": 3}', '{"title": "\\ud800"}', "\xff", "[" * 100_000],
    ids=lambda content: content[:20],
)
def test_a_damaged_title_is_named_and_not_used(done, tmp_path, content):
    shutil.copytree(done[0], tmp_path, dirs_exist_ok=True)
    about = tmp_path / "my-lake" / "experiment.json"
    about.write_text(content, encoding="latin-1")
    page = build([tmp_path])
    assert page.html.encode()
    assert ">my-lake (not in the paper)<" in page.html
    (problem,) = page.problems
    assert f"{about} is damaged" in problem


def test_curves_of_another_problem_are_not_called_a_figure_of_the_paper(tmp_path):
    planted_cells.experiment(tmp_path / "figure5", problem="lake#0123456789ab")
    text = plain(build([tmp_path]))
    assert "figure5 (not in the paper)" in text
    assert "Off-policy control" not in text


def test_the_rule_that_others_are_compared_with_may_be_missing(tmp_path):
    planted_cells.experiment(tmp_path / "figure5")
    (tmp_path / "figure5" / "actions-6" / "q_learning.npz").unlink()
    page = build([tmp_path])
    rows = page.data["tabular-0"]["table"]
    assert "AUC − that of q_learning" in plain(page)
    there = {(row["actions"], row["rule"]): row["auc_minus_first_rule"] for row in rows}
    assert there[6, "hard_rdq"] is None
    assert there[2, "q_learning"]["mean"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"actions": (2, 6)}, "has 3 actions: leave actions out"),
        (
            {"step_sizes": (0.1, -2.0)},
            "positive and finite; it is (0.1, -2.0)",
        ),
        ({"step_sizes": (0.1, np.inf)}, "step_sizes must be"),
        ({"step_sizes": ()}, "step_sizes must be"),
        ({"step_sizes": ["a"]}, "step_sizes must be a list, positive and finite; it is ['a']"),
        ({"step_sizes": 0.1}, "step_sizes must be"),
        ({"protocol": "reference"}, "leave it out for an MDP of your own"),
        ({"problem": q_learning()}, "problem must be an MDP or one of on-policy, qvmax, dueling"),
        ({"rules": ("q_learning",)}, "extra_rules={name: rule}"),
    ],
)
def test_what_makes_no_sense_is_refused_when_it_is_declared(options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        dataclasses.replace(declare(lake()), **options)


@pytest.mark.parametrize("name", ["../evil", "a/b", "", ".", "..", ".hidden", "two words"])
def test_a_figure_needs_the_name_of_a_folder(tmp_path, name):
    with pytest.raises(InputError, match="figure names a folder"):
        run(dataclasses.replace(declare(lake()), figure=name), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_names_of_the_papers_figures_are_taken(tmp_path):
    mine = dataclasses.replace(FIGURES["figure5"], problem=lake(), actions=())
    with pytest.raises(InputError, match="figure5 is the paper's"):
        run(mine, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_values_that_are_exact_from_the_start_are_refused_and_nothing_is_kept(tmp_path):
    with pytest.raises(InputError, match="initial values of q_learning are already exact"):
        run(declare(lake(reward=np.zeros((5, 3)))), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (q_learning, "'mine' must be a Rule, such as q_learning(); it is a function"),
        (q_learning()._replace(goal="optimum"), "mine, 'optimum': did you mean 'optimal'?"),
    ],
)
def test_a_rule_that_is_none_is_refused_before_anything_is_written(rule, message, tmp_path):
    with pytest.raises(InputError, match=re.escape(message)):
        run(declare(lake()), tmp_path / "out", extra_rules={"mine": rule})
    assert list(tmp_path.iterdir()) == []
