"""What training runs are for: Figure 6, a check of it, a part of the study, or one's own.

    kind = kind_of(runs)        # of the directories that lie side by side
    kind.title                  # "β: how strong RDQ’s penalty should be"

Told by what is in them (agents, protocol, length), never by where they lie.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from qduet.agents import completed, make_agent
from qduet.results import published
from qduet.results.runs import Runs
from qduet.show.report.effects import Pairs

SEVERAL = 15
"""Fewer seeds than these are nobody's study."""

PAPER, CHECKS, STUDY, OWN = "minatar", "checks", "study", "own"
"""Sections of the page."""


class Kind(NamedTuple):
    """A purpose of training runs."""

    id: str
    section: str
    title: str
    about: str = ""
    """What was asked, and what the names mean."""
    beside: tuple[str, ...] = ()
    """The kinds of runs that these are compared with."""
    families: Callable[[Sequence[str]], list[Pairs]] | None = None
    """Agents to pairs, by family of tests; None: every pair."""
    one_sided: bool = False
    """Whether the first family asks if the first agent is ahead, as the paper claims."""


def _rdq_first(agents: Sequence[str]) -> list[Pairs]:
    return [[("rdq", "dueling_dqn"), ("rdq", "dqn")], [("dueling_dqn", "dqn")]]


def _protocols(agents: Sequence[str]) -> list[Pairs]:
    base = [a.removesuffix("@paper") for a in agents if a.endswith("@paper")]
    return [[(f"{a}@paper", f"{a}@reference") for a in base]]


def _ablated(agents: Sequence[str]) -> list[Pairs]:
    return [[(a, a.partition("-")[0]) for a in agents if re.search(ABLATED, a)]]


def _betas(agents: Sequence[str]) -> list[Pairs]:
    paper = "rdq-beta-0.001"
    others = [(a, paper) for a in agents if a.startswith("rdq-beta-") and a != paper]
    return [others, [("rdq-beta-0", "dueling_dqn")]]


def _forms(agents: Sequence[str]) -> list[Pairs]:
    return [[(a, "bc_qvmax") for a in agents if a in BC_FORMS and a != "bc_qvmax"]]


def _family(agents: Sequence[str]) -> list[Pairs]:
    corrected = [(a, "dqv_max") for a in agents if a in BC_FORMS]
    others = [a for a in agents if a in QV and a != "dqv_max"]
    return [
        [("dqv_max", "dqn"), ("dqv_max", "rdq")],
        corrected,
        [(a, b) for a in others for b in ("dqn", "rdq")],
    ]


def _screened(agents: Sequence[str]) -> list[Pairs]:
    return [[(a, "rdq") for a in agents if re.search(SCREENED, a)]]


ABLATED = r"-(hold|init|bias)$"
SCREENED = r"^double_dqn$|-(double|sum|penalty|separate|three-steps)$"
BC_FORMS = ("bc_qvmax", "bc_qvmax_target", "bc_qvmax_double")
QV = ("dqv", "dqv_max", *BC_FORMS)

