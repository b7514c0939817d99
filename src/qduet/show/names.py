"""How rules and agents are called and drawn: names, colours, line styles, order.

    styles = agent_styles(("dqn", "rdq", "rdq-beta-0.1"))
    styles["rdq-beta-0.1"].label                             # "RDQ (β = 0.1)"

One name and one colour per rule and agent, in every figure and on the page. The colours are Okabe
and Ito's, and of variants some of Tol's, which readers with colour-vision deficiencies can tell
apart; line styles tell them apart in grey.

Results on disk have rules and agents by one string. `_rule` and `_agent` take it apart; nothing
else does.
"""

import math
from collections.abc import Sequence
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
}
"""Name and colour of each deep agent."""

SPARE_COLOURS = ("#000000", "#8C564B", "#7F7F00", "#5E3C99", "#A6611A")
"""For names the project does not know, such as a reader's own rule."""

VARIANT_COLOURS = ("#009E73", "#CC79A7", "#882255", "#117733", "#AA4499")
"""For variants of an agent, whose own colour is its alone."""

LINES = ("-", "--", ":", "-.")
"""Line styles in the order in which they are used: solid, dashed, dotted, both."""


class Style(NamedTuple):
    """How one rule or agent is drawn among others."""

    label: str
    colour: str
    """``#rrggbb``, for white paper."""
    line: str = "-"
    """One of `LINES`."""
    row: int = 0
    """Its place among the others, from 0."""


def agent_styles(agents: Sequence[str]) -> dict[str, Style]:
    """The style of each agent: colour by agent or variant, line by directory.

    ``rdq-beta-0.001`` and ``dqn-init`` are variants, ``dqn@b`` is the DQN of directory b. Variants
    of one directory differ in their lines too.
    """
    names = [_agent(agent) for agent in agents]
    return {a: _style(n, names, row) for row, (a, n) in enumerate(zip(agents, names, strict=True))}


def rule_styles(rules: Sequence[str]) -> dict[str, Style]:
    """The style of each rule. It does not depend on the order of `rules`: files do not keep one.

    ``soft_rdq-beta-0.001`` is a variant of Soft RDQ; a rule of the reader's own keeps its name.
    """
    ordered = sorted(map(_rule, rules), key=lambda name: (name.family, name.beta))
    return {rule: _style(_rule(rule), ordered, row) for row, rule in enumerate(rules)}


def rule_style(rule: str) -> Style:
    """The style of a rule of the project, alone."""
    return Style(*RULES[rule])


def rule_family(rule: str) -> str:
    """The rule of which `rule` is a variant, or itself."""
    return _rule(rule).family


# --- Names ---------------------------------------------------------------------------------------


class _Name(NamedTuple):
    """A rule or agent by its parts."""

    family: str
    """The rule or agent without what follows."""
    known: tuple[str, str] | None
    """Name and colour of the family, if it is one of the project's."""
    variant: str = ""
    """As it is written in a legend."""
    origin: str = ""
    """The directory it comes from, where two directories have the same agent."""
    beta: float = 0.0
    """The β of a variant of Soft RDQ."""

    @property
    def details(self) -> tuple[str, str]:
        return self.variant, self.origin


def _agent(label: str) -> _Name:
    """``FAMILY[-VARIANT][@ORIGIN]``, the labels of `qduet train` and `qduet compare`."""
    base, _, origin = label.partition("@")
    family, _, variant = base.partition("-")
    if family in AGENTS and variant:
        return _Name(family, AGENTS[family], variant.replace("beta-", "β = "), origin)
    return _Name(base, AGENTS.get(base), origin=origin)


def _rule(rule: str) -> _Name:
    """``FAMILY[-beta-NUMBER]``, as `RuleSpec.id` makes it."""
    family, _, text = rule.partition("-beta-")
    try:
        beta = float(text)
    except ValueError:
        beta = math.nan
    if family in RULES and math.isfinite(beta):
        return _Name(family, RULES[family], f"β = {text}", beta=beta)
    return _Name(rule, RULES.get(rule))


# --- Styles --------------------------------------------------------------------------------------


def _style(name: _Name, names: Sequence[_Name], row: int) -> Style:
    details = ", ".join(filter(None, name.details))
    label = (name.known[0] if name.known else name.family) + (f" ({details})" if details else "")
    if name.variant and name.family in AGENTS:
        return Style(label, *_variant_of_agent(name, names), row)
    if name.known:
        colour, line = name.known[1], "-"
    else:
        own = list(dict.fromkeys(other.family for other in names if not other.known))
        rank = own.index(name.family)
        colour = SPARE_COLOURS[rank % len(SPARE_COLOURS)]
        line = LINES[rank // len(SPARE_COLOURS) % len(LINES)]
    if details:
        rank = _rank_of_details(name, names)
        line = LINES[rank % len(LINES)]
        if rank >= len(LINES):
            colour = SPARE_COLOURS[-(rank // len(LINES)) % len(SPARE_COLOURS)]
    elif name.family in ("bc_qvmax", "expected_sarsa") and _rule("q_learning") in names:
        line = "--"  # so that Q-learning shows: one coincides with it, the other has its colour
    return Style(label, colour, line, row)


def _variant_of_agent(name: _Name, names: Sequence[_Name]) -> tuple[str, str]:
    """The colour and line of a variant of an agent; solid is left to an agent itself.

    Where there are more variants than colours, ``dqn-init`` and ``rdq-init`` share a colour.
    """
    variants = list(dict.fromkeys((o.family, o.variant) for o in names if o.variant))
    changes = list(dict.fromkeys(other.variant for other in names if other.variant))
    families = list(dict.fromkeys(other.family for other in names if other.variant))
    one_directory = not any(other.origin for other in names)
    if one_directory and len(variants) > len(VARIANT_COLOURS) >= len(changes):
        return VARIANT_COLOURS[changes.index(name.variant)], LINES[families.index(name.family)]
    rank = variants.index((name.family, name.variant))
    same = [o for o in names if (o.family, o.variant) == (name.family, name.variant)]
    origins = list(dict.fromkeys(other.origin for other in same))
    unchanged = any(other.known and not other.variant for other in names)
    line = origins.index(name.origin) if len(origins) > 1 else rank + unchanged
    colours = (*VARIANT_COLOURS, *reversed(SPARE_COLOURS))
    return colours[rank % len(colours)], LINES[line % len(LINES)]


def _rank_of_details(name: _Name, names: Sequence[_Name]) -> int:
    """The place of a name's details: among all names, or if that is ambiguous, in its family.

    Names without details count only if the family has one.
    """
    own = list(dict.fromkeys(other.details for other in names if other.family == name.family))
    every = list(dict.fromkeys(o.details for o in names if o.details in own or any(o.details)))
    ranks = {every.index(other) % len(LINES) for other in own}
    return (every if len(ranks) == len(own) else own).index(name.details)
