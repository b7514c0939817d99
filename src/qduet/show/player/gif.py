"""A recording as a GIF file: the board, and V, A and Q as bars beside it; needs pillow.

write_atomically(path, gif(recording, fps=10))
"""

from typing import Any, NamedTuple

import numpy as np

from qduet.agents import is_dqn
from qduet.jobs.recording import Recording
from qduet.minatar import ACTION_NAMES, animation, game_of, make, unpack
from qduet.minatar.animation import INK, MARGIN, PAPER
from qduet.results.published import title

SOFT, TRACK, CHOSEN = (160, 166, 176), (46, 48, 54), (74, 62, 28)
V, ADV, Q = (92, 179, 240), (255, 155, 87), (63, 207, 159)
"""The player's colours in its dark theme."""

NAME, BAR, NUMBER, ROW = 62, 84, 56, 27
"""Widths of a name, a bar and a number; height of a row."""


class Scale(NamedTuple):
    """The interval of numbers that a bar's width stands for; it holds 0."""

    low: float
    high: float

    @classmethod
    def of(cls, *arrays: np.ndarray) -> "Scale":
        """The smallest one that holds all finite numbers of the arrays."""
        finite = np.concatenate([[0.0], *(x[np.isfinite(x)] for x in arrays)])
        low, high = float(finite.min()), float(finite.max())
        return cls(low, high) if low < high else cls(low - 1, high + 1)

    def at(self, value: float, width: int) -> int:
        """Pixels from the left end of the bar."""
        inside = min(max(value, self.low), self.high) if np.isfinite(value) else 0.0
        return round((inside - self.low) / (self.high - self.low) * width)


def gif(recording: Recording, *, fps: float = 10) -> bytes:
    """The content of the GIF file: every frame, and the board after the last step."""
    pil = animation.pillow()
    env, steps = make(recording.env), recording.episode
    font = pil.ImageFont.load_default(size=14)
    uses_v = not is_dqn(recording.agent)
    q = Scale.of(steps.q, *([steps.v] if uses_v else []))
    scales = (q if uses_v else Scale.of(steps.v), Scale.of(steps.adv), q)
    actions = [ACTION_NAMES[action] for action in env.actions]
    images: list[Any] = []
    for t, packed in enumerate(steps.observations):
        board = np.asarray(unpack(packed, env.num_channels))
        frame = animation.Frame(board, _caption(recording, t))
        left = animation.picture(frame, env.channels, palette="bright")
        size = (left.width + NAME + 2 * (BAR + NUMBER), left.height)
        image = pil.Image.new("RGB", size, PAPER)
        image.paste(left)
        _draw_values(pil.ImageDraw.Draw(image), font, left.width, steps, t, scales, actions)
        # All colours are in the first picture: its legend has those of the board.
        palette = {"palette": images[0]} if images else {"colors": 128}
        images.append(image.quantize(**palette, dither=0))
    return animation.encoded(images, fps=fps)


def _caption(recording: Recording, t: int) -> str:
    steps = recording.episode
    score = np.sum(steps.reward[:t], dtype=np.float64)
    over = "game over" if recording.ended else "recording ends"
    text = (
        f"{title(game_of(recording.env))}   {recording.label[:30]}   frame {t}   score {score:.7g}"
    )
    return text if t < len(steps.action) else f"{text}   {over}"


def _draw_values(
    draw: Any,
    font: Any,
    left: int,
    steps: Any,
    t: int,
    scales: tuple[Scale, Scale, Scale],
    actions: list[str],
) -> None:
    """V(s) in one row, then A(s, a) and Q(s, a) in one row for each action; empty at the end."""
    text = lambda x, y, words, colour: draw.text((x, y), words, colour, font, anchor="lm")
    over = t >= len(steps.action)
    number = lambda values, *index: None if over else float(values[(t, *index)])
    columns = (left + NAME, left + NAME + BAR + NUMBER)
    y = MARGIN + ROW // 2
    text(left, y, "V(s)", INK)
    _draw_bar(draw, font, columns[0], y, BAR + NUMBER + BAR, scales[0], number(steps.v), V)
    for x, words in zip(columns, ("A(s, a)", "Q(s, a)"), strict=True):
        text(x, y + ROW, words, SOFT)
    for i, action in enumerate(actions):
        y = MARGIN + ROW // 2 + (i + 2) * ROW
        if not over and steps.action[t] == i:
            draw.rectangle([left - 6, y - 12, columns[1] + BAR + NUMBER - 6, y + 12], CHOSEN)
        text(left, y, action, INK)
        _draw_bar(draw, font, columns[0], y, BAR, scales[1], number(steps.adv, i), ADV)
        _draw_bar(draw, font, columns[1], y, BAR, scales[2], number(steps.q, i), Q)


def _draw_bar(
    draw: Any,
    font: Any,
    x: int,
    y: int,
    width: int,
    scale: Scale,
    value: float | None,
    colour: tuple[int, int, int],
) -> None:
    draw.rectangle([x, y - 6, x + width, y + 6], TRACK)
    zero = scale.at(0.0, width)
    if value is not None:
        ends = sorted([zero, scale.at(value, width)])
        draw.rectangle([x + ends[0], y - 6, x + ends[1], y + 6], colour)
        number = f"{value:.2f}".replace("-0.00", "0.00")
        draw.text((x + width + NUMBER - 12, y), number, INK, font, anchor="rm")
    draw.line([x + zero, y - 6, x + zero, y + 6], SOFT)
