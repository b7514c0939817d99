"""The authors' released MinAtar scores, as shipped in ``data/published_scores.csv``.

    >>> scores("Breakout", "rdq").values[:, -1].mean()      # at 10M steps, over 30 seeds
    57.7...

``data/README.md`` says where they come from and under which licence.
"""

import functools
import importlib.resources
from collections.abc import Mapping
from typing import Any

import numpy as np

from qduet.agents import PAPER_AGENTS as AGENTS
from qduet.core.errors import unknown_name
from qduet.env_ids import GAMES
from qduet.results.runs import PUBLISHED, Scores, read_table, scores_of

AGENT_NAMES = {"dqn": "DQN", "dueling_dqn": "Dueling DQN", "rdq": "RDQ"}
"""How agents are called in text."""
SEEDS = 30
"""Runs that the paper reports for each game and agent."""
STEPS = 10_000_000
EVALUATE_EVERY = 1_000_000
EPISODES = 1_000
"""Per evaluation."""
ABOUT_VALUES = (
    "Published Dueling DQN is of V + A, not of Q: its over-estimation plus its mean "
    "advantage (docs/reproduction.md)."
)
"""The caption of a figure of ``q_overestimation`` (docs/differences.md, item 17)."""


@functools.cache
def table() -> dict[str, np.ndarray]:
    """Each column, one entry per evaluation."""
    source = importlib.resources.files("qduet.results") / "data" / "published_scores.csv"
    return read_table(source.read_text(encoding="utf-8"))


def scores(game: str, agent: str, column: str = "return_mean") -> Scores:
    """One column of one agent's published runs of one game, by seed and step."""
    for kind, name, allowed in (
        ("game", game, GAMES),
        ("agent", agent, AGENTS),
        ("column", column, PUBLISHED),
    ):
        if name not in allowed:
            raise unknown_name(kind, name, allowed)
    rows = table()
    return scores_of(rows, (rows["game"] == game) & (rows["agent"] == agent), column)


def covers(config: Mapping[str, Any]) -> bool:
    """Whether there are published scores of a configuration's game.

    They are of version 1 of the games, with minimal action sets; version 0 is another task.
    """
    env = f"MinAtar/{config['game']}-v1"
    return config["game"] in GAMES and config.get("env", env) == env


def title(game: str) -> str:
    """How a game is called in text."""
    return "Space Invaders" if game == "SpaceInvaders" else game


def missing_seeds(game: str, agent: str) -> tuple[int, ...]:
    """The seeds of the paper's 30 whose scores were not released: 2 to 9 of Freeway's RDQ."""
    released = set(scores(game, agent).seeds.tolist())
    return tuple(seed for seed in range(SEEDS) if seed not in released)