FIGURE6 = Kind(
    "figure6",
    PAPER,
    "Figure 6: DQN, Dueling DQN and RDQ on MinAtar",
    families=_rdq_first,
    one_sided=True,
)
OTHER = Kind("own", OWN, "")
KINDS = (
    FIGURE6,
    Kind(
        "validation",
        CHECKS,
        "Validation: other runs of the same agents, of 1M steps",
        "Runs of their own, stopped after 1M steps, beside the published scores at that step.",
        families=_rdq_first,
        one_sided=True,
    ),
    Kind(
        "protocol",
        CHECKS,
        "Protocol: the paper’s text instead of its released code",
        "The two differ in three settings: how long ε stays at 1, the initial weights, and the "
        "biases of the advantages. The published scores came from the code (protocol=reference); "
        "here the same agents follow the text (protocol=paper).",
        ("validation",),
        _protocols,
    ),
    Kind(
        "ablation",
        CHECKS,
        "Ablation: one of these settings at a time",
        "The released code’s settings but for one: ε held at 1 for the first 1,000 steps, all "
        "weights drawn by LeCun’s rule, or a bias for each action instead of a shared one.",
        ("validation",),
        _ablated,
    ),
    Kind(
        "beta",
        STUDY,
        "β: how strong RDQ’s penalty should be",
        "RDQ adds a penalty of weight β on V and A. The paper uses β = 0.001 and did not tune it. "
        "At β = 0 only the sum Q = V + A is left.",
        ("validation",),
        _betas,
    ),
    Kind(
        "family",
        STUDY,
        "The QV family with deep networks, 10M steps",
        "DQV, DQV-Max (the paper’s QVMAX) and BC-QVMAX learn Q and V side by side. How do they do "
        "against DQN and RDQ?",
        ("figure6",),
        _family,
    ),
    Kind(
        "qv",
        STUDY,
        "The QV family with deep networks, a first look at 1M steps",
        "DQV, DQV-Max (the paper’s QVMAX) and BC-QVMAX learn Q and V side by side. Early in "
        "training, how do they do against DQN and RDQ? These runs were there before the plan of "
        "the study was written.",
        ("validation",),
        _family,
    ),
    Kind(
        "choice",
        STUDY,
        "Which BC-QVMAX? Three forms of the bias correction",
        "Its V learns from the largest Q of the state: by the online network (BC-QVMAX), by the "
        "target network (target), or the target network’s value of the online network’s choice "
        "(double).",
        (),
        _forms,
    ),
    Kind(
        "screening",
        STUDY,
        "Screening: which combinations are worth 10M steps",
        "Short runs of agents that combine the ideas, against RDQ with the same seeds.",
        ("validation", "qv"),
        _screened,
    ),
)


def kind_of(runs: Sequence[Runs]) -> Kind:
    """What runs are for that lie side by side."""
    found = {kind.id: kind for kind in KINDS}
    return found.get(_purpose(runs), OTHER)


def _purpose(runs: Sequence[Runs]) -> str:
    if not all(published.covers(r.config) and len(r.config["seeds"]) >= SEVERAL for r in runs):
        return OWN
    if is_figure6(runs):
        return "figure6"
    labels = [label for directory in runs for label in directory.agents]
    protocols = {directory.config.get("protocol") for directory in runs}
    every = lambda pattern: all(re.search(pattern, label) for label in labels)
    if set(labels) == set(published.AGENTS) and protocols == {"paper"}:
        return "protocol"
    if protocols != {"reference"}:
        return OWN
    if set(labels) == set(published.AGENTS):
        alike = all(as_published(r, label) for r in runs for label in r.agents)
        return "validation" if alike and len(runs) > 1 else OWN
    long = all(directory.config["steps"] == published.STEPS for directory in runs)
    tests = {
        "ablation": every(ABLATED),
        "beta": every("^rdq-beta-"),
        "choice": len(set(labels)) > 1 and set(labels) <= set(BC_FORMS),
        "family" if long else "qv": set(labels) <= set(QV),
        "screening": every(SCREENED),
    }
    return next((name for name, fits in tests.items() if fits), OWN)


def is_figure6(runs: Sequence[Runs]) -> bool:
    """Whether these runs are the paper's experiment: its length, seeds, agents and settings."""
    return all(
        published.covers(directory.config)
        and directory.config["steps"] == published.STEPS
        and len(directory.config["seeds"]) >= published.SEEDS
        and set(published.AGENTS) <= set(directory.agents)
        and all(as_published(directory, label) for label in published.AGENTS)
        for directory in runs
    )


def as_published(runs: Runs, label: str) -> bool:
    """Whether an agent has the settings of the published one."""
    settings = next(agent for agent in runs.config["agents"] if agent["label"] == label)
    there, wanted = completed(settings), make_agent(label, protocol="reference").fields()
    return all(there.get(key) == value for key, value in wanted.items())
