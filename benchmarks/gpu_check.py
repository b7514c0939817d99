"""What only a GPU can show: that the kernels compute there what they say, and that jobs resume.

    PYTHONPATH=src python benchmarks/gpu_check.py            # exit code 1 if something is wrong

The tests run the kernels interpreted, on a CPU, and lower them for a GPU; here they run on one,
against plain restatements and the games as XLA compiles them. Then a short job is
trained by ``qduet train`` in one go, and again in slots, each a process of its own; evaluations and
weights must be the same to the bit.
"""

import csv
import functools
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from qduet.agents import make_agent
from qduet.deep import acting, adam, training
from qduet.deep.acting import Turn
from qduet.deep.adam import Rate, Slot
from qduet.deep.environments import make
from qduet.deep.fused import kernels, network, scalars
from qduet.minatar import GAMES, unpack

RUNS, BATCH, TURNS = 90, 32, 400
TF32 = 2e-3
"""Relative error of products whose factors are rounded to 10 bits."""
JOB = "train dqn dueling_dqn rdq MinAtar/Breakout-v1 --seeds 2 --steps 60_000 --evaluate-every"
JOB += " 30_000 --episodes 20"
TIMES = ("elapsed_seconds", "frames_per_second")


def main() -> int:
    """Prints a line for each check."""
    if jax.default_backend() != "gpu":
        print("jax finds no GPU here; install jax for yours (pip install 'qduet[cuda]')")
        return 2
    wrong = 0
    for what, number, limit in checks():
        verdict = "ok" if number <= limit else "WRONG"
        wrong += verdict != "ok"
        print(f"{verdict:6}{what}: {number:.2g} (at most {limit:g})", flush=True)
    return int(wrong > 0)


def checks() -> Iterator[tuple[str, float, float]]:
    """What is checked, a number, and how large it may be."""
    for game in GAMES:
        yield f"{game}: turns that differ, of {TURNS}", turns_that_differ(game), 0
    for game in GAMES:
        for name, error in convolution_errors(make(f"MinAtar/{game}-v1").observation.shape[-1]):
            yield f"{game}: relative error of {name}", error, TF32
    yield from hidden_update_errors()
    yield "values that differ after slots", values_that_differ(), 0


def error(got: jax.Array, want: jax.Array) -> float:
    """Largest difference over the largest value."""
    return float(jnp.abs(got - want).max() / jnp.abs(want).max())


def turns_that_differ(game: str) -> int:
    """Kernel against XLA, all runs in each turn, with advantages at random."""
    env = make(f"MinAtar/{game}-v1")
    repeat = lambda x: jnp.broadcast_to(x, (RUNS, *jnp.shape(x)))
    exploration = jax.tree.map(repeat, training.hyper(make_agent("rdq")).exploration)
    turn = functools.partial(acting.turn, env)
    plain, fused = (
        jax.jit(jax.vmap(f, in_axes=(0, 0, 0, None, 0))) for f in (turn, scalars.as_kernel(turn))
    )

    @jax.jit
    def drawn(i: jax.Array) -> Any:
        key = jax.random.fold_in(jax.random.key(0), i)
        adv = jax.random.normal(key, (RUNS, env.num_actions))
        return adv, jax.random.bits(key, (RUNS, env.num_draws + 2), jnp.uint32)

    @jax.jit
    def differ(a: Turn, b: Turn) -> jax.Array:
        same = jax.tree.map(lambda x, y: (x == y).all(), a, b)
        return ~jnp.stack(jax.tree.leaves(same)).all()

    state = jax.vmap(env.reset)(drawn(jnp.int32(TURNS))[1][:, : env.num_draws])
    count = jnp.int32(0)
    for i in range(TURNS):
        adv, words = drawn(jnp.int32(i))
        args = exploration, state, adv, jnp.int32(700 * i), words
        want = plain(*args)
        count += differ(fused(*args), want)
        state = want.state
    return int(count)


