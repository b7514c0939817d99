"""The report in Chromium: it loads by itself, its charts respond, it fits, everything has a name.

`page_from_file` fails a test whose page asked for anything, or complained on the console.
"""

import json
import re

import jax
import numpy as np
import planted
import planted_cells
import pytest

from qduet.agents import make_agent
from qduet.deep import board
from qduet.jobs import recording_file
from qduet.jobs.recording import record
from qduet.jobs.weights import Weights
from qduet.minatar import make
from qduet.results import runs
from qduet.show.chart import Axis, Chart, Panel, Series, Style, write
from qduet.show.report import build

sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright for these")

NASTY = "<script>document.title='gone'<img src=x onerror=alert(1)>"
NASTY_RULE = "mine"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A page of everything: tables, drawn figures, theory, runs with a nasty name, a recording."""
    root = tmp_path_factory.mktemp("results")
    rules = ("q_learning", "dueling_q", "hard_rdq", NASTY_RULE)
    planted_cells.experiment(root / "figure5", rules=rules, diverged=(3,))
    config = planted.config("Breakout", seeds=range(5), agents=("rdq", "dqn"))
    config["agents"][1]["label"] = NASTY
    generator = np.random.default_rng(0)
    curves = {name: generator.uniform(0, 9, (5, 11)) for name in ("rdq", NASTY)}
    runs.write(root / "breakout", config, planted.rows(config, curves))
    write(FIGURE4, root / "figure4")
    (root / "theory.json").write_text(json.dumps(THEORY))
    env, agent = make("MinAtar/Breakout-v1"), make_agent("rdq")
    params = board.init(jax.random.key(0), env.num_channels, env.num_actions)
    weights = Weights(params, agent, env.name, NASTY, 2, 5_000)
    recording_file.write(root / "b-episode0.json", record(weights, frames=30, epsilon=0.5))
    path = root / "report.html"
    path.write_text(build([root]).html, encoding="utf-8")
    return path


AXIS = Axis("V(s)", min=-1, max=2)
FIGURE4 = Chart(
    "",
    {"hard_rdq": Style("Hard RDQ", "#0b3d91"), "start": Style("start", "#595959")},
    (
        Panel(
            "|A| = 2",
            AXIS,
            AXIS,
            (
                Series("hard_rdq", np.array([0, 1]), np.array([0, 1])),
                Series("start", np.zeros(1), np.zeros(1), line="", marker="s"),
            ),
        ),
    ),
)
THEORY = {
    "claims": [
        {
            "claim": "x",
            "where": "Thm 1",
            "statement": "a < b",
            "holds": True,
            "problems": 3,
            "failures": 0,
            "margin": "Infinity",
            "worst": {"what": "w", "error": 0.0, "allowed": 1.0},
            "worst_problem": None,
        }
    ],
    "seconds": 1.0,
}


def chart(page, name):
    return page.locator(f"[data-chart='{name}']")


def data(page):
    return json.loads(page.locator("#qduet-data").text_content())


def test_it_loads_from_disk_with_everything_drawn(page_from_file, report):
    page = page_from_file(report)
    assert page.title().startswith("qduet:")
    assert page.evaluate("document.documentElement.dataset.ready") == "yes"
    charts = data(page)["charts"]
    assert set(charts) >= {"tabular-0", "figure4", "deep-0"}
    for name, spec in charts.items():
        assert chart(page, name).locator("svg .base").count() == len(spec["panels"])
        assert chart(page, name).locator("path.mean").count() > 0
    assert page.evaluate("performance.now()") < 60_000  # a page that hangs, not a race


@pytest.mark.parametrize(
    "change",
    [
        {"groups": []},
        {"groups": 1},
        {"panels": [1]},
        {"panels": [{"series": [{"group": "hard_rdq", "x": "x9", "y": [0]}]}]},
    ],
    ids=str,
)
def test_a_chart_that_cannot_be_drawn_costs_only_itself(page_from_file, tmp_path, change):
    path = write(FIGURE4, tmp_path / "figure4")
    document = json.loads(path.read_text()) | change
    del document["sha256"]
    path.write_text(json.dumps(document))
    planted_cells.experiment(tmp_path / "figure5")
    (tmp_path / "report.html").write_text(build([tmp_path]).html, encoding="utf-8")
    page = page_from_file(tmp_path / "report.html")
    assert "cannot be drawn, because its file is damaged" in chart(page, "figure4").inner_text()
    assert chart(page, "tabular-0").locator("svg.panel, svg").count() > 1
    assert page.locator("html").get_attribute("data-ready") == "yes"


def test_names_that_look_like_scripts_do_no_harm(page_from_file, report):
    page = page_from_file(report)
    assert "gone" not in page.title()
    assert page.locator("img[src=x]").count() == 0
    assert NASTY in chart(page, "deep-0").locator(".legend").inner_text()
    for player in page.locator(".qduet-player").all():
        assert NASTY in player.inner_text()


def test_hovering_reads_the_values_of_every_line(page_from_file, report):
    page = page_from_file(report)
    plot = chart(page, "tabular-0").locator(".plot").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 14, box["y"] + box["height"] / 2)
    tip = plot.locator(".tip")
    sync_api.expect(tip).to_be_visible()
    line = data(page)["charts"]["tabular-0"]["panels"][0]["series"]
    shown = [s for s in line if s["when"] == {"actions": "6", "step_size": "best"}]
    text = tip.inner_text()
    assert "Environment steps: 400" in text
    for s in shown:
        assert f"{s['y'][-1]:.2f}" in text
    page.mouse.move(0, 0)
    sync_api.expect(tip).to_be_hidden()


def test_the_keyboard_reads_values_too(page_from_file, report):
    page = page_from_file(report)
    plot = chart(page, "tabular-0").locator(".plot").first
    plot.focus()
    page.keyboard.press("End")
    status = chart(page, "tabular-0").locator("[role=status]")
    assert "Environment steps: 400" in status.inner_text()
    page.keyboard.press("ArrowLeft")
    assert "Environment steps: 300" in status.inner_text()
    page.keyboard.press("Escape")
    assert not plot.locator(".tip").is_visible()


def test_values_below_zero_have_a_true_minus(page_from_file, tmp_path):
    made = planted.config("Breakout", seeds=[0, 1], agents=["rdq"])
    runs.write(tmp_path / "a", made, planted.rows(made, {"rdq": np.full((2, 11), -2.5)}))
    path = tmp_path / "report.html"
    path.write_text(build([tmp_path]).html, encoding="utf-8")
    page = page_from_file(path)
    plot = chart(page, "deep-0").locator(".plot").first
    plot.press("End")
    assert "−2.50" in plot.locator(".tip").inner_text()


def test_rules_can_be_switched_off_and_on(page_from_file, report):
    page = page_from_file(report)
    here = chart(page, "tabular-0")
    before = here.locator("path.mean").count()
    box = here.get_by_label("Hard RDQ")
    box.focus()
    page.keyboard.press("Space")
    assert not box.is_checked()
    assert here.locator("path.mean").count() == before - 3  # one in each panel
    page.keyboard.press("Space")
    assert here.locator("path.mean").count() == before


def test_every_seed_can_be_seen(page_from_file, report):
    page = page_from_file(report)
    here = chart(page, "deep-0")
    assert here.locator("path.seed").count() == 0
    here.get_by_label("every seed").check()
    assert here.locator("path.seed").count() == 2 * 5  # agents × seeds
    assert here.locator("path.band").count() == 1  # the published line keeps its own


def test_the_axis_can_be_logarithmic(page_from_file, report):
    page = page_from_file(report)
    here = chart(page, "tabular-0")
    curve = here.locator("path.mean").first
    linear = curve.get_attribute("d")
    here.get_by_label("log scale").check()
    assert here.locator("path.mean").first.get_attribute("d") != linear
    texts = here.locator(".panel").first.locator(".axes text").all_text_contents()
    assert "0%" not in texts


def ticks(page, name, panel):
    """The texts at the axis of x, each with its place."""
    texts = chart(page, name).locator(".panel").nth(panel).locator(".tick + text")
    return texts.evaluate_all("t => t.map(x => [x.textContent, x.getAttribute('x')])")


def test_without_lines_the_ticks_stay_where_they_are(page_from_file, report):
    page = page_from_file(report)
    here = chart(page, "tabular-0")
    before = ticks(page, "tabular-0", 2)
    for box in here.locator(".legend input").all():
        box.uncheck()
    here.get_by_label("log scale").check()
    assert ticks(page, "tabular-0", 2) == before


def test_a_single_evaluation_is_a_dot_on_an_axis(page_from_file, tmp_path):
    made = planted.config("Breakout", seeds=[0, 1], steps=0, agents=["rdq"])
    rows = planted.rows(made, {"rdq": np.zeros((2, 1))})
    runs.write(tmp_path / "a", {**made, "steps": 2_000}, rows)
    path = tmp_path / "report.html"
    path.write_text(build([tmp_path]).html, encoding="utf-8")
    page = page_from_file(path)
    assert chart(page, "deep-0").locator("circle.dot").count() == 1
    assert ticks(page, "deep-0", 0)[-1][0] == "2000"
    high = chart(page, "deep-0").locator(".axes text[text-anchor=end]").last
    assert high.text_content() == "1"
    chart(page, "deep-0").get_by_label("log scale").check()  # where 0 has no place
    assert chart(page, "deep-0").locator("circle.dot").count() == 0


def test_an_axis_leaves_out_the_beginning_where_all_is_decided_near_the_top(
    page_from_file, tmp_path
):
    generator = np.random.default_rng(1)
    planted.game(tmp_path / "freeway", "Freeway", generator)
    planted.game(tmp_path / "breakout", "Breakout", generator)
    path = tmp_path / "report.html"
    path.write_text(build([tmp_path]).html, encoding="utf-8")
    page = page_from_file(path)
    panels = [chart(page, "deep-0").locator(".panel").nth(i) for i in (0, 1)]
    least = [p.locator(".axes text[text-anchor=end]").first.text_content() for p in panels]
    assert least[0] == "0"
    assert float(least[1]) > 40
    panel = panels[1]
    panel.locator(".plot").press("Home")
    assert panel.locator(".cursor circle").count() == 0
    panel.locator(".plot").press("End")
    assert panel.locator(".cursor circle").count() == 6


def test_the_bands_of_few_seeds_do_not_dwarf_the_curves(page_from_file, tmp_path):
    made = planted.config("Breakout", seeds=[0, 1], agents=["rdq"])
    made["agents"][0]["label"] = "mine"
    curves = np.array([[8.0], [12.0]]) + np.arange(11)  # of two seeds: mean ± 12.7 / 2 times 4
    runs.write(tmp_path / "a", made, planted.rows(made, {"mine": curves}))
    path = tmp_path / "report.html"
    path.write_text(build([tmp_path]).html, encoding="utf-8")
    page = page_from_file(path)
    numbers = chart(page, "deep-0").locator(".axes text[text-anchor=end]").all_text_contents()
    assert 7 <= float(numbers[0]) < float(numbers[-1]) <= 23


def one_chart(page_from_file, tmp_path, curves):
    """A page with the runs of one agent, `[seeds, 11]`."""
    made = planted.config("Breakout", seeds=range(len(curves)), agents=["rdq"])
    made["agents"][0]["label"] = "mine"
    runs.write(tmp_path / "a", made, planted.rows(made, {"mine": curves}))
    path = tmp_path / "report.html"
    path.write_text(build([tmp_path]).html, encoding="utf-8")
    return chart(page_from_file(path), "deep-0")


def test_few_seeds_are_drawn_as_seeds(page_from_file, tmp_path):
    here = one_chart(page_from_file, tmp_path, np.arange(44.0).reshape(4, 11))
    assert (here.locator("path.seed").count(), here.locator("path.band").count()) == (4, 0)
    assert here.get_by_label("every seed").count() == 0


def test_enough_seeds_are_drawn_as_an_interval(page_from_file, tmp_path):
    here = one_chart(page_from_file, tmp_path, np.arange(55.0).reshape(5, 11))
    assert (here.locator("path.seed").count(), here.locator("path.band").count()) == (0, 1)


@pytest.mark.parametrize(("shift", "lines"), [(-30.0, 0), (-5.0, 1), (1.0, 0)])
def test_zero_has_a_line_if_it_is_inside_the_panel(page_from_file, tmp_path, shift, lines):
    curves = shift + np.linspace(0, 10, 22).reshape(2, 11)
    here = one_chart(page_from_file, tmp_path, curves)
    assert here.locator(".zero-line").count() == lines


def test_on_a_phone_headings_do_not_wrap_out_of_sight(page_from_file, tmp_path):
    planted.game(tmp_path / "a", "Breakout", np.random.default_rng(0), seeds=[0, 1])
    path = tmp_path / "report.html"
    path.write_text(build([tmp_path]).html, encoding="utf-8")
    page = page_from_file(path, viewport={"width": 390, "height": 800})
    page.get_by_text("How this was judged").click()
    heads = page.locator("#own .scroll:not(.effects) thead tr:visible")
    heights = heads.evaluate_all("r => r.map(x => x.offsetHeight)")
    assert len(heights) == 2
    assert max(heights) < 40  # one line, where three took 100


def test_published_curves_can_be_switched_off(page_from_file, report):
    page = page_from_file(report)
    here = chart(page, "deep-0")
    assert here.locator(".series.published").count() == 1
    here.get_by_label("published", exact=True).uncheck()
    assert here.locator(".series.published").count() == 0


def test_another_size_and_another_metric_can_be_chosen(page_from_file, report):
    page = page_from_file(report)
    here = chart(page, "tabular-0")
    before = here.locator("path.mean").first.get_attribute("d")
    here.get_by_label("Number of actions |A|").select_option("2")
    assert here.locator("path.mean").first.get_attribute("d") != before
    at_best = here.locator("path.mean").first.get_attribute("d")
    here.get_by_label("Curves at α =").select_option(label="0.0498")
    assert here.locator("path.mean").first.get_attribute("d") != at_best
    deep = chart(page, "deep-0")
    deep.get_by_label("Shown", exact=True).select_option("q_overestimation")
    panel = deep.locator(".panel").first
    panel.locator(".plot").press("End")
    lines = data(page)["charts"]["deep-0"]["panels"][0]["series"]
    line = next(s for s in lines if s["when"] == {"metric": "q_overestimation"})
    assert f"{line['y'][-1]:.2f}".replace("-", "−") in panel.locator(".tip").inner_text()


def test_what_is_known_of_published_values_stands_below_them(page_from_file, tmp_path):
    planted.game(tmp_path / "a", "Breakout", np.random.default_rng(0), seeds=[0, 1])
    path = tmp_path / "report.html"
    path.write_text(build([tmp_path]).html, encoding="utf-8")
    page = page_from_file(path)
    assert "mean advantage" in page.locator("figcaption").first.inner_text()


def test_step_sizes_with_diverged_runs_are_marked(page_from_file, report):
    page = page_from_file(report)
    sweep = chart(page, "tabular-0").locator(".panel").nth(1)
    assert sweep.locator("circle.ring").count() == 4  # one per rule
    sweep.locator(".plot").focus()
    page.keyboard.press("End")
    assert "2 of 4 runs diverged" in sweep.locator(".tip").inner_text()


def test_the_values_are_there_as_a_table(page_from_file, report):
    page = page_from_file(report)
    here = chart(page, "deep-0")
    here.get_by_text("Values of these panels as a table").click()
    rows = here.locator("tbody tr")
    sync_api.expect(rows).to_have_count(11)
    line = data(page)["charts"]["deep-0"]["panels"][0]["series"][0]
    assert f"{line['y'][-1]:.2f}" in rows.last.inner_text()


def test_the_player_plays(page_from_file, report):
    page = page_from_file(report)
    for place in ("#qduet-player", "#qduet-glimpse"):
        player = page.locator(place)
        slider = player.get_by_role("slider")
        begin = int(slider.input_value())
        assert begin > 0  # not on an empty board
        player.get_by_role("button", name="play", exact=True).click()
        sync_api.expect(slider).not_to_have_value(str(begin))
        player.get_by_role("button", name="pause").click()


def test_the_navigation_stays_in_view(page_from_file, report):
    page = page_from_file(report, viewport={"width": 1440, "height": 900})
    link = page.get_by_role("navigation").get_by_role("link", name="Provenance")
    link.click()
    sync_api.expect(link).to_be_in_viewport()
    sync_api.expect(link).to_have_attribute("aria-current", "true")
    assert not page.get_by_role("button", name="Contents").is_visible()


def test_on_a_phone_the_navigation_is_a_menu(page_from_file, report):
    page = page_from_file(report, viewport={"width": 390, "height": 800})
    menu = page.get_by_role("button", name="Contents")
    link = page.get_by_role("navigation").get_by_role("link", name="Theory")
    assert not link.is_visible()
    menu.press("Enter")
    assert menu.get_attribute("aria-expanded") == "true"
    link.click()
    assert not link.is_visible()
    sync_api.expect(page.locator("#theory h2")).to_be_in_viewport()
    sync_api.expect(menu).to_be_in_viewport()


@pytest.mark.parametrize("width", [1440, 768, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_sticks_out_of_the_page(page_from_file, report, width, scheme):
    size = {"width": width, "height": 900}
    page = page_from_file(report, viewport=size, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    outside = page.evaluate(
        """() => [...document.querySelectorAll(".plot svg")].flatMap((drawing) => {
            const box = drawing.getBoundingClientRect();
            return [...drawing.querySelectorAll("text")].filter((text) => {
                const own = text.getBoundingClientRect();
                return own.left < box.left - 1 || own.right > box.right + 1;
            }).map((text) => text.textContent);
        })"""
    )
    assert outside == []


OVERLAPS = """() => [...document.querySelectorAll(".plot svg")].flatMap((drawing) => {
    const texts = [...drawing.querySelectorAll("text")].map((t) => [t, t.getBoundingClientRect()]);
    return texts.flatMap(([a, p], i) => texts.slice(i + 1).filter(([b, q]) =>
        p.left < q.right && q.left < p.right && p.top < q.bottom - 1 && q.top < p.bottom - 1
    ).map(([b]) => `${a.textContent} over ${b.textContent}`));
})"""


@pytest.mark.parametrize("width", [1440, 768, 390])
def test_texts_of_a_chart_do_not_overlap(page_from_file, report, width):
    page = page_from_file(report, viewport={"width": width, "height": 900})
    assert page.evaluate(OVERLAPS) == []
    for box in page.get_by_label("log scale").all():
        box.check()
    assert page.evaluate(OVERLAPS) == []


CONTRASTS = """() => {
    const parse = (text) => text.match(/[\\d.]+/g).map(Number);
    const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const light = (rgb) => rgb.slice(0, 3).map((c) => linear(c / 255))
        .reduce((sum, c, i) => sum + [0.2126, 0.7152, 0.0722][i] * c, 0);
    const ground = (node) => {
        for (; node; node = node.parentElement) {
            const c = parse(getComputedStyle(node).backgroundColor);
            if (c.length === 3 || c[3] > 0) return c;
        }
        return [255, 255, 255];
    };
    const found = [];
    for (const node of document.querySelectorAll("body *")) {
        const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim());
        if (!own || ["SCRIPT", "STYLE", "NOSCRIPT", "OPTION"].includes(node.tagName)) continue;
        if (node.closest("[disabled]")) continue;
        const style = getComputedStyle(node);
        const svg = node instanceof SVGElement;
        const [a, b] = [light(parse(svg ? style.fill : style.color)), light(ground(node))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) found.push(`${node.outerHTML.slice(0, 80)}: ${ratio.toFixed(2)}`);
    }
    return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_of_wcag_aa(page_from_file, report, scheme):
    page = page_from_file(report, color_scheme=scheme)
    assert page.evaluate(CONTRASTS) == []


