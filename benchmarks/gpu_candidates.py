"""Kernels that may replace a part of an iteration on GPUs, checked and timed. None is in use yet.

    PYTHONPATH=src python benchmarks/gpu_candidates.py alone       # each, and what it may replace
    PYTHONPATH=src python benchmarks/gpu_candidates.py Breakout    # iterations with and without

They have been compared with the plain forms on a CPU, interpreted, and lowered for a GPU. **They
have not been run on one.** A kernel that wins belongs into `qduet.deep.fused.kernels`; one that
loses into the list of what lost (benchmarks/README.md).

    hidden      both hidden layers of a minibatch in one launch; it does not read the V stream of
                runs without V (DQN's). Now two products of XLA, which read everything.
    advantages  A(s, ·) of one observation from its packed bits. Now three kernels, four times an
                iteration, and nothing else runs beside them.
    descend     the update of a hidden layer, and the gradient of its input from the weights that it
                has just read. Now a product of XLA reads these weights once more.
"""

import argparse
import functools
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gpu_profile
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from qduet.agents import PAPER_AGENTS
from qduet.bench import deep
from qduet.deep import adam, board, training
from qduet.deep.adam import Rate, Slot
from qduet.deep.board import KERNEL, Hidden, Params
from qduet.deep.fused import kernels, network
from qduet.deep.fused.kernels import CELLS
from qduet.deep.layers import Layer
from qduet.jobs import program

RUNS, BATCH = 90, 32
EPSILON = 1e-4


def _options(interpret: bool, warps: int, stages: int) -> dict[str, Any]:
    options = kernels.options(interpret, warps)
    if not interpret:
        options["compiler_params"] = triton.CompilerParams(num_warps=warps, num_stages=stages)
    return options


def _whole(x: jax.Array) -> pl.BlockSpec:
    return pl.BlockSpec(x.shape, lambda *_: (0,) * x.ndim)


