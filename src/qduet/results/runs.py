"""Deep results on disk: one directory for all runs of one training command.

    config.json       every setting, and the versions, commit and device of the start
    evaluations.csv   one row per run and evaluation, never averaged
    SHA256SUMS        of both, as ``sha256sum --check`` reads it
    weights/          ``AGENT-SEED.safetensors``: the weights of each run at the end
    checkpoint/       the whole state, to continue from; nothing here reads it

    runs = load(Path("out/breakout"))
    runs.scores("rdq").values[:, -1].mean()        # over seeds, at the last evaluation

A run is an agent (by its label) and a seed. The labels of a directory are its own: ``rdq``, or
``rdq-beta-0.01`` where a command trains one agent with several settings.
"""

import csv
import dataclasses
import functools
import hashlib
import io
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qduet.core.errors import InputError, unknown_name
from qduet.core.files import to_json, write_atomically
from qduet.core.reading import MissingError, as_input_error, parse_json, read_text

FORMAT = 1
CONFIG, EVALUATIONS, SUMS = "config.json", "evaluations.csv", "SHA256SUMS"

KEYS = ("game", "agent", "seed", "step")
"""The columns that identify a row."""

PUBLISHED = (
    "return_mean",
    "return_median",
    "return_std",
    "return_max",
    "return_min",
    "q_value_mean",
    "q_overestimation",
    "discounted_return_mean",
    "train_q_mean",
    "train_loss_mean",
    "elapsed_seconds",
)
"""The columns of the published scores, in their order and meaning."""

DIAGNOSTICS = (
    "v_rms",
    "adv_rms",
    "mean_adv_abs",
    "episode_length_mean",
    "episodes_cut",
    "train_total_loss_mean",
    "frames_per_second",
    "mean_adv",
    "v_minus_max_q",
    "q_spread",
)
"""Our own columns; files from before a column was added lack it."""

COLUMNS = KEYS + PUBLISHED + DIAGNOSTICS

LONGEST_LABEL = 200
"""Bytes of an agent's label; the names of files have it in them."""

Row = Mapping[str, Any]
"""One evaluation of one run: a value for each of `COLUMNS` (None or NaN: not known)."""


class Scores(NamedTuple):
    """One column of one agent's runs."""

    seeds: np.ndarray
    """int[seeds]"""
    steps: np.ndarray
    """int[evaluations]"""
    values: np.ndarray
    """float[seeds, evaluations]"""

    @property
    def last(self) -> np.ndarray:
        """The values at the last evaluation, ``[seeds]``."""
        return self.values[:, -1]

    def where(self, shown: np.ndarray) -> "Scores":
        """The evaluations `shown` (bool[evaluations])."""
        return self._replace(steps=self.steps[shown], values=self.values[:, shown])


@dataclasses.dataclass(frozen=True)
class Runs:
    """The runs of one directory."""

    directory: Path
    """Where they were read."""
    config: dict[str, Any]
    """What config.json holds."""
    table: dict[str, np.ndarray]
    """Each column of the CSV, one entry per row."""

    @property
    def game(self) -> str:
        """The game's name, as in the published scores: ``Breakout``."""
        return str(self.config["game"])

    @property
    def agents(self) -> tuple[str, ...]:
        """The labels of the agents, in the order of the command."""
        return tuple(agent["label"] for agent in self.config["agents"])

    @property
    def commits(self) -> dict[int, str]:
        """The commit at work, by the step from which on; a continued job may have several."""
        origin = self.config.get("provenance") or {}
        changes = [{**origin, "step": 0}, *origin.get("continued", [])]
        return {int(x["step"]): str(x.get("commit") or "unknown") for x in changes}

    @property
    def finished(self) -> bool:
        """Whether every run has its last evaluation."""
        last = self.table["step"] == self.config["steps"]
        return int(last.sum()) == len(self.agents) * len(self.config["seeds"])

    def scores(self, agent: str, column: str = "return_mean") -> Scores:
        """A column of `agent`'s runs, at the evaluations that all of them have."""
        if agent not in self.agents:
            raise unknown_name("agent", agent, self.agents)
        if column not in self.table:
            raise InputError(f"{self.directory} has no column {column}")
        return scores_of(self.table, self.table["agent"] == agent, column)

    def uncentred(self, agent: str, column: str) -> Scores:
        """A column of predicted values plus the mean advantage: V + A instead of V + A − mean(A).

        Files from before `mean_adv` was logged hold its size only. It is then taken as positive,
        as it is in the recorded play of those runs (Breakout's).
        """
        known = "mean_adv" if "mean_adv" in self.table else "mean_adv_abs"
        values, mean_adv = self.scores(agent, column), self.scores(agent, known)
        return values._replace(values=values.values + mean_adv.values)


