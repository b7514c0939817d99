"""The page of `qduet watch` in Chromium: what it shows, how it plays, what it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qduet.agents import make_agent
from qduet.deep import board
from qduet.jobs import recording_file
from qduet.jobs.recording import record
from qduet.jobs.weights import Weights
from qduet.minatar import Environment, StepResult, make, register, render, unpack
from qduet.minatar.bitboard import one_cell
from qduet.show.player.page import page as page_of

sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright for these")

NASTY = "<script>document.title='gone'</script></script><img src=x onerror=alert(1)>"


def recorded(env_id, name, label, **options):
    env, agent = make(env_id), make_agent(name)
    params = board.init(jax.random.key(0), env.num_channels, env.num_actions)
    weights = Weights(params, agent, env_id, label, 2, 5_000)
    return record(weights, **options)


@pytest.fixture(scope="module")
def asterix():
    return recorded("MinAtar/Asterix-v1", "rdq", "rdq", frames=40, epsilon=0.5)


@pytest.fixture
def player(asterix, page_from_file, tmp_path):
    """A page with one recording, loaded."""
    return opened(page_from_file, tmp_path, [asterix])


def opened(page_from_file, tmp_path, recordings, **options):
    path = tmp_path / "watch.html"
    documents = [recording_file.document(recording) for recording in recordings]
    path.write_text(page_of(documents, title="A title & <more>"), encoding="utf-8")
    page = page_from_file(path, **options)
    page.evaluate("shown.ready")
    return page


def shown_number(locator):
    return float(locator.inner_text().replace("−", "-"))


def test_every_frame_shows_the_recorded_board_and_values(player, asterix):
    steps, env = asterix.episode, make(asterix.env)
    table = render.colours(env.num_channels, palette="bright")
    colour = {-1: "rgb(0, 0, 0)"} | {i: f"rgb({r}, {g}, {b})" for i, (r, g, b) in enumerate(table)}
    repeated = np.flatnonzero(steps.executed != np.array(env.actions)[steps.action])
    for t in (0, 7, len(steps.action) - 1, int(repeated[0])):
        player.evaluate(f"shown.show({t})")
        seen = np.asarray(unpack(steps.observations[t], env.num_channels))
        expected = [colour[int(c)] for c in render.top_channel(seen).reshape(-1)]
        found = player.eval_on_selector_all(
            ".qp-board rect", "cells => cells.map(cell => getComputedStyle(cell).fill)"
        )
        assert found == expected
        numbers = player.locator(".qp-values .qp-number")
        for i in range(env.num_actions):
            assert shown_number(numbers.nth(2 * i)) == pytest.approx(steps.adv[t, i], abs=0.0051)
            assert shown_number(numbers.nth(2 * i + 1)) == pytest.approx(steps.q[t, i], abs=0.0051)
        v = shown_number(player.locator(".qp-state .qp-number"))
        assert v == pytest.approx(steps.v[t], abs=0.0051)
        chosen = player.locator("tr.qp-chosen th").inner_text()
        mark = "at random" if steps.random[t] else "chosen"
        assert chosen.split()[0] == ("noop", "left", "up", "right", "down")[steps.action[t]]
        assert mark in chosen
        executed = player.locator("dl div").last.inner_text().split("\n")
        sticky = steps.executed[t] != env.actions[steps.action[t]]
        done = ("noop", "left", "up", "right", "down", "fire")[steps.executed[t]]
        assert executed == ["executed (sticky)" if sticky else "executed", done]


def test_rewards_that_are_no_whole_numbers_are_shown(page_from_file, tmp_path):
    """A game of one's own, with −0.25 in every step of three."""
    game = Environment(
        name="Quarter",
        channels=("place",),
        actions=(0, 3),
        num_draws=0,
        reset=lambda draws: jnp.int32(0),
        step=lambda state, action, draws: StepResult(state + 1, jnp.float32(-0.25), state == 2),
        rows=lambda state: one_cell(jnp.int32(0), state)[None],
    )
    register("Quarter-v0", game)
    page = opened(page_from_file, tmp_path, [recorded("Quarter-v0", "rdq", "rdq")])
    facts = page.locator("dl.qp-facts dd")
    for t, score in enumerate(["0", "−0.25", "−0.5", "−0.75"]):
        page.evaluate(f"shown.show({t})")
        assert facts.nth(0).inner_text() == score
        assert facts.nth(1).inner_text() == ("−0.25" if t < 3 else "–")
    assert "score −0.75 in 3 frames" in page.locator("body").inner_text()


def test_bars_are_as_long_as_their_numbers(player, asterix):
    steps = asterix.episode
    low, high = min(0, steps.adv.min()), max(0, steps.adv.max())
    player.evaluate("shown.show(3)")
    for i, fill in enumerate(player.locator(".qp-fill.qp-adv").all()):
        wide = float(fill.evaluate("bar => bar.style.width").rstrip("%"))
        share = 100 * abs(steps.adv[3, i]) / (high - low)
        assert wide == pytest.approx(share, abs=0.01)