def convolution_errors(num_channels: int) -> Iterator[tuple[str, float]]:
    """Of the features of a minibatch and of one observation, and of the gradient."""
    keys = jax.random.split(jax.random.key(num_channels), 6)
    size = -(-100 * num_channels // 8)
    sparse = jax.random.bits(keys[0], (2, RUNS, BATCH, size), jnp.uint8)
    packed = sparse[0] & sparse[1]
    w = jax.random.normal(keys[1], (RUNS, 9 * num_channels + 1, 16))
    bits = jax.vmap(jax.vmap(lambda p: unpack(p, num_channels)))(packed).astype(jnp.float32)
    moved = [(dy, dx) for dy in range(3) for dx in range(3)]
    seen = jnp.concatenate([bits[:, :, y : y + 8, x : x + 8] for y, x in moved], axis=-1)
    seen = jnp.concatenate(
        [seen, jnp.ones_like(seen[..., :1])], axis=-1
    )  # [runs, n, 8, 8, 9 C + 1]
    exact = functools.partial(jnp.einsum, precision="highest")
    want = jax.nn.relu(exact("rnyxk,rkf->rnyxf", seen, w)).reshape(RUNS, BATCH, -1)
    got = jax.jit(jax.vmap(kernels.features))
    yield "features", error(got(packed, w), want)
    yield "one observation's features", error(got(packed[:, :1], w), want[:, :1])
    dx = jax.random.normal(keys[2], (2, RUNS, BATCH, 1024))
    gradient = jax.jit(jax.vmap(lambda p, x, a, b: kernels.conv_gradient(p, x, (a, b))))
    d = jnp.where(want > 0, dx.sum(axis=0), 0.0).reshape(RUNS, BATCH, 8, 8, 16)
    yield "conv_gradient", error(gradient(packed, want, *dx), exact("rnyxk,rnyxf->rkf", seen, d))


def hidden_update_errors() -> Iterator[tuple[str, float, float]]:
    """Moments against what TF32 may do to the gradient, weights against these moments.

    TF32 drops all but 10 bits of a factor, so a product loses at most 2⁻⁹ of itself; the sums
    Σ x dz cancel, so that the loss is bounded by 2⁻⁹ Σ |x| |dz|, not by a share of the gradient.
    """
    keys = jax.random.split(jax.random.key(1), 4)
    x = jax.nn.relu(jax.random.normal(keys[0], (RUNS, BATCH, 1024)))
    dz = jax.random.normal(keys[1], (RUNS, BATCH, 128))
    p, m = (0.03 * jax.random.normal(key, (RUNS, 1024, 128)) for key in keys[2:])
    slot, rate = Slot(p, m, m * m), Rate(jnp.full(RUNS, 1e-3), jnp.full(RUNS, 1.7))
    used = jnp.arange(RUNS) % 3 != 0
    update = lambda *args: network.hidden_update(*args, epsilon=1e-4)
    got = jax.jit(jax.vmap(update))(x, dz, slot, rate, used)
    still = jax.tree.map(lambda a, b: (a[~used] == b[~used]).all(), got, slot)
    yield "arrays moved by hidden_update where not used", 3 - int(sum(still)), 0
    exact = functools.partial(jnp.einsum, "rni,rno->rio", precision="highest")
    g, lost = exact(x, dz)[used], 2.0**-9 * exact(jnp.abs(x), jnp.abs(dz))[used]
    got, slot = jax.tree.map(lambda a: a[used], (got, slot))
    want = adam.step(slot, g, Rate(1e-3, 1.7), 1e-4)
    m_lost, v_lost = (1 - adam.BETA1) * lost, (1 - adam.BETA2) * (2 * jnp.abs(g) + lost) * lost
    for name, a, b, most in (("m", got.m, want.m, m_lost), ("v", got.v, want.v, v_lost)):
        share = float((jnp.abs(a - b) / (most + 1e-6 * jnp.abs(b))).max())
        yield f"hidden_update: error of {name} over what TF32 may lose", share, 1
    p = slot.p - 1e-3 * got.m / (jnp.sqrt(got.v) * 1.7 + 1e-4)
    yield "hidden_update: relative error of p, given m and v", error(got.p, p), 1e-6


def values_that_differ() -> int:
    """Numbers of evaluations and files of weights, of a job in one go and again in slots."""
    with tempfile.TemporaryDirectory() as folder:
        whole, again, slots = (Path(folder) / name for name in ("whole", "again", "slots"))
        _train(whole)
        begun = time.monotonic()
        _train(again)  # with everything compiled
        minutes, used = (time.monotonic() - begun) / 60, 0
        while not (slots / "weights" / "rdq-1.safetensors").exists() and used < 8:
            _train(slots, "--max-minutes", f"{0.75 * minutes:.3f}")
            used += 1
        print(f"      {used} slots of {45 * minutes:.0f} s", flush=True)
        return _differing(whole, again) + (_differing(whole, slots) if used > 1 else 1)


def _train(out: Path, *options: str) -> None:
    command = [sys.executable, "-m", "qduet", *JOB.split(), "--out", str(out), *options]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)


def _differing(one: Path, two: Path) -> int:
    tables = [list(csv.DictReader((out / "evaluations.csv").open())) for out in (one, two)]
    rows = zip(*tables, strict=True)
    wrong = sum(a[k] != b[k] for a, b in rows for k in a if k not in TIMES)
    for path in (one / "weights").iterdir():
        wrong += path.read_bytes() != (two / "weights" / path.name).read_bytes()
    return wrong


if __name__ == "__main__":
    sys.exit(main())
