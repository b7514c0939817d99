"""Running an experiment: `run` reads what is on disk, and gives the rest to `sweep`.

    >>> results = run(FIGURES["figure5"].small(), Path("out"))
    >>> results.curves[18]["hard_rdq"].percent.shape  # [seeds, step sizes, points]
    (4, 7, 5)

Each |A| and rule has a curves file, ``out/figure5/actions-18/hard_rdq.npz``. It is read back only
under the settings, rule and problem that made it.
"""

import contextlib
import functools
import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from qduet.core.digests import digest
from qduet.core.errors import InputError
from qduet.core.files import read_arrays, write_arrays, write_json
from qduet.core.provenance import versions
from qduet.tabular.experiments import SHARED, TabularExperiment
from qduet.tabular.mdp import MDP, uniform_policy
from qduet.tabular.rules import Rule, Transition
from qduet.tabular.sweeps import Curves, check_rules, sweep
from qduet.tabular.trials import default_workers

ABOUT = "experiment.json"
"""The file with an experiment's title, beside its curves; no curves file is refused for it."""

ROUNDING = 2
"""To be raised when rules stay as they are, but their curves come to differ in the last bits."""


class Results(NamedTuple):
    """A finished experiment."""

    experiment: TabularExperiment
    """What was run."""
    rules: tuple[str, ...]
    """Ids of all rules: the experiment's, then the extra ones."""
    curves: dict[int, dict[str, Curves]]
    """Curves by |A| and rule id."""


def fingerprint(rule: Rule, num_states: int, num_actions: int) -> str:
    """A digest of what a rule computes, and how it rounds: other curves, another fingerprint."""
    with jax.enable_x64(False):  # the same digest whatever the caller has set
        of = jax.ShapeDtypeStruct
        v, adv = of((num_states,), jnp.float32), of((num_states, num_actions), jnp.float32)
        index, real = of((), jnp.int32), of((), jnp.float32)
        tables = jax.eval_shape(rule.init, v, adv)
        update = (rule.update, (tables, Transition(index, index, real, real, index), real))
        read_out = [] if rule.q is None else [(rule.q, (tables,))]
        name = f"{rule.goal} {rule.trailing_axes} {ROUNDING}"
        return digest(name, (rule.init, (v, adv)), update, *read_out)


def run(
    experiment: TabularExperiment,
    directory: Path | str,
    *,
    extra_rules: Mapping[str, Rule] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    workers: int | None = None,
) -> Results:
    """Runs what is not yet in `directory`, and returns all of it.

    Args:
      experiment: what to run.
      directory: where curves files are kept; those that other settings made are refused before
        anything is run.
      extra_rules: rules of your own by name, besides the experiment's.
      on_progress: called from any thread with |A| and the number of updates done since its last
        call.
      workers: threads; all cores by default.
    """
    extra = dict(extra_rules or {})
    _check_names(experiment, extra)
    folder = Path(directory) / experiment.figure
    sizes = [_read(experiment, folder, num_actions, extra) for num_actions in experiment.actions]
    _run_missing(experiment, sizes, workers, on_progress)
    with contextlib.suppress(OSError, InputError):  # a directory that is read-only will do
        write_json(folder / ABOUT, {"title": experiment.title})
    names = (*(spec.id for spec in experiment.rules), *extra)
    curves = {size.mdp.num_actions: {name: size.curves[name] for name in names} for size in sizes}
    return Results(experiment, names, curves)


def _check_names(experiment: TabularExperiment, extra: Mapping[str, Rule]) -> None:
    """Raises unless the names of the experiment and of the extra rules can name files."""
    figure = experiment.figure
    if not re.fullmatch(r"\w[\w.+-]*", figure):
        raise InputError(
            "figure names a folder and needs letters, digits, '_', '-', '.', '+' alone; it is "
            f"'{figure}'"
        )
    if re.match(r"figure\d", figure) and isinstance(experiment.problem, MDP):
        raise InputError(f"{figure} is the paper's: give an experiment on an MDP another name")
    for name in extra:
        if name in {spec.id for spec in experiment.rules} or not re.fullmatch(r"[\w.+-]+", name):
            raise InputError(
                f"an extra rule needs a name of its own in letters, digits, '_', '-'; not '{name}'"
            )


class _Size(NamedTuple):
    """One |A| of an experiment; dictionaries are by rule id."""

    mdp: MDP
    folder: Path
    rules: dict[str, Rule]
    settings: dict[str, dict[str, Any]]
    """What the curves must have been made with."""
    curves: dict[str, Curves]
    """What is finished."""


def _read(
    experiment: TabularExperiment, folder: Path, num_actions: int, extra: Mapping[str, Rule]
) -> _Size:
    """One |A| with its finished curves, read from `folder`."""
    mdp = experiment.mdp(num_actions)
    behaviour = uniform_policy(mdp)
    rules = {spec.id: spec.make(behaviour, experiment.protocol) for spec in experiment.rules}
    rules.update(extra)
    check_rules(rules, mdp)
    fields = experiment.settings()
    shared = {field: fields[field] for field in SHARED}
    size = _Size(mdp, folder / f"actions-{num_actions}", rules, {}, {})
    for name, rule in rules.items():
        size.settings[name] = {
            **shared,
            "num_actions": num_actions,
            "rule": name,
            "fingerprint": fingerprint(rule, mdp.num_states, num_actions),
            "versions": versions(),
        }
        arrays = read_arrays(size.folder / f"{name}.npz", size.settings[name])
        if arrays is not None:
            size.curves[name] = Curves(**arrays)
    return size


def _run_missing(
    experiment: TabularExperiment,
    sizes: list[_Size],
    workers: int | None,
    on_progress: Callable[[int, int], None] | None,
) -> None:
    """Runs all that is missing, each |A| in a thread: one compiles while another computes."""
    stopped = threading.Event()

    def report(num_actions: int, updates: int) -> None:
        if stopped.is_set():  # Ctrl-C interrupts the main thread only; this ends the others
            raise CancelledError
        if on_progress is not None:
            on_progress(num_actions, updates)

    def run_size(size: _Size) -> None:
        """Runs the rules that have no curves yet, on shared trajectories, and writes theirs."""
        fresh = sweep(
            size.mdp,
            {name: rule for name, rule in size.rules.items() if name not in size.curves},
            experiment.step_sizes,
            seeds=range(experiment.seeds),
            steps=experiment.steps,
            record_every=experiment.record_every,
            targets=experiment.targets(size.mdp),
            init_std=experiment.init_std,
            joint_initial_error=experiment.protocol == "reference",
            on_progress=functools.partial(report, size.mdp.num_actions),
            workers=-(-(workers or default_workers()) // len(pending)),
        )
        for name, curves in fresh.items():
            write_arrays(size.folder / f"{name}.npz", curves._asdict(), size.settings[name])
        size.curves.update(fresh)

    for size in sizes:
        runs = len(size.curves) * experiment.seeds * len(experiment.step_sizes)
        report(size.mdp.num_actions, runs * experiment.steps)
    pending = [size for size in sizes if len(size.curves) < len(size.rules)]
    # On CPUs one |A| more than there are cores: some of them wait for Python's lock.
    spare = int(jax.default_backend() == "cpu")
    pool = ThreadPoolExecutor(workers or default_workers() + spare)
    try:
        for _ in pool.map(run_size, reversed(pending)):  # the largest first
            pass
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)