def hidden(
    x: jax.Array, v: Layer, adv: Layer, uses_v: jax.Array, *, interpret: bool = False
) -> Hidden:
    """``[n, inputs] -> [n, outputs]`` of both layers, before their ReLU; V's is 0 if not used."""
    (n, inputs), outputs = x.shape, v.w.shape[1]
    width, chunk = min(64, outputs), 64
    tiles = outputs // width

    def layer(x: Any, w: Any, b: Any, z: Any) -> None:
        def add(i: jax.Array, total: jax.Array) -> jax.Array:
            here = pl.ds(i * chunk, chunk)
            return total + kernels._dot(x[:, here], w[here, :], (1, 0))

        total = jnp.zeros((n, width), jnp.float32)
        z[...] = jax.lax.fori_loop(0, inputs // chunk, add, total) + b[...][None]

    def kernel(x: Any, used: Any, *refs: Any) -> None:
        v_w, v_b, adv_w, adv_b, v_z, adv_z = refs
        is_v, is_used = pl.program_id(0) < tiles, used[0] != 0

        @pl.when(is_v & ~is_used)
        def _() -> None:
            v_z[...] = jnp.zeros((n, width), jnp.float32)

        pl.when(is_v & is_used)(lambda: layer(x, v_w, v_b, v_z))
        pl.when(~is_v)(lambda: layer(x, adv_w, adv_b, adv_z))

    of_v, of_adv = lambda i: jnp.minimum(i, tiles - 1), lambda i: jnp.maximum(i - tiles, 0)
    columns = lambda rows, tile: pl.BlockSpec((rows, width), lambda i: (0, tile(i)))
    entries = lambda tile: pl.BlockSpec((width,), lambda i: (tile(i),))
    used = uses_v.astype(jnp.float32)[None]
    out = pl.pallas_call(
        kernel,
        grid=(2 * tiles,),
        in_specs=[
            *[_whole(x), _whole(used)],
            *[columns(inputs, of_v), entries(of_v), columns(inputs, of_adv), entries(of_adv)],
        ],
        out_specs=[columns(n, of_v), columns(n, of_adv)],
        out_shape=[jax.ShapeDtypeStruct((n, outputs), jnp.float32)] * 2,
        name="hidden",
        **_options(interpret, 4, stages=3),
    )(x, used, *v, *adv)
    return Hidden(*out)


def advantages(
    packed: jax.Array,
    w: jax.Array,
    hidden: Layer,
    head: Layer,
    *,
    parts: int = 4,
    chunk: int = 32,
    unroll: int = 8,
    warps: int = 4,
    interpret: bool = False,
) -> jax.Array:
    """A(s, ·) of one observation uint8[bytes], as ``[parts, |A|]`` that add up to it.

    `w` is that of `kernels.features`. Each GPU block has its share of the hidden units.
    """
    inputs, outputs = hidden.w.shape
    num_actions, num_filters = head.w.shape[1], w.shape[1]
    width = outputs // parts

    def kernel(packed: Any, w: Any, hidden_w: Any, hidden_b: Any, *refs: Any) -> None:
        head_w, head_b, out, x = refs
        cell = jnp.arange(CELLS)
        at = num_filters * cell[:, None] + jnp.arange(num_filters)[None]
        triton.store(x.at[at], _features(packed, w, cell))
        if not interpret:
            triton.debug_barrier()  # all of x is there before it is read

        def add(i: jax.Array, total: jax.Array) -> jax.Array:
            for j in range(unroll):  # reads that do not wait for each other
                here = pl.ds((unroll * i + j) * chunk, chunk)
                total += x[here][:, None] * hidden_w[here, :]
            return total

        total = jnp.zeros((chunk, width), jnp.float32)
        total = jax.lax.fori_loop(0, inputs // (chunk * unroll), add, total).sum(axis=0)
        units = total + hidden_b[...]
        units = jnp.where(units < 0, 0.0, units)
        for a in range(num_actions):
            b = jnp.where(pl.program_id(0) == 0, head_b[a], 0.0)
            out[a] = (units * head_w[:, a]).sum() + b

    row = lambda size: pl.BlockSpec((None, size), lambda i: (i, 0))
    shapes = (parts, num_actions), (parts, inputs)
    return pl.pallas_call(
        kernel,
        grid=(parts,),
        in_specs=[
            *[_whole(packed[None]), _whole(w)],
            pl.BlockSpec((inputs, width), lambda i: (0, i)),
            pl.BlockSpec((width,), lambda i: (i,)),
            pl.BlockSpec((width, num_actions), lambda i: (i, 0)),
            _whole(head.b),
        ],
        out_specs=[row(num_actions), row(inputs)],
        out_shape=[jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes],
        name="advantages",
        **_options(interpret, warps, stages=1),
    )(packed[None], w, *hidden, *head)[0]


def _features(packed: Any, w: Any, cell: jax.Array) -> jax.Array:
    """What `kernels.features` computes, of these cells ``[cells, filters]``."""
    num_channels = w.shape[0] // KERNEL**2
    k = jnp.arange(kernels.depth_of(num_channels))
    rows = kernels._rows(packed, cell[:, None], k[None], num_channels)
    row = k + 2 * num_channels * kernels._divide(k, num_channels)
    filters = jnp.broadcast_to(jnp.arange(w.shape[1])[None], (len(k), w.shape[1]))
    total = jnp.zeros((len(cell), w.shape[1]), jnp.float32)
    for column in range(KERNEL):
        at = jnp.broadcast_to((row + num_channels * column)[:, None], filters.shape)
        is_input = k < KERNEL * num_channels + (column == 0)
        mask = jnp.broadcast_to(is_input[:, None], filters.shape)
        w_column = triton.load(w.at[at, filters], mask=mask, other=0.0)
        total += kernels._dot(kernels._bit(rows, column), w_column, (1, 0))
    return jnp.where(total < 0, 0.0, total)


def descend(
    x: jax.Array,
    dz: jax.Array,
    slot: Slot,
    rate: Rate,
    used: jax.Array,
    *,
    tile: int = 16,
    warps: int = 4,
    with_dx: bool = True,
    interpret: bool = False,
) -> tuple[Slot, jax.Array | None]:
    """The slot after Adam's step with the gradient xᵀ dz, and dz wᵀ ``[n, inputs]`` before it.

    Where `used` is false the slot stays as it is and dz wᵀ is 0; nothing is read.
    """
    (n, inputs), outputs = x.shape, dz.shape[1]

    def kernel(x: Any, dz: Any, rate: Any, p: Any, m: Any, v: Any, *out: Any) -> None:
        @pl.when(rate[2] != 0)
        def _() -> None:
            d = dz[...]
            gradient = kernels._dot(x[...], d, (0, 0))
            old = Slot(p[...], m[...], v[...])
            new = adam.step(old, gradient, Rate(rate[0], rate[1]), EPSILON)
            for ref, value in zip(out, new, strict=False):
                ref[...] = value
            if with_dx:
                out[3][...] = kernels._dot(d, old.p, (1, 1))

        if with_dx:

            @pl.when(rate[2] == 0)
            def _() -> None:
                out[3][...] = jnp.zeros((n, tile), jnp.float32)

    weights = pl.BlockSpec((tile, outputs), lambda i: (i, 0))
    columns = pl.BlockSpec((n, tile), lambda i: (0, i))
    shapes = [*(a.shape for a in slot), *[x.shape] * with_dx]
    new = pl.pallas_call(
        kernel,
        grid=(inputs // tile,),
        in_specs=[columns, _whole(dz), pl.BlockSpec((4,), lambda i: (0,)), *[weights] * 3],
        out_specs=[*[weights] * 3, *[columns] * with_dx],
        out_shape=[jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes],
        input_output_aliases={3: 0, 4: 1, 5: 2},
        name="descend",
        **_options(interpret, warps, stages=1),
    )(x, dz, jnp.stack([*rate, used.astype(jnp.float32), jnp.float32(0)]), *slot)
    return Slot(*new[:3]), new[3] if with_dx else None


# --- Each alone ----------------------------------------------------------------------------------


def cases(runs: int) -> Iterator[tuple[str, Callable[..., Any], Callable[..., Any], Any]]:
    """Name, the candidate and what it is compared with (both of all runs), and their arguments."""
    key = functools.partial(jax.random.fold_in, jax.random.key(0))
    normal = lambda i, *shape: jax.random.normal(key(i), (runs, *shape))
    x, dz = jax.nn.relu(normal(0, BATCH, 1024)), normal(1, BATCH, 128)
    v, adv = (Layer(0.03 * normal(i, 1024, 128), normal(i + 1, 128)) for i in (2, 4))
    uses_v = jnp.arange(runs) % 3 != 0
    layers = lambda x, v, adv, uses_v: Hidden(
        jnp.where(uses_v, x @ v.w + v.b[None], 0.0), x @ adv.w + adv.b[None]
    )
    yield "hidden", hidden, layers, (x, v, adv, uses_v)

    slot = Slot(v.w, adv.w, adv.w**2)
    rate, used = Rate(jnp.full(runs, 1e-3), jnp.full(runs, 1.7)), jnp.ones(runs, bool)
    both = lambda x, dz, slot, rate, used: (
        network.hidden_update(x, dz, slot, rate, used, EPSILON),
        network.input_gradient(dz, slot.p),
    )
    for tile, warps in ((16, 4), (16, 8), (32, 4), (32, 8)):
        wide = functools.partial(descend, tile=tile, warps=warps)
        yield f"descend {tile} {warps}", wide, both, (x, dz, slot, rate, used)
        alone = functools.partial(wide, with_dx=False)
        update = lambda *args: (network.hidden_update(*args, EPSILON), None)
        yield f"descend {tile} {warps}, no dx", alone, update, (x, dz, slot, rate, used)

    shapes = ((4, 32, 8, 4), (4, 32, 4, 4), (4, 64, 4, 8), (2, 64, 4, 8), (8, 64, 4, 4))
    for num_channels, num_actions in ((4, 3), (10, 6)):
        bits = jax.random.bits(key(6), (2, runs, -(-100 * num_channels // 8)), jnp.uint8)
        conv = Layer(normal(7, 9 * num_channels, 16), normal(8, 16))
        args = (
            bits[0] & bits[1],
            conv,
            adv,
            Layer(normal(9, 128, num_actions), normal(10, num_actions)),
        )
        for parts, chunk, unroll, warps in shapes:
            options = {"parts": parts, "chunk": chunk, "unroll": unroll, "warps": warps}
            name = f"advantages C={num_channels} {parts} {chunk} {unroll} {warps}"
            yield name, functools.partial(_greedy, **options), _greedy_now, args


def _greedy(packed: jax.Array, conv: Layer, hidden: Layer, head: Layer, **options: Any) -> Any:
    w = jnp.concatenate([conv.w, conv.b[None]])
    return advantages(packed, w, hidden, head, **options).sum(axis=0)


def _greedy_now(packed: jax.Array, conv: Layer, hidden: Layer, head: Layer) -> jax.Array:
    x = network.features(packed[None], conv)[0]
    return jax.nn.relu(x @ hidden.w + hidden.b) @ head.w + head.b


def error(got: Any, want: Any) -> float:
    """The largest difference of any array, over the largest value of that array."""
    each = jax.tree.map(lambda a, b: jnp.abs(a - b).max() / jnp.abs(b).max(), got, want)
    return float(jnp.stack(jax.tree.leaves(each)).max())


def microseconds(function: Callable[..., Any], args: Any) -> float:
    """The sum of the median times of the kernels that `function` runs."""
    compiled = jax.jit(function)
    jax.block_until_ready(compiled(*args))
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for _ in range(20):
                jax.block_until_ready(compiled(*args))
        times: dict[str, list[float]] = {}
        for event in gpu_profile.traced(Path(folder)):
            times.setdefault(event.name, []).append((event.end - event.start) / 1e3)
    return sum(statistics.median(each) * len(each) / 20 for each in times.values())


def alone() -> None:
    """A line for each candidate: its time, that of what it would replace, its error (TF32)."""
    for name, candidate, now, args in cases(RUNS):
        try:
            got, want = (jax.jit(jax.vmap(f))(*args) for f in (candidate, now))
            times = [microseconds(jax.vmap(f), args) for f in (candidate, now)]
            print(
                f"{name:32} {times[0]:7.1f} µs, now {times[1]:7.1f}; error {error(got, want):.1e}"
            )
        except Exception as problem:  # the next candidate may still compile
            print(f"{name:32} {type(problem).__name__}: {str(problem)[:300]!r}", flush=True)


# --- In training ---------------------------------------------------------------------------------

HIDDEN, ADVANTAGES, LEARN = board.hidden, network.advantages, training.learn
"""What the candidates replace."""


def switch(which: set[str]) -> None:
    """Makes programs that are built from now on use these candidates on GPUs, and no others."""
    board.hidden, network.advantages, training.learn = HIDDEN, ADVANTAGES, LEARN
    if "advantages" in which:
        network.advantages = lambda params, packed: kernels.on_cuda(
            _greedy, _greedy_now, packed, params.conv, params.adv_hidden, params.adv
        )
    if "hidden" not in which:
        return
    # Whether the runs use V: `learn` notes it, and `of_minibatch` reads it during that trace.
    now: list[jax.Array] = []

    def learn(setting: Any, hyper: Any, *rest: Any) -> Any:
        now[:] = [jnp.asarray(setting.algorithm.uses_v(hyper.numbers))]
        return LEARN(setting, hyper, *rest)

    def of_minibatch(size: int, batched: Any, params: Params, x: jax.Array) -> Any:
        plain = lambda x, v, adv, _: jax.vmap(
            functools.partial(HIDDEN, params._replace(v_hidden=v, adv_hidden=adv))
        )(x)
        args = x, params.v_hidden, params.adv_hidden, now[0]
        return kernels.on_cuda(hidden, plain, *args), Hidden(True, True)

    training.learn = learn
    board.hidden = jax.custom_batching.custom_vmap(HIDDEN)
    board.hidden.def_vmap(of_minibatch)  # `network` calls it under ``vmap`` over a minibatch


def iteration(game: str, which: set[str], blocks: int = 12) -> float:
    """Microseconds of an iteration of 90 runs with these candidates."""
    switch(which)
    job = deep.job(game, RUNS, PAPER_AGENTS, 1)
    agent, built = job.members[0].agent, program.Program(job)
    state, step = built.warm_up(built.start()), agent.learn_from
    times = []
    for count in (1, 1, blocks, blocks, blocks):  # the first two compile
        begun = time.perf_counter()
        state, losses = built.advance(state, step, count)
        np.asarray(losses.total)
        times.append((time.perf_counter() - begun) / (250 * count) * 1e6)
        step += count * agent.sync_every
    return min(times[2:])


def main() -> int:
    """Prints what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("what", nargs="+", help="alone, or games")
    args = parser.parse_args()
    if jax.default_backend() != "gpu":
        print("jax finds no GPU here; install jax for yours (pip install 'qduet[cuda]')")
        return 2
    for what in args.what:
        if what == "alone":
            alone()
            continue
        for which in ((), ("hidden",), ("advantages",), ("hidden", "advantages")):
            now = iteration(what, set(which))
            print(f"{what:10} {' '.join(which) or 'as it is':20} {now:7.1f} µs", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
