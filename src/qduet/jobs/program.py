"""All runs of a job as a few compiled programs, on one device or several.

Runs that differ only in numbers and seeds form a *group* and share compiled programs; `groups` says
which do. Each program is a function of a group's whole state ``[runs, ...]``, which it changes in
place: there is one copy of the replay memories on a GPU. (On CPUs, where the runs are trained one
after the other, a call needs a second copy.) The runs axis is cut over as many devices as divide it
evenly, and no device waits for another.

The number of blocks of one call is an argument of the compiled program, so a result does not depend
on how the work was cut into calls.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from qduet.agents import shared_settings
from qduet.core.errors import InputError
from qduet.core.tensors import is_key
from qduet.core.xla import known_options
from qduet.deep import environments, evaluation, training
from qduet.deep.algorithms import Losses
from qduet.deep.training import EVALUATION, Hyper, Run, Setting
from qduet.jobs.job import Job, Member

GPU_OPTIONS = {"xla_gpu_command_buffer_scheduling_mode": "CONCURRENT"}
"""Small kernels that do not need each other run side by side."""

CPU_OPTIONS = {"xla_cpu_experimental_ynn_fusion_type": ""}
"""Products by Eigen: with YNNPACK's, one run takes 1.3 times as long on two cores."""

MAX_BLOCKS = 64
"""Blocks that one call can take."""

RUNS = PartitionSpec("runs")
"""Cut along the first axis."""


Runs = tuple[Run, ...]
"""The state of a job: one `Run` with arrays ``[runs, ...]`` for each group."""


def groups(members: Sequence[Member]) -> tuple[tuple[int, ...], ...]:
    """The numbers of the runs that share programs, group by group, in the order of `members`."""
    found: dict[Any, list[int]] = {}
    for i, member in enumerate(members):
        found.setdefault(shared_settings(member.agent), []).append(i)
    return tuple(map(tuple, found.values()))


class Program:
    """The compiled programs of a job; `step` counts from 0 and is the same for all runs."""

    def __init__(self, job: Job, devices: Sequence[jax.Device] | None = None) -> None:
        """Nothing is compiled yet: each program is when it is first called."""
        if jax.config.jax_enable_x64:  # type: ignore[attr-defined]
            raise InputError("training is in float32: leave jax_enable_x64 (JAX_ENABLE_X64) unset")
        self.members = groups(job.members)
        """The numbers of each group's runs among the job's members."""
        self._groups = [
            _Group(job, [job.members[i] for i in group], devices or jax.local_devices())
            for group in self.members
        ]
        self._order = np.argsort(np.concatenate(self.members))
        self.devices = max(group.devices for group in self._groups)
        """Devices in use."""
        self.shapes: Runs = tuple(group.shapes for group in self._groups)
        """Shapes and types of the state."""
        self.copies = 2 if self._groups[0].setting.on_cpu else 1
        """Copies of the state in memory while a program runs."""

    def start(self) -> Runs:
        """The runs at step 0."""
        return tuple(group.start() for group in self._groups)

    def warm_up(self, runs: Runs) -> Runs:
        """The steps before the first update."""
        return self._each(_Group.warm_up, runs)

    def advance(self, runs: Runs, step: int, count: int) -> tuple[Runs, Losses]:
        """The runs after `count` blocks, and losses ``[MAX_BLOCKS, runs]``.

        The losses are means over each block, NumPy; beyond `count` they are 0.
        """
        states, losses = zip(*self._each(_Group.advance, runs, step, count), strict=True)
        by_name: Any = map(self._merged, zip(*losses, strict=True))
        return states, Losses(*by_name)

    def weights_to_evaluate(self, runs: Runs, step: int) -> tuple[Any, ...]:
        """Each group's weights to evaluate at `step`; at step 0, the first ones."""
        return self._each(_Group.weights_to_evaluate, runs, step)

    def evaluate(
        self, params: tuple[Any, ...], step: int, check: Callable[[], None]
    ) -> dict[str, np.ndarray]:
        """The columns of an evaluation, each ``[runs]``; `check` may raise."""
        columns = self._each(_Group.evaluate, params, step, check)
        return {name: self._merged([column[name] for column in columns]) for name in columns[0]}

    def to_devices(self, state: Runs) -> Runs:
        """The state of a checkpoint (NumPy arrays, keys as words) on the devices."""
        return self._each(_Group.to_devices, state)

    def _each(self, method: Callable[..., Any], parts: tuple[Any, ...], *args: Any) -> tuple:
        return tuple(method(*pair, *args) for pair in zip(self._groups, parts, strict=True))

    def _merged(self, arrays: Iterable[Any]) -> np.ndarray:
        """What the groups have for their runs, ``[..., runs]``, in the order of the members."""
        return np.concatenate([np.asarray(x) for x in arrays], axis=-1)[..., self._order]


