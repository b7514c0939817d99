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
from qduet.core.files import read_arrays, to_json, write_arrays, write_atomically
from qduet.core.provenance import versions
from qduet.tabular.experiments import SHARED, TabularExperiment
from qduet.tabular.mdp import MDP, uniform_policy
from qduet.tabular.rules import Rule, Transition
from qduet.tabular.sweeps import Curves, check_rules, sweep
from qduet.tabular.trials import default_workers

ABOUT = "experiment.json"
"""The file with an experiment's title, beside its curves; no curves file is refused for it."""


class Results(NamedTuple):
    """A finished experiment."""

    experiment: TabularExperiment
    """What was run."""
    rules: tuple[str, ...]
    """Ids of all rules: the experiment's, then the extra ones."""
    curves: dict[int, dict[str, Curves]]
    """Curves by |A| and rule id."""


def fingerprint(rule: Rule, num_states: int, num_actions: int) -> str:
    """A digest of what a rule computes: two rules of the same name have different ones."""
    with jax.enable_x64(False):  # the same digest whatever the caller has set
        v, adv = jnp.zeros(num_states), jnp.zeros((num_states, num_actions))
        t = Transition(jnp.int32(0), jnp.int32(0), jnp.float32(0), jnp.float32(0), jnp.int32(0))
        tables = rule.init(v, adv)
        update = (rule.update, (tables, t, jnp.float32(0)))
        read_out = [] if rule.q is None else [(rule.q, (tables,))]
        name = f"{rule.goal} {rule.trailing_axes}"
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
    sizes = [_Size.of(experiment, Path(directory), n, extra) for n in experiment.actions]
    _run_missing(sizes, workers or default_workers(), on_progress)
    _write_title(experiment, Path(directory) / experiment.figure / ABOUT)
    names = (*(spec.id for spec in experiment.rules), *extra)
    curves = {size.mdp.num_actions: {name: size.curves[name] for name in names} for size in sizes}
    return Results(experiment, names, curves)


def _write_title(experiment: TabularExperiment, path: Path) -> None:
    """Writes the experiment's title, unless it is there already."""
    content = to_json({"title": experiment.title}).encode()
    with contextlib.suppress(OSError, InputError):  # a directory that is read-only will do
        if not path.exists() or path.read_bytes() != content:
            write_atomically(path, content)


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
    """One |A| of an experiment."""

    experiment: TabularExperiment
    mdp: MDP
    folder: Path
    rules: dict[str, Rule]
    settings: dict[str, dict[str, Any]]
    """By rule id: what its curves must have been made with."""
    curves: dict[str, Curves]
    """By rule id: what is finished."""

    @classmethod
    def of(
        cls,
        experiment: TabularExperiment,
        directory: Path,
        num_actions: int,
        extra: Mapping[str, Rule],
    ) -> "_Size":
        """One |A| with its finished curves, read from `directory`."""
        mdp = experiment.mdp(num_actions)
        behaviour = uniform_policy(mdp)
        rules = {spec.id: spec.make(behaviour, experiment.protocol) for spec in experiment.rules}
        rules.update(extra)
        check_rules(rules, mdp)
        folder = directory / experiment.figure / f"actions-{num_actions}"
        settings = {name: _curves_settings(experiment, mdp, name, rules[name]) for name in rules}
        read = {name: read_arrays(folder / f"{name}.npz", settings[name]) for name in rules}
        curves = {name: Curves(**arrays) for name, arrays in read.items() if arrays is not None}
        return cls(experiment, mdp, folder, rules, settings, curves)

    def run_missing(self, workers: int, on_progress: Callable[[int], None]) -> None:
        """Runs the rules that have no curves yet, on shared trajectories, and writes theirs."""
        missing = {name: rule for name, rule in self.rules.items() if name not in self.curves}
        fresh = sweep(
            self.mdp,
            missing,
            self.experiment.step_sizes,
            seeds=range(self.experiment.seeds),
            steps=self.experiment.steps,
            record_every=self.experiment.record_every,
            targets=self.experiment.targets(self.mdp),
            init_std=self.experiment.init_std,
            joint_initial_error=self.experiment.protocol == "reference",
            on_progress=on_progress,
            workers=workers,
        )
        for name, curves in fresh.items():
            write_arrays(self.folder / f"{name}.npz", curves._asdict(), self.settings[name])
        self.curves.update(fresh)


def _run_missing(
    sizes: list[_Size], threads: int, on_progress: Callable[[int, int], None] | None
) -> None:
    """Runs all that is missing, each |A| in a thread: one compiles while another computes."""
    stopped = threading.Event()

    def report(num_actions: int, updates: int) -> None:
        if stopped.is_set():  # Ctrl-C interrupts the main thread only; this ends the others
            raise CancelledError
        if on_progress is not None:
            on_progress(num_actions, updates)

    for size in sizes:
        experiment = size.experiment
        runs = len(size.curves) * experiment.seeds * len(experiment.step_sizes)
        report(size.mdp.num_actions, runs * experiment.steps)
    pending = [size for size in sizes if len(size.curves) < len(size.rules)]
    if not pending:
        return
    pool = ThreadPoolExecutor(threads)
    try:
        futures = [
            pool.submit(
                size.run_missing,
                -(-threads // len(pending)),
                functools.partial(report, size.mdp.num_actions),
            )
            for size in reversed(pending)  # the largest first
        ]
        for future in futures:
            future.result()
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)


def _curves_settings(
    experiment: TabularExperiment, mdp: MDP, name: str, rule: Rule
) -> dict[str, Any]:
    """What is written beside a rule's curves, and must be the same when they are read."""
    settings = experiment.settings()
    return {
        **{field: settings[field] for field in SHARED},
        "num_actions": mdp.num_actions,
        "rule": name,
        "fingerprint": fingerprint(rule, mdp.num_states, mdp.num_actions),
        "versions": versions(),
    }
