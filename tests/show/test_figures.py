import dataclasses
import itertools
import json
import re

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from qduet.paper.figures import FIGURES
from qduet.results.published import AGENTS
from qduet.show.figures.drawn import drawn, save_data
from qduet.show.figures.style import (
    COLOURS,
    LABELS,
    cut_axis,
    in_percent,
    look_of,
    look_of_rule,
    rendered,
)
from qduet.show.figures.tabular import tabular_figure
from qduet.show.report.palette import pair
from qduet.tabular.rules import RULES
from qduet.tabular.running import run
from qduet.tabular.summary import summarise_all


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    experiment = dataclasses.replace(FIGURES["figure3"].small(), seeds=4, steps=200)
    return run(experiment, tmp_path_factory.mktemp("figure"))


@pytest.fixture(scope="module")
def figure(results):
    return tabular_figure(results, summarise_all(results))


def test_the_same_results_give_the_same_bytes(results, figure):
    again = tabular_figure(results, summarise_all(results))
    assert rendered(figure) == rendered(again)


def test_left_panel_shows_the_mean_curve_at_the_best_step_size(results, figure):
    left = figure.axes[0]
    for line, name in zip(left.lines, results.rules, strict=True):
        percent = results.curves[18][name].percent
        best = percent.mean(axis=(0, 2)).argmin()
        np.testing.assert_allclose(line.get_ydata(), percent[:, best].mean(axis=0), rtol=1e-5)
        assert line.get_color() == COLOURS[name]


def test_centre_panel_has_a_dashed_line_at_each_minimum(results, figure):
    dashed = [line for line in figure.axes[1].lines if len(set(line.get_ydata())) == 1]
    heights = sorted(line.get_ydata()[0] for line in dashed if line.get_linestyle() == "--")
    best = sorted(results.curves[18][n].percent.mean(axis=(0, 2)).min() for n in results.rules)
    np.testing.assert_allclose(heights, best, rtol=1e-5)


def test_right_panel_has_one_point_per_number_of_actions(figure):
    assert list(figure.axes[2].lines[0].get_xdata()) == [2, 18]


@pytest.mark.parametrize("far", [377.0, np.inf])
def test_a_held_out_auc_outside_the_panel_is_shown_at_its_edge(results, far):
    """One bad run can make it huge, or infinite; neither may squash the panel or vanish."""
    summary = summarise_all(results)
    rule = summary[18]["qvmax"]
    held_out = rule.held_out._replace(auc=rule.held_out.auc._replace(mean=far))
    summary[18]["qvmax"] = rule._replace(held_out=held_out)
    right = tabular_figure(results, summary).axes[2]
    _, top = right.get_ylim()
    assert top < 150
    triangles = [line for line in right.lines if line.get_marker() == "^"]
    assert [(*line.get_xdata(), *line.get_ydata()) for line in triangles] == [(18, top)]
    crosses = [line for line in right.lines if line.get_marker() == "x"]
    assert sorted(len(line.get_xdata()) for line in crosses) == [1, 2, 2]


def with_step_sizes(results, step_sizes):
    """The same curves, as if they were of the last few of these step sizes."""
    chosen = dataclasses.replace(results.experiment, step_sizes=tuple(step_sizes))
    cells = {
        n: {
            name: curves._replace(
                percent=curves.percent[:, -len(step_sizes) :].copy(),
                diverged_at=curves.diverged_at[:, -len(step_sizes) :].copy(),
            )
            for name, curves in by_rule.items()
        }
        for n, by_rule in results.curves.items()
    }
    return results._replace(experiment=chosen, curves=cells)


