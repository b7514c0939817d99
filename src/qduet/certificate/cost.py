"""What a training cost: wall-clock time, and time per iteration.

An iteration is one update and four steps of every run.
"""

from typing import NamedTuple

import numpy as np

from qduet.replay import STRIDE
from qduet.runs import Runs


class Cost(NamedTuple):
    """The time of one training command; NaN where it was not recorded."""

    runs: int
    seconds: float
    """Wall clock of the whole command: training, evaluations, compilation."""
    microseconds_per_iteration: float
    """Of the training alone."""


def cost(runs: Runs) -> Cost:
    """What the runs of a directory took; all of them train side by side."""
    known = lambda column: runs.table[column][np.isfinite(runs.table[column])]
    elapsed, speeds = known("elapsed_seconds"), known("frames_per_second")
    seconds = float(elapsed.max()) if elapsed.size else np.nan
    number = len(runs.agents) * len(runs.config["seeds"])
    per_frame = float((1 / speeds).mean()) if speeds.size else np.nan  # stretches are of one length
    return Cost(number, seconds, 1e6 * STRIDE * number * per_frame)