def scores_of(table: Mapping[str, np.ndarray], chosen: np.ndarray, column: str) -> Scores:
    """A column of the rows `chosen` (bool[rows]), at the steps that all of their seeds have."""
    seeds, row = np.unique(table["seed"][chosen], return_inverse=True)
    steps, at = np.unique(table["step"][chosen], return_inverse=True)
    values = np.full((len(seeds), len(steps)), np.nan)
    values[row, at] = table[column][chosen]
    present = np.zeros_like(values, dtype=bool)
    present[row, at] = True
    complete = np.asarray(present.all(axis=0))
    return Scores(seeds, steps, values).where(complete)


def joined(parts: Sequence[Scores]) -> Scores:
    """The runs of one agent in several directories, by seed, at the steps that all of them have."""
    steps = functools.reduce(np.intersect1d, (part.steps for part in parts))
    values = np.concatenate([part.where(np.isin(part.steps, steps)).values for part in parts])
    seeds = np.concatenate([part.seeds for part in parts])
    order = np.argsort(seeds)
    return Scores(seeds[order], steps, values[order])


_WANTED = "give the --out directory of a qduet train command"
_AGAIN = "run its qduet train command again, which makes it anew"


def find(directories: Sequence[Path]) -> list[Path]:
    """The directories of runs among `directories` or directly in them (``results/figure6``)."""
    found = []
    for directory in directories:
        if not directory.is_dir():
            problem = "is not a directory" if directory.exists() else "does not exist"
            raise InputError(f"{directory} {problem}; {_WANTED}")
        # Not glob, which passes over what cannot be read.
        inside = sorted(path for path in directory.iterdir() if (path / CONFIG).exists())
        these = [directory] if (directory / CONFIG).exists() else inside
        if not these:
            parents = sorted({str(path.parent) for path in below(directory)})
            remedy = f"there are some in {' and '.join(parents)}" if parents else _WANTED
            raise InputError(
                f"{directory} holds no training runs, nor do the directories in it; {remedy}"
            )
        found += these
    return found


def below(directory: Path) -> list[Path]:
    """The directories of runs one or two levels below `directory`."""
    files = [*directory.glob(f"*/{CONFIG}"), *directory.glob(f"*/*/{CONFIG}")]
    return sorted(path.parent for path in files)


def write(directory: Path, config: Mapping[str, Any], rows: Sequence[Row]) -> None:
    """Writes (or overwrites) what `load` reads."""
    text = to_json(config) + "\n"
    table = to_csv(rows)
    write_atomically(directory / CONFIG, text.encode())
    write_atomically(directory / EVALUATIONS, table.encode())
    lines = [f"{_digest(text)}  {CONFIG}", f"{_digest(table)}  {EVALUATIONS}", ""]
    write_atomically(directory / SUMS, "\n".join(lines).encode())