@pytest.mark.parametrize(
    ("step_sizes", "told"),
    [
        ([0.05, 0.1, 0.2, 0.4, 0.8], ["0.05", "0.1", "0.2", "0.5"]),
        ([0.2, 0.25, 0.3, 0.4], ["0.2", "0.25", "0.3", "0.35", "0.4"]),
        ([0.3], ["0.1", "0.2", "0.5", "1"]),
        ([0.005, 0.05, 0.5], ["10^{-2}", "10^{-1}"]),
    ],
)
def test_ticks_of_a_short_grid_of_step_sizes_do_not_collide(results, step_sizes, told):
    coarse = with_step_sizes(results, step_sizes)
    figure = tabular_figure(coarse, summarise_all(coarse))
    FigureCanvasAgg(figure).draw()
    axis = figure.axes[1].xaxis
    low, high = axis.get_view_interval()
    ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    texts = [tick.label1.get_text() for tick in ticks]
    assert [re.sub(r"\$(\\mathdefault)?{(.*)}\$", r"\2", text) for text in texts] == told
    assert not any(tick.label1.get_text() for tick in axis.get_minor_ticks())
    boxes = [tick.label1.get_window_extent() for tick in ticks]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_where_runs_diverge_the_line_of_step_sizes_ends(results):
    coarse = with_step_sizes(results, [0.2, 0.4, 0.8])
    curves = coarse.curves[18]["qvmax"]
    curves.percent[0, 2, -1] = np.inf
    curves.diverged_at[0, 2] = 200
    axes = tabular_figure(coarse, summarise_all(coarse)).axes[1]
    lines = [line for line in axes.lines if len(line.get_xdata()) == 3]
    (line,) = [line for line in lines if line.get_color() == COLOURS["qvmax"]]
    np.testing.assert_array_equal(np.isfinite(line.get_ydata()), [True, True, False])


def test_a_best_step_size_at_the_edge_of_the_grid_is_told_in_the_legend(results):
    def legend(step_sizes):
        coarse = with_step_sizes(results, step_sizes)
        for curves in coarse.curves[18].values():
            curves.percent[:] = np.linspace(90, 10, len(step_sizes))[None, :, None]
        figure = tabular_figure(coarse, summarise_all(coarse))
        return [text.get_text() for text in figure.legends[0].get_texts()]

    assert legend([0.2, 0.4, 0.8])[0] == "Q-learning (α = 0.8, edge of the grid)"
    assert legend([0.25, 0.5, 1.0])[0] == "Q-learning (α = 1)"


def test_the_legend_names_the_marks_that_are_drawn(results):
    """Of none, of a cross and a circle, of a cross beyond the panel."""
    marks = ["runs diverged", "α chosen on the other seeds", "the same, off the scale"]
    summary = summarise_all(results)
    (n,) = results.experiment.actions[-1:]
    name = results.rules[0]
    rule = summary[n][name]
    assert rule.held_out
    held = rule.held_out
    far = held._replace(auc=held.auc._replace(mean=1e6))

    def told(**changes):
        every = {
            m: {r: s._replace(held_out=None, diverged=0 * s.diverged) for r, s in by.items()}
            for m, by in summary.items()
        }
        every[n][name] = every[n][name]._replace(**changes)
        texts = [t.get_text() for t in tabular_figure(results, every).legends[0].get_texts()]
        return [mark for mark in marks if mark in texts]

    assert told() == []
    assert told(held_out=held) == marks[1:2]
    assert told(diverged=rule.diverged + 1) == marks[:1]
    assert told(held_out=far) == marks[2:]


def test_every_axis_has_a_label_and_every_rule_a_legend(results, figure):
    for axes in figure.axes:
        assert axes.get_xlabel()
        assert axes.get_ylabel()
    legend = " ".join(text.get_text() for text in figure.legends[0].get_texts())
    assert all(LABELS[name] in legend for name in results.rules)


def test_ticks_in_percent_say_where_they_are():
    axis = Figure().subplots().yaxis
    in_percent(axis)
    values = [0, 0.1 + 0.2, 2.5, 7.5, 10, 120, 20_000]
    told = ["0%", "0.3%", "2.5%", "7.5%", "10%", "120%", "20,000%"]
    assert [axis.get_major_formatter()(value) for value in values] == told


@pytest.mark.parametrize(
    ("values", "cut"),
    [
        ([2.0, 56.0, 59.0, 60.0], True),
        ([2.0, 20.0, 59.0, 60.0], False),  # still learning at its second evaluation
        ([2.0, 60.0], False),  # two points are no curve
        ([2.0, 60.0, 60.0], False),
        ([-2.0, -60.0, -59.0], False),
        ([np.nan, np.nan, np.nan], False),
    ],
)
def test_an_axis_is_cut_where_all_is_decided_near_the_top(values, cut):
    axes = Figure().subplots()
    axes.plot(values)
    axes.set_ylabel("return")
    before = axes.get_ylim()
    cut_axis(axes)
    assert (axes.get_ylim() != before) == cut
    assert axes.get_ylabel() == ("return (axis cut)" if cut else "return")
    if cut:
        low, high = axes.get_ylim()
        assert 50 < low < 56
        assert high > 60


