"""Where AV-learning is unstable on the ring: the numbers of docs/theory.md, from a matrix."""

import re
from pathlib import Path

import numpy as np
import pytest

from qduet.theory.av import ring_slowest

PAGE = Path(__file__).parents[2] / "docs" / "theory.md"


def kappa(rule, actions):
    return 1.0 if rule == "hard" else 1 - 1 / actions


def slowest(states, actions, discount, rule):
    """The least real part of the eigenvalues of X Xᵀ W (I − γ P E), over all state-action pairs."""
    size = states * actions
    td = -np.eye(size)
    mix = np.zeros((size, size))
    for s in range(states):
        for a in range(actions):
            to = (s + 1 if a == 0 else s - 1) % states
            td[s * actions + a, to * actions] += discount  # the greedy action is a₀
        block = slice(s * actions, (s + 1) * actions)
        mix[block, block] = np.eye(actions) + kappa(rule, actions)
    return np.linalg.eigvals(-mix @ td / size).real.min()


def told():
    """(states, discount, rule, actions) of each number in the table of the page."""
    rows = re.findall(r"\| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|\n", PAGE.read_text("utf-8"))
    assert [row[0] for row in rows] == ["5", "8", "12"]
    columns = [(0.9, "hard"), (0.9, "dueling"), (0.99, "hard"), (0.99, "dueling")]
    return [
        (int(row[0]), *column, int(actions))
        for row in rows
        for column, actions in zip(columns, row[1:], strict=True)
    ]


@pytest.mark.parametrize(("states", "discount", "rule", "actions"), told())
def test_from_so_many_actions_on_it_is_unstable(states, discount, rule, actions):
    assert slowest(states, actions, discount, rule) < 0
    assert actions == 2 or slowest(states, actions - 1, discount, rule) > 0
    closed = ring_slowest(states, actions, discount, kappa(rule, actions))
    assert closed == pytest.approx(slowest(states, actions, discount, rule))


def test_it_is_stable_with_three_or_four_states():
    found = [
        ring_slowest(states, actions, 0.99, kappa(rule, actions))
        for states in (3, 4)
        for actions in range(2, 200)
        for rule in ("hard", "dueling")
    ]
    assert min(found) > 0


@pytest.mark.parametrize("rule", ["hard", "dueling"])
def test_the_eigenvalue_of_twelve_states_and_eighteen_actions(rule):
    assert f"{slowest(12, 18, 0.99, rule):.4f}".replace("-", "−") in PAGE.read_text("utf-8")