def to_csv(rows: Sequence[Row]) -> str:
    """The rows under a header, numbers with nine digits (enough for a float32)."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([[_csv_text(row.get(name)) for name in COLUMNS] for row in rows])
    return buffer.getvalue()


def _csv_text(value: Any) -> str:
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return ""
    return f"{value:.9g}" if isinstance(value, float | np.floating) else str(value)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def load(directory: Path | str, *, check: bool = True) -> Runs:
    """The runs of a directory; `check` compares its files with their checksums."""
    directory = Path(directory)
    texts = _texts(directory, check)
    config = parse_json(texts[CONFIG], directory / CONFIG)
    remedy = "restore it, or train again in another directory"
    with as_input_error(directory, remedy):
        if config["format"] != FORMAT:
            raise InputError(
                f"{directory} is of format {config['format']}, not {FORMAT}: another version of "
                "qduet wrote it"
            )
        with as_input_error(directory / EVALUATIONS, remedy):
            table = read_table(texts[EVALUATIONS])
        runs = Runs(directory, config, table)
        _ = runs.finished, runs.commits
        if not is_sound(config):
            raise ValueError("its settings are not what qduet train writes")
    return runs


def is_sound(config: Mapping[str, Any]) -> bool:
    """Whether the settings that every reader relies on are of their types."""
    labels, seeds = [agent["label"] for agent in config["agents"]], config["seeds"]
    numbers = (config["steps"], config.get("evaluate_every", 1), *seeds)
    return (
        bool(labels and seeds)
        and isinstance(config["game"], str)
        and all(isinstance(label, str) and is_label(label) for label in labels)
        and all(type(number) is int and 0 <= number < 2**32 for number in numbers)
        and isinstance(config.get("provenance") or {}, dict)
    )


def is_label(text: str) -> bool:
    """Whether a file's name can hold `text`, and a terminal can show it."""
    short = len(text.encode(errors="replace")) <= LONGEST_LABEL
    return bool(text) and short and text.isprintable() and not set(text) & {"/", "\\"}


def _texts(directory: Path, check: bool) -> dict[str, str]:
    """The files, if their checksums are right; a job that is writing them is given a moment."""
    for pause in (0.1, 0.3, 0.0):
        texts = {name: _read(directory, name) for name in (CONFIG, EVALUATIONS)}
        sums = _read(directory, SUMS).splitlines() if check else []
        edited = [name for name in texts if f"{_digest(texts[name])}  {name}" not in sums]
        if not (check and edited):
            return texts
        time.sleep(pause)
    unfinished = (directory / "checkpoint").exists()
    remedy = _AGAIN if unfinished else "restore the file, or train again in another directory"
    raise InputError(
        f"{directory / edited[0]} is not as qduet train wrote it (its checksum differs); {remedy}"
    )


def _read(directory: Path, name: str) -> str:
    try:
        return read_text(directory / name)
    except MissingError:
        again = name != CONFIG and (directory / CONFIG).exists()
        remedy = f"if its training was killed, {_AGAIN}; or restore the file" if again else _WANTED
        raise InputError(
            f"{directory} holds no training runs ({name} is missing); {remedy}"
        ) from None


def read_table(text: str) -> dict[str, np.ndarray]:
    """The columns of a CSV of evaluations: strings, whole numbers, or floats (empty: NaN).

    A float may be infinite, as the Q values of a run that diverged. What is counted may not.
    """
    rows = list(csv.DictReader(io.StringIO(text)))
    if any(None in row or None in row.values() for row in rows):
        raise ValueError("a row has more or fewer values than there are columns")
    names = rows[0].keys() if rows else COLUMNS
    if missing := {*KEYS, *PUBLISHED} - {*names}:
        raise ValueError(f"there is no column {min(missing)}")
    number = lambda text: float(text) if text else np.nan
    kinds: dict[str, Any] = {"game": str, "agent": str, "seed": _whole, "step": _whole}
    kinds["episodes_cut"] = lambda text: _whole(text) if text else np.nan
    return {name: np.array([kinds.get(name, number)(row[name]) for row in rows]) for name in names}


def _whole(text: str) -> int:
    number = int(text)
    if not 0 <= number < 2**32:
        raise ValueError(f"{number} is not a seed, a step or a count")
    return number
