"""The results of a sweep as if one job had made them: a directory for each environment.

    collect(Path("out/sweep"), Path("out/collected"))     # out/collected/breakout/config.json, …

Each is what ``qduet train`` writes, with all agents and seeds, so that everything that reads runs
reads it. ``all.csv`` is one table of all evaluations, with the settings in which agents differ.
"""

import csv
import io
from pathlib import Path
from typing import Any

from qduet.cluster import cutting
from qduet.core.errors import InputError
from qduet.core.files import write_atomically
from qduet.env_ids import game_of
from qduet.results import runs
from qduet.results.runs import Runs

TABLE = "all.csv"


def collect(directory: Path, out: Path) -> dict[str, int]:
    """Writes the collected runs of a sweep; returns how many rows each environment has."""
    sweep = cutting.load(directory)
    if sweep is None:
        raise InputError(f"{directory} holds no sweep; give the --out of a qduet sweep command")
    by_env: dict[str, list[Runs]] = {}
    for task in sweep.tasks:
        if task.trains and (directory / task.name / runs.CONFIG).exists():
            loaded = runs.load(directory / task.name)
            by_env.setdefault(task.settings["env"], []).append(loaded)
    if not by_env:
        raise InputError(f"{directory} has no evaluations yet")
    if out.exists() and any(out.iterdir()) and not (out / TABLE).exists():
        raise InputError(f"{out} holds something else; choose another directory")
    everything: list[dict[str, Any]] = []
    for env, jobs in by_env.items():
        config, rows = _merged(jobs)
        runs.write(out / _folder(env), config, rows)
        settings = {agent["label"]: agent for agent in config["agents"]}
        everything += [{"env": env, **settings[row["agent"]], **row} for row in rows]
    write_atomically(out / TABLE, _table(everything).encode())
    for env, jobs in by_env.items():
        _copy_weights(jobs, out / _folder(env) / "weights")
    return {env: sum(row["env"] == env for row in everything) for env in by_env}


def _copy_weights(jobs: list[Runs], folder: Path) -> None:
    """Copies the weights of `jobs` into `folder`; removes those of an earlier collection."""
    found = {
        file.name: file for job in jobs for file in job.directory.glob("weights/*.safetensors")
    }
    for old in folder.glob("*.safetensors"):
        if old.name not in found:
            old.unlink()
    for name, file in found.items():
        write_atomically(folder / name, file.read_bytes())


def _folder(env: str) -> str:
    version = "" if env.endswith("-v1") else env[env.rfind("-v") :]
    return "".join(x if x.isalnum() else "-" for x in game_of(env).lower()) + version


def _merged(jobs: list[Runs]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The configuration and the rows that one job with all agents and seeds would have."""
    agents = {agent["label"]: agent for job in jobs for agent in job.config["agents"]}
    seeds = sorted({seed for job in jobs for seed in job.config["seeds"]})
    commits = sorted({commit for job in jobs for commit in job.commits.values()})
    origin = dict(jobs[0].config["provenance"])
    if len(commits) > 1:
        origin["commits"] = commits
    config = {**jobs[0].config, "agents": [*agents.values()], "seeds": seeds, "provenance": origin}
    rows = []
    for job in jobs:
        columns = [column.tolist() for column in job.table.values()]
        rows += [dict(zip(job.table, values, strict=True)) for values in zip(*columns, strict=True)]
    order = {label: i for i, label in enumerate(agents)}
    rows.sort(key=lambda row: (order[row["agent"]], row["seed"], row["step"]))
    return config, rows


def _table(rows: list[dict[str, Any]]) -> str:
    """All rows as CSV; of the agents' settings those that are not the same everywhere."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    fixed = ("env", *runs.COLUMNS)
    varying = [
        n for n in names if n not in (*fixed, "label") and len({row.get(n) for row in rows}) > 1
    ]
    columns = ["env", *varying, *(name for name in runs.COLUMNS if name in names)]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    text = lambda x: "" if x is None or x != x else f"{x:.9g}" if isinstance(x, float) else x
    writer.writerows([[text(row.get(name)) for name in columns] for row in rows])
    return buffer.getvalue()
