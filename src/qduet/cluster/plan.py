"""A plan of many runs, read from TOML: environments × agents × grids × seeds, and tabular sweeps.

    environments = ["MinAtar/Asterix-v1", "MinAtar/Breakout-v1"]
    seeds = 30                          # 0 to 29; "10-29" are these twenty, [3, 17] these two
    steps = 1_000_000
    protocol = "reference"

    [[agents]]
    name = "rdq"
    beta = [1e-4, 1e-3, 1e-2]           # each value makes an agent: rdq-beta-0.0001, …
    learning_rate = [1e-4, 2.5e-4]      # two lists make every pair of values

    [[tabular]]
    figure = "figure5"                  # one of the paper's; or name, problem and rules of yours
    seeds = 1_000

A wrong plan is an `InputError` of one line, which names the line of the file. Nothing here needs
jax.
"""

import collections
import dataclasses
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from qduet.agents import AGENTS, PROTOCOLS, Agent, grid, make_agent
from qduet.core.errors import InputError, as_setting, unknown_name
from qduet.core.reading import read_text
from qduet.env_ids import ENV_IDS, minatar_id

MAX_SEEDS = 10_000
"""In one plan or command; more than any device holds."""

KEYS = ("environments", "seeds", "steps", "evaluate_every", "episodes", "protocol")
"""What stands at the top of a plan, before its ``[[agents]]`` and ``[[tabular]]``."""

TABULAR_KEYS = {
    **{"figure": str, "name": str, "title": str, "problem": str, "rules": list, "actions": list},
    **{"step_sizes": list, "seeds": int, "steps": int, "record_every": int, "init_std": float},
    "protocol": str,
}
"""What a ``[[tabular]]`` may hold, and of which type; the fields of a `TabularExperiment`."""

FIGURES = ("figure1", "figure3", "figure5", "figure5-soft")
RULES = (
    *("td0", "expected_sarsa", "q_learning", "qv_learning", "qvmax", "bc_qvmax"),
    *("dueling_q", "soft_rdq", "hard_rdq"),
)
"""Names of `qduet.paper` and `qduet.tabular`, which need jax."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is to be run."""

    environments: tuple[str, ...]
    """Full ids."""
    agents: tuple[tuple[str, Agent], ...]
    """Pairs (label, agent), one for each point of the grids."""
    seeds: tuple[int, ...]
    """Each agent has one run for each of them in each environment."""
    steps: int
    """Of each run."""
    evaluate_every: int
    """Steps between two evaluations."""
    episodes: int
    """Of an evaluation."""
    tabular: tuple[dict[str, Any], ...]
    """The settings of the tabular experiments, as in the file."""


def read_plan(path: Path) -> Plan:
    """The plan in a TOML file; `InputError` if it cannot be carried out."""
    text = read_text(path)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    return _Reader(path, text).plan(document)


def seeds_of(given: Any) -> tuple[int, ...]:
    """``5``: 0 to 4; ``"10-29"``: these twenty; ``"3,17"`` or ``[3, 17]``: these two."""
    if isinstance(given, str | int) and not isinstance(given, bool):
        return _seeds_of_text(str(given))
    if isinstance(given, list) and all(type(seed) is int and seed >= 0 for seed in given):
        twice = [seed for seed in given if given.count(seed) > 1]
        if twice:
            raise InputError(f"seed {twice[0]} is there twice; name each one once")
        if given:
            return tuple(given)
    raise InputError(f'seeds must be a number, a range "A-B" or a list; they are {given!r}')


def _seeds_of_text(text: str) -> tuple[int, ...]:
    whole, seeds = r"([0-9]+(?:_[0-9]+)*)", range(0)
    if len(text) > 50 and "," not in text:
        raise InputError(f"'{text[:50]}…' are more than {MAX_SEEDS:,} seeds")
    if re.fullmatch(rf"{whole}(,{whole}?)+", text):
        return seeds_of([int(part) for part in text.split(",") if part])
    if match := re.fullmatch(rf"{whole}-{whole}", text):
        seeds = range(int(match[1]), int(match[2]) + 1)
    elif match := re.fullmatch(rf"{whole}(?:e([0-9]{{1,2}}))?", text):
        seeds = range(int(match[1]) * 10 ** int(match[2] or 0))
    if seeds.stop - seeds.start > MAX_SEEDS:
        raise InputError(f"'{text}' are more than {MAX_SEEDS:,} seeds")
    if not seeds:
        raise InputError(
            f"'{text}' is neither a number of at least 1, nor a range A-B, nor a list A,B,…"
        )
    return tuple(seeds)


