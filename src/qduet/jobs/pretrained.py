"""Agents that come with qduet, trained: weights with a card each, and recorded episodes.

    trained = load("rdq", "Breakout")             # weights, as `qduet.jobs.load_weights` gives them
    trained.values(observation)                   # V, A and Q(s, ·)

They are in ``results/``: ``weights/GAME-AGENT-SEED.safetensors`` in half precision, each beside its
card (.json), which says how it was trained and how it plays; and ``recordings/``, one episode each.
``tools/pretrained.py`` makes weights and cards from a directory of ``qduet train``.
"""

from pathlib import Path
from typing import NamedTuple

from qduet.agents import AGENTS
from qduet.core import shipped
from qduet.core.errors import InputError, unknown_name
from qduet.core.reading import as_input_error, read_json
from qduet.deep.environments import canonical_id, game_of
from qduet.jobs import weights
from qduet.jobs.weights import Weights

_REMEDY = "install qduet again"


class Shipped(NamedTuple):
    """What there is to watch of an agent in an environment."""

    kind: str
    """``weights``, which play any episode, or ``recording``, a single episode."""
    env: str
    """``MinAtar/Breakout-v1``"""
    label: str
    """The agent: ``rdq``."""
    seed: int
    """The run's seed."""
    steps: int
    """Environment steps that it was trained for."""
    score: float
    """The mean return of the run's last evaluation; of a recording, its return."""
    path: Path
    """The file."""
    ended: bool = True
    """False of a recording that was cut before its game was over."""


def everything() -> list[Shipped]:
    """All weights, then all recordings, by the names of their files."""
    results = shipped.directory("results")
    cards = [_from_card(path) for path in sorted((results / "weights").glob("*.json"))]
    return cards + [_recorded(path) for path in sorted((results / "recordings").glob("*.json"))]


def _from_card(path: Path) -> Shipped:
    card = read_json(path)
    with as_input_error(path, _REMEDY):
        env, label, seed, steps = (card[name] for name in ("env", "label", "seed", "steps"))
        score, file = float(card["evaluation"]["return_mean"]), path.with_name(card["weights"])
        return Shipped("weights", env, label, seed, steps, score, file)


def _recorded(path: Path) -> Shipped:
    document = read_json(path)
    with as_input_error(path, _REMEDY):
        env, label, seed, steps = (document[name] for name in ("env", "label", "seed", "step"))
        score, ended = document["score"], document["ended"]
        return Shipped("recording", env, label, seed, steps, score, path, ended)


def find(label: str, env: str) -> Shipped:
    """What plays `label` in `env` (``Breakout``, ``MinAtar/Breakout-v1``): weights, if there are.

    `InputError` if there is neither weights nor a recording; it says what there is instead, and
    how to train such an agent.
    """
    env_id = canonical_id(env)
    known = everything()
    for one in known:  # weights come first
        if (one.label, one.env) == (label, env_id):
            return one
    if label not in {*AGENTS, *(one.label for one in known)}:
        raise unknown_name("agent", label, AGENTS)
    others = sorted({one.label for one in known if one.env == env_id})
    there = f"those for {env_id} are {', '.join(others)}" if others else "none for it does"
    out = f"out/{game_of(env_id).lower()}-{label}"
    raise InputError(
        f"no trained '{label}' for {env_id} comes with qduet, {there} (qduet watch lists all); "
        f"train one: qduet train {label} {env_id} --out {out}, then qduet watch {out}"
    )


def load(label: str, env: str) -> Weights:
    """The weights of the agent `label` for `env` (``Breakout``), which come with qduet."""
    found = find(label, env)
    if found.kind != "weights":
        raise InputError(
            f"of '{label}' in {found.env} only a recording comes with qduet, {found.path}: read it "
            f"with qduet.jobs.read_recording, or train: qduet train {label} {found.env}"
        )
    return weights.load(found.path)
