"""Proof that our games are the original's: play it with chosen draws, and compare everything.

    recordings = record_all("Seaquest", 20_000, seed=0)     # plays of the original
    stepper = make_stepper("Seaquest")                      # our game, compiled
    differences = [d for r in recordings for d in compare(r, stepper)]

`make soak` runs a long comparison of all games. Needs the `minatar` package.
"""

from parity.comparison import Difference, Stepper, compare, make_stepper
from parity.recording import Recording, Scenario, record
from parity.scenarios import SCENARIOS, record_all

__all__ = [
    "SCENARIOS",
    "Difference",
    "Recording",
    "Scenario",
    "Stepper",
    "compare",
    "make_stepper",
    "record",
    "record_all",
]
