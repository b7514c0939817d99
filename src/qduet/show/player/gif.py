"""A recording as a GIF file: the board, and V, A and Q as bars beside it; needs pillow.

write_atomically(path, gif(recording, fps=10))
"""

from typing import Any, NamedTuple

import numpy as np

from qduet.jobs.recording import Recording
from qduet.minatar import ACTION_NAMES, Environment, animation, game_of, make, render
from qduet.minatar.animation import INK, LINE, MARGIN, PAPER
from qduet.results.published import title

SOFT, TRACK, CHOSEN = (160, 166, 176), (46, 48, 54), (74, 62, 28)
V, ADV, Q = (92, 179, 240), (255, 155, 87), (63, 207, 159)
"""The player's colours in its dark theme."""

BOARD = 10 * animation.CELL + 1
NAME, BAR, NUMBER = 62, 84, 56
"""Widths of a name, a bar and a number."""
WIDTH = BOARD + NAME + 2 * (BAR + NUMBER) + 4 * MARGIN
HEIGHT = BOARD + LINE + 2 * MARGIN
LEFT = BOARD + 2 * MARGIN
"""Where the names begin."""
COLUMNS = (LEFT + NAME, LEFT + NAME + BAR + NUMBER)
"""Where the bars of A and Q begin."""
ROW = 27


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


class Painter:
    """What the frames of one recording share."""

    def __init__(self, recording: Recording):
        self.pil = animation.pillow()
        self.recording = recording
        self.env = make(recording.env)
        self.font = self.pil.ImageFont.load_default(size=14)
        steps = recording.episode
        uses_v = recording.agent.w != 0
        self.adv = Scale.of(steps.adv)
        self.q = Scale.of(steps.q, *([steps.v] if uses_v else []))
        self.v = self.q if uses_v else Scale.of(steps.v)
        self.scores = np.concatenate([[0.0], np.cumsum(steps.reward, dtype=np.float64)])
        self.palette = _palette(self.pil, self.env)
        self.still = self._still()

    def image(self, t: int) -> Any:
        """The picture of frame t, in 256 colours."""
        image = self.still.copy()
        packed = self.recording.episode.observations[t]
        board = animation.framed(_unpacked(packed, self.env.num_channels), palette="bright")
        image.paste(self.pil.Image.fromarray(board), (MARGIN, MARGIN))
        self._values(self.pil.ImageDraw.Draw(image), t)
        return image.quantize(palette=self.palette, dither=0)

    def _still(self) -> Any:
        """What does not change: the paper, and the legend below everything else."""
        names = [name.replace("_", " ") for name in self.env.channels]
        places, x, row = [], MARGIN, 0
        for name in names:
            wide = 14 + 7 + round(self.font.getlength(name))
            if x + wide > WIDTH - MARGIN:
                x, row = MARGIN, row + 1
            places.append((x, HEIGHT - 4 + row * LINE))
            x += wide + 18
        image = self.pil.Image.new("RGB", (WIDTH, HEIGHT + (row + 1) * LINE), PAPER)
        draw = self.pil.ImageDraw.Draw(image)
        colours = render.colours(len(names), palette="bright").tolist()
        for name, colour, (x, y) in zip(names, colours, places, strict=True):
            draw.rectangle([x, y, x + 13, y + 13], tuple(colour), outline=SOFT)
            draw.text((x + 21, y + 7), name, SOFT, self.font, anchor="lm")
        return image

    def _values(self, draw: Any, t: int) -> None:
        steps = self.recording.episode
        over = t >= len(steps.action)
        text = lambda x, y, words, colour: draw.text((x, y), words, colour, self.font, anchor="lm")
        middle = MARGIN + ROW // 2
        text(LEFT, middle, "V(s)", INK)
        wide = BAR + NUMBER + BAR
        self._bar(draw, COLUMNS[0], middle, wide, self.v, None if over else steps.v[t], V)
        for x, words in zip(COLUMNS, ("A(s, a)", "Q(s, a)"), strict=True):
            text(x, middle + ROW, words, SOFT)
        for i, action in enumerate(self.env.actions):
            y = middle + (i + 2) * ROW
            if not over and steps.action[t] == i:
                draw.rectangle([LEFT - 6, y - 12, WIDTH - 6, y + 12], CHOSEN)
            text(LEFT, y, ACTION_NAMES[action], INK)
            adv, q = (None, None) if over else (steps.adv[t, i], steps.q[t, i])
            self._bar(draw, COLUMNS[0], y, BAR, self.adv, adv, ADV)
            self._bar(draw, COLUMNS[1], y, BAR, self.q, q, Q)
        text(MARGIN, BOARD + MARGIN + LINE // 2 + 4, self._caption(t, over), INK)

    def _caption(self, t: int, over: bool) -> str:
        recording = self.recording
        name = title(game_of(recording.env))
        end = ("   game over" if recording.ended else "   recording ends") if over else ""
        return f"{name}   {recording.label[:30]}   frame {t}   score {self.scores[t]:.7g}{end}"

    def _bar(
        self, draw: Any, x: int, y: int, width: int, scale: Scale, value: Any, colour: Any
    ) -> None:
        draw.rectangle([x, y - 6, x + width, y + 6], TRACK)
        zero = scale.at(0.0, width)
        if value is not None:
            ends = sorted([zero, scale.at(float(value), width)])
            draw.rectangle([x + ends[0], y - 6, x + ends[1], y + 6], colour)
        draw.line([x + zero, y - 6, x + zero, y + 6], SOFT)
        shown = "" if value is None else f"{value:.2f}".replace("-0.00", "0.00")
        draw.text((x + width + NUMBER - 12, y), shown, INK, self.font, anchor="rm")


def _unpacked(packed: np.ndarray, channels: int) -> np.ndarray:
    """`qduet.minatar.unpack` in NumPy: bool[10, 10, channels]."""
    bits = np.unpackbits(packed, bitorder="little")[: 100 * channels]
    return bits.reshape(channels, 10, 10).transpose(1, 2, 0).astype(bool)


def _palette(pil: Any, env: Environment) -> Any:
    """An image with the colours of every frame, and those between text and what is behind it."""
    plain = [PAPER, INK, SOFT, TRACK, CHOSEN, V, ADV, Q, animation.GRID, (0, 0, 0)]
    plain += [tuple(c) for c in render.colours(env.num_channels, palette="bright").tolist()]
    share = np.linspace(0, 1, 9)[1:-1, None]
    for ink, behind in ((INK, PAPER), (SOFT, PAPER), (INK, CHOSEN)):
        mixed = np.rint((1 - share) * np.array(behind) + share * np.array(ink)).astype(int)
        plain += [tuple(c) for c in mixed.tolist()]
    image = pil.Image.new("P", (1, 1))
    flat = [part for colour in plain for part in colour]
    image.putpalette(flat + list(PAPER) * (256 - len(plain)))
    return image


def gif(recording: Recording, *, fps: float = 10) -> bytes:
    """The content of the GIF file: every frame, and the board after the last step."""
    painter = Painter(recording)
    frames = len(recording.episode.observations)
    return animation.encoded([painter.image(t) for t in range(frames)], fps=fps)
