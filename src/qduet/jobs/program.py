"""All runs of a job as a few compiled programs, on one device or several.

Each program is a function of the whole state ``[runs, ...]``, which it changes in place: there is
one copy of the replay memories on a GPU. (On CPUs, where the runs are trained one after the other,
a call needs a second copy.) The runs axis is cut over as many devices as divide it evenly, and no
device waits for another.

The number of blocks of one call is an argument of the compiled program, so a result does not depend
on how the work was cut into calls.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from qduet.core.errors import InputError
from qduet.core.tensors import is_key
from qduet.deep import evaluation, training
from qduet.deep.agents import Losses
from qduet.deep.networks import Params
from qduet.deep.training import EVALUATION, Hyper, Run, Setting
from qduet.jobs.job import Job
from qduet.minatar import make

GPU_OPTIONS = {"xla_gpu_command_buffer_scheduling_mode": "CONCURRENT"}
"""Small kernels that do not need each other run side by side."""

CPU_OPTIONS = {"xla_cpu_experimental_ynn_fusion_type": ""}
"""Products by Eigen: with YNNPACK's, one run takes 1.3 times as long on two cores."""

MAX_BLOCKS = 64
"""Blocks that one call can take."""

RUNS = PartitionSpec("runs")
"""Cut along the first axis."""


class Program(NamedTuple):
    """The compiled programs of a job; `step` counts from 0 and is the same for all runs."""

    devices: int
    """Devices in use."""
    shapes: Run
    """Shapes and types of the state."""
    copies: int
    """Copies of the state in memory while a program runs."""
    start: Callable[[], Run]
    """The runs at step 0."""
    warm_up: Callable[[Run], Run]
    """The steps before the first update."""
    advance: Callable[[Run, int, int], tuple[Run, Losses]]
    """runs, step, count -> the runs after `count` blocks, and losses ``[MAX_BLOCKS, runs]``

    The losses are means over each block; beyond `count` they are 0.
    """
    weights_to_evaluate: Callable[[Run, int], Params]
    """runs, step -> the weights to evaluate at `step`; at step 0, the first ones"""
    evaluate: Callable[[Params, int, Callable[[], None]], dict[str, np.ndarray]]
    """params, step, check -> the columns of an evaluation, each ``[runs]``; `check` may raise"""
    to_devices: Callable[[Run], Run]
    """The state of a checkpoint (NumPy arrays, keys as words) -> the same state on the devices"""


def build(job: Job, devices: Sequence[jax.Device] | None = None) -> Program:
    """The programs of a job's runs; each is compiled when it is first called."""
    if jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        raise InputError("training is in float32: leave jax_enable_x64 (JAX_ENABLE_X64) unset")
    members = job.members
    used = dividing(devices or jax.local_devices(), len(members))
    setting = Setting(make(job.env_id), members[0].agent, on_cpu=used[0].platform == "cpu")
    mesh = Mesh(np.array(used), ("runs",))
    split: Sharding = NamedSharding(mesh, RUNS) if len(used) > 1 else SingleDeviceSharding(used[0])
    stack = lambda trees: jax.device_put(jax.tree.map(lambda *x: np.stack(x), *trees), split)
    hypers: Hyper = stack([training.hyper(member.agent) for member in members])
    schemes = stack([member.agent.init_scheme() for member in members])
    seeds = jnp.asarray(np.array([member.seed for member in members], np.uint32))
    keys = jax.device_put(jax.vmap(jax.random.key)(seeds), split)

    first = jax.vmap(functools.partial(training.init, setting))
    start = jax.jit(lambda *args: _strong(first(*args)), out_shardings=split)
    compiled = functools.partial(_compiled, mesh)
    over_runs = lambda function: functools.partial(training.over_runs, function, setting)
    warm_up = compiled("warm_up", over_runs(training.warm_up))
    advance = compiled(
        "advance",
        functools.partial(_advance, setting),
        num_scalars=2,
        out_specs=(RUNS, PartitionSpec(None, "runs")),
    )
    weights_to_evaluate = compiled(
        "weights_to_evaluate", over_runs(training.weights_to_evaluate), num_scalars=1, donate=False
    )

    def evaluate(params: Params, step: int, check: Callable[[], None]) -> dict[str, np.ndarray]:
        now = jax.vmap(lambda key: jax.random.fold_in(jax.random.fold_in(key, EVALUATION), step))
        played = evaluation.evaluate(
            setting.env,
            params,
            hypers.coefficients,
            now(keys),
            episodes=job.episodes,
            discount=setting.agent.discount,
            mesh=mesh if mesh.size > 1 else None,
            check=check,
        )
        return evaluation.summarise(played)

    return Program(
        devices=len(used),
        shapes=jax.eval_shape(start, schemes, keys),
        copies=2 if setting.on_cpu else 1,
        start=lambda: start(schemes, keys),
        warm_up=lambda runs: warm_up(hypers, runs),
        advance=lambda runs, step, count: advance(hypers, runs, jnp.int32(step), jnp.int32(count)),
        weights_to_evaluate=lambda runs, step: (
            weights_to_evaluate(hypers, runs, jnp.int32(step)) if step else runs.params
        ),
        evaluate=evaluate,
        to_devices=functools.partial(_to_devices, split),
    )


