"""Our results against the published ones, as one certificate.

    certificate = certify([Path("results/figure6")])
    certificate.cells[0].verdict                   # "agree", "differ" or "undecided"
    certificate.differs                            # whether anything contradicts the paper

`admission` says which runs may be certified, `agreement` compares each game and agent with the
published scores, and `claims` tests what the paper says.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qduet.core.errors import InputError
from qduet.deep.replay import STRIDE
from qduet.paper.admission import admit
from qduet.paper.agreement import MARGIN, MEASURES, Cell, compare_cells, over_cells
from qduet.paper.claims import FAILS, Claim, deep_claims, reproduced_claims
from qduet.results import published
from qduet.results.runs import Runs

FLOOR_MICROSECONDS = 250.0
"""The least time of an iteration (one update and four steps of every run) of 90 runs on an H200.

Weights, gradients and Adam's averages of 90 two-stream networks are 1.1 GB of memory traffic, at
the 4.3 TB/s that an H200 gives.
"""


class Cost(NamedTuple):
    """The time of one training command; NaN where it was not recorded."""

    runs: int
    """How many runs train side by side."""
    seconds: float
    """Wall clock of the whole command: training, evaluations, compilation."""
    microseconds_per_iteration: float
    """Of the training alone."""


class Source(NamedTuple):
    """Where the runs of a game come from."""

    game: str
    directory: str
    agents: tuple[str, ...]
    seeds: int
    """How many."""
    steps: int
    """Of each run."""
    provenance: dict[str, Any]
    """Versions, device and commit of the start, as in config.json."""
    commits: dict[int, str]
    """The commit at work, by the step from which on."""
    cost: Cost
    episodes_cut: int
    """Evaluation episodes that were cut short; none of the published ones was."""

    @property
    def floors(self) -> float | None:
        """Time per iteration in units of `FLOOR_MICROSECONDS`; None unless 90 runs on an H200."""
        if self.cost.runs != 90 or "H200" not in str(self.provenance.get("device")):
            return None
        return self.cost.microseconds_per_iteration / FLOOR_MICROSECONDS


class Certificate(NamedTuple):
    """What was compared, and the verdicts."""

    step: int | None
    """The training step of the comparison; None without runs."""
    sources: tuple[Source, ...]
    """The directories of runs, and what they cost."""
    cells: tuple[Cell, ...]
    """Our runs against the published ones, for each game, agent and measure."""
    claims: tuple[Claim, ...]
    """What the paper says, tried on our runs."""

    @property
    def differs(self) -> bool:
        """Whether a cell differs or a claim does not hold."""
        return any(cell.verdict == "differ" for cell in self.cells) or any(
            claim.verdict == FAILS for claim in self.claims
        )

    @property
    def missing_games(self) -> tuple[str, ...]:
        """The paper's games of which there are no runs."""
        present = {source.game for source in self.sources}
        return tuple(game for game in published.GAMES if game not in present)


def certify(
    directories: Sequence[Path],
    *,
    step: int | None = None,
    reproduced: Path | None = None,
    problems: list[str] | None = None,
) -> Certificate:
    """The certificate of the runs in `directories`, at `step` (by default their last one).

    `reproduced` is the directory of ``qduet reproduce``, for the claims that need no runs. If
    `problems` is given, those of its files that are damaged are named there and left out.
    """
    runs = admit(directories) if directories else []
    at = _step(runs, step) if runs else None
    cells = compare_cells(runs, at) if at is not None else []
    claims = [*deep_claims(runs, at or 0), *reproduced_claims(reproduced, problems)]
    return Certificate(at, tuple(map(_source, runs)), tuple(cells), tuple(claims))


def _step(runs: Sequence[Runs], wanted: int | None) -> int:
    last = {game.game: game.config["steps"] for game in runs}
    if wanted is None:
        if len(set(last.values())) > 1:
            ends = ", ".join(f"{published.title(game)} {steps:,}" for game, steps in last.items())
            raise InputError(f"the runs end at different steps ({ends}); choose one with --at")
        wanted = min(last.values()) // published.EVALUATE_EVERY * published.EVALUATE_EVERY
    if wanted % published.EVALUATE_EVERY or not 0 < wanted <= min(last.values()):
        raise InputError(
            f"--at {wanted}: the published scores are every {published.EVALUATE_EVERY:,} steps, "
            f"and the runs end at {min(last.values()):,}"
        )
    return wanted


def _source(runs: Runs) -> Source:
    cut = runs.table.get("episodes_cut")
    return Source(
        game=runs.game,
        directory=str(runs.directory),
        agents=runs.agents,
        seeds=len(runs.config["seeds"]),
        steps=runs.config["steps"],
        provenance=dict(runs.config.get("provenance") or {}),
        commits=runs.commits,
        cost=cost(runs),
        episodes_cut=0 if cut is None else int(np.nansum(cut)),
    )


def cost(runs: Runs) -> Cost:
    """The time that the runs of a directory took; all of them train side by side."""
    columns = (runs.table.get(name) for name in ("elapsed_seconds", "frames_per_second"))
    elapsed, speeds = (np.empty(0) if x is None else x[np.isfinite(x)] for x in columns)
    seconds = float(elapsed.max()) if elapsed.size else np.nan
    number = len(runs.agents) * len(runs.config["seeds"])
    # The speeds are of stretches of equal length, so that times per frame are averaged.
    per_frame = float((1 / speeds).mean()) if speeds.size else np.nan
    return Cost(number, seconds, 1e6 * STRIDE * number * per_frame)


def as_document(certificate: Certificate) -> dict[str, Any]:
    """The certificate as plain values, for JSON."""
    cells = [cell._asdict() | {"verdict": cell.verdict} for cell in certificate.cells]
    return certificate._asdict() | {
        "differs": certificate.differs,
        "missing_games": certificate.missing_games,
        "margin_in_standard_deviations": MARGIN,
        "cells": cells,
        "together": [s for s in (over_cells(certificate.cells, m) for m in MEASURES) if s],
    }
