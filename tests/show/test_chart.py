"""A chart at its first choices, and as a file."""

import json

import numpy as np

from qduet.core.files import to_json
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
    x = Axis("V(s)", log=True, min=0.5, max=9, guide=2)
    y = Axis("A(s, a₀)", percent=True, ticks=(1, 10))
    panel = Panel("Runs: of two sizes", x, y, lines, equal=True)
    return Chart("Title", groups, (panel,))


def test_a_file_has_what_the_page_draws(tmp_path):
    path = chart.write(example(), tmp_path / "f")
    assert path == tmp_path / "f.json"
    data = chart.read(path)
    assert data == json.loads(to_json(chart.chart_data(example())))
    assert [(g["id"], g["label"], g["line"]) for g in data["groups"]] == [
        ("hard_rdq", "Hard RDQ", "-"),  # one switch for all sizes
        ("starts", "starts: Q₀ = 0", "--"),
    ]
    (panel,) = data["panels"]
    assert (panel["title"], panel["equal"]) == ("Runs: of two sizes", True)
    assert panel["x"] == {"label": "V(s)", "log": True, "min": 0.5, "max": 9, "guide": 2}
    assert panel["y"] == {"label": "A(s, a₀)", "percent": True, "ticks": [1, 10]}
    line, dots, _, starts, faint = panel["series"]
    assert (line["group"], line["detail"], line["line"]) == ("hard_rdq", "|A| = 2", ":")
    assert (panel["grids"][line["x"]], line["y"]) == ([1, 2], [1, 2])
    assert (dots["line"], dots["marker"], dots["open"], dots["y"]) == ("", "o", True, [10, 20])
    assert "line" not in starts  # that of its group
    assert faint["kind"] == "faint"


def test_long_lines_are_thinned_out_and_keep_their_ends(tmp_path):
    data = chart.read(chart.write(example(10_000), tmp_path / "f"))
    series = data["panels"][0]["series"][3]
    assert len(series["x"]) < 500
    assert (series["x"][0], series["x"][-1]) == (0, 9_999)
