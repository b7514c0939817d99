"""Tabular experiments as data: the paper's, and those on an MDP of one's own.

    >>> FIGURES["figure5"].small().actions
    (2, 18)
    >>> mdp = from_gymnasium("FrozenLake-v1")
    >>> rules = (RuleSpec("q_learning"), RuleSpec("hard_rdq"))
    >>> alphas = (0.05, 0.1, 0.2)
    >>> TabularExperiment("frozen-lake", "FrozenLake", mdp, rules, step_sizes=alphas).actions
    (4,)

Results name an MDP by a digest of all it holds, so that those of another MDP of the same name are
never mixed in. `qduet.tabular.running.run` runs an experiment.
"""

import dataclasses
import math
from typing import Any

import numpy as np

from qduet.core.errors import InputError, as_setting, unknown_name
from qduet.tabular.mdp import FOUR_STATE, MDP, QVTables, four_state, uniform_policy
from qduet.tabular.rules import Rule, make_rule
from qduet.tabular.sweeps import check_step_sizes, error_targets

PROTOCOLS = ("paper", "reference")
"""What the paper says, or what its released code does (docs/differences.md)."""

SHARED = ("problem", "init_std", "step_sizes", "seeds", "steps", "record_every", "protocol")
"""The settings that all curves of one experiment have in common."""


def _exp(x: float) -> float:
    """e^x to twelve digits: the last bits are not the same on every machine."""
    return float(f"{math.exp(x):.12g}")


@dataclasses.dataclass(frozen=True)
class RuleSpec:
    """A rule by its id, with the options that make it a variant."""

    rule: str
    """A name in `qduet.tabular.rules.RULES`."""
    beta: float | None = None
    """Soft RDQ's regularisation coefficient."""

    @property
    def id(self) -> str:
        """The name under which its results are kept and drawn."""
        return self.rule if self.beta is None else f"{self.rule}-beta-{self.beta:g}"

    def make(self, behaviour: np.ndarray, protocol: str) -> Rule:
        """The rule; Expected Sarsa's target policy is `behaviour`."""
        options: dict[str, Any] = {} if self.beta is None else {"beta": self.beta}
        if self.rule == "soft_rdq":
            options["penalty"] = protocol
        if self.rule == "dueling_q":
            options["descend_mean"] = protocol == "paper"
        return make_rule(self.rule, behaviour, **options)


@dataclasses.dataclass(frozen=True)
class TabularExperiment:
    """A figure of the tabular kind: rules × |A| × step sizes × seeds, under uniform behaviour."""

    figure: str
    """Its name, also of the folder that its results are kept in."""
    title: str
    """What the picture and the report page call it."""
    problem: str | MDP
    """A problem of `qduet.tabular.mdp.four_state`, or any MDP."""
    rules: tuple[RuleSpec, ...]
    """The rules; the others are compared with the first one."""
    init_std: float = 0.0
    """V_0 and A_0 are drawn from N(0, init_std²)."""
    actions: tuple[int, ...] = ()
    """The numbers of actions |A|; the last one is shown in the left and centre panels. By default
    the paper's (2, 6, 10, 14, 18); an MDP has its own."""
    step_sizes: tuple[float, ...] = tuple(_exp(i / 10) for i in range(-60, 1))
    """α, in ascending order; by default the paper's 61 values exp(−6), exp(−5.9), …, exp(0).
    ``protocol="reference"`` rounds them to four decimals, as the released code does."""
    seeds: int = 100
    """Trials: seeds 0, 1, …."""
    steps: int = 20_000
    """Environment steps of a trial."""
    record_every: int = 100
    """Steps between two points of a curve."""
    protocol: str = "paper"
    """One of `PROTOCOLS`."""

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise unknown_name("protocol", self.protocol, PROTOCOLS)
        object.__setattr__(self, "title", as_setting(str, "title", self.title))
        for spec in self.rules:
            if not isinstance(spec, RuleSpec):
                raise InputError(
                    "rules are named by RuleSpec(...), and a rule of your own goes to "
                    f"run(..., extra_rules={{name: rule}}); rules holds {spec!r:.60}"
                )
        names = [spec.id for spec in self.rules]
        if len(set(names)) < len(names):
            raise InputError(f"a rule is there twice: {', '.join(names)}")
        if not isinstance(self.problem, str | MDP):
            raise InputError(
                f"problem must be an MDP or one of {', '.join(FOUR_STATE)}; it is a "
                f"{type(self.problem).__name__}"
            )
        actions = tuple(self.actions)
        if isinstance(self.problem, MDP):
            own = (self.problem.num_actions,)
            if actions not in ((), own):
                raise InputError(
                    f"{self.problem_id} has {own[0]} actions: leave actions out; they are {actions}"
                )
            if self.protocol == "reference":
                raise InputError(
                    "protocol='reference' is what the released code does with the paper's "
                    "problems: leave it out for an MDP of your own"
                )
            actions = own
        object.__setattr__(self, "actions", actions or (2, 6, 10, 14, 18))
        alphas = np.sort(check_step_sizes(self.step_sizes))
        if self.protocol == "reference":
            alphas = alphas.round(4)
        if not alphas.all() or len(np.unique(alphas)) < len(alphas):
            raise InputError(
                "step_sizes must be different (for protocol=reference, which rounds them to four "
                f"decimals, then too, and not 0); they are {self.step_sizes}"
            )
        object.__setattr__(self, "step_sizes", tuple(alphas.tolist()))

    @property
    def problem_id(self) -> str:
        """The problem as a short text: an MDP's is its name and its digest."""
        if isinstance(self.problem, MDP):
            return f"{self.problem.name}#{self.problem.digest}"
        return self.problem

    def mdp(self, num_actions: int) -> MDP:
        """The problem with `num_actions` actions."""
        if isinstance(self.problem, MDP):
            return self.problem
        return four_state(self.problem, num_actions)

    def settings(self) -> dict[str, Any]:
        """All fields as they are written to files: an MDP as its `problem_id`."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return fields | {"problem": self.problem_id}

    @property
    def points(self) -> np.ndarray:
        """``[points]``: the steps at which the error is recorded."""
        return np.arange(0, self.steps + 1, self.record_every)

    @property
    def updates(self) -> int:
        """Table updates in the whole experiment."""
        runs = len(self.actions) * len(self.rules) * len(self.step_sizes) * self.seeds
        return runs * self.steps

    def small(self) -> "TabularExperiment":
        """The same experiment in seconds: few seeds, few steps, few step sizes."""
        return dataclasses.replace(
            self,
            actions=tuple(dict.fromkeys((self.actions[0], self.actions[-1]))),
            step_sizes=tuple(_exp(x) for x in range(-6, 1)),
            seeds=4,
            steps=400,
        )

    def targets(self, mdp: MDP) -> dict[str, QVTables]:
        """By `Rule.goal`, the values that errors are measured against."""
        targets = error_targets(mdp, uniform_policy(mdp))
        if self.protocol == "reference":  # the released code has q_* = 1/(1−γ) for every action
            optimal = targets["optimal"]
            targets["optimal"] = optimal._replace(
                q=np.repeat(optimal.v[:, None], mdp.num_actions, 1)
            )
        return targets
