"""What a training cost: wall-clock time, time per iteration, and how far that is from the floor.

An iteration is one update and four steps of every run. An H200 cannot do one of 90 runs in less
than about 250 µs: weights, gradients and Adam's averages of 90 two-stream networks are 1.1 GB of
memory traffic, at the 4.3 TB/s that it gives.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from qduet.deep.replay import STRIDE
from qduet.results.runs import Runs

FLOOR_MICROSECONDS = 250.0
"""Per iteration of 90 runs on one H200."""


class Cost(NamedTuple):
    """The time of one training command; NaN where it was not recorded."""

    runs: int
    seconds: float
    """Wall clock of the whole command: training, evaluations, compilation."""
    microseconds_per_iteration: float
    """Of the training alone."""

    @property
    def floors(self) -> float:
        """As a multiple of the floor."""
        return self.microseconds_per_iteration / FLOOR_MICROSECONDS


def has_floor(cost: Cost, provenance: Mapping[str, Any]) -> bool:
    """Whether the floor is that of this training: 90 runs on one H200."""
    return cost.runs == 90 and "H200" in str(provenance.get("device"))


def cost(runs: Runs) -> Cost:
    """What the runs of a directory took; all of them train side by side."""
    columns = (runs.table.get(name) for name in ("elapsed_seconds", "frames_per_second"))
    elapsed, speeds = (np.empty(0) if x is None else x[np.isfinite(x)] for x in columns)
    seconds = float(elapsed.max()) if elapsed.size else np.nan
    number = len(runs.agents) * len(runs.config["seeds"])
    per_frame = float((1 / speeds).mean()) if speeds.size else np.nan  # stretches are of one length
    return Cost(number, seconds, 1e6 * STRIDE * number * per_frame)
