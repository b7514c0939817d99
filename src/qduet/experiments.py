"""The paper's tabular experiments, declared as data, and the one function that runs them.

    >>> results = run(FIGURES["figure5"].small(), Path("out"))
    >>> results.cells[18]["hard_rdq"].percent.shape  # [seeds, step sizes, points]
    (4, 7, 5)

Each experiment names the figure it makes. A reader's own rule takes part by name:

    >>> run(FIGURES["figure5"].small(), Path("out"), extra_rules={"mine": my_rule()})

``protocol="paper"`` is the paper as written; ``protocol="reference"`` sets every item listed in
docs/differences.md to what the authors' released code does.
"""

import dataclasses
import functools
import hashlib
import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qduet.errors import InputError, unknown_name
from qduet.mdp import MDP, Values, four_state, uniform_policy
from qduet.provenance import versions
from qduet.rules import Rule, Transition, make_rule
from qduet.store import read_cell, write_cell
from qduet.sweep import Curves, default_workers, error_targets, sweep

PROTOCOLS = ("paper", "reference")


@dataclasses.dataclass(frozen=True)
class RuleSpec:
    """A rule by its id, with the options that make it a variant."""

    rule: str
    beta: float | None = None
    """Soft RDQ's regularisation coefficient."""

    @property
    def id(self) -> str:
        """The name under which its results are kept and drawn."""
        return self.rule if self.beta is None else f"{self.rule}-beta-{self.beta:g}"

    def make(self, behaviour: np.ndarray, protocol: str) -> Rule:
        """The rule itself."""
        options: dict[str, Any] = {} if self.beta is None else {"beta": self.beta}
        if self.rule == "soft_rdq":
            options["penalty"] = protocol
        if self.rule == "dueling_q":
            options["descend_mean"] = protocol == "paper"
        return make_rule(self.rule, behaviour, **options)


@dataclasses.dataclass(frozen=True)
class TabularExperiment:
    """A figure of the tabular kind: rules × |A| × step sizes × seeds on the 4-state MDP."""

    figure: str
    title: str
    problem: str
    """A problem of `qduet.mdp.four_state`."""
    rules: tuple[RuleSpec, ...]
    init_std: float = 0.0
    """V_0 and A_0 are drawn from N(0, init_std²)."""
    actions: tuple[int, ...] = (2, 6, 10, 14, 18)
    """The numbers of actions |A|; the last one is shown in the left and centre panels."""
    log_step_sizes: tuple[float, ...] = tuple(i / 10 for i in range(-60, 1))
    """ln α of each step size: 61 values from exp(−6) to exp(0)."""
    seeds: int = 100
    steps: int = 20_000
    record_every: int = 100
    protocol: str = "paper"

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise unknown_name("protocol", self.protocol, PROTOCOLS)

    @property
    def step_sizes(self) -> np.ndarray:
        """``[K]``: the step sizes; the released code rounds them to four decimals."""
        alphas = np.exp(np.array(self.log_step_sizes))
        return alphas.round(4) if self.protocol == "reference" else alphas

    @property
    def points(self) -> np.ndarray:
        """``[points]``: the steps at which the error is recorded."""
        return np.arange(0, self.steps + 1, self.record_every)

    @property
    def updates(self) -> int:
        """Table updates in the whole experiment."""
        runs = len(self.actions) * len(self.rules) * len(self.log_step_sizes) * self.seeds
        return runs * self.steps

    def small(self) -> "TabularExperiment":
        """The same experiment in seconds: few seeds, few steps, few step sizes."""
        return dataclasses.replace(
            self,
            actions=(self.actions[0], self.actions[-1]),
            log_step_sizes=tuple(float(x) for x in range(-6, 1)),
            seeds=4,
            steps=400,
        )

    def targets(self, mdp: MDP) -> dict[str, Values]:
        """What the errors are measured against."""
        targets = error_targets(mdp, uniform_policy(mdp))
        if self.protocol == "reference":  # the released code has q_* = 1/(1−γ) for every action
            optimal = targets["optimal"]
            targets["optimal"] = optimal._replace(
                q=np.repeat(optimal.v[:, None], mdp.num_actions, 1)
            )
        return targets


FIGURES: dict[str, TabularExperiment] = {
    experiment.figure: experiment
    for experiment in (
        TabularExperiment(
            figure="figure2",
            title="On-policy prediction",
            problem="on-policy",
            rules=(RuleSpec("expected_sarsa"), RuleSpec("qv_learning")),
        ),
        TabularExperiment(
            figure="figure3",
            title="Off-policy control with QV-learning",
            problem="qvmax",
            rules=(RuleSpec("q_learning"), RuleSpec("qvmax"), RuleSpec("bc_qvmax")),
        ),
        TabularExperiment(
            figure="figure5",
            title="Off-policy control with AV-learning",
            problem="dueling",
            rules=(RuleSpec("q_learning"), RuleSpec("dueling_q"), RuleSpec("hard_rdq")),
            init_std=2.0,
        ),
        TabularExperiment(
            figure="figure5-soft",
            title="Soft RDQ beside the rules of Figure 5 (not in the paper)",
            problem="dueling",
            rules=(
                RuleSpec("q_learning"),
                RuleSpec("hard_rdq"),
                RuleSpec("soft_rdq", beta=1e-5),
                RuleSpec("soft_rdq", beta=1e-4),
                RuleSpec("soft_rdq", beta=1e-3),
            ),
            init_std=2.0,
            actions=(2, 10, 18),
        ),
    )
}
"""Figures 2, 3 and 5 of the paper, and Figure 5 with Soft RDQ."""