def test_the_theme_can_be_chosen(page_from_file, report):
    page = page_from_file(report, color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    page.get_by_label("Colours", exact=True).select_option("dark")
    assert page.evaluate(ground) != before


def test_every_control_has_a_name_and_takes_the_keyboard(page_from_file, report):
    page = page_from_file(report)
    nodes = page.locator("button, select, input, summary, a[href], [tabindex='0']")
    assert nodes.count() > 20
    nameless = nodes.evaluate_all(
        """nodes => nodes.filter((n) => !(n.getAttribute("aria-label") || n.textContent ||
            n.labels?.[0]?.textContent || "").trim()).map((n) => n.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
    unreachable = nodes.evaluate_all(
        "nodes => nodes.filter(n => n.tabIndex < 0 && !n.disabled).length"
    )
    assert unreachable == 0


def test_every_figure_has_words(page_from_file, report):
    page = page_from_file(report)
    for figure in page.locator("figure").all():
        assert len(figure.locator("figcaption").inner_text()) > 40
    for drawing in page.locator("main svg[role=img]").all():
        assert drawing.get_attribute("aria-label")


def test_print_is_light_and_unfolded(page_from_file, report, tmp_path):
    page = page_from_file(report, color_scheme="dark")
    paper = tmp_path / "report.pdf"
    page.evaluate(
        "addEventListener('beforeprint', () => { window.opened = "
        "document.querySelectorAll('.item details:not([open]):not(.values):not(.aside)').length; })"
    )
    page.pdf(path=str(paper))
    assert page.evaluate("window.opened") == 0
    assert len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes())) > 1
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
