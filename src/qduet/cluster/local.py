"""The engine of this machine: one job after another on each GPU, or on each share of the cores.

A job is a process of its own, so that one that crashes takes nothing with it and gives back all
memory. A process that is killed is started again, and goes on from its last checkpoint.
"""

import collections
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from qduet.cluster.engine import PAUSE, Options, Outcome, give_up
from qduet.cluster.estimates import Machine, this_machine

POLL = 0.2


def machine_at_hand(device: str, options: Options) -> Machine:
    """The machine that this process runs on."""
    return this_machine(device, options.cpus)


def check(directory: Path, versions: dict[str, str]) -> None:
    """Nothing: this machine sees what it wrote."""


def run(
    directory: Path,
    names: Sequence[str],
    machine: Machine,
    options: Options,
    asked_to_stop: Callable[[], bool],
) -> dict[str, Outcome]:
    """Does the jobs `names`; returns the outcome of each that had a turn."""
    waiting = collections.deque((name, 0) for name in names)
    outcomes: dict[str, Outcome] = {}
    halt = threading.Event()

    def worker(number: int) -> None:
        while not halt.is_set():
            try:
                name, kills = waiting.popleft()
            except IndexError:
                return
            outcome = _process(directory, name, machine, number, options, halt)
            lost = outcome.state in ("killed", "stopped") and not halt.is_set()
            if outcome.state == "busy":
                waiting.append((name, kills))
                halt.wait(PAUSE)
            elif lost and kills < options.retries:
                waiting.appendleft((name, kills + 1))
            elif lost:
                reason = f"ended {kills + 1} times by others; {outcome.reason}"
                outcomes[name] = give_up(directory, name, reason)
            else:
                outcomes[name] = outcome

    threads = [
        threading.Thread(target=worker, args=(i,), daemon=True) for i in range(machine.workers)
    ]
    for thread in threads:
        thread.start()
    try:
        while any(thread.is_alive() for thread in threads) and not asked_to_stop():
            time.sleep(POLL)
    finally:
        halt.set()
        for thread in threads:
            thread.join()
    return outcomes


def _process(
    directory: Path,
    name: str,
    machine: Machine,
    number: int,
    options: Options,
    halt: threading.Event,
) -> Outcome:
    """One job in a process of its own; when `halt` is set, it saves and ends."""
    environment = {**os.environ, **options.environment(machine)}
    if machine.gpu:
        visible = [x for x in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if x.strip()]
        environment["CUDA_VISIBLE_DEVICES"] = visible[number] if visible else str(number)
    given = json.dumps({**options.of_work(machine), "parent": os.getpid()})
    words = [sys.executable, "-m", "qduet.cluster.work", str(directory), name, given]
    log = directory / "logs" / f"{name}.log"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env=environment,
                start_new_session=True,  # Ctrl-C is for the driver, which passes it on
            )
    except OSError as error:
        return Outcome("failed", f"cannot start it, or write {log}: {error.strerror}")
    asked = False
    while process.poll() is None:
        if halt.is_set() and not asked:
            asked = True
            process.send_signal(signal.SIGTERM)
        time.sleep(POLL)
    if process.returncode < 0:
        reason = f"at last by {signal.Signals(-process.returncode).name}; see {log}"
        return Outcome("stopped") if asked else Outcome("killed", reason)
    return Outcome.of_process(process.returncode, process.pid, directory, name)