class _Group:
    """The programs of runs that differ only in numbers and seeds."""

    def __init__(self, job: Job, members: Sequence[Member], devices: Sequence[jax.Device]) -> None:
        used = dividing(devices, len(members))
        env, agent = environments.make(job.env_id), members[0].agent
        self.setting = training.make_setting(env, agent, on_cpu=used[0].platform == "cpu")
        self.devices, self.episodes = len(used), job.episodes
        self.mesh = Mesh(np.array(used), ("runs",))
        several = len(used) > 1
        self.split: Sharding = (
            NamedSharding(self.mesh, RUNS) if several else SingleDeviceSharding(used[0])
        )
        stack = lambda trees: jax.device_put(
            jax.tree.map(lambda *x: np.stack(x), *trees), self.split
        )
        self.hypers: Hyper = stack([training.hyper(member.agent) for member in members])
        self.schemes = stack([member.agent.init_scheme() for member in members])
        seeds = jnp.asarray(np.array([member.seed for member in members], np.uint32))
        self.keys = jax.device_put(jax.vmap(jax.random.key)(seeds), self.split)

        first = jax.vmap(functools.partial(training.init, self.setting))
        self._start = jax.jit(lambda *args: _strong(first(*args)), out_shardings=self.split)
        self.shapes: Run = jax.eval_shape(self._start, self.schemes, self.keys)
        compiled = functools.partial(_compiled, self.mesh)
        over_runs = lambda function: functools.partial(training.over_runs, function, self.setting)
        self._warm_up = compiled("warm_up", over_runs(training.warm_up))
        self._advance = compiled(
            "advance",
            functools.partial(_advance, self.setting),
            num_scalars=2,
            out_specs=(RUNS, PartitionSpec(None, "runs")),
        )
        self._weights_to_evaluate = compiled(
            "weights_to_evaluate",
            over_runs(training.weights_to_evaluate),
            num_scalars=1,
            donate=False,
        )

    def start(self) -> Run:
        return self._start(self.schemes, self.keys)

    def warm_up(self, runs: Run) -> Run:
        return self._warm_up(self.hypers, runs)

    def advance(self, runs: Run, step: int, count: int) -> tuple[Run, Losses]:
        return self._advance(self.hypers, runs, jnp.int32(step), jnp.int32(count))

    def weights_to_evaluate(self, runs: Run, step: int) -> Any:
        if step == 0:
            return runs.params
        return self._weights_to_evaluate(self.hypers, runs, jnp.int32(step))

    def evaluate(self, params: Any, step: int, check: Callable[[], None]) -> dict[str, np.ndarray]:
        now = jax.vmap(lambda key: jax.random.fold_in(jax.random.fold_in(key, EVALUATION), step))
        setting = self.setting
        played = evaluation.evaluate(
            setting.env,
            setting.algorithm,
            setting.compute,
            params,
            self.hypers.numbers,
            now(self.keys),
            episodes=self.episodes,
            discount=setting.agent.discount,
            mesh=self.mesh if self.mesh.size > 1 else None,
            check=check,
        )
        return evaluation.summarise(played)

    def to_devices(self, state: Run) -> Run:
        state = jax.tree.map(lambda x: jax.device_put(x, self.split), state)
        return state._replace(key=jax.random.wrap_key_data(state.key))


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
    """XLA's options for training on such a device, if this version of XLA knows them."""
    with jax.default_device(device):
        return known_options({"gpu": GPU_OPTIONS, "cpu": CPU_OPTIONS}.get(device.platform, {}))


def _strong(tree: Any) -> Any:
    """The same values without weak types, as a checkpoint gives them.

    A new state and one from a checkpoint then have the same types, and share a compiled program.
    """
    strong = lambda x: x if is_key(x) else jax.lax.convert_element_type(x, x.dtype)
    return jax.tree.map(strong, tree)
