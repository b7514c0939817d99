"""The engine of a Ray cluster: each job is a task of Ray's.

Ray chooses the node, starts a task again whose worker or node was lost, and hands out GPUs. A task
gets a process of its own (`max_calls=1`), which gives back the GPU's memory when it ends. Only its
`Outcome` passes through Ray; results go to the directory, which all nodes must see.
"""

import collections
import logging
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from qduet.cluster.engine import PAUSE, Options, Outcome, give_up
from qduet.cluster.estimates import Machine
from qduet.core.errors import InputError

KIND = "accelerator_type:"
"""How Ray names the kinds of GPUs among its resources."""

UNFIT = 60.0
"""Seconds that a node which does not see the directory keeps a job, so that others get the next."""

LEAVE = 120.0
"""Seconds that jobs have to save what they did, when the sweep is stopped."""


def connect(options: Options) -> Any:
    """Ray, connected to a cluster: the one at `address`, or one that runs here, or a new one.

    The address ``local`` starts a new one even if another runs here.
    """
    try:
        import ray
    except ImportError:
        raise InputError("--engine ray needs Ray: pip install 'qduet[cluster]'") from None
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        if not ray.is_initialized():
            ray.init(
                address=options.address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                include_dashboard=False if options.address in (None, "local") else None,
            )
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"no Ray cluster at {options.address or 'this machine'}: {reason}"
        ) from None
    return ray


def machine_at_hand(device: str, options: Options) -> Machine:
    """The workers of the cluster: as many as tasks fit onto its nodes at once."""
    nodes = [node["Resources"] for node in connect(options).nodes() if node["Alive"]]
    names = {name for node in nodes for name in node}
    gpus = device != "cpu" and any(node.get("GPU") for node in nodes)
    if device == "gpu" and not gpus:
        raise InputError("--device gpu: the Ray cluster has no GPU")
    wanted = {"CPU": options.cpus, **({"GPU": options.gpus} if gpus else {})}
    fits = lambda node: min(int(node.get(what, 0) / n + 1e-6) for what, n in wanted.items())
    workers = sum(map(fits, nodes))
    if not workers:
        asked = " and ".join(f"{n:g} {what}" for what, n in wanted.items())
        raise InputError(f"no node of the Ray cluster has the {asked} that a job needs")
    kinds = sorted(name.removeprefix(KIND) for name in names if name.startswith(KIND))
    return Machine(f"GPU {' '.join(kinds)}".strip() if gpus else "cpu", workers, None)


def check(directory: Path, versions: dict[str, str]) -> None:
    """`InputError` if a node does not see the directory, or has other software."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    look = ray.remote(num_cpus=0, max_retries=1)(_look)
    nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
    refs = [
        look.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(
            str(directory), versions
        )
        for node in nodes
    ]
    ready, _ = ray.wait(refs, num_returns=len(refs), timeout=60)
    for ref in ready:
        try:
            problem = ray.get(ref)
        except ray.exceptions.RayTaskError as error:
            reason = str(error.cause or error).splitlines()[-1][:200]
            problem = f"a node of the Ray cluster cannot run qduet: {reason}"
        except ray.exceptions.RayError:  # the node was lost meanwhile
            continue
        if problem:
            raise InputError(problem)


def _look(directory: str, versions: dict[str, str]) -> str:
    """On a node: what is wrong with it, or nothing."""
    import socket

    from qduet.cluster import cutting

    host = socket.gethostname()
    if not (Path(directory) / cutting.FILE).exists():
        return (
            f"node {host} does not see {directory}: --out must be on a file system that all share"
        )
    return cutting.version_problem(versions)


def _task(directory: str, name: str, variables: dict[str, str], arguments: dict[str, Any]) -> tuple:
    """One job, in a worker of Ray's; jax is imported after its variables are set."""
    os.environ.update(variables)
    from qduet.cluster.work import work

    outcome = work(Path(directory), name, **arguments)
    if outcome.state == "unfit":
        time.sleep(UNFIT)
    return tuple(outcome)


def run(
    directory: Path,
    names: Sequence[str],
    machine: Machine,
    options: Options,
    asked_to_stop: Callable[[], bool],
) -> dict[str, Outcome]:
    """Does the jobs `names`; returns the outcome of each that had a turn."""
    ray = connect(options)
    remote = ray.remote(
        num_cpus=options.cpus,
        num_gpus=options.gpus if machine.gpu else 0,
        max_calls=1,
        max_retries=options.retries,
    )(_task)

    def submit(name: str) -> Any:
        variables = options.environment(machine)
        if machine.gpu and options.gpus < 1:
            variables["XLA_PYTHON_CLIENT_MEM_FRACTION"] = f"{0.7 * options.gpus:.2f}"
        arguments = str(directory), name, variables, options.of_work(machine)
        return remote.options(name=name).remote(*arguments)

    pending = {submit(name): name for name in names}
    later: list[tuple[float, str]] = []
    losses: collections.Counter[str] = collections.Counter()
    outcomes: dict[str, Outcome] = {}
    try:
        while (pending or later) and not asked_to_stop():
            now = time.monotonic()
            for due, name in [x for x in later if x[0] <= now]:
                later.remove((due, name))
                pending[submit(name)] = name
            if not pending:
                time.sleep(0.5)
                continue
            for ref in ray.wait([*pending], timeout=0.5)[0]:
                name = pending.pop(ref)
                outcome = _outcome(ray, ref)
                lost = outcome.state in ("stopped", "unfit")
                losses[name] += lost
                if outcome.state == "busy" or (lost and losses[name] <= options.retries):
                    later.append((time.monotonic() + PAUSE, name))
                elif lost or outcome.state == "killed":
                    outcomes[name] = give_up(directory, name, outcome.reason or "stopped by others")
                else:
                    outcomes[name] = outcome
    finally:
        if pending:
            _cancel(ray, pending)
    return outcomes


def _outcome(ray: Any, ref: Any) -> Outcome:
    try:
        return Outcome(*ray.get(ref))
    except ray.exceptions.TaskCancelledError:
        return Outcome("stopped")
    except ray.exceptions.RayError as error:
        reason = " ".join(str(error).split())[:200]
        return Outcome("killed", f"Ray gave it up: {type(error).__name__}: {reason}")


def _cancel(ray: Any, pending: dict[Any, str]) -> None:
    """Asks all tasks to stop, and gives those that run the time to save."""
    for ref in pending:
        ray.cancel(ref, force=False, recursive=False)
    ray.wait([*pending], num_returns=len(pending), timeout=LEAVE)
