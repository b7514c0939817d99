"""Which runs may be compared with the published scores: complete, unedited, of the same settings.

The published scores came from the released code, so they are compared with ``protocol=reference``
and the paper's settings only. Other runs are refused with one line that says why.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qduet.core.errors import InputError
from qduet.deep.agents import make_agent
from qduet.results import published
from qduet.results.runs import PUBLISHED, Runs, find, load

PROTOCOL = "reference"


def admit(directories: Sequence[Path], *, protocol: str = PROTOCOL) -> list[Runs]:
    """The runs of `directories` (or of the directories in them), one per game, games in order.

    With ``protocol="paper"``, runs must have been made as the paper's text says.
    """
    admitted: dict[str, Runs] = {}
    for path in find(directories):
        runs = load(path)
        _check(runs, protocol)
        if runs.game in admitted:
            raise InputError(
                f"{published.title(runs.game)} is in both {admitted[runs.game].directory} and "
                f"{path}; give one"
            )
        admitted[runs.game] = runs
    return [admitted[game] for game in published.GAMES if game in admitted]


def _check(runs: Runs, protocol: str) -> None:
    try:
        _check_settings(runs, protocol)
        _check_agents(runs, protocol)
    except KeyError as error:
        raise _refused(runs, f"its config.json has no {error}", "train again") from None
    check_complete(runs)


def check_complete(runs: Runs) -> None:
    """Raises unless every evaluation is there once, and no run is a copy of another."""
    _check_rows(runs)
    _check_copies(runs)


def _refused(runs: Runs, reason: str, remedy: str) -> InputError:
    return InputError(f"{runs.directory} cannot be certified: {reason}; {remedy}")


def _check_settings(runs: Runs, protocol: str) -> None:
    config = runs.config
    if runs.game not in published.GAMES:
        raise _refused(runs, f"there are no published scores of {runs.game}", "leave it out")
    if config["protocol"] != protocol:
        raise _refused(
            runs,
            f"its protocol is '{config['protocol']}'",
            f"the published scores came from --protocol {PROTOCOL}"
            if protocol == PROTOCOL
            else f"it should be '{protocol}'",
        )
    wanted: dict[str, Any] = {
        "env": f"MinAtar/{runs.game}-v1",
        "episodes": published.EPISODES,
    }
    for name, value in wanted.items():
        if config[name] != value:
            raise _refused(runs, f"its {name} is {config[name]}", f"the published one is {value}")
    every, steps = config["evaluate_every"], config["steps"]
    if (
        every < 1
        or published.EVALUATE_EVERY % every
        or not published.EVALUATE_EVERY <= steps <= published.STEPS
    ):
        raise _refused(
            runs,
            f"it has evaluations every {every:,} steps up to {steps:,}",
            f"the published ones are every {published.EVALUATE_EVERY:,} up to {published.STEPS:,}",
        )


def _check_agents(runs: Runs, protocol: str) -> None:
    for agent in runs.config["agents"]:
        label = agent["label"]
        if label not in published.AGENTS:
            raise _refused(runs, f"there are no published scores of '{label}'", "leave it out")
        for name, value in dataclasses.asdict(make_agent(label, protocol=protocol)).items():
            if agent[name] != value:
                raise _refused(
                    runs, f"{name} of {label} is {agent[name]}", f"the published one is {value}"
                )
    for kind, names in (("agent", runs.agents), ("seed", runs.config["seeds"])):
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise _refused(runs, f"{kind} {twice[0]} is there twice", "train again")
    if len(runs.config["seeds"]) < 2:
        raise _refused(runs, "it has a single seed", "train at least two")


def _check_rows(runs: Runs) -> None:
    """Each agent × seed × step of config.json must be there once, and nothing else."""
    config, table = runs.config, runs.table
    steps = range(0, config["steps"] + 1, config["evaluate_every"])
    wanted = {(a, s, t) for a in runs.agents for s in config["seeds"] for t in steps}
    columns = (table[name].tolist() for name in ("agent", "seed", "step"))
    there = Counter(zip(*columns, strict=True))
    for (agent, seed, step), count in sorted(there.items()):
        if count > 1 or (agent, seed, step) not in wanted:
            what = "is there twice" if count > 1 else "is not of its config.json"
            raise _refused(runs, f"seed {seed} of {agent} at step {step:,} {what}", "train again")
    missing = sorted(wanted - there.keys())
    if missing:
        agent, seed, step = missing[0]
        raise _refused(
            runs,
            f"{len(missing)} of {len(wanted)} evaluations are missing, the first is seed {seed} "
            f"of {agent} at step {step:,}",
            "continue the training",
        )
    if (table["game"] != runs.game).any() or not np.isfinite(table["return_mean"]).all():
        raise _refused(runs, "a row is of another game or has no return", "train again")


def _check_copies(runs: Runs) -> None:
    """No two seeds of an agent may have the same numbers throughout."""
    columns = [name for name in PUBLISHED if name != "elapsed_seconds"]
    for agent in runs.agents:
        first: dict[bytes, int] = {}
        parts = [runs.scores(agent, name) for name in columns if name in runs.table]
        numbers = np.concatenate([part.values for part in parts], axis=1)
        for seed, row in zip(parts[0].seeds.tolist(), numbers, strict=True):
            other = first.setdefault(row.tobytes(), seed)
            if other != seed:
                raise _refused(
                    runs, f"seeds {other} and {seed} of {agent} are the same run", "train again"
                )
