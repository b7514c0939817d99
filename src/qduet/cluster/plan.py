"""A plan of many runs, read from TOML: environments × agents × grids × seeds, and tabular sweeps.

    environments = ["MinAtar/Asterix-v1", "MinAtar/Breakout-v1"]
    seeds = 30                          # 0 to 29; "10-29" are these twenty, [3, 17] these two
    steps = 1_000_000
    protocol = "reference"

    [[agents]]
    name = "rdq"
    beta = [1e-4, 1e-3, 1e-2]           # each value makes an agent: rdq-beta-0.0001, …
    learning_rate = [1e-4, 2.5e-4]      # two lists make every pair of values
    # zip = ["beta", "learning_rate"]   # … or go together, first with first

    [[tabular]]
    figure = "figure5"                  # one of the paper's; or name, problem and rules of yours
    seeds = 1_000

A wrong plan is an `InputError` of one line, which names the line of the file. Nothing here needs
jax.
"""

import dataclasses
import itertools
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from qduet.agents import AGENTS, PROTOCOLS, STRIDE, Agent, make_agent
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

SHORT = {"learning_rate": "rate"}
"""Settings that labels abbreviate."""


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
        self.path, self.lines = path, text.splitlines()

    def error(self, message: str, key: str = "", table: str = "", number: int = 0) -> InputError:
        """An error about `key` in the table ``[[table]]`` of this number, or at the top."""
        heads = [i for i, line in enumerate(self.lines) if line.strip().startswith("[")]
        mine = [i for i in heads if re.match(rf"\s*\[\[\s*{table}\s*\]\]", self.lines[i])]
        first = mine[number] if table and number < len(mine) else 0
        last = min((i for i in heads if i > first), default=len(self.lines))
        if not table and heads:
            last = heads[0]
        named = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
        found = [i for i in range(first, last) if key and named.match(self.lines[i])]
        line = found[0] if found else first if table and mine else None
        where = f"{self.path}, line {line + 1}" if line is not None else str(self.path)
        return InputError(f"{where}: {message}")

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
        tabular = [self.tabular(i, table) for i, table in enumerate(entries["tabular"])]
        names = [table.get("name", table.get("figure")) for table in tabular]
        for i, called in enumerate(names):
            if called in names[:i]:
                raise self.error(
                    f"two experiments are called {called}: give one a name", "", "tabular", i
                )
        if not entries["agents"]:
            if document.keys() & {*KEYS}:
                raise self.error(
                    "environments, seeds and steps are for [[agents]], and none is there"
                )
            return Plan((), (), (), 0, 0, 0, tuple(tabular))
        return self.training(document, entries["agents"], tuple(tabular))

    def training(self, top: Mapping[str, Any], tables: list, tabular: tuple) -> Plan:
        for key in ("environments", "steps"):
            if key not in top:
                raise self.error(f"{key} is missing")
        protocol = top.get("protocol", "paper")
        if not isinstance(protocol, str) or protocol not in PROTOCOLS:
            raise self.error(f"protocol must be one of {', '.join(PROTOCOLS)}", "protocol")
        numbers = {
            "steps": top["steps"],
            "evaluate_every": top.get("evaluate_every", min(1_000_000, top["steps"]))
            if isinstance(top["steps"], int)
            else 1,
            "episodes": top.get("episodes", 1_000),
        }
        for key, value in numbers.items():
            if type(value) is not int or value < 1:
                raise self.error(
                    f"{key} must be a whole number of at least 1; it is {value!r}", key
                )
        if numbers["steps"] % numbers["evaluate_every"]:
            raise self.error(
                f"steps must be a multiple of {numbers['evaluate_every']:,} (evaluate_every: steps "
                f"between two evaluations); it is {numbers['steps']:,}",
                "steps",
            )
        try:
            seeds = seeds_of(top.get("seeds", 1))
        except InputError as error:
            raise self.error(str(error), "seeds") from None
        agents: dict[str, Agent] = {}
        for i, table in enumerate(tables):
            for label, agent in self.variants(i, table, protocol):
                if label in agents:
                    raise self.error(
                        f"two agents are called {label}: give one a label", "label", "agents", i
                    )
                agents[label] = agent
                if numbers["evaluate_every"] % agent.sync_every:
                    written = "evaluate_every" if "evaluate_every" in top else "steps"
                    same = numbers["evaluate_every"] == numbers["steps"]
                    raise self.error(
                        f"{written if same else 'evaluate_every'} must be a multiple of "
                        f"{agent.sync_every:,} (sync_every: steps between two copies to the target "
                        f"network); it is {numbers['evaluate_every']:,}",
                        written,
                    )
        environments = self.environments(top["environments"])
        return Plan(environments, tuple(agents.items()), seeds, **numbers, tabular=tabular)

    def environments(self, given: Any) -> tuple[str, ...]:
        """The full ids; what is neither MinAtar's nor gymnax's is taken to be the user's own."""
        given = [given] if isinstance(given, str) else given
        if not isinstance(given, list) or not given or not all(isinstance(x, str) for x in given):
            raise self.error("environments must be a list of ids", "environments")
        found = []
        for env_id in given:
            full = minatar_id(env_id) or env_id
            if re.match(r"minatar\b|.*-minatar$", full, re.IGNORECASE) and full not in ENV_IDS:
                raise self.unknown("environment", env_id, ENV_IDS, "environments")
            if full in found:
                raise self.error(f"{full} is there twice; name each once", "environments")
            found.append(full)
        return tuple(found)

    def variants(self, i: int, table: dict[str, Any], protocol: str) -> list[tuple[str, Agent]]:
        """One agent for each point of a table's grids."""
        where = ("agents", i)
        options = dict(table)
        name, zipped = options.pop("name", None), options.pop("zip", [])
        label = options.pop("label", name)
        if not isinstance(name, str) or name not in AGENTS:
            raise self.unknown("agent", name, AGENTS, "name", *where)
        if not isinstance(label, str) or not re.fullmatch(r"[\w.+-]+", label):
            raise self.error(
                f"label must be of letters, digits and . _ + -, not {label!r}", "label", *where
            )
        agent = make_agent(name, protocol=protocol)
        known = agent.fields().keys() - {"name", "algorithm"}
        for key, value in options.items():
            if key not in known:
                raise self.unknown("key", key, {*known, "name", "label", "zip"}, key, *where)
            if isinstance(value, list) and type(agent.fields()[key]) not in (int, float):
                raise self.error(f"{key} is no number: it has one value, not a list", key, *where)
            if value == []:
                raise self.error(f"{key} has no values: an empty grid has no runs", key, *where)
        grids = {key: value for key, value in options.items() if isinstance(value, list)}
        fixed = {key: value for key, value in options.items() if key not in grids}
        try:
            agent = agent.replace(**fixed)
            return [
                ("-".join([label, *(f"{SHORT.get(k, k)}-{x:g}" for k, x in point)]), made)
                for point in self.points(grids, zipped, *where)
                for made in [agent.replace(**dict(point))]
            ]
        except InputError as error:
            if str(error).startswith(str(self.path)):
                raise
            key = next((key for key in options if str(error).startswith(f"{key} ")), "name")
            raise self.error(str(error), key, *where) from None

    def points(self, grids: dict[str, list], zipped: Any, *where: Any) -> list[tuple[tuple, ...]]:
        """The points of the grids: all pairs of values, but zipped lists go together."""
        if not isinstance(zipped, list) or not all(x in [*grids] for x in zipped):
            raise self.error("zip must be a list of keys that have lists", "zip", *where)
        lengths = {len(grids[key]) for key in zipped}
        if len(lengths) > 1:
            raise self.error("zip needs lists of equal length", "zip", *where)
        for key, values in grids.items():
            values[:] = [as_setting(float, key, value) for value in values]
            if len(set(values)) < len(values) and key not in zipped:
                raise self.error(f"{key} has a value twice", key, *where)
        axes = [[[(key, x)] for x in grids[key]] for key in grids if key not in zipped]
        if zipped:
            rows = zip(*(grids[key] for key in zipped), strict=True)
            axes.insert(0, [list(zip(zipped, row, strict=True)) for row in rows])
        return [tuple(itertools.chain(*point)) for point in itertools.product(*axes)]

    def tabular(self, i: int, table: dict[str, Any]) -> dict[str, Any]:
        """The settings of an experiment, of the right types; what they mean is checked later."""
        where = ("tabular", i)
        for key, value in table.items():
            if key not in TABULAR_KEYS:
                raise self.unknown("key", key, TABULAR_KEYS, key, *where)
            kind = TABULAR_KEYS[key]
            if kind is list and (not isinstance(value, list) or not value):
                raise self.error(f"{key} must be a list with something in it", key, *where)
            if kind is not list:
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
            name = rule.get("rule") if isinstance(rule, dict) else rule
            beta = rule.get("beta", 1.0) if isinstance(rule, dict) else 1.0
            extra = isinstance(rule, dict) and rule.keys() - {"rule", "beta"}
            if name not in [*RULES] or extra or type(beta) not in (int, float):
                raise self.error(
                    f"unknown rule {rule!r}: allowed: {', '.join(RULES)}, and "
                    '{rule = "soft_rdq", beta = …}',
                    "rules",
                    *where,
                )
        return table


def iterations(steps: int, agent: Agent) -> int:
    """Updates of a run."""
    return max(0, steps - agent.learn_from) // STRIDE
