"""`qduet play` on a pseudo-terminal: keys in, screen out, terminal put back."""

import io
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time

import numpy as np
import pytest

from qduet.cli import main
from qduet.minatar import make, terminal

COMMAND = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C on this terminal reaches this process
from qduet.cli import command
sys.argv.insert(1, "play")
command()
"""


class Session:
    """`qduet play` running on its own terminal of 80 by 24."""

    def __init__(self, *arguments, **environment):
        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, 80))
        self.slave = slave
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *arguments],
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env={**os.environ, "COLUMNS": "80", "LINES": "24", **environment},
        )  # fmt: skip
        self.output = ""

    def until(self, text, seconds=40):
        """Reads until the text has been seen."""
        deadline = time.monotonic() + seconds
        while text not in self.output:
            assert time.monotonic() < deadline, f"no {text!r} in:\n{self.output[-2000:]}"
            if select.select([self.master], [], [], 0.1)[0]:
                self.output += os.read(self.master, 65536).decode(errors="replace")

    def press(self, keys, wait_for):
        """Sends the keys and waits for what they bring."""
        os.write(self.master, keys)
        self.until(wait_for)

    def finish(self):
        """The exit code, with all of the output read."""
        code = self.process.wait(timeout=20)
        while select.select([self.master], [], [], 0.1)[0]:
            self.output += os.read(self.master, 65536).decode(errors="replace")
        return code

    def close(self):
        """Ends the process, whatever the test found."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def restored(self):
        """Whether settings, screen and cursor are as they were."""
        return termios.tcgetattr(self.slave) == self.before and self.output.rstrip().count(
            terminal.LEAVE
        ) == self.output.count(terminal.ENTER)


@pytest.fixture
def session():
    """Starts sessions and closes them."""
    started = []

    def start(*arguments, **environment):
        started.append(Session(*arguments, **environment))
        return started[-1]

    yield start
    for one in started:
        one.close()


def test_turns_score_record_and_quit(session, tmp_path):
    """Three moves, an unknown key that is not a move, a new game, and the file at the end."""
    gif = tmp_path / "play.gif"
    game = session(
        "Breakout-MinAtar", "--turn-based", "--no-sticky", "--plain", "--seed", "1",
        "--record", str(gif),
    )  # fmt: skip
    game.until("step 0   score 0")
    game.until("q      quit")
    assert "P paddle" in game.output
    assert "← a    left" in game.output
    assert "fire" not in game.output, "Breakout has no such action"
    game.press(b"\x1b[C", "step 1 ")
    game.press(b"z", "")
    game.press(b"d", "step 2 ")
    game.press(b".", "step 3 ")
    game.press(b"\r", "episode 2   step 0")
    os.write(game.master, b"q")
    assert game.finish() == 0
    assert "step 4" not in game.output
    assert game.restored()
    assert f"wrote {gif} (5 frames)" in game.output
    assert gif.read_bytes()[:6] == b"GIF89a"


def test_runs_by_itself_and_ctrl_c_restores(session):
    game = session("MinAtar/SpaceInvaders-v1", "--fps", "30", "--seed", "0")
    game.until("step 12 ")
    game.press(b"\x03", "best score")
    assert game.finish() == 0
    assert game.restored()


@pytest.mark.parametrize("delay", [0.3, 1.5])
def test_ctrl_c_while_it_compiles(session, tmp_path, delay):
    """jax loses the first of these if it is an exception, and crashes at exit after the other."""
    game = session("MinAtar/Seaquest-v1", XDG_CACHE_HOME=str(tmp_path))
    game.until("preparing")
    time.sleep(delay)
    game.press(b"\x03", "qduet play: interrupted")
    assert game.finish() == 130
    assert terminal.ENTER not in game.output


def test_a_terminal_too_small_is_told_first(session):
    game = session("MinAtar/Breakout-v1", COLUMNS="30", LINES="10")
    game.until("qduet play: needs a terminal of 42×14 or more; this one is 30×10")
    assert game.finish() == 2
    assert terminal.ENTER not in game.output
    assert len(game.output.splitlines()) == 1


def test_terminate_restores_too(session):
    game = session("MinAtar/Breakout-v1", "--fps", "20")
    game.until("step 3 ")
    game.process.send_signal(signal.SIGTERM)
    assert game.finish() == 128 + signal.SIGTERM
    assert game.restored()


def test_without_a_terminal_one_line_and_code_2(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert main(["play", "MinAtar/Breakout-v1"]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err.startswith("qduet play: needs a terminal")
    assert len(out.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["MinAtar/Pong-v1"], "unknown environment 'MinAtar/Pong-v1'"),
        (["MinAtar/Breakout-v1", "--fps", "0"], "--fps: '0' is not a number in [0.1, 60]"),
        (["MinAtar/Breakout-v1", "--seed", "-1"], "--seed: '-1' is not a whole number of at"),
        (["MinAtar/Breakout-v1", "--record", "/nowhere/a.gif"], "in a folder that exists"),
        (["MinAtar/Breakout-v1", "--palette", "dark"], "unknown palette 'dark'"),
    ],
)
def test_bad_input_is_told_before_anything_is_done(refused, arguments, told):
    refused(["play", *arguments], told)


def test_keys():
    assert terminal.parse_keys("\x1b[A\x1bODq \r") == ["up", "left", "q", " ", "enter"]
    env = make("MinAtar/Breakout-v1")
    assert terminal.chosen_action(env, ["left", "right"]) == 2, "the last key counts"
    assert terminal.chosen_action(env, ["right", "up", "x"]) == 2, "Breakout has no up"
    assert terminal.chosen_action(env, ["x"]) is None


def test_every_game_fits_the_smallest_terminal(monkeypatch):
    """80 by 24 with the large board; a smaller one gets the small board, and at last one line."""
    for *size, expected in ((80, 24, 24), (42, 14, 14), (41, 14, 1), (42, 13, 1)):
        monkeypatch.setattr("shutil.get_terminal_size", lambda s=size: os.terminal_size(s))
        for game in ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders"):
            env = make(f"MinAtar/{game}-v0", auto_reset=False)
            observation = env.observe(env.reset(np.zeros(env.num_draws, np.uint32)))
            shown = terminal.screen(
                env, observation, title="t" * 80, message="m", palette="bright", colour=False
            )
            assert len(shown) == expected
            if expected > 1:  # letters are one column where a colour is two
                assert max(map(len, shown)) <= size[0]
