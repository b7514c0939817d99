"""Which runs may be compared with the published scores: complete, unedited, of the same settings.

The published scores came from the released code, so they are compared with ``protocol=reference``
and the paper's settings only. Other runs are refused with one line that says why.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from qduet.agents import completed, make_agent
from qduet.core.errors import InputError
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
        _raise_first(runs, _problems_of_settings(runs, protocol))
    except KeyError as error:
        raise _refused(runs, f"its config.json has no {error}; train again") from None
    check_complete(runs)


def is_figure6(runs: Sequence[Runs]) -> bool:
    """Whether these runs are the paper's experiment: its settings, length, seeds and agents."""
    try:
        return all(
            not any(_problems_of_settings(directory, PROTOCOL))
            and directory.config["steps"] == published.STEPS
            and len(directory.config["seeds"]) >= published.SEEDS
            and set(published.AGENTS) <= set(directory.agents)
            for directory in runs
        )
    except KeyError:
        return False


def check_complete(runs: Runs) -> None:
    """Raises unless every evaluation is there once, and no run is a copy of another."""
    _raise_first(runs, itertools.chain(_problems_of_rows(runs), _copies(runs)))


def _raise_first(runs: Runs, problems: Iterator[str]) -> None:
    for problem in problems:
        raise _refused(runs, problem)


def _refused(runs: Runs, problem: str) -> InputError:
    return InputError(f"{runs.directory} cannot be certified: {problem}")


def _problems_of_settings(runs: Runs, protocol: str) -> Iterator[str]:
    config = runs.config
    if runs.game not in published.GAMES:
        yield f"there are no published scores of {runs.game}"
    if config["protocol"] != protocol:
        came_from = f"the published scores came from --protocol {PROTOCOL}"
        wanted = came_from if protocol == PROTOCOL else f"it should be '{protocol}'"
        yield f"its protocol is '{config['protocol']}'; {wanted}"
    settings = {"env": f"MinAtar/{runs.game}-v1", "episodes": published.EPISODES}
    for name, value in settings.items():
        if config[name] != value:
            yield f"its {name} is {config[name]}; the published one is {value}"
    every, steps = config["evaluate_every"], config["steps"]
    shared = every >= 1 and published.EVALUATE_EVERY % every == 0
    if not (shared and published.EVALUATE_EVERY <= steps <= published.STEPS):
        yield (
            f"it has evaluations every {every:,} steps up to {steps:,}; the published ones are "
            f"every {published.EVALUATE_EVERY:,} up to {published.STEPS:,}"
        )
    for agent in config["agents"]:
        label = agent["label"]
        if label not in published.AGENTS:
            yield f"there are no published scores of '{label}'; leave it out"
        there = completed(agent)
        for name, value in make_agent(label, protocol=protocol).fields().items():
            if there[name] != value:
                yield f"{name} of {label} is {there[name]}; the published one is {value}"
    for kind, names in (("agent", runs.agents), ("seed", config["seeds"])):
        for name, count in Counter(names).items():
            if count > 1:
                yield f"{kind} {name} is there twice; train again"
    if len(config["seeds"]) < 2:
        yield "it has a single seed; train at least two"


def _problems_of_rows(runs: Runs) -> Iterator[str]:
    """Each agent × seed × step of config.json must be there once, and nothing else."""
    config, table = runs.config, runs.table
    steps = range(0, config["steps"] + 1, config["evaluate_every"])
    seeds, number = set(config["seeds"]), len(runs.agents) * len(config["seeds"]) * len(steps)
    columns = (table[name].tolist() for name in ("agent", "seed", "step"))
    there = Counter(zip(*columns, strict=True))
    for (agent, seed, step), count in sorted(there.items()):
        if count > 1 or not (agent in runs.agents and seed in seeds and step in steps):
            what = "is there twice" if count > 1 else "is not of its config.json"
            yield f"seed {seed} of {agent} at step {step:,} {what}; train again"
    # Of the wanted ones there may be millions, but the first that is missing is among the first.
    wanted = ((a, s, t) for a in sorted(runs.agents) for s in sorted(seeds) for t in steps)
    for agent, seed, step in itertools.islice((key for key in wanted if key not in there), 1):
        yield (
            f"{number - len(there)} of {number} evaluations are missing, the first is seed {seed} "
            f"of {agent} at step {step:,}; continue the training"
        )
    if (table["game"] != runs.game).any() or not np.isfinite(table["return_mean"]).all():
        yield "a row is of another game or has no return; train again"


def _copies(runs: Runs) -> Iterator[str]:
    """No two runs, of the same agent or of two, may have the same numbers throughout."""
    columns = [name for name in PUBLISHED if name != "elapsed_seconds"]
    first: dict[bytes, str] = {}
    for agent in runs.agents:
        parts = [runs.scores(agent, name) for name in columns]
        numbers = np.concatenate([part.values for part in parts], axis=1)
        for seed, row in zip(parts[0].seeds.tolist(), numbers, strict=True):
            run = f"seed {seed} of {agent}"
            other = first.setdefault(row.tobytes(), run)
            if other != run:
                yield f"{other} and {run} are the same run; train again"
