"""A chart at its first choices, and as a file."""

import json

import numpy as np

from qduet.show import chart
from qduet.show.chart import Axis, Chart, Panel, Select, Series
from qduet.show.names import Style

TWO = np.array([1.0, 2.0])


def test_on_paper_the_first_choice_is_drawn():
    lines = [Series("a", TWO, n * TWO, when={"actions": str(n)}) for n in (2, 18)]
    always = Series("a", TWO, TWO)
    panels = (
        Panel("Curves", Axis("x"), Axis("y"), (*lines, always)),
        Panel("All sizes", Axis("x"), Axis("y"), (always,)),
    )
    select = Select("actions", "Number", ("2", "18"), initial="18")
    shown = Chart("", {"a": Style("A", "#000000")}, panels, selects=(select,)).shown
    assert shown.panels[0].series == (lines[1], always)
    assert shown.panels[1].series == (always,)


def example(length=10):
    groups = {
        "hard_rdq": Style("Hard RDQ", "#ff0000"),
        "starts": Style("starts: Q₀ = 0", "#00ff00", "--"),
    }
    lines = (
        Series("hard_rdq", TWO, TWO, line=":", detail="|A| = 2"),
        Series("hard_rdq", TWO, 10 * TWO, line="", marker="o", open=True, detail="|A| = 2"),
        Series("hard_rdq", TWO, TWO, line="-", detail="|A| = 18"),
        Series("starts", np.arange(length), np.arange(float(length))),
        Series("hard_rdq", TWO, TWO, kind="faint"),
    )
    x, y = Axis("V(s)", log=True, min=0.5, max=9), Axis("A(s, a₀)")
    panel = Panel("Runs: of two sizes", x, y, lines, equal=True)
    return Chart("Title", groups, (panel,))


def test_a_file_has_the_lines_of_its_chart(tmp_path):
    path = chart.write(example(), tmp_path / "f")
    (panel,) = json.loads(path.read_text())["panels"]
    assert (panel["title"], panel["equal"]) == ("Runs: of two sizes", True)
    assert panel["x"] == {"label": "V(s)", "log": True, "min": 0.5, "max": 9}
    line, dots, _, starts, faint = panel["series"]
    assert (line["label"], line["colour"], line["style"]) == ("Hard RDQ, |A| = 2", "#ff0000", ":")
    assert (line["x"], line["y"]) == ([1, 2], [1, 2])
    assert (dots["label"], dots["points"], dots["open"], dots["y"]) == (
        "Hard RDQ, |A| = 2",
        True,
        True,
        [10, 20],
    )
    assert starts["style"] == "--"
    assert faint["kind"] == "faint"


def test_long_lines_are_thinned_out_and_keep_their_ends(tmp_path):
    path = chart.write(example(10_000), tmp_path / "f")
    series = json.loads(path.read_text())["panels"][0]["series"][3]
    assert len(series["x"]) < 500
    assert (series["x"][0], series["x"][-1]) == (0, 9_999)


def test_a_chart_is_read_as_it_was_written(tmp_path):
    chart.write(example(), tmp_path / "f")
    read = chart.read(tmp_path / "f.json")
    assert chart.write(read, tmp_path / "g").read_text() == (tmp_path / "f.json").read_text()
    assert list(read.groups) == ["Hard RDQ", "starts: Q₀ = 0"]  # one switch for all sizes
    assert [s.detail for s in read.panels[0].series[:3]] == ["|A| = 2", "|A| = 2", "|A| = 18"]
