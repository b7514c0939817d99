"""Steps per second of the MinAtar games: ours, the original, gymnax and pgx in one run.

Random play with auto-reset. A JAX implementation is one compiled scan over a batch of games that
makes every observation: dense, and for ours also packed into bits. The original is one game in one
process. Each reading is the best of three.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from qduet.core.errors import unknown_name
from qduet.core.tables import Table
from qduet.minatar.conformance import ports
from qduet.minatar.registry import GAMES, make
from qduet.results import published

DESCRIPTION = "steps per second of the MinAtar games, ours and others'"

REPEATS = 3
STEPS_PER_CALL = 20_000


class Reading(NamedTuple):
    """One measurement."""

    implementation: str
    """qduet, minatar, gymnax or pgx."""
    version: str
    observation: str
    """packed or dense."""
    game: str
    batch: int
    """Games side by side."""
    steps_per_second: float | None
    """Of all games together; None if the implementation is not installed."""
    compile_seconds: float | None
    """None for the original, which is not compiled."""


class Contender(NamedTuple):
    """A JAX implementation that is timed; the first three fields are those of its readings."""

    implementation: str
    version: str
    observation: str
    build: Callable[[str, int], tuple[Callable, Callable]]
    """game, batch -> `start(key) -> carry` and `step(carry, key) -> carry` of the whole batch"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this section."""
    parser.add_argument(
        "--batch",
        type=int,
        nargs="+",
        default=[1, 32, 1024],
        metavar="N",
        help="games at once (default 1 32 1024)",
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="per reading (default 1)")


def measure(args: argparse.Namespace) -> Iterator[Reading]:
    """All readings, game by game."""
    games = args.games or list(GAMES)
    for game in games:
        if game not in GAMES:
            raise unknown_name("game", game, GAMES)
    for game in games:
        yield from measure_game(game, args.batch, args.seconds)


def measure_game(game: str, batches: list[int], seconds: float) -> Iterator[Reading]:
    """The readings of one game."""
    yield original_reading(game, seconds)
    for batch in batches:
        for form in ("packed", "dense"):
            yield time_contender(ours(form), game, batch, seconds)
        for name in ("gymnax", "pgx"):
            if ports.installed_version(name) is None:
                yield Reading(name, "not installed", "dense", game, batch, None, None)
            else:
                yield time_contender(theirs(name), game, batch, seconds)


def ours(form: str) -> Contender:
    """Our games with packed or dense observations."""
    import qduet

    def build(game: str, batch: int) -> tuple[Callable, Callable]:
        env = make(f"MinAtar/{game}-v1")
        observe = jax.vmap(env.pack if form == "packed" else env.observe)

        def start(key: jax.Array) -> Any:
            states = jax.vmap(env.reset)(jax.random.bits(key, (batch, env.num_draws)))
            return states, observe(states)

        def step(carry: Any, key: jax.Array) -> Any:
            key_draws, key_act = jax.random.split(key)
            draws = jax.random.bits(key_draws, (batch, env.num_draws))
            actions = jax.random.randint(key_act, (batch,), 0, env.num_actions)
            states = jax.vmap(env.step)(carry[0], actions, draws).state
            return states, observe(states)

        return start, step

    return Contender("qduet", qduet.__version__, form, build)


def theirs(name: str) -> Contender:
    """A port, through the functions its conformance adapter uses."""
    port = ports.PORTS[name]()

    def build(game: str, batch: int) -> tuple[Callable, Callable]:
        played: Any = port.make(game, batch)

        def start(key: jax.Array) -> Any:
            return jax.vmap(played.start)(jax.random.split(key, batch))

        def step(carry: Any, key: jax.Array) -> Any:
            key_step, key_act = jax.random.split(key)
            actions = jax.random.randint(key_act, (batch,), 0, played.num_actions)
            keys = jax.random.split(key_step, batch)
            states, frame = jax.vmap(played.advance)(carry[0], actions, keys)
            return states, frame.following

        return start, step

    return Contender(name, port.version, "dense", build)


def time_contender(contender: Contender, game: str, batch: int, seconds: float) -> Reading:
    """Compiles a scan and times it. Observations are in its carry, so that none is left out."""
    start, step = contender.build(game, batch)
    length = max(8, STEPS_PER_CALL // batch)

    def play(carry: Any, key: jax.Array) -> Any:
        keys = jax.random.split(key, length + 1)
        return jax.lax.scan(lambda now, k: (step(now, k), None), carry, keys[1:])[0], keys[0]

    carry, key = jax.jit(start)(jax.random.key(0)), jax.random.key(1)
    began = time.perf_counter()
    compiled = jax.jit(play, donate_argnums=0).lower(carry, key).compile()
    compile_seconds = time.perf_counter() - began
    carry, key = jax.block_until_ready(compiled(carry, key))
    best = 0.0
    for _ in range(REPEATS):
        began, steps = time.perf_counter(), 0
        while (passed := time.perf_counter() - began) < seconds / REPEATS:
            carry, key = jax.block_until_ready(compiled(carry, key))
            steps += batch * length
        best = max(best, steps / passed)
    return Reading(*contender[:3], game, batch, best, compile_seconds)


def original_reading(game: str, seconds: float) -> Reading:
    """The original with random actions, observed in every step."""
    version = ports.installed_version("minatar")
    if version is None:
        return Reading("minatar", "not installed", "dense", game, 1, None, None)
    from minatar import Environment

    env = Environment(ports.ORIGINAL_NAMES[game])
    actions = np.random.default_rng(0).choice(GAMES[game].MINIMAL_ACTIONS, 1000).tolist()
    best = 0.0
    for _ in range(REPEATS):
        began, steps = time.perf_counter(), 0
        while (passed := time.perf_counter() - began) < seconds / REPEATS:
            for action in actions:
                if env.act(action)[1]:
                    env.reset()
                env.state()
            steps += len(actions)
        best = max(best, steps / passed)
    return Reading("minatar", version, "dense", game, 1, best, None)


def show(readings: Sequence[Reading]) -> None:
    """Prints a table with a line for each game and batch, in thousands of steps per second."""
    names = ("qduet packed", "qduet dense", "gymnax dense", "pgx dense", "minatar dense")
    rows = []
    for game, batch in dict.fromkeys((r.game, r.batch) for r in readings if r.compile_seconds):
        of_game = [r for r in readings if r.game == game]
        in_row = [r for r in of_game if r.batch == batch or not r.compile_seconds]
        speeds = {f"{r.implementation} {r.observation}": r.steps_per_second or 0.0 for r in in_row}
        fastest = max(speeds.get(name, 0.0) for name in ("gymnax dense", "pgx dense"))
        ratio = f"{speeds['qduet packed'] / fastest:.1f}×" if fastest else "–"
        compiling = max(r.compile_seconds or 0.0 for r in in_row if r.implementation == "qduet")
        shown = [f"{speeds[name] / 1000:,.0f}" if speeds.get(name) else "–" for name in names]
        rows.append((published.title(game), f"{batch:,}", *shown, ratio, f"{compiling:.1f} s"))
    title = f"thousand steps per second, {jax.devices()[0].device_kind}"
    Table(title, ("game", "batch", *names, "ratio", "compile"), rows).show()
    print(
        "qduet: ours; minatar: the original, one game; –: not installed; ratio: ours packed to the"
    )
    print("faster of gymnax and pgx; compile: the longer of our two")
