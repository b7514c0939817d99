"""A game on a terminal: one key at a time, one screen for each step, and everything put back.

with ready_to_play():
    show(screen(env, observation, title=…, message=…, palette="bright", colour=True))
    action = chosen_action(env, keys(None))
"""

import contextlib
import os
import re
import select
import shutil
import signal
import sys
import termios
import time
import tty
from collections.abc import Iterator

import numpy as np

from qduet.minatar import render
from qduet.minatar.environment import ACTION_NAMES, DOWN, FIRE, LEFT, NOOP, RIGHT, UP, Environment

ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[0m\x1b[?25h\x1b[?1049l"
"""Second screen without a cursor, and back."""
HOME, TO_LINE_END, TO_SCREEN_END = "\x1b[H", "\x1b[K", "\x1b[J"

SMALLEST = os.terminal_size((42, 14))
"""Columns and lines of the small board with the longest legend."""

ACTION_KEYS = {
    "left": LEFT, "a": LEFT, "h": LEFT,
    "up": UP, "w": UP, "k": UP,
    "right": RIGHT, "d": RIGHT, "l": RIGHT,
    "down": DOWN, "s": DOWN, "j": DOWN,
    " ": FIRE, "f": FIRE,
    ".": NOOP,
}  # fmt: skip
"""What each key does, as an index into `ACTION_NAMES`."""

SHOWN_KEYS = {NOOP: ".", LEFT: "← a", UP: "↑ w", RIGHT: "→ d", DOWN: "↓ s", FIRE: "space"}
ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}


@contextlib.contextmanager
def ready_to_play() -> Iterator[None]:
    """Within the block keys arrive unechoed and at once, and the second screen is shown.

    On the way out, SIGTERM included, all of that is undone.
    """
    keyboard = sys.stdin.fileno()
    saved = termios.tcgetattr(keyboard)
    on_terminate = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        tty.setcbreak(keyboard)
        settings = termios.tcgetattr(keyboard)
        settings[6][termios.VSUSP] = b"\x00"  # Ctrl-Z would leave this screen to the shell
        termios.tcsetattr(keyboard, termios.TCSANOW, settings)
        print(ENTER, end="", flush=True)
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSAFLUSH, saved)
        signal.signal(signal.SIGTERM, on_terminate)
        print(LEAVE, end="", flush=True)


def show(lines: list[str]) -> None:
    """Draws the lines from the top left corner, over what was there."""
    body = "\r\n".join(line + TO_LINE_END for line in lines)
    print(HOME + body + TO_SCREEN_END, end="", flush=True)


def keys(seconds: float | None) -> list[str]:
    """The keys pressed within this time; the call ends with the first (None: no limit)."""
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    if not ready:
        return []
    data = os.read(sys.stdin.fileno(), 1024)
    if not data:
        raise EOFError("the terminal was closed")
    return parse_keys(data.decode(errors="replace"))


def keys_until(deadline: float) -> list[str]:
    """Everything pressed until the deadline (`time.monotonic`), which it waits for."""
    pressed: list[str] = []
    while (left := deadline - time.monotonic()) > 0:
        pressed += keys(left)
    return pressed


def parse_keys(text: str) -> list[str]:
    """Keys in what a terminal sends: arrows and enter by name, else the character."""
    pressed = []
    for arrow, other in re.findall(r"\x1b[\[O](.?)|(.)", text, re.DOTALL):
        if other:
            pressed.append("enter" if other in "\r\n" else other.lower())
        else:
            pressed.append(ARROWS.get(arrow, "?"))
    return pressed


def chosen_action(env: Environment, pressed: list[str]) -> int | None:
    """The agent's action that the last useful key stands for; None if there is none."""
    wanted = [ACTION_KEYS[key] for key in pressed if ACTION_KEYS.get(key) in env.actions]
    return env.actions.index(wanted[-1]) if wanted else None


def too_small() -> str | None:
    """What to say if the terminal has no room for the small board."""
    size = shutil.get_terminal_size()
    if size.columns >= SMALLEST.columns and size.lines >= SMALLEST.lines:
        return None
    needed, there = (f"{s.columns}×{s.lines}" for s in (SMALLEST, size))
    return f"needs a terminal of {needed} or more; this one is {there}"


def screen(
    env: Environment,
    observation: np.ndarray,
    *,
    title: str,
    message: str,
    palette: str,
    colour: bool,
) -> list[str]:
    """Title, board with frame, legend and controls beside it, message: at most 24 lines of 80."""
    complaint = too_small()
    if complaint:
        return [complaint]
    columns, lines = shutil.get_terminal_size()
    large = columns >= 72 and lines >= 24
    width, height = (4, 2) if large else (2, 1)
    cells = render.board(
        observation, env.channels, width=width, height=height, palette=palette, colour=colour
    )
    side = render.legend(env.channels, palette=palette, colour=colour)
    if large:
        side += ["", *(f"{SHOWN_KEYS[action]:6} {ACTION_NAMES[action]}" for action in env.actions)]
        side += ["enter  new game", "p      pause", "q      quit"]
    side += [""] * (len(cells) - len(side))
    edge = "─" * (10 * width)
    rows = [f"│{cell}│  {text}" for cell, text in zip(cells, side, strict=False)]
    return [title[:columns], f"┌{edge}┐", *rows, f"└{edge}┘", message[:columns]]
