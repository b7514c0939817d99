"""Which rules of the original MinAtar another implementation follows.

Any port can be examined through a small adapter (`ports.Port`): make a game, reset it, step it.
Only what an agent sees is used, so the port's language, state and random numbers do not matter:

* `tracker` keeps all states in which the original could be after what has been seen. A step of the
  port that leaves none is impossible in the original, and so a difference.
* `statistics` compares how random play ends with how it ends in the original.
* `rules` turns both into one finding for each rule.

The original (package `minatar`) must be installed; it is driven from outside.
"""

from qduet.minatar.conformance.ports import Frame, Port, PortGame
from qduet.minatar.conformance.rules import Finding, Verdict, examine

__all__ = ["Finding", "Frame", "Port", "PortGame", "Verdict", "examine"]
