"""One job of a sweep, in this process: run, watched by a status file, and its outcome.

    outcome = work(Path("out/sweep"), "breakout-3f09c2a1b7")
    outcome.state                                       # "finished"

A job that cannot be run (settings that do not fit, no memory, a full disk) has *failed*, with the
reason in one line; started again, it goes on from its last checkpoint. The engines call `work` in
processes of their own: ``python -m qduet.cluster.work DIR NAME OPTIONS``, or a task of Ray's.
"""

import contextlib
import dataclasses
import importlib
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from qduet.cluster import cutting
from qduet.cluster.cutting import Task
from qduet.cluster.engine import CODES, Outcome
from qduet.cluster.status import Status
from qduet.core.errors import InputError
from qduet.core.machine import threads
from qduet.jobs.job import Job
from qduet.jobs.resuming import BusyError, claimed
from qduet.jobs.trainer import Progress, train
from qduet.paper.figures import FIGURES
from qduet.tabular.experiments import RuleSpec, TabularExperiment
from qduet.tabular.mdp import FOUR_STATE
from qduet.tabular.running import run as run_experiment
from qduet.tabular.toy_text import from_gymnasium


class UnfitError(InputError):
    """The machine cannot do any job of the sweep."""


def work(directory: Path, name: str, **options: Any) -> Outcome:
    """Does one job of the sweep in `directory`, or what is left of it.

    `options` are ``device``, ``checkpoint_minutes`` and ``commit``, as `train` takes them.
    """
    with Status(directory, name) as status:
        outcome = _attempt(directory, name, status, options)
    if outcome.state not in ("busy", "unfit"):
        status.write(outcome.state, reason=outcome.reason)
    return outcome


def _attempt(directory: Path, name: str, status: Status, options: dict[str, Any]) -> Outcome:
    try:
        sweep = cutting.load(directory)
        if sweep is None:
            raise UnfitError(
                f"{socket.gethostname()} does not see {directory / cutting.FILE}: --out must be on "
                "a file system that all nodes share"
            )
        if problem := cutting.version_problem(sweep.versions):
            raise UnfitError(problem)
        for module in sweep.modules:
            importlib.import_module(module)
        task = {task.name: task for task in sweep.tasks}.get(name)
        if task is None:
            raise InputError(f"{directory} has no job {name}")
        if task.trains:
            return _train(task, directory / name, status, options)
        return _tabulate(task, directory / name, status)
    except BusyError:
        return Outcome("busy")
    except UnfitError as error:
        return Outcome("unfit", str(error))
    except InputError as error:
        return Outcome("failed", str(error))
    except KeyboardInterrupt:
        return Outcome("stopped")
    except Exception as error:
        traceback.print_exc()
        return Outcome("failed", " ".join(f"{type(error).__name__}: {error}".split())[:300])


def _train(task: Task, directory: Path, status: Status, options: dict[str, Any]) -> Outcome:
    def on_progress(progress: Progress) -> None:
        rate = progress.frames_per_second
        status.tell(doing=progress.doing, step=progress.step, frames_per_second=rate)

    result = train(job_of(task), directory, raise_signals=False, on_progress=on_progress, **options)
    status.tell(step=result.step, elapsed=result.elapsed)
    return Outcome("finished" if result.finished else "stopped")


def job_of(task: Task) -> Job:
    """The `Job` of a task; `InputError` if it cannot be."""
    known = {key: value for key, value in task.settings.items() if key not in ("env", "agents")}
    return Job(task.settings["env"], task.agents(), **known)  # type: ignore[arg-type]


def _tabulate(task: Task, directory: Path, status: Status) -> Outcome:
    experiment = experiment_of(task.settings)
    done = 0

    def on_progress(num_actions: int, updates: int) -> None:
        nonlocal done
        done += updates
        status.tell(doing=f"|A| = {num_actions}", share=done / experiment.updates)

    with claimed(directory):
        run_experiment(experiment, directory, on_progress=on_progress, workers=threads())
    return Outcome("finished")


def experiment_of(settings: dict[str, Any]) -> TabularExperiment:
    """The `TabularExperiment` of a plan's settings; `InputError` if it cannot be."""
    given: dict[str, Any] = {
        key: tuple(x) if isinstance(x, list) else x for key, x in settings.items()
    }
    name, figure = given.pop("name", None), given.pop("figure", None)
    if "rules" in given:
        spec = lambda rule: RuleSpec(**rule) if isinstance(rule, dict) else RuleSpec(rule)
        given["rules"] = tuple(map(spec, given["rules"]))
    if given.get("problem", "on-policy") not in FOUR_STATE:
        given["problem"] = from_gymnasium(given["problem"], 0.99)
    if figure is None:
        return TabularExperiment(name, given.pop("title", name), **given)
    return dataclasses.replace(FIGURES[figure], **given, figure=name or figure)


def check(tasks: Iterable[Task]) -> None:
    """`InputError` if one of the jobs cannot be: nothing is written for it."""
    for task in tasks:
        _ = job_of(task) if task.trains else experiment_of(task.settings)


# --- A process for one job -----------------------------------------------------------------------


def end_with(parent: int) -> None:
    """Asks for a SIGTERM when the process `parent` ends, where that can be asked."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGTERM)
    if os.getppid() != parent:  # it has ended before we could ask
        os.kill(os.getpid(), signal.SIGTERM)


def main(directory: str, name: str, options: str) -> int:
    """One job; `options` are those of `work` as JSON, with the process that this one ends with."""
    given = json.loads(options)
    end_with(given.pop("parent"))
    outcome = work(Path(directory), name, **given)
    print(outcome.state, outcome.reason, file=sys.stderr, flush=True)
    return CODES[outcome.state]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
