"""`qduet play`: a MinAtar game, or one of your own, by keyboard in the terminal."""

import argparse
import contextlib
import sys
import time
from typing import Any

import jax
import numpy as np

from qduet.cli.options import nonempty_path, real, whole
from qduet.core.errors import InputError
from qduet.minatar import Environment, animation, make, render, seeded_game, terminal

EXAMPLE = """qduet play MinAtar/Breakout-v1
qduet play MinAtar/Seaquest-v1 --fps 6 --no-sticky --record seaquest.gif
qduet play MinAtar/SpaceInvaders-v1 --turn-based --seed 7"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `qduet play`."""
    parser.add_argument("env", help="for example MinAtar/Breakout-v1; v0 has all six actions")
    parser.add_argument("--fps", type=real(0.1, 60), default=8, help="steps per second (default 8)")
    parser.add_argument(
        "--sticky",
        action=argparse.BooleanOptionalAction,
        help="repeat the last action in one step of ten, as the original does (MinAtar's default)",
    )
    parser.add_argument("--seed", type=whole(0), help="the same seed and keys give the same game")
    parser.add_argument("--turn-based", action="store_true", help="wait for a key in every step")
    parser.add_argument(
        "--record", type=nonempty_path, metavar="FILE.gif", help="write the play as a GIF"
    )
    parser.add_argument(
        "--palette", default="bright", help="bright (default) or original, the original's colours"
    )
    parser.add_argument("--plain", action="store_true", help="letters in place of colours")


def run(args: argparse.Namespace) -> int:
    """Plays until `q`, Ctrl-C or the end of the terminal."""
    env = check(args)
    print(f"preparing {env.name} …", end="\r", file=sys.stderr, flush=True)
    game = Game(env, seed=args.seed, keep_frames=bool(args.record))
    try:
        play(game, args)
    finally:
        if game.frames:
            animation.write_gif(
                args.record, game.frames, env.channels, fps=args.fps, palette=args.palette
            )
    print(f"{env.name}: best score {game.best:.7g} in {_count(game.episode, 'episode')}")
    if args.record:
        print(f"wrote {args.record} ({_count(len(game.frames), 'frame')})")
    return 0


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def check(args: argparse.Namespace) -> Environment:
    """The environment to play; `InputError` before anything is done if something is wrong."""
    if args.record:
        animation.pillow()
        if args.record.suffix.lower() != ".gif" or not args.record.parent.is_dir():
            raise InputError(f"--record {args.record} must end in .gif, in a folder that exists")
    render.colours(4, palette=args.palette)
    sticky = None if args.sticky is None else 0.1 * args.sticky
    env = make(args.env, sticky_probability=sticky, auto_reset=False)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError("needs a terminal for keyboard and screen: do not redirect it")
    if complaint := terminal.too_small():
        raise InputError(complaint)
    return env


class Game:
    """The game being played, its score, and the frames for the GIF file."""

    def __init__(self, env: Environment, *, seed: int | None, keep_frames: bool):
        """Everything is compiled here, so that the first steps are not slow."""
        self.env, self.keep_frames = env, keep_frames
        self.episode, self.steps, self.score, self.best = 1, 0, 0.0, 0.0
        self.over = False
        self.frames: list[animation.Frame] = []
        first = jax.jit(lambda key: seeded_game.first_episode(env, key))
        self._next = jax.jit(lambda game: seeded_game.next_episode(env, game))
        self._step = jax.jit(lambda game, action: seeded_game.step(env, game, action))
        self._observe = jax.jit(env.observe)
        self._game: Any = first(seeded_game.key_data(seed))
        self._step(self._next(self._game), np.int32(0))
        self.observation()
        self._keep_frame()

    def observation(self) -> np.ndarray:
        """What is on the board, bool[10, 10, channels]."""
        return np.asarray(self._observe(self._game.state))

    def progress(self) -> str:
        """Episode, step and score, in words."""
        return f"episode {self.episode}   step {self.steps}   score {self.score:.7g}"

    def _keep_frame(self) -> None:
        if self.keep_frames:
            self.frames.append(animation.Frame(self.observation(), self.progress()))

    def step(self, action: int) -> None:
        """One step with the agent's action."""
        self._game, reward, terminated = self._step(self._game, np.int32(action))
        self.steps += 1
        self.score += float(reward)
        self.best = max(self.best, self.score)
        self.over = bool(terminated)
        self._keep_frame()

    def new_episode(self) -> None:
        """As after the original's reset: the last action survives."""
        self._game = self._next(self._game)
        self.episode, self.steps, self.score, self.over = self.episode + 1, 0, 0.0, False
        self._keep_frame()


def play(game: Game, args: argparse.Namespace) -> None:
    """Episode after episode, as fast as the options say, until the player leaves."""
    paused = False
    with terminal.ready_to_play(), contextlib.suppress(KeyboardInterrupt, EOFError):
        while True:
            keys = show_and_wait(game, args, paused)
            if "q" in keys:
                return
            paused ^= "p" in keys
            action = terminal.chosen_action(game.env, keys)
            if "enter" in keys:
                game.new_episode()
            elif not (game.over or paused or (args.turn_based and action is None)):
                game.step(action or 0)


def show_and_wait(game: Game, args: argparse.Namespace, paused: bool) -> list[str]:
    """Shows the board, waits for a key or for the next step's time; returns the keys pressed."""
    if game.over:
        message = "GAME OVER   enter: new game   q: quit"
    elif paused:
        message = "paused   p: go on   q: quit"
    else:
        message = "turn-based: each key is one step, . does nothing" if args.turn_based else ""
    lines = terminal.screen(
        game.env,
        game.observation(),
        title=f"{game.env.name}   {game.progress()}   best {game.best:.7g}",
        message=message,
        palette=args.palette,
        colour=not args.plain,
    )
    terminal.show(lines)
    if message:
        return terminal.keys(None)
    return terminal.keys_until(time.monotonic() + 1 / args.fps)