@pytest.mark.parametrize(("wide", "cut"), [(5.0, True), (30.0, False)])
def test_an_axis_is_not_cut_through_an_interval(wide, cut):
    axes = Figure().subplots()
    means = np.array([2.0, 56.0, 59.0, 60.0])
    axes.plot(means)
    axes.fill_between(range(4), means - [0, 0, wide, 0], means + 1)
    before = axes.get_ylim()
    cut_axis(axes)
    low, high = axes.get_ylim()
    assert ((low, high) != before) == cut
    assert low < 59 - wide
    assert high > 61


def test_every_rule_has_a_label_and_a_colour():
    assert COLOURS.keys() >= RULES.keys()
    assert LABELS.keys() >= RULES.keys()


def test_no_two_rules_look_the_same_in_one_figure():
    own = ("rdq-share-0.25", "rdq", "dqn-mine", "hard_rdq-mine", "soft_rdq-beta-mine")
    names = (*RULES, "soft_rdq-beta-0.001", "soft_rdq-beta-1e-05", *own)
    looks = [look_of_rule(name, names) for name in names]
    assert len({(look.colour, look.style) for look in looks}) == len(names)
    assert {look.style for look in looks[-5:]} == {"-"}
    assert look_of_rule("expected_sarsa", ("expected_sarsa", "qv_learning")).style == "-"


@pytest.mark.parametrize("name", ["rdq-share-0.25", "rdq", "hard_rdq-mine", "mine@home"])
def test_a_rule_of_ones_own_keeps_its_name_and_takes_no_colour_of_the_papers(name):
    look = look_of_rule(name, ("hard_rdq", name))
    assert look.label == name
    assert look.colour not in COLOURS.values()


def test_a_rule_looks_the_same_in_whatever_order_the_rules_come():
    """The figure has them in the order of the user's code, the page in that of the files."""
    names = ("q_learning", "soft_rdq-beta-1e-05", "soft_rdq-beta-0.001", "double_q", "averaged_q")
    for name in names:
        look = look_of_rule(name, names)
        turned = look_of_rule(name, names[::-1])
        assert look[:3] == turned[:3]
        assert (look.row, turned.row) == (names.index(name), names[::-1].index(name))
    assert look_of_rule(names[1], names).label == "Soft RDQ (β = 1e-05)"
    assert [look_of_rule(name, names).style for name in names[1:3]] == ["-", "--"]  # by β


def test_names_beyond_the_spare_colours_are_told_apart_by_line_styles():
    names = ("rdq", *(f"mine-{i}" for i in range(8)))
    looks = [look_of(name, names) for name in names]
    assert len({(look.colour, look.style) for look in looks}) == len(names)
    assert {look.style for look in looks[:6]} == {"-"}


def test_variants_have_colours_of_their_own_and_leave_the_agents_theirs():
    names = ("dqn-hold", "dqn-init", "rdq-hold", "rdq-init", "rdq-beta-0.1")
    looks = {name: look_of(name, names) for name in names}
    assert len({look.colour for look in looks.values()}) == len(names)
    assert not {look.colour for look in looks.values()} & {COLOURS[name] for name in AGENTS}
    assert [looks[name].style for name in names] == ["-", "--", ":", "-.", "-"]
    assert looks["dqn-init"].label == "DQN (init)"
    assert looks["rdq-beta-0.1"].label == "RDQ (β = 0.1)"
    with_plain = [look_of(name, ("rdq", *names)) for name in ("rdq", *names)]
    assert with_plain[0][1:3] == (COLOURS["rdq"], "-")
    assert with_plain[1].style == "--"
    assert [look.colour for look in with_plain[1:]] == [look.colour for look in looks.values()]


def test_where_variants_are_many_a_colour_is_a_change_and_a_line_style_an_agent():
    names = [f"{agent}-{change}" for agent in AGENTS for change in ("hold", "init", "bias")]
    looks = {name: look_of(name, names) for name in names}
    for agent in AGENTS:
        family = [looks[name] for name in names if name.startswith(f"{agent}-")]
        assert len({look.colour for look in family}) == 3
        assert len({look.style for look in family}) == 1
    assert looks["dqn-init"].colour == looks["rdq-init"].colour
    assert len({look[1:3] for look in looks.values()}) == len(names)


SEEN = {  # linear RGB as people see it: Machado, Oliveira and Fernandes (2009), severity 1
    "all cones": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
}