def test_it_plays_to_the_end_and_stops(player):
    player.get_by_label("speed").select_option("40")
    player.get_by_role("button", name="play", exact=True).click()
    assert player.evaluate("shown.playing")
    end = str(player.evaluate("shown.frames"))
    sync_api.expect(player.get_by_role("slider")).to_have_value(end)
    assert not player.evaluate("shown.playing")
    assert player.get_by_role("button", name="play", exact=True).is_visible()
    assert player.locator("dl").inner_text().strip().endswith(("game over", "recording ends"))


def test_the_buttons_step(player):
    frame = lambda: player.evaluate("shown.frame")
    for name, expected in (
        ("one frame on", 1),
        ("last frame", player.evaluate("shown.frames")),
        ("one frame back", player.evaluate("shown.frames") - 1),
        ("first frame", 0),
    ):
        player.get_by_role("button", name=name).click()
        assert frame() == expected


def test_the_keyboard_works_from_every_control(player):
    frame = lambda: player.evaluate("shown.frame")
    last = player.evaluate("shown.frames")
    for control in (player.get_by_role("slider"), player.get_by_role("button", name="first frame")):
        control.focus()
        for key, expected in (
            ("Home", 0),
            ("ArrowRight", 1),
            ("Shift+ArrowRight", 11),
            ("ArrowLeft", 10),
            ("End", last),
            ("ArrowRight", last),
            ("Home", 0),
            ("ArrowLeft", 0),
        ):
            player.keyboard.press(key)
            assert frame() == expected, key
    player.keyboard.press("+")
    assert player.get_by_label("speed").input_value() == "20"
    player.get_by_role("slider").focus()
    player.keyboard.press("Space")
    assert player.evaluate("shown.playing")
    player.keyboard.press("Space")
    assert not player.evaluate("shown.playing")
    player.get_by_role("button", name="last frame").focus()
    player.keyboard.press("Space")  # on a button it is the button's own key
    assert (frame(), player.evaluate("shown.playing")) == (last, False)


def test_the_slider_and_the_chart_seek(player):
    player.get_by_role("slider").fill("5")
    assert player.evaluate("shown.frame") == 5
    box = player.locator(".qp-chart").bounding_box()
    player.mouse.click(box["x"] + box["width"] / 2, box["y"] + 20)
    assert abs(player.evaluate("shown.frame") - player.evaluate("shown.frames") / 2) <= 1


def test_every_control_and_picture_has_a_name(player):
    nameless = player.eval_on_selector_all(
        "button, select, input, svg[role=img], section",
        "found => found.filter(x => !(x.ariaLabel || x.labels?.length)).length",
    )
    assert nameless == 0
    assert "frame 0: player in" in player.locator(".qp-board").get_attribute("aria-label")


def test_names_with_markup_do_no_harm(asterix, page_from_file, tmp_path):
    page = opened(page_from_file, tmp_path, [asterix._replace(label=NASTY)])
    assert page.title() == "A title & <more>"
    assert NASTY in page.locator("h2").inner_text()
    assert page.locator("img").count() == 0


def test_a_gallery_offers_what_there_is(asterix, page_from_file, tmp_path):
    other = recorded("MinAtar/SpaceInvaders-v1", "dqn", "dqn", frames=9)
    page = opened(page_from_file, tmp_path, [asterix, asterix._replace(label=NASTY), other])
    assert page.get_by_label("agent").locator("option").all_inner_texts() == ["RDQ", NASTY]
    games = page.get_by_label("game").locator("option")
    assert games.all_inner_texts() == ["Asterix", "Space Invaders"]
    page.get_by_label("game").select_option("SpaceInvaders")
    sync_api.expect(page.locator("h2")).to_have_text("Space Invaders · DQN")
    assert page.get_by_label("agent").is_disabled()
    assert "does not use V" in page.locator("caption").inner_text()


def test_a_recording_that_cannot_be_read_is_told(player):
    player.evaluate("shown.load({kind: 'something else'})")
    assert "not a recording" in player.get_by_role("alert").inner_text()
    player.evaluate("shown.load({...found[0], data: found[0].data.slice(0, 400)})")
    assert "cannot be shown" in player.get_by_role("alert").inner_text()
    player.evaluate("shown.load(found[0])")
    assert player.get_by_role("slider").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1440])
def test_nothing_is_wider_than_the_screen_and_text_has_contrast(
    asterix, page_from_file, tmp_path, width, scheme
):
    page = opened(
        page_from_file,
        tmp_path,
        [asterix, asterix._replace(label="x" * 90)],
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    clipped = page.eval_on_selector_all(
        ".qduet-player :is(dt, dd, th, .qp-number, button, h2, p)",
        "found => found.filter(x => x.scrollWidth > x.clientWidth + 1).map(x => x.textContent)",
    )
    assert clipped == []
    pairs = page.eval_on_selector_all(
        ".qduet-player :is(h2, p, dt, dd, th, caption, .qp-number, .qp-toggle, li)",
        """found => found.map(x => {
          let behind = x;
          while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)")
            behind = behind.parentElement;
          return [getComputedStyle(x).color, getComputedStyle(behind).backgroundColor];
        })""",
    )
    assert min(contrast(*pair) for pair in pairs) >= 4.5


def contrast(ink, paper):
    """The contrast ratio of WCAG 2.2."""

    def luminance(colour):
        parts = np.array([float(x) for x in colour[4:-1].split(",")]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    dark, light = sorted([luminance(ink), luminance(paper)])
    return (light + 0.05) / (dark + 0.05)
