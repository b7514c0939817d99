"""Pictures: the original's colours, the legend, GIF files."""

import builtins

import numpy as np
import pytest

from qduet.core.errors import InputError
from qduet.minatar import GAMES, animation, make, render

BREAKOUT = ("paddle", "ball", "trail", "brick")


def cells(**places):
    """An observation of Breakout with these channels set at (y, x)."""
    observation = np.zeros((10, 10, 4), bool)
    for name, (y, x) in places.items():
        observation[y, x, BREAKOUT.index(name)] = True
    return observation


@pytest.mark.parametrize("game", GAMES)
def test_rgb_is_the_originals_picture(game):
    """Every pixel of 200 frames, as the original's `rgb_array` renders them."""
    original_gym = pytest.importorskip("minatar.gym", reason="the original is not installed")
    snake = "space_invaders" if game == "SpaceInvaders" else game.lower()
    original = original_gym.BaseEnv(game=snake, render_mode="rgb_array")
    observation, _ = original.reset(seed=3)
    rng = np.random.default_rng(0)
    for _ in range(200):
        expected = np.rint(255 * np.asarray(original.render())).astype(np.uint8)
        np.testing.assert_array_equal(render.rgb(observation, scale=1), expected)
        observation, _, terminated, _, _ = original.step(rng.integers(6))
        if terminated:
            observation, _ = original.reset()


def test_the_last_channel_of_a_cell_is_seen():
    seen = render.top_channel(cells(ball=(3, 4), brick=(3, 4), paddle=(9, 0)))
    assert (seen[3, 4], seen[9, 0], seen[0, 0]) == (3, 0, -1)


@pytest.mark.parametrize("palette", render.PALETTES)
def test_colours_can_be_told_apart(palette):
    for channels in range(4, 11):
        table = render.colours(channels, palette=palette).astype(int)
        apart = np.abs(table[:, None] - table[None]).sum(axis=2)[~np.eye(channels, dtype=bool)]
        assert apart.min() > 25


def test_plain_text_shows_letters_and_names():
    text = render.ansi(cells(ball=(3, 4), paddle=(9, 0)), BREAKOUT, colour=False)
    lines = text.splitlines()
    assert lines[3].startswith("· · · · B · · · · ·   R brick")
    assert lines[9] == "P · · · · · · · · ·"
    assert "\x1b" not in text


def test_coloured_text_has_the_colours_of_the_channels():
    text = render.ansi(cells(ball=(3, 4)), BREAKOUT)
    red, green, blue = render.colours(4)[1]
    assert f"\x1b[48;2;{red};{green};{blue}m  \x1b[0m" in text.splitlines()[3]


def test_letters_are_distinct_in_every_game():
    for game in GAMES:
        marks = render.letters(make(f"MinAtar/{game}-v1").channels)
        assert len(set(marks)) == len(marks)


def test_gif_has_the_frames_and_their_times(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    frames = [animation.Frame(cells(ball=(i, i)), f"score {i}") for i in range(4)]
    animation.write_gif(tmp_path / "play.gif", frames, BREAKOUT, fps=20)
    with image.open(tmp_path / "play.gif") as gif:
        assert gif.n_frames == 4
        assert gif.info["duration"] == 50
        gif.seek(2)
        pixels = np.asarray(gif.convert("RGB"))
    middle = animation.MARGIN + 2 * animation.CELL + animation.CELL // 2
    assert np.abs(pixels[middle, middle].astype(int) - render.colours(4)[1]).max() <= 8


def test_wrong_input_is_told(tmp_path):
    with pytest.raises(InputError, match="no frames"):
        animation.write_gif(tmp_path / "play.gif", [], BREAKOUT)
    with pytest.raises(InputError, match=r"\[10, 10, channels\]"):
        render.rgb(np.zeros((5, 5, 4)))
    with pytest.raises(InputError, match="allowed: bright, original"):
        render.colours(4, palette="brite")


def test_without_pillow_the_error_says_what_to_install(monkeypatch, tmp_path):
    real = builtins.__import__

    def without(name, *rest, **options):
        if name.startswith("PIL"):
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match="pip install pillow"):
        animation.write_gif(tmp_path / "a.gif", [animation.Frame(cells())], BREAKOUT)