class Results(NamedTuple):
    """A finished experiment."""

    experiment: TabularExperiment
    rules: tuple[str, ...]
    """Ids of all rules, those of the experiment first."""
    cells: dict[int, dict[str, Curves]]
    """Curves by |A| and rule id."""


def fingerprint(rule: Rule, num_states: int, num_actions: int) -> str:
    """A digest of what a rule computes, so that another rule of the same name is told apart."""
    v, adv = jnp.zeros(num_states), jnp.zeros((num_states, num_actions))
    t = Transition(jnp.int32(0), jnp.int32(0), jnp.float32(0), jnp.float32(0), jnp.int32(0))
    tables = rule.init(v, adv)
    digest = hashlib.sha256(f"{rule.goal} {rule.trailing_axes}".encode())
    functions: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (rule.init, (v, adv)),
        (rule.update, (tables, t, jnp.float32(0))),
    ]
    if rule.q is not None:
        functions.append((rule.q, (tables,)))
    for function, args in functions:
        traced = jax.make_jaxpr(function)(*args)
        text = traced.jaxpr.pretty_print(use_color=False)  # str() has colours in a terminal
        digest.update(re.sub(r"0x[0-9a-f]+", "", text).encode())
        for constant in traced.consts:
            digest.update(np.asarray(constant).tobytes())
    return digest.hexdigest()[:16]


def run(
    experiment: TabularExperiment,
    directory: Path,
    *,
    extra_rules: Mapping[str, Rule] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    workers: int | None = None,
) -> Results:
    """Runs what is not yet in `directory`, and returns all of it.

    Finished cells are read, and refused if need be, before anything is run. `on_progress` is called
    from any thread with |A| and the number of updates done since its last call.
    """
    extra = dict(extra_rules or {})
    for name in extra:
        if name in {spec.id for spec in experiment.rules} or not re.fullmatch(r"[\w.+-]+", name):
            raise InputError(
                f"an extra rule needs a name of its own in letters, digits, '_', '-'; not '{name}'"
            )
    sizes = [_Size.of(experiment, directory, n, extra) for n in experiment.actions]
    _run_missing(sizes, workers or default_workers(), on_progress)
    names = (*(spec.id for spec in experiment.rules), *extra)
    cells = {size.mdp.num_actions: {name: size.cells[name] for name in names} for size in sizes}
    return Results(experiment, names, cells)


class _Size(NamedTuple):
    """One |A| of an experiment."""

    experiment: TabularExperiment
    mdp: MDP
    folder: Path
    rules: dict[str, Rule]
    settings: dict[str, dict[str, Any]]
    """By rule id, what its cell must have been made with."""
    cells: dict[str, Curves]
    """By rule id, what is finished."""

    @classmethod
    def of(
        cls,
        experiment: TabularExperiment,
        directory: Path,
        num_actions: int,
        extra: Mapping[str, Rule],
    ) -> "_Size":
        """The size with its finished cells, read from `directory`."""
        mdp = four_state(experiment.problem, num_actions)
        behaviour = uniform_policy(mdp)
        rules = {spec.id: spec.make(behaviour, experiment.protocol) for spec in experiment.rules}
        rules.update(extra)
        folder = directory / experiment.figure / f"actions-{num_actions}"
        settings = {name: _cell_settings(experiment, mdp, name, rules[name]) for name in rules}
        read = {name: read_cell(folder / f"{name}.npz", settings[name]) for name in rules}
        cells = {name: Curves(**arrays) for name, arrays in read.items() if arrays is not None}
        return cls(experiment, mdp, folder, rules, settings, cells)

    def run_missing(self, workers: int, on_progress: Callable[[int], None]) -> None:
        """Runs the rules that have no cell yet, on shared trajectories, and writes their cells."""
        missing = {name: rule for name, rule in self.rules.items() if name not in self.cells}
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
            write_cell(self.folder / f"{name}.npz", curves._asdict(), self.settings[name])
        self.cells.update(fresh)


def _run_missing(
    sizes: list[_Size], threads: int, on_progress: Callable[[int, int], None] | None
) -> None:
    """Runs all that is missing; sizes side by side, so that one compiles while another computes."""
    stopped = threading.Event()

    def tell(num_actions: int, updates: int) -> None:
        if stopped.is_set():  # an interrupt reaches the main thread only
            raise CancelledError
        if on_progress is not None:
            on_progress(num_actions, updates)

    for size in sizes:
        experiment = size.experiment
        runs = len(size.cells) * experiment.seeds * len(experiment.step_sizes)
        tell(size.mdp.num_actions, runs * experiment.steps)
    pending = [size for size in sizes if len(size.cells) < len(size.rules)]
    if not pending:
        return
    pool = ThreadPoolExecutor(threads)
    try:
        futures = [
            pool.submit(
                size.run_missing,
                -(-threads // len(pending)),
                functools.partial(tell, size.mdp.num_actions),
            )
            for size in reversed(pending)  # the largest first
        ]
        for future in futures:
            future.result()
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)


def _cell_settings(
    experiment: TabularExperiment, mdp: MDP, name: str, rule: Rule
) -> dict[str, Any]:
    fields = dataclasses.asdict(experiment)
    shared = ("problem", "init_std", "log_step_sizes", "seeds", "steps", "record_every", "protocol")
    return {
        **{field: fields[field] for field in shared},
        "num_actions": mdp.num_actions,
        "rule": name,
        "fingerprint": fingerprint(rule, mdp.num_states, mdp.num_actions),
        "versions": versions(),
    }