class _Reader:
    """Turns the document into a plan; its errors name the file and the line."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.lines = path, _lines(text)

    def error(self, message: str, key: str = "", table: str = "", number: int = 0) -> InputError:
        """An error about `key` in the table ``[[table]]`` of this number, or at the top."""
        line = self.lines.get((table, number, key)) or self.lines.get((table, number, ""))
        return InputError(f"{self.path}{f', line {line}' if line else ''}: {message}")

    def unknown(self, kind: str, name: Any, allowed: Iterable[str], *where: Any) -> InputError:
        """An error about a name that is not one of `allowed`."""
        importable = kind == "agent"
        return self.error(str(unknown_name(kind, name, allowed, importable=importable)), *where)

    def plan(self, document: Mapping[str, Any]) -> Plan:
        for key in document:
            if key not in (*KEYS, "agents", "tabular"):
                raise self.unknown("key", key, (*KEYS, "agents", "tabular"), key)
        entries = {name: document.get(name, []) for name in ("agents", "tabular")}
        for name, tables in entries.items():
            if not isinstance(tables, list) or not all(isinstance(x, dict) for x in tables):
                raise self.error(f"{name} are given as tables [[{name}]]", name)
        if not any(entries.values()):
            raise self.error("there is nothing to run: it has neither [[agents]] nor [[tabular]]")
        tabular: dict[str, dict[str, Any]] = {}
        for i, table in enumerate(entries["tabular"]):
            called = self.check_tabular(table, "tabular", i)
            if called in tabular:
                message = f"two experiments are called {called}: give one a name"
                raise self.error(message, "", "tabular", i)
            tabular[called] = table
        if entries["agents"]:
            return self.training(document, entries["agents"], tuple(tabular.values()))
        if document.keys() & {*KEYS}:
            raise self.error("environments, seeds and steps are for [[agents]], and none is there")
        return Plan((), (), (), 0, 0, 0, tuple(tabular.values()))

    def training(self, top: Mapping[str, Any], tables: list, tabular: tuple) -> Plan:
        for key in ("environments", "steps"):
            if key not in top:
                raise self.error(f"{key} is missing")
        protocol = top.get("protocol", "paper")
        if not isinstance(protocol, str) or protocol not in PROTOCOLS:
            raise self.error(f"protocol must be one of {', '.join(PROTOCOLS)}", "protocol")
        steps = self.whole("steps", top["steps"])
        every = self.whole("evaluate_every", top.get("evaluate_every", min(1_000_000, steps)))
        episodes = self.whole("episodes", top.get("episodes", 1_000))
        if steps % every:
            raise self.error(
                f"steps must be a multiple of {every:,} (evaluate_every: steps between two "
                f"evaluations); it is {steps:,}",
                "steps",
            )
        try:
            seeds = seeds_of(top.get("seeds", 1))
        except InputError as error:
            raise self.error(str(error), "seeds") from None
        given = "evaluate_every" if "evaluate_every" in top else "steps"
        agents: dict[str, Agent] = {}
        for i, table in enumerate(tables):
            for label, agent in self.variants(table, protocol, "agents", i):
                if label in agents:
                    message = f"two agents are called {label}: give one a label"
                    raise self.error(message, "label", "agents", i)
                agents[label] = agent
                if every % agent.sync_every:
                    raise self.error(
                        f"{given if every == steps else 'evaluate_every'} must be a multiple of "
                        f"{agent.sync_every:,} (sync_every: steps between two copies to the target "
                        f"network); it is {every:,}",
                        given,
                    )
        environments = self.environments(top["environments"])
        return Plan(environments, tuple(agents.items()), seeds, steps, every, episodes, tabular)

    def whole(self, key: str, value: Any) -> int:
        if type(value) is not int or value < 1:
            raise self.error(f"{key} must be a whole number of at least 1; it is {value!r}", key)
        return value

    def environments(self, given: Any) -> tuple[str, ...]:
        """The full ids; what is neither MinAtar's nor gymnax's is taken to be the user's own."""
        given = [given] if isinstance(given, str) else given
        if not isinstance(given, list) or not given or not all(isinstance(x, str) for x in given):
            raise self.error("environments must be a list of ids", "environments")
        found: list[str] = []
        for env_id in given:
            full = minatar_id(env_id) or env_id
            if re.match(r"minatar\b|.*-minatar$", full, re.IGNORECASE) and full not in ENV_IDS:
                raise self.unknown("environment", env_id, ENV_IDS, "environments")
            if full in found:
                raise self.error(f"{full} is there twice; name each once", "environments")
            found.append(full)
        return tuple(found)

    def variants(
        self, table: dict[str, Any], protocol: str, *where: Any
    ) -> list[tuple[str, Agent]]:
        """One agent for each point of a table's grids."""
        options = dict(table)
        name = options.pop("name", None)
        label = options.pop("label", name)
        if not isinstance(name, str) or name not in AGENTS:
            raise self.unknown("agent", name, AGENTS, "name", *where)
        if not isinstance(label, str) or not re.fullmatch(r"[\w.+-]+", label):
            message = f"label must be of letters, digits and . _ + -, not {label!r}"
            raise self.error(message, "label", *where)
        agent = make_agent(name, protocol=protocol)
        known = agent.fields().keys() - {"name", "algorithm"}
        for key, value in options.items():
            if key not in known:
                raise self.unknown("key", key, {*known, "name", "label"}, key, *where)
            if isinstance(value, list) and type(agent.fields()[key]) not in (int, float):
                raise self.error(f"{key} is no number: it has one value, not a list", key, *where)
            if value == []:
                raise self.error(f"{key} has no values: an empty grid has no runs", key, *where)
        grids = {key: value for key, value in options.items() if isinstance(value, list)}
        try:
            agent = agent.replace(**{key: x for key, x in options.items() if key not in grids})
            grids = {key: [as_setting(float, key, x) for x in grids[key]] for key in grids}
            for key, values in grids.items():
                if len(set(values)) < len(values):
                    raise self.error(f"{key} has a value twice", key, *where)
            return grid(label, agent, grids)
        except InputError as error:
            if str(error).startswith(str(self.path)):
                raise
            key = next((key for key in options if str(error).startswith(f"{key} ")), "name")
            raise self.error(str(error), key, *where) from None

    def check_tabular(self, table: dict[str, Any], *where: Any) -> str:
        """An experiment's name, if its settings are of the right types."""
        for key, value in table.items():
            if key not in TABULAR_KEYS:
                raise self.unknown("key", key, TABULAR_KEYS, key, *where)
            kind = TABULAR_KEYS[key]
            if kind is list:
                if not isinstance(value, list) or not value:
                    raise self.error(f"{key} must be a list with something in it", key, *where)
                continue
            try:
                as_setting(kind, key, value)
            except InputError as error:
                raise self.error(str(error), key, *where) from None
        if table.get("figure") not in (None, *FIGURES):
            raise self.error(f"figure must be one of {', '.join(FIGURES)}", "figure", *where)
        if "figure" not in table and not {"name", "problem", "rules"} <= table.keys():
            raise self.error("an experiment needs a figure, or name, problem and rules", "", *where)
        if not re.fullmatch(r"\w[\w.+-]*", str(table.get("name", "x"))):
            raise self.error("name must be of letters, digits and . _ + -", "name", *where)
        for key in ("seeds", "steps", "record_every"):
            if table.get(key, 1) < 1:
                raise self.error(f"{key} must be at least 1", key, *where)
        if not all(type(n) is int and n >= 1 for n in table.get("actions", [])):
            raise self.error("actions must be whole numbers of at least 1", "actions", *where)
        if not all(type(x) in (int, float) and 0 < x < 1e9 for x in table.get("step_sizes", [])):
            raise self.error("step_sizes must be positive numbers", "step_sizes", *where)
        for rule in table.get("rules", []):
            spec = rule if isinstance(rule, dict) else {"rule": rule}
            number = type(spec.get("beta", 1.0)) in (int, float)
            if not (spec.get("rule") in RULES and spec.keys() <= {"rule", "beta"} and number):
                allowed = f'{", ".join(RULES)}, and {{rule = "soft_rdq", beta = …}}'
                raise self.error(f"unknown rule {rule!r}: allowed: {allowed}", "rules", *where)
        return str(table.get("name", table.get("figure")))


def _lines(text: str) -> dict[tuple[str, int, str], int]:
    """On which line each key stands: {(table, its number, key): line}; key "" is a table's head."""
    found: dict[tuple[str, int, str], int] = {}
    numbers: collections.Counter[str] = collections.Counter()
    table = "", 0
    for i, line in enumerate(text.splitlines(), 1):
        if head := re.match(r"\s*\[+\s*([\w.-]+)\s*\]", line):
            table = head[1], numbers[head[1]]
            numbers[head[1]] += 1
            found[*table, ""] = i
        elif key := re.match(r"\s*[\"']?([\w-]+)[\"']?\s*=", line):
            found.setdefault((*table, key[1]), i)
    return found
