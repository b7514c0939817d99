"""The certificate as one document, and the function that makes it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qduet.core.errors import InputError
from qduet.paper.certificate.admission import admit
from qduet.paper.certificate.cells import MARGIN, MEASURES, Cell, compare_cells, together
from qduet.paper.certificate.claims import FAILS, Claim, deep_claims, reproduced_claims
from qduet.paper.certificate.cost import Cost, cost
from qduet.results import published
from qduet.results.runs import Runs


class Source(NamedTuple):
    """Where the runs of a game come from."""

    game: str
    directory: str
    agents: tuple[str, ...]
    seeds: int
    steps: int
    provenance: dict[str, Any]
    commits: dict[int, str]
    """The commit at work from a step on."""
    cost: Cost
    episodes_cut: int
    """Evaluation episodes that were cut short; none of the published ones was."""


class Certificate(NamedTuple):
    """What was compared, and what came out."""

    step: int | None
    """At which training step; None without runs."""
    sources: tuple[Source, ...]
    cells: tuple[Cell, ...]
    claims: tuple[Claim, ...]

    @property
    def differs(self) -> bool:
        """Whether a cell differs or a claim does not hold."""
        return any(cell.verdict == "differ" for cell in self.cells) or any(
            claim.verdict == FAILS for claim in self.claims
        )

    @property
    def missing_games(self) -> tuple[str, ...]:
        """The paper's games of which there are no runs."""
        there = {source.game for source in self.sources}
        return tuple(game for game in published.GAMES if game not in there)


def certify(
    directories: Sequence[Path], *, step: int | None = None, reproduced: Path | None = None
) -> Certificate:
    """The certificate of the runs in `directories`, at `step` (by default their last one).

    `reproduced` is the directory of ``qduet reproduce``, for the claims that need no runs.
    """
    runs = admit(directories) if directories else []
    at = _step(runs, step) if runs else None
    cells = compare_cells(runs, at) if at is not None else []
    claims = [*deep_claims(runs, at or 0), *reproduced_claims(reproduced)]
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


def as_document(certificate: Certificate) -> dict[str, Any]:
    """The certificate as plain values, for JSON."""
    cells = [cell._asdict() | {"verdict": cell.verdict} for cell in certificate.cells]
    return certificate._asdict() | {
        "differs": certificate.differs,
        "missing_games": certificate.missing_games,
        "margin_in_standard_deviations": MARGIN,
        "cells": cells,
        "together": [t for t in (together(certificate.cells, m) for m in MEASURES) if t],
    }