def lab(colour, seen):
    """CIELAB of ``#rrggbb`` for such eyes, from its definition."""
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x = np.array(xyz) @ np.clip(np.array(seen) @ linear, 0, 1) / [0.9505, 1.0, 1.089]
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("seen", SEEN.values(), ids=list(SEEN))
def test_variants_can_be_told_apart_by_their_colours(seen):
    """A difference of 2 is just noticeable side by side; on paper, on light and on dark ground."""
    names = [f"rdq-{i}" for i in range(5)]
    variants = [look_of(name, names).colour for name in names]
    for shown in (str, lambda c: pair(c)[0], lambda c: pair(c)[1]):
        agents = [lab(shown(COLOURS[name]), seen) for name in AGENTS]
        others = [lab(shown(colour), seen) for colour in variants]
        pairs = [*itertools.combinations(others, 2), *itertools.product(agents, others)]
        assert min(np.linalg.norm(a - b) for a, b in pairs) > 12
        first = itertools.combinations(others[:3], 2)
        assert min(np.linalg.norm(a - b) for a, b in first) > 16.5


def test_the_same_agent_from_two_directories_differs_in_line_style_alone():
    names = ("dqn@a", "rdq@b", "dqn@b", "mine-2@b", "rdq-init@a", "rdq-init@b")
    looks = {name: look_of(name, names) for name in names}
    assert looks["dqn@a"].colour == looks["dqn@b"].colour == COLOURS["dqn"]
    assert looks["dqn@a"].style == "-"
    assert looks["dqn@b"].style == looks["rdq@b"].style == looks["mine-2@b"].style == "--"
    assert looks["mine-2@b"].label == "mine-2 (b)"
    assert looks["rdq-init@a"].label == "RDQ (init, a)"
    assert len({(look.colour, look.style) for look in looks.values()}) == len(names)


@pytest.mark.parametrize(
    "names",
    [
        [f"rdq-beta-{beta}" for beta in (0.1, 0.2, 0.3, 0.4, 0.5)],
        [f"rdq-{what}@{where}" for where in "ab" for what in ("hold", "init", "bias")],
        [f"rdq-{what}{where}" for where in ("", "@a", "@b") for what in range(8)],
        ["rdq", "rdq@a", "rdq-init", "rdq-init@a", "dqn-init@a", *(f"dqn-{i}" for i in range(12))],
        ["dqn-a", "dqn-b", "dqn-c", "dqn-d", "rdq-a", "rdq-e"],
        ["bc_qvmax@a", "bc_qvmax@b", "q_learning@a", "q_learning@b"],
        ["dqn-", "rdq"],
    ],
    ids=lambda names: names[0],
)
def test_no_two_variants_look_the_same(names):
    looks = {(look.colour, look.style) for look in (look_of(name, names) for name in names)}
    assert len(looks) == len(names)


def test_the_data_of_a_figure_are_those_of_its_lines(tmp_path):
    figure = Figure()
    axes = figure.subplots()
    axes.plot([1, 2], [3, 4], color="#ff0000", label="$q_*$")
    axes.plot([1, 2], [30, 40], "o", color="#ff0000", markerfacecolor="white")
    axes.plot([5], [6], "s", color="#00ff00", label="start")
    axes.axhline(7, color="#ff0000")  # across the panel: no data
    axes.set(xscale="log", xlim=(0.5, 9), title="$Q_0$", xlabel="x")
    document = json.loads(save_data(figure, tmp_path / "f").read_text())
    assert document == json.loads(json.dumps(drawn(figure)))
    (panel,) = document["panels"]
    assert (panel["title"], panel["x"]) == (
        "Q₀",
        {"label": "x", "log": True, "min": 0.5, "max": 9.0},
    )
    line, dots, start = panel["series"]
    assert (line["label"], line["colour"], line["x"], line["y"]) == (
        "q⁎",
        "#ff0000",
        [1, 2],
        [3, 4],
    )
    assert (dots["label"], dots["points"], dots["open"], dots["y"]) == ("q⁎", True, True, [30, 40])
    assert (start["label"], start["points"], start["open"]) == ("start", True, False)


def test_long_lines_are_thinned_out_and_keep_their_ends():
    figure = Figure()
    figure.subplots().plot(np.arange(10_000), np.arange(10_000.0))
    (series,) = drawn(figure)["panels"][0]["series"]
    assert len(series["x"]) < 500
    assert (series["x"][0], series["x"][-1]) == (0, 9_999)
