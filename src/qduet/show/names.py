"""How rules and agents are called and drawn: names, colours, line styles, order.

    styles = agent_styles(("dqn", "rdq", "rdq-beta-0.1"))
    styles["rdq-beta-0.1"].label                             # "RDQ (β = 0.1)"

A rule or agent has one name and one colour, in every figure and on the page. The colours are Okabe
and Ito's, and for variants also Tol's: readers with colour-vision deficiencies can tell them apart.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

RULES = {
    "td0": ("TD(0)", "#999999"),
    "expected_sarsa": ("Expected Sarsa", "#D55E00"),
    "q_learning": ("Q-learning", "#D55E00"),
    "qv_learning": ("QV-learning", "#0072B2"),
    "qvmax": ("QVMAX", "#CC79A7"),
    "bc_qvmax": ("BC-QVMAX", "#009E73"),
    "dueling_q": ("Dueling Q-learning", "#56B4E9"),
    "soft_rdq": ("Soft RDQ", "#E69F00"),
    "hard_rdq": ("Hard RDQ", "#0B3D91"),
}
"""Name and colour of each tabular rule."""

AGENTS = {
    "dqn": ("DQN", "#D55E00"),
    "dueling_dqn": ("Dueling DQN", "#56B4E9"),
    "rdq": ("RDQ", "#0B3D91"),
    "double_dqn": ("Double DQN", "#E69F00"),
    "dqv": ("DQV", "#0072B2"),
    "dqv_max": ("DQV-Max", "#CC79A7"),
    "bc_qvmax": ("BC-QVMAX", "#009E73"),
    "bc_qvmax_target": ("BC-QVMAX (target)", "#117733"),
    "bc_qvmax_double": ("BC-QVMAX (double)", "#882255"),
}
"""Name and colour of each deep agent."""

VARIANTS = {
    "hold": "ε held at 1",
    "init": "LeCun weights",
    "bias": "a bias per action",
    "double": "double targets",
    "sum": "Q = V + A",
    "sum-penalty": "Q = V + A, penalty",
    "separate": "two networks",
    "three-steps": "three-step targets",
}
"""What is changed in variants of an agent."""

SPARE_COLOURS = ("#000000", "#8C564B", "#7F7F00", "#5E3C99", "#A6611A")
"""For names the project does not know, such as a reader's own rule."""

VARIANT_COLOURS = ("#0055FF", "#999944", "#556688", "#0099EE", "#227755")
"""For variants of an agent; none has an agent's own colour."""

ON_WHITE = {
    "#56b4e9": "#4897c4",
    "#999999": "#8e8e8e",
    "#cc79a7": "#c675a2",
    "#e69f00": "#bf8400",
}
ON_BLACK = {
    "#000000": "#e4e6ea",
    "#0072b2": "#5fb0e8",
    "#0b3d91": "#b7c5ff",
    "#117733": "#167a37",
    "#595959": "#6a6a6a",
    "#5e3c99": "#785ba9",
    "#882255": "#ffd0d8",
    "#8c564b": "#8f5b50",
}
"""The page's replacements for colours with a contrast below 3 : 1 on its white or black ground."""


def on_screen(colour: str) -> dict[str, str]:
    """A colour for the light theme and for the dark one."""
    colour = colour.lower()
    return {"light": ON_WHITE.get(colour, colour), "dark": ON_BLACK.get(colour, colour)}


LINES = ("-", "--", ":", "-.")
"""Line styles in order of use: solid, dashed, dotted, dash-dotted."""


class Style(NamedTuple):
    """How one rule or agent is drawn among others."""

    label: str
    colour: str
    """``#rrggbb``, for a white ground."""
    line: str = "-"
    """One of `LINES`."""


class _Name(NamedTuple):
    """The parts of a rule's or agent's name, which is one string on disk."""

    family: str
    """The rule or agent without what follows."""
    variant: str = ""
    """Has a colour of its own."""
    detail: str = ""
    """Has a line style of its own."""


def agent_styles(agents: Sequence[str]) -> dict[str, Style]:
    """The style of each agent: colour by agent or variant, line by directory.

    ``rdq-beta-0.001`` and ``dqn-init`` are variants, ``dqn@b`` is the DQN of directory b.
    """
    names = {}
    for agent in agents:
        base, _, origin = agent.partition("@")
        family, _, variant = base.partition("-")
        known = family in AGENTS
        variant = variant.replace("beta-", "β = ").replace("rate-", "α = ").replace("-α", ", α")
        variant = VARIANTS.get(variant, variant)
        names[agent] = _Name(family, variant, origin) if known else _Name(base, "", origin)
    return _styles(names, AGENTS, VARIANT_COLOURS + SPARE_COLOURS)


def rule_styles(rules: Sequence[str]) -> dict[str, Style]:
    """The style of each rule. It does not depend on the order of `rules`: files do not keep one.

    ``soft_rdq-beta-0.001`` has Soft RDQ's colour and another line style. A rule of the reader's own
    keeps its name.
    """
    ordered = []
    for rule in rules:
        match = re.fullmatch(r"(\w+)-beta-(\d[\d.]*(?:e-?\d+)?)", rule)
        if match and match[1] in RULES:
            ordered.append((match[1], float(match[2]), f"β = {match[2]}", rule))
        else:
            ordered.append((rule, 0.0, "", rule))
    names = {rule: _Name(family, "", beta) for family, _, beta, rule in sorted(ordered)}
    styles = _styles(names, RULES, SPARE_COLOURS)
    for rule in ("bc_qvmax", "expected_sarsa"):  # same curve or colour as Q-learning
        if {rule, "q_learning"} <= styles.keys():
            styles[rule] = styles[rule]._replace(line="--")
    return {rule: styles[rule] for rule in rules}


def _styles(
    names: Mapping[str, _Name], known: Mapping[str, tuple[str, str]], spare: Sequence[str]
) -> dict[str, Style]:
    details: dict[tuple[str, str], list[str]] = {}
    for family, variant, detail in names.values():
        details.setdefault((family, variant), []).append(detail)
    others = [(family, variant) for family, variant in details if variant or family not in known]
    styles = {}
    for name, (family, variant, detail) in names.items():
        label, colour = known.get(family, (family, ""))
        rank, which = 0, (family, variant)
        if which in others:
            rank = others.index(which)
            colour = spare[rank % len(spare)]
        line = LINES[(rank + details[which].index(detail)) % len(LINES)]
        more = ", ".join(filter(None, (variant, detail)))
        styles[name] = Style(f"{label} ({more})" if more else label, colour, line)
    return styles
