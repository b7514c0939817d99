"""`qduet play`: a MinAtar game, or one of your own, by keyboard in the terminal."""

import argparse
import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qduet.cli.options import nonempty_path, real, whole
from qduet.core.errors import InputError

if TYPE_CHECKING:
    from qduet.minatar.terminal import Terminal

EXAMPLE = """qduet play MinAtar/Breakout-v1
qduet play MinAtar/Seaquest-v1 --fps 6 --no-sticky --record seaquest.gif
qduet play MinAtar/SpaceInvaders-v1 --turn-based --seed 7"""


class Options(NamedTuple):
    """What the command line asks for, checked."""

    env_id: str
    fps: float
    sticky: bool | None
    """None: as the game has it."""
    seed: int
    turn_based: bool
    record: Path | None
    palette: str
    colour: bool


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
    from qduet.minatar.terminal import too_small

    options = check(args)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError("needs a terminal for keyboard and screen: do not redirect it")
    complaint = too_small()
    if complaint:
        raise InputError(complaint)
    game = prepared(options)
    try:
        play(game)
    finally:
        game.save()
    print(f"{game.env.name}: best score {game.best:.7g} in {_count(game.episode, 'episode')}")
    if options.record:
        print(f"wrote {options.record} ({_count(len(game.frames), 'frame')})")
    return 0


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def prepared(options: Options) -> "Game":
    """The game with everything compiled."""
    print(f"preparing {options.env_id} …", end="\r", file=sys.stderr, flush=True)
    game = Game(options)
    game.warm_up()
    return game


def check(args: argparse.Namespace) -> Options:
    """The options, or `InputError`, before anything is done."""
    from qduet.minatar import animation, canonical_id, render

    if args.record:
        animation.pillow()
        if args.record.suffix.lower() != ".gif" or not args.record.parent.is_dir():
            raise InputError(f"--record {args.record} must end in .gif, in a folder that exists")
    render.colours(4, palette=args.palette)
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if args.seed is None else args.seed
    return Options(
        canonical_id(args.env),
        args.fps,
        args.sticky,
        seed,
        args.turn_based,
        args.record,
        args.palette,
        not args.plain,
    )


class Game:
    """The game being played, its picture, and what has been recorded of it."""

    def __init__(self, options: Options):
        import jax

        from qduet.minatar import animation, make, seeded_game

        sticky = None if options.sticky is None else 0.1 * options.sticky
        self.env = make(options.env_id, sticky_probability=sticky, auto_reset=False)
        self.options = options
        self.episode, self.steps, self.points, self.best = 1, 0, 0.0, 0.0
        self.over = False
        self.frames: list[animation.Frame] = []
        self._frame = animation.Frame
        self._key = seeded_game.key_data(options.seed)
        self._first = jax.jit(lambda key: seeded_game.first_episode(self.env, key))
        self._next = jax.jit(lambda before: seeded_game.next_episode(self.env, before))
        self._step = jax.jit(lambda before, action: seeded_game.step(self.env, before, action))
        self._observe = jax.jit(self.env.observe)
        self._seeded: Any = self._first(self._key)

    def warm_up(self) -> None:
        """Compiles everything, so that the first steps are not slow."""
        self._step(self._next(self._seeded), np.int32(0))
        self.observation()

    def observation(self) -> np.ndarray:
        """What is on the board, bool[10, 10, channels]."""
        return np.asarray(self._observe(self._seeded.state))

    def title(self) -> str:
        """The line above the board."""
        return (
            f"{self.env.name}   episode {self.episode}   step {self.steps}   "
            f"score {self.points:.7g}   best {self.best:.7g}"
        )

    def record(self) -> None:
        """Keeps the board for the GIF file, if there is to be one."""
        if self.options.record:
            caption = f"episode {self.episode}   step {self.steps}   score {self.points:.7g}"
            self.frames.append(self._frame(self.observation(), caption))

    def step(self, action: int) -> None:
        """One step with the agent's action."""
        self._seeded, reward, terminated = self._step(self._seeded, np.int32(action))
        self.steps += 1
        self.points += float(reward)
        self.best = max(self.best, self.points)
        self.over = bool(terminated)
        self.record()

    def new_episode(self) -> None:
        """As after the original's reset: the last action survives."""
        self._seeded = self._next(self._seeded)
        self.episode, self.steps, self.points, self.over = self.episode + 1, 0, 0.0, False
        self.record()

    def save(self) -> None:
        """Writes what was recorded."""
        from qduet.minatar import animation

        if self.options.record and self.frames:
            animation.write_gif(
                self.options.record,
                self.frames,
                self.env.channels,
                fps=self.options.fps,
                palette=self.options.palette,
            )


def play(game: Game) -> None:
    """Steps as fast as the options say and episode after episode, until the player leaves."""
    from qduet.minatar.terminal import Terminal

    game.record()
    paused = False
    leaving = contextlib.suppress(KeyboardInterrupt, EOFError)
    with Terminal() as terminal, leaving:
        while True:
            keys = pressed(game, terminal, paused)
            if "q" in keys:
                return
            paused ^= "p" in keys
            advance(game, keys, paused)


def pressed(game: Game, terminal: "Terminal", paused: bool) -> list[str]:
    """Shows the board, waits for a key or for the time of the next step, and says what came."""
    from qduet.minatar.terminal import screen

    waits = game.over or paused or game.options.turn_based
    if game.over:
        message = "GAME OVER   enter: new game   q: quit"
    elif paused:
        message = "paused   p: go on   q: quit"
    else:
        message = "turn-based: each key is one step, . does nothing" if waits else ""
    lines = screen(
        game.env,
        game.observation(),
        title=game.title(),
        message=message,
        palette=game.options.palette,
        colour=game.options.colour,
    )
    terminal.show(lines)
    if waits:
        return terminal.keys(None)
    return terminal.keys_until(time.monotonic() + 1 / game.options.fps)


def advance(game: Game, keys: list[str], paused: bool) -> None:
    """One step, or a new episode, or nothing, as the keys and the options say."""
    from qduet.minatar.terminal import chosen_action

    action = chosen_action(game.env, keys)
    if "enter" in keys:
        game.new_episode()
    elif game.over or paused or (game.options.turn_based and action is None):
        return
    else:
        game.step(action or 0)
