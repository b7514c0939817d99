import dataclasses

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from qduet.paper.figures import FIGURES
from qduet.show.chart import STEPS, Axis, Chart, Panel, Series
from qduet.show.charts.tabular import tabular_chart
from qduet.show.figures import draw, rendered
from qduet.show.names import RULES, agent_styles, rule_styles
from qduet.tabular.running import run
from qduet.tabular.summary import summarise_all


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    experiment = dataclasses.replace(FIGURES["figure3"].small(), seeds=5, steps=200)
    return run(experiment, tmp_path_factory.mktemp("figure"))


def tabular_figure(results, summary):
    return draw(tabular_chart(results, summary))


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
        assert line.get_color() == RULES[name][1]


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
    marked = lambda mark: [
        (x, y)
        for line in right.lines
        if line.get_marker() == mark
        for x, y in zip(*line.get_data(), strict=True)
    ]
    assert marked("^") == [(18, top)]
    crosses = marked("x")
    assert len(crosses) == 2 * len(results.rules) - 1
    assert max(y for _, y in crosses) < top


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


def test_where_runs_diverge_the_line_of_step_sizes_ends(results):
    coarse = with_step_sizes(results, [0.2, 0.4, 0.8])
    curves = coarse.curves[18]["qvmax"]
    curves.percent[0, 2, -1] = np.inf
    curves.diverged_at[0, 2] = 200
    axes = tabular_figure(coarse, summarise_all(coarse)).axes[1]
    lines = [line for line in axes.lines if len(line.get_xdata()) == 3]
    (line,) = [line for line in lines if line.get_color() == RULES["qvmax"][1]]
    np.testing.assert_array_equal(np.isfinite(line.get_ydata()), [True, True, False])


def test_a_best_step_size_at_the_edge_of_the_grid_is_told_in_the_legend(results):
    def legend(step_sizes):
        coarse = with_step_sizes(results, step_sizes)
        for curves in coarse.curves[18].values():
            curves.percent[:] = np.linspace(90, 10, len(step_sizes))[None, :, None]
        figure = tabular_figure(coarse, summarise_all(coarse))
        return [text.get_text() for text in figure.legends[0].get_texts()]

    assert legend([0.2, 0.4, 0.8])[0] == "Q-learning (α = 0.8000, edge of the grid)"
    assert legend([0.25, 0.5, 1.0])[0] == "Q-learning (α = 1.0000)"


def test_the_legend_names_the_marks_that_are_drawn(results):
    """Of none, of a cross, of a circle."""
    marks = ["runs diverged", "α chosen on the other seeds"]
    summary = summarise_all(results)
    (n,) = results.experiment.actions[-1:]
    name = results.rules[0]
    rule = summary[n][name]
    assert rule.held_out

    def told(**changes):
        every = {
            m: {r: s._replace(held_out=None, diverged=0 * s.diverged) for r, s in by.items()}
            for m, by in summary.items()
        }
        every[n][name] = every[n][name]._replace(**changes)
        texts = [t.get_text() for t in tabular_figure(results, every).legends[0].get_texts()]
        return [mark for mark in marks if mark in texts]

    assert told() == []
    assert told(held_out=rule.held_out) == marks[1:]
    assert told(diverged=rule.diverged + 1) == marks[:1]


def test_every_axis_has_a_label_and_every_rule_a_legend(results, figure):
    for axes in figure.axes:
        assert axes.get_xlabel()
        assert axes.get_ylabel()
    legend = " ".join(text.get_text() for text in figure.legends[0].get_texts())
    assert all(RULES[name][0] in legend for name in results.rules)


def drawn_panel(y, *series):
    """The axes of a chart of one panel."""
    panel = Panel("", Axis("x"), y, tuple(series))
    return draw(Chart("", rule_styles(("qvmax",)), (panel,))).axes[0]


def line_of(values, **options):
    return Series("qvmax", np.arange(len(values)), np.asarray(values, float), **options)


def test_ticks_in_percent_say_where_they_are():
    axis = drawn_panel(Axis("y", percent=True), line_of([1, 2])).yaxis
    values = [0, 0.1 + 0.2, 2.5, 7.5, 10, 120, 20_000]
    told = ["0%", "0.3%", "2.5%", "7.5%", "10%", "120%", "20,000%"]
    assert [axis.get_major_formatter()(value) for value in values] == told


def test_ticks_between_powers_of_ten_have_the_unit_of_those_at_them():
    for percent, told in ((True, "30%"), (False, "30")):
        axis = drawn_panel(Axis("y", log=True, percent=percent), line_of([20, 60])).yaxis
        assert told in axis.get_minor_formatter().format_ticks([20, 30, 60])


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
    axes = drawn_panel(Axis("return"), line_of(values))
    low, high = axes.get_ylim()
    if cut:
        assert 55 < low < 56
        assert high > 60
    elif np.isfinite(values).all():
        assert low < min(values) < max(values) < high


@pytest.mark.parametrize(("wide", "cut"), [(5.0, True), (30.0, False)])
def test_an_axis_is_not_cut_through_an_interval(wide, cut):
    means = np.array([2.0, 56.0, 59.0, 60.0])
    series = line_of(means, low=means - [0, 0, wide, 0], high=means + 1)
    low, high = drawn_panel(Axis("return"), series).get_ylim()
    assert (low > 2) == cut
    assert low < 59 - wide
    assert high > 61


def test_long_steps_have_short_names():
    axis = drawn_panel(Axis("y"), line_of([1, 2], kind="published"))
    line = Series("qvmax", np.array([0, 1_000_000]), np.array([1.0, 2.0]))
    panel = Panel("", Axis(STEPS), Axis("y"), (line,))
    far = draw(Chart("", rule_styles(("qvmax",)), (panel,))).axes[0]
    FigureCanvasAgg(far.figure).draw()
    texts = [tick.get_text() for tick in far.xaxis.get_ticklabels()]
    assert {"0", "200k", "1M"} <= set(texts)
    assert axis.lines[0].get_linestyle() == "--"


@pytest.mark.parametrize(("count", "bands"), [(3, 0), (5, 1)])
def test_few_seeds_are_drawn_one_by_one_instead_of_their_interval(count, bands):
    """The interval would reach from −100 to 100; the seeds lie between 0 and 4."""
    seeds = np.arange(count)[:, None] * np.ones(2)
    y, wide = np.full(2, 1.5), np.full(2, 100.0)
    series = Series("rdq", np.arange(2.0), y, -wide, wide, seeds=seeds)
    chart = Chart("", agent_styles(["rdq"]), (Panel("", Axis(""), Axis(""), (series,)),))
    (axes,) = draw(chart).axes
    assert len(axes.collections) == bands
    drawn = [line.get_ydata().tolist() for line in axes.lines]
    assert drawn == [[1.5, 1.5], *([] if bands else seeds.tolist())]
    assert -0.5 < axes.get_ylim()[0] < axes.get_ylim()[1] < 4.5
