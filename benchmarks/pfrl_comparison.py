"""Frames per second of one RDQ run of Breakout: qduet and PFRL, taking turns on the same cores.

Both do the work of the paper's table of settings, from the same `qduet.agents.Agent`: four
ε-greedy steps of sticky Breakout, one Adam update on 32 transitions out of the last 100,000, a
target copy every 1,000 steps, and the loss

    ½ E[δ²] + (β/2) E[V² + Σ_a A²],   Q = V + A                                     (eq. 12, 16)

qduet's run is its compiled training block; PFRL's is its DQN agent with an RDQ network and loss,
and the game is the `minatar` package's. Before anything is timed, one batch is given to both with
the same weights: loss and gradients must agree. Needs torch and PFRL (benchmarks/README.md).
"""

import argparse
import functools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import minatar
import numpy as np
import torch
from pfrl_rdq import SETTING, as_torch, load, make_rdq, stack

from qduet.core import provenance
from qduet.core.machine import cores
from qduet.deep import board, training
from qduet.deep.algorithms import Transition
from qduet.jobs import program
from qduet.minatar import make

ACTIONS = make(SETTING.env.name).actions
"""The minimal action set as indices of the full one, for both sides."""


class Contender(NamedTuple):
    """Something that trains."""

    name: str
    advance: Callable[[int], None]
    """Trains for so many steps, a multiple of 1,000."""


# qduet


def start_ours() -> tuple[training.Hyper, training.Run]:
    """One run (a batch of one) that has not learned yet."""
    one = lambda tree: jax.tree.map(lambda x: x[None], tree)
    init = jax.jit(jax.vmap(functools.partial(training.init, SETTING)))
    hypers = one(training.hyper(SETTING.agent))
    runs = init(one(SETTING.agent.init_scheme()), jax.random.key(0)[None])
    return hypers, jax.jit(jax.vmap(functools.partial(training.warm_up, SETTING)))(hypers, runs)


def compile_block(hypers: training.Hyper, runs: training.Run) -> Any:
    """The program of one block (1,000 steps), compiled."""
    block = functools.partial(training.over_runs, training.block, SETTING)
    options = program.compiler_options(jax.local_devices()[0])
    jitted = jax.jit(block, donate_argnums=1, compiler_options=options)
    return jitted.lower(hypers, runs, jnp.int32(0)).compile()


def ours() -> Contender:
    """A qduet run that has filled 1,000 places of its memory."""
    hypers, runs = start_ours()
    block, state = compile_block(hypers, runs), [runs, SETTING.agent.learn_from]

    def advance(steps: int) -> None:
        for _ in range(0, steps, SETTING.agent.sync_every):
            state[0], _ = block(hypers, state[0], jnp.int32(state[1]))
            state[1] += SETTING.agent.sync_every
        jax.block_until_ready(state[0])

    return Contender("qduet", advance)


# PFRL


def theirs(tuned: bool) -> list[Contender]:
    """PFRL's run, at each number of threads that the cores allow."""
    agent = make_rdq(tuned)
    game = minatar.Environment("breakout", sticky_action_prob=0.1)
    game.reset()
    now = [game.state()]

    def advance(threads: int, steps: int) -> None:
        torch.set_num_threads(threads)
        for _ in range(steps):
            action = agent.act(now[0])
            reward, ended = game.act(ACTIONS[action])
            after = game.state()
            agent.observe(after, reward, ended, False)
            if ended:
                game.reset()
                after = game.state()
            now[0] = after

    advance(1, SETTING.agent.learn_from)
    return [
        Contender(f"{'tuned ' * tuned}PFRL, threads: {n}", functools.partial(advance, n))
        for n in range(1, cores() + 1)
    ]


# The same work


