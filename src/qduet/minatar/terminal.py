"""A game on a terminal: one key at a time, one screen for each step, and everything put back.

`Terminal` is a context manager: inside it keys arrive unechoed and unbuffered and the screen is the
terminal's second one; on the way out, whatever the reason, all of that is undone.
"""

import os
import select
import shutil
import signal
import sys
import termios
import time
import tty
from types import FrameType, TracebackType
from typing import NoReturn

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


class Terminal:
    """The terminal at file descriptors 0 and 1 while a game is played on it."""

    def __enter__(self) -> "Terminal":
        self.keyboard = sys.stdin.fileno()
        self._saved = termios.tcgetattr(self.keyboard)
        self._on_terminate = signal.signal(signal.SIGTERM, _terminated)
        try:
            tty.setcbreak(self.keyboard)
            self._without_suspend()
            self.write(ENTER)
        except BaseException:
            self._restore()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._restore()

    def _without_suspend(self) -> None:
        """Ctrl-Z would leave the terminal as it is now to the shell."""
        settings = termios.tcgetattr(self.keyboard)
        settings[6][termios.VSUSP] = b"\x00"
        termios.tcsetattr(self.keyboard, termios.TCSANOW, settings)

    def _restore(self) -> None:
        termios.tcsetattr(self.keyboard, termios.TCSAFLUSH, self._saved)
        signal.signal(signal.SIGTERM, self._on_terminate)
        self.write(LEAVE)

    def write(self, text: str) -> None:
        """Sends the text at once."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def show(self, lines: list[str]) -> None:
        """Draws the lines from the top left corner, over what was there."""
        body = "\r\n".join(line + TO_LINE_END for line in lines)
        self.write(HOME + body + TO_SCREEN_END)

    def keys(self, seconds: float | None) -> list[str]:
        """The keys pressed within this time; the call ends with the first (None: no limit)."""
        ready, _, _ = select.select([self.keyboard], [], [], seconds)
        if not ready:
            return []
        data = os.read(self.keyboard, 1024)
        if not data:
            raise EOFError("the terminal was closed")
        return parse_keys(data.decode(errors="replace"))

    def keys_until(self, deadline: float) -> list[str]:
        """Everything pressed until the deadline (`time.monotonic`), which it waits for."""
        pressed: list[str] = []
        while (left := deadline - time.monotonic()) > 0:
            pressed += self.keys(left)
        return pressed


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    """On SIGTERM leave by way of an exception, so that the terminal is put back."""
    raise SystemExit(128 + number)


def parse_keys(text: str) -> list[str]:
    """Keys in what a terminal sends: arrows by name, "enter", else the character."""
    keys: list[str] = []
    rest = text
    while rest:
        if rest[:2] in ("\x1b[", "\x1bO"):
            keys.append(ARROWS.get(rest[2:3], "?"))
            rest = rest[3:]
        else:
            keys.append("enter" if rest[0] in "\r\n" else rest[0].lower())
            rest = rest[1:]
    return keys


def chosen_action(env: Environment, keys: list[str]) -> int | None:
    """The agent's action that the last useful key stands for; None if there is none."""
    wanted = [ACTION_KEYS[key] for key in keys if ACTION_KEYS.get(key) in env.actions]
    return env.actions.index(wanted[-1]) if wanted else None


def _controls(env: Environment) -> list[str]:
    """One line for each action that the game has."""
    return [f"{SHOWN_KEYS[action]:6} {ACTION_NAMES[action]}" for action in env.actions]


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
    side = [*render.legend(env.channels, palette=palette, colour=colour)]
    keys = ["", *_controls(env), "enter  new game", "p      pause", "q      quit"]
    side += keys if large else []
    side += [""] * (len(cells) - len(side))
    edge = "─" * (10 * width)
    rows = [f"│{cell}│  {text}" for cell, text in zip(cells, side, strict=False)]
    return [title[:columns], f"┌{edge}┐", *rows, f"└{edge}┘", message[:columns]]
