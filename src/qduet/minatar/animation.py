"""Pictures with a legend, and GIF files of play; needs pillow (the extra `gym`)."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qduet.core.errors import InputError
from qduet.minatar import render

CELL, MARGIN, LINE = 24, 12, 22
LEGEND_WIDTH = 150
PAPER, GRID, INK = (24, 24, 28), (40, 40, 46), (225, 225, 225)


class Frame(NamedTuple):
    """One picture of a GIF."""

    observation: np.ndarray
    """bool[10, 10, channels]"""
    caption: str = ""
    """Shown below the board, for example the score."""


def pillow() -> Any:
    """The imaging library, or `InputError` that says how to get it."""
    try:
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageFont
    except ImportError:
        raise InputError("pictures and GIF files need pillow: pip install pillow") from None
    return PIL


def picture(frame: Frame, channels: Sequence[str], *, palette: str) -> Any:
    """The board on the left, the legend on the right, the caption below: a pillow image."""
    pil = pillow()
    side = 10 * CELL + 1
    size = (side + LEGEND_WIDTH + 3 * MARGIN, side + LINE + 2 * MARGIN)
    image = pil.Image.new("RGB", size, PAPER)
    board = np.full((side, side, 3), GRID, np.uint8)  # thin lines between the cells
    board[:-1, :-1] = render.rgb(frame.observation, scale=CELL, palette=palette)
    board[::CELL] = board[:, ::CELL] = GRID
    image.paste(pil.Image.fromarray(board), (MARGIN, MARGIN))
    draw = pil.ImageDraw.Draw(image)
    font = pil.ImageFont.load_default(size=14)
    left = side + 2 * MARGIN
    colours = render.colours(len(channels), palette=palette).tolist()
    for i, (name, colour) in enumerate(zip(channels, colours, strict=True)):
        top = MARGIN + i * LINE
        draw.rectangle([left, top, left + 14, top + 14], tuple(colour), outline=(90, 90, 98))
        draw.text((left + 24, top + 7), name.replace("_", " "), INK, font, anchor="lm")
    draw.text((MARGIN, side + MARGIN + LINE // 2 + 4), frame.caption, INK, font, anchor="lm")
    return image


def write_gif(
    path: str | Path,
    frames: Sequence[Frame],
    channels: Sequence[str],
    *,
    fps: float = 10,
    palette: str = "original",
) -> None:
    """Writes the frames as an animation that repeats; a picture for each step, `fps` a second."""
    if not frames:
        raise InputError(f"no frames to write to {path}: play at least one step")
    images = [picture(frame, channels, palette=palette) for frame in frames]
    colours = images[0].quantize(64)
    flat = [image.quantize(palette=colours, dither=0) for image in images]
    Path(path).write_bytes(encoded(flat, fps=fps))


def encoded(images: Sequence[Any], *, fps: float) -> bytes:
    """The content of a GIF file: pillow images of one palette, `fps` a second, again and again."""
    # The last picture stays for a second, so that the end of the game can be seen.
    milliseconds = [max(20, round(1000 / fps))] * (len(images) - 1) + [1000]
    buffer = io.BytesIO()
    options = {"append_images": images[1:], "duration": milliseconds, "loop": 0}
    images[0].save(buffer, format="GIF", save_all=True, **options)
    return buffer.getvalue()