def check_same_work() -> None:
    """Loss and gradients of both sides on one batch of random transitions, with equal weights."""
    agent, random = SETTING.agent, np.random.default_rng(0)
    shape = (agent.batch_size, *SETTING.env.observation.shape)
    now, after = random.random((2, *shape)) < 0.2
    actions = random.integers(SETTING.env.num_actions, size=agent.batch_size)
    rewards = random.integers(2, size=agent.batch_size).astype(np.float32)
    ended = random.random(agent.batch_size) < 0.2
    params, target = (
        board.init(key, shape[-1], SETTING.env.num_actions, agent.init_scheme())
        for key in jax.random.split(jax.random.key(0))
    )
    discounts = np.where(ended, 0.0, agent.discount).astype(np.float32)
    taken = tuple(map(jnp.asarray, (actions, rewards, discounts)))

    def loss(params: board.Params) -> jax.Array:
        apply = jax.vmap(board.apply, (None, 0))
        values = apply(params, jnp.asarray(now)), apply(target, jnp.asarray(after))
        transitions = Transition(values[0], None, None, values[1], *taken)
        return jax.vmap(SETTING.algorithm.loss, (None, 0))(agent.numbers, transitions).total.mean()

    other = make_rdq(tuned=True)
    load(other.model, params)
    load(other.target_model, target)
    total = other._compute_loss(
        {
            "state": stack(list(now), None, None),
            "next_state": stack(list(after), None, None),
            "action": torch.from_numpy(actions),
            "reward": torch.from_numpy(rewards),
            "is_state_terminal": torch.from_numpy(ended).float(),
            "discount": torch.full((agent.batch_size,), agent.discount),
        }
    )
    total.backward()
    expected, gradient = jax.value_and_grad(loss)(params)
    np.testing.assert_allclose(total.item(), expected, rtol=1e-5)
    for name, layer in as_torch(gradient).items():
        theirs = other.model.get_parameter(name).grad
        np.testing.assert_allclose(theirs, layer, rtol=1e-3, atol=1e-6, err_msg=name)


# Timing


class Speeds(NamedTuple):
    """Frames per second of each contender in each round."""

    wall: dict[str, list[float]]
    cpu: dict[str, list[float]]
    """By CPU time of all threads, which other work on the machine disturbs less."""


def measure(rounds: int, steps: int) -> Speeds:
    """The contenders take turns."""
    contenders = [ours(), *theirs(tuned=False), *theirs(tuned=True)]
    for contender in contenders:
        contender.advance(1_000)
    speeds = Speeds(*({contender.name: [] for contender in contenders} for _ in range(2)))
    for _ in range(rounds):
        for contender in contenders:
            began, began_cpu = time.perf_counter(), time.process_time()
            contender.advance(steps)
            speeds.wall[contender.name].append(steps / (time.perf_counter() - began))
            speeds.cpu[contender.name].append(steps / (time.process_time() - began_cpu))
    return speeds


def frames_per_second(steps: int) -> float:
    """Of one run of tuned PFRL, at the number of threads that is fastest."""
    seconds = []
    for contender in theirs(tuned=True):
        contender.advance(1_000)
        began = time.perf_counter()
        contender.advance(steps)
        seconds.append(time.perf_counter() - began)
    return steps / min(seconds)


def ratios(speeds: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Our speed over that of each kind of PFRL at its better number of threads."""
    result = {}
    for kind in ("PFRL", "tuned PFRL"):
        rival = max((n for n in speeds if n.startswith(kind)), key=lambda n: np.median(speeds[n]))
        ratio = [a / b for a, b in zip(speeds["qduet"], speeds[rival], strict=True)]
        result[rival] = {
            "median": float(np.median(ratio)),
            "least": min(ratio),
            "most": max(ratio),
        }
    return result


def compile_seconds() -> tuple[float, float]:
    """Seconds to compile a block in a new process, without and with JAX's cache on disk."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--compile-only"]
        settings = {
            "JAX_COMPILATION_CACHE_DIR": folder,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }
        readings = [
            float(subprocess.check_output(command, env={**os.environ, **settings}, text=True))
            for _ in range(2)
        ]
    return readings[0], readings[1]


def processor() -> str:
    """The name of the CPU, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def report(rounds: int, steps: int) -> dict[str, Any]:
    """Everything that is written down."""
    check_same_work()
    first, cached = compile_seconds()
    speeds = measure(rounds, steps)
    return {
        **provenance.provenance(),
        "torch": torch.__version__,
        "pfrl": version("pfrl"),
        "minatar": version("minatar"),
        "processor": processor(),
        "cores": cores(),
        "steps_per_reading": steps,
        "compile_seconds": first,
        "compile_seconds_cached": cached,
        "load_average": os.getloadavg(),
        "frames_per_second": speeds.wall,
        "frames_per_cpu_second": speeds.cpu,
        "ratio": ratios(speeds.wall),
        "ratio_by_cpu_time": ratios(speeds.cpu),
    }


def main() -> None:
    """Prints the report as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=3_000, help="per reading, thousands")
    parser.add_argument("--compile-only", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    jax.config.update("jax_platforms", "cpu")
    if args.compile_only:
        hypers, runs = start_ours()
        began = time.perf_counter()
        compile_block(hypers, runs)
        print(time.perf_counter() - began)
        return
    print(json.dumps(report(args.rounds, args.steps), indent=2))


if __name__ == "__main__":
    main()