def dividing(devices: Sequence[jax.Device], num_runs: int) -> list[jax.Device]:
    """As many of the devices as cut the runs into equal shares."""
    count = max(n for n in range(1, len(devices) + 1) if num_runs % n == 0)
    return list(devices[:count])


def _advance(
    setting: Setting, hypers: Hyper, runs: Run, step: jax.Array, count: jax.Array
) -> tuple[Run, Losses]:
    """`count` blocks of all runs, at most `MAX_BLOCKS`."""

    def body(i: jax.Array, carry: tuple[Run, Losses]) -> tuple[Run, Losses]:
        runs, record = carry
        now = step + i * setting.agent.sync_every
        runs, losses = training.over_runs(training.block, setting, hypers, runs, now)
        put = lambda total, x: jax.lax.dynamic_update_index_in_dim(total, x, i, axis=0)
        return runs, jax.tree.map(put, record, losses)

    blank = jnp.zeros((MAX_BLOCKS, runs.observation.shape[0]), jnp.float32)
    return jax.lax.fori_loop(0, count, body, (runs, Losses(blank, blank, blank)))


def _compiled(
    mesh: Mesh,
    name: str,
    function: Callable[..., Any],
    *,
    num_scalars: int = 0,
    out_specs: Any = RUNS,
    donate: bool = True,
) -> Callable[..., Any]:
    """`function` of (hypers, runs, scalars…), jitted; each device has its own share of the runs."""
    if mesh.size > 1:
        in_specs = (RUNS, RUNS, *[PartitionSpec()] * num_scalars)
        function = jax.shard_map(
            function, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False
        )
    strong = lambda *args: _strong(function(*args))
    strong.__name__ = name
    return jax.jit(
        strong,
        donate_argnums=1 if donate else (),
        compiler_options=compiler_options(mesh.devices.flat[0]),
    )


@functools.cache
def compiler_options(device: jax.Device) -> dict[str, str]:
    """XLA's options for training on such a device; none if this version of XLA refuses them."""
    options = {"gpu": GPU_OPTIONS, "cpu": CPU_OPTIONS}.get(device.platform, {})
    try:
        with jax.default_device(device):
            jax.jit(lambda: jnp.int32(0), compiler_options=options).lower().compile()
    except jax.errors.JaxRuntimeError:
        return {}
    return options


def _strong(tree: Any) -> Any:
    """The same values without weak types, as a checkpoint gives them.

    A new state and one from a checkpoint then have the same types, and share a compiled program.
    """
    strong = lambda x: x if is_key(x) else jax.lax.convert_element_type(x, x.dtype)
    return jax.tree.map(strong, tree)


def _to_devices(split: Sharding, state: Run) -> Run:
    state = jax.tree.map(lambda x: jax.device_put(x, split), state)
    return state._replace(key=jax.random.wrap_key_data(state.key))
