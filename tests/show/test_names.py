import itertools

import numpy as np
import pytest

from qduet.show.names import AGENTS, RULES, agent_styles, on_screen, rule_styles
from qduet.tabular import rules

COLOURS = {name: colour for name, (_, colour) in (RULES | AGENTS).items()}


def test_every_rule_has_a_name_and_a_colour():
    assert RULES.keys() == rules.RULES.keys()


def test_no_two_rules_style_the_same_in_one_figure():
    own = ("rdq-share-0.25", "rdq", "dqn-mine", "hard_rdq-mine", "soft_rdq-beta-mine")
    names = (*RULES, "soft_rdq-beta-0.001", "soft_rdq-beta-1e-05", *own)
    styles = list(rule_styles(names).values())
    assert len({(style.colour, style.line) for style in styles}) == len(names)
    assert rule_styles(("expected_sarsa", "qv_learning"))["expected_sarsa"].line == "-"


@pytest.mark.parametrize("name", ["rdq-share-0.25", "rdq", "hard_rdq-mine", "mine@home"])
def test_a_rule_of_ones_own_keeps_its_name_and_takes_no_colour_of_the_papers(name):
    style = rule_styles(("hard_rdq", name))[name]
    assert style.label == name
    assert style.colour not in COLOURS.values()


def test_a_rule_styles_the_same_in_whatever_order_the_rules_come():
    """The figure has them in the order of the user's code, the page in that of the files."""
    names = ("q_learning", "soft_rdq-beta-1e-05", "soft_rdq-beta-0.001", "double_q", "averaged_q")
    for name in names:
        style = rule_styles(names)[name]
        turned = rule_styles(names[::-1])[name]
        assert style == turned
    assert rule_styles(names)[names[1]].label == "Soft RDQ (β = 1e-05)"
    assert [rule_styles(names)[name].line for name in names[1:3]] == ["-", "--"]  # by β


def test_names_beyond_the_spare_colours_are_told_apart_by_line_styles():
    names = ("rdq", *(f"mine-{i}" for i in range(8)))
    styles = list(agent_styles(names).values())
    assert len({(style.colour, style.line) for style in styles}) == len(names)


def test_variants_have_colours_of_their_own_and_leave_the_agents_theirs():
    names = ("dqn-hold", "dqn-init", "rdq-hold", "rdq-init", "rdq-beta-0.1")
    styles = agent_styles(names)
    assert len({style.colour for style in styles.values()}) == len(names)
    assert not {style.colour for style in styles.values()} & {COLOURS[name] for name in AGENTS}
    assert [styles[name].line for name in names] == ["-", "--", ":", "-.", "-"]
    assert styles["dqn-init"].label == "DQN (LeCun weights)"
    assert styles["rdq-beta-0.1"].label == "RDQ (β = 0.1)"
    with_plain = list(agent_styles(("rdq", *names)).values())
    assert with_plain[0][1:] == (COLOURS["rdq"], "-")
    assert [style.colour for style in with_plain[1:]] == [style.colour for style in styles.values()]


SEEN = {  # linear RGB as people see it: Machado, Oliveira and Fernandes (2009), severity 1
    "all cones": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
}


def lab(colour, seen):
    """CIELAB of ``#rrggbb`` for such eyes, from its definition."""
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x = np.array(xyz) @ np.clip(np.array(seen) @ linear, 0, 1) / [0.9505, 1.0, 1.089]
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("seen", SEEN.values(), ids=list(SEEN))
def test_variants_can_be_told_apart_by_their_colours(seen):
    """A difference of 2 is just noticeable side by side; on paper, on light and on dark ground."""
    names = [f"rdq-{i}" for i in range(5)]
    variants = [agent_styles(names)[name].colour for name in names]
    for shown in (str, lambda c: on_screen(c)["light"], lambda c: on_screen(c)["dark"]):
        agents = [lab(shown(COLOURS[name]), seen) for name in AGENTS]
        others = [lab(shown(colour), seen) for colour in variants]
        pairs = [*itertools.combinations(others, 2), *itertools.product(agents, others)]
        assert min(np.linalg.norm(a - b) for a, b in pairs) > 12
        first = itertools.combinations(others[:3], 2)
        assert min(np.linalg.norm(a - b) for a, b in first) > 16.5


def test_the_same_agent_from_two_directories_differs_in_line_style_alone():
    names = ("dqn@a", "rdq@b", "dqn@b", "mine-2@b", "rdq-init@a", "rdq-init@b")
    styles = agent_styles(names)
    assert styles["dqn@a"].colour == styles["dqn@b"].colour == COLOURS["dqn"]
    assert styles["dqn@a"].line == "-"
    assert styles["dqn@b"].line == "--"
    assert styles["mine-2@b"].label == "mine-2 (b)"
    assert styles["rdq-init@a"].label == "RDQ (LeCun weights, a)"
    assert len({(style.colour, style.line) for style in styles.values()}) == len(names)


@pytest.mark.parametrize(
    "names",
    [
        [f"rdq-beta-{beta}" for beta in (0.1, 0.2, 0.3, 0.4, 0.5)],
        [f"rdq-{what}@{where}" for where in "ab" for what in ("hold", "init", "bias")],
        [f"rdq-{what}{where}" for where in ("", "@a", "@b") for what in range(8)],
        ["rdq", "rdq@a", "rdq-init", "rdq-init@a", "dqn-init@a", *(f"dqn-{i}" for i in range(8))],
        ["dqn-a", "dqn-b", "dqn-c", "dqn-d", "rdq-a", "rdq-e"],
        ["bc_qvmax@a", "bc_qvmax@b", "q_learning@a", "q_learning@b"],
        ["dqn-", "rdq"],
    ],
    ids=lambda names: names[0],
)
def test_no_two_variants_style_the_same(names):
    styles = {(style.colour, style.line) for style in agent_styles(names).values()}
    assert len(styles) == len(names)
