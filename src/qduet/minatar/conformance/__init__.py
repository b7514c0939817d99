"""Which rules of the original MinAtar another implementation (a port) follows.

    for finding in examine(port("gymnax"), "Breakout"):
        print(finding.rule, finding.verdict, finding.evidence)

Only what an agent sees is used: observations, rewards and ends. So the port's language, state and
random numbers do not matter. Another port needs a small adapter (`Port`): make a game, reset, step.

    ports             adapters: ours, the original, gymnax, pgx
    possible_steps    every step the original could make from a state
    tracker           plays a port and keeps every state the original could be in
    rules             random play, and one finding for each rule

The original (package `minatar`) must be installed; it is driven from outside.
"""

from qduet.minatar.conformance.ports import Frame, Port, PortGame, port
from qduet.minatar.conformance.rules import Finding, Verdict, examine

__all__ = ["Finding", "Frame", "Port", "PortGame", "Verdict", "examine", "port"]
