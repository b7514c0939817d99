"""A picture of one observation: RGB array, text with colours, plain letters.

Every channel has a colour of the cubehelix scheme (D. A. Green 2011), darkest for the first channel
and on black; where channels overlap the last one is seen. That is how the original draws its games
(palette "original"). Its darkest colours are hard to tell from black, so "bright" uses only the
lighter part of the same scheme. `qduet.minatar.animation` adds the legend and writes GIF files.
"""

from collections.abc import Sequence

import numpy as np

from qduet.core.errors import InputError, unknown_name

PALETTES = {"original": (0.0, 1.0), "bright": (0.15, 0.95)}
"""The part of the cubehelix scheme, from black 0 to white 1, that a palette uses."""

RESET = "\x1b[0m"


def _cubehelix(levels: np.ndarray) -> np.ndarray:
    """Green's colours for levels in [0, 1]: float[levels, 3]."""
    angle = 2 * np.pi * (0.5 / 3 - 1.5 * levels)
    amplitude = levels * (1 - levels) / 2
    red_green_blue = ((-0.14861, 1.78277), (-0.29227, -0.90649), (1.97294, 0.0))
    waves = [a * np.cos(angle) + b * np.sin(angle) for a, b in red_green_blue]
    return np.clip(np.stack([levels + amplitude * wave for wave in waves], axis=-1), 0, 1)


def colours(num_channels: int, *, palette: str = "original") -> np.ndarray:
    """The colour of each channel, uint8[channels, 3]."""
    if palette not in PALETTES:
        raise unknown_name("palette", palette, PALETTES)
    low, high = PALETTES[palette]
    inner = low + (high - low) * np.linspace(0, 1, num_channels + 2)[1:-1]
    # The scheme is used in 256 levels, as plotting libraries do.
    return np.rint(255 * _cubehelix(np.floor(inner * 256) / 255)).astype(np.uint8)


def top_channel(observation: np.ndarray) -> np.ndarray:
    """Which channel is seen in each cell, int[10, 10]; -1 where there is none."""
    seen = np.asarray(observation) != 0
    if seen.ndim != 3 or seen.shape[:2] != (10, 10):
        raise InputError(f"an observation is [10, 10, channels], got {list(seen.shape)}")
    last = seen.shape[2] - 1 - np.argmax(seen[:, :, ::-1], axis=2)
    return np.where(seen.any(axis=2), last, -1)


def rgb(observation: np.ndarray, *, scale: int = 24, palette: str = "original") -> np.ndarray:
    """The picture, `scale` pixels a cell: uint8[10 scale, 10 scale, 3]."""
    black = np.zeros((1, 3), np.uint8)
    table = np.concatenate([colours(np.shape(observation)[-1], palette=palette), black])
    cells = table[top_channel(observation)]
    return cells.repeat(scale, axis=0).repeat(scale, axis=1)


def letters(channels: Sequence[str]) -> tuple[str, ...]:
    """A letter for each channel: the first of its name that no earlier channel has."""
    chosen: list[str] = []
    for name in channels:
        spare = [c for c in name.upper() + name.lower() + "0123456789" if c != "_"]
        chosen.append(next(c for c in spare if c not in chosen))
    return tuple(chosen)


def board(
    observation: np.ndarray,
    channels: Sequence[str],
    *,
    width: int = 2,
    height: int = 1,
    palette: str = "original",
    colour: bool = True,
) -> list[str]:
    """The picture as 10 `height` lines of 10 `width` characters: coloured blanks, or letters."""
    marks = _marks(channels, width, palette, colour)
    blanks = [" " * width] * len(channels)
    # A cell without anything (channel -1) is a dot, so that distances can be seen.
    dot = f"\x1b[2m{'·':^{width}}{RESET}" if colour else f"{'·':^{width}}"
    first, further = [*marks, dot], [*(marks if colour else blanks), " " * width]
    lines = []
    for row in top_channel(observation):
        for line in [first] + [further] * (height - 1):
            lines.append("".join(line[channel] for channel in row))
    return lines


def legend(channels: Sequence[str], *, palette: str = "original", colour: bool = True) -> list[str]:
    """One line for each channel: its colour or letter, and its name."""
    marks = _marks(channels, 2 if colour else 1, palette, colour)
    return [f"{mark} {name}" for mark, name in zip(marks, channels, strict=True)]


def _marks(channels: Sequence[str], width: int, palette: str, colour: bool) -> list[str]:
    """What stands for each channel: blanks on its colour, or its letter."""
    if not colour:
        return [f"{letter:^{width}}" for letter in letters(channels)]
    table = colours(len(channels), palette=palette).tolist()
    return [f"\x1b[48;2;{r};{g};{b}m{' ' * width}{RESET}" for r, g, b in table]


def ansi(observation: np.ndarray, channels: Sequence[str], *, colour: bool = True) -> str:
    """Ten lines for a terminal, the picture on the left and the legend on the right."""
    rows = board(observation, channels, colour=colour)
    names = legend(channels, colour=colour)
    names += [""] * (len(rows) - len(names))
    return "\n".join(f"{row}  {name}".rstrip() for row, name in zip(rows, names, strict=True))
