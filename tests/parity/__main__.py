"""A long comparison of our games with the original: steps, differences, and how often each rule.

python -m parity --steps 1000000 [--game Seaquest] [--seed 0]
"""

import argparse
import sys
import time
from collections import Counter

from parity.comparison import Difference, Stepper, compare, make_stepper
from parity.events import count_events
from parity.recording import record
from parity.scenarios import SCENARIOS

ROUND = 25_000
"""Steps of a game between two reports; every scenario has a share in each round."""


def soak(game: str, num_steps: int, seed: int) -> tuple[int, list[Difference], Counter[str]]:
    """Compare at least `num_steps` steps; returns the steps, the differences and the events."""
    steppers: dict[bool, Stepper] = {
        ramping: make_stepper(game, difficulty_ramping=ramping) for ramping in (True, False)
    }
    scenarios = SCENARIOS[game]
    steps, differences, events = 0, list[Difference](), Counter[str]()
    while steps < num_steps:
        for scenario in scenarios:
            seed += 1
            recording = record(game, scenario, -(-ROUND // len(scenarios)), seed)
            differences += compare(recording, steppers[scenario.difficulty_ramping])
            events.update(count_events(recording))
            steps += len(recording.actions)
        print(f"{game}: {steps:,} steps, {len(differences)} differences", file=sys.stderr)
    return steps, differences, events


def report(game: str, steps: int, differences: list[Difference], events: Counter[str]) -> str:
    """A table of what was compared."""
    lines = [f"{game}: {steps:,} steps in parity, {len(differences)} differences", ""]
    lines += [f"  {count:>9,}  {name}" for name, count in events.items()]
    lines += [f"  {difference}" for difference in differences[:10]]
    return "\n".join(lines)


def main() -> int:
    """Exit code 1 if anything differs or a rule was never met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=1_000_000, help="per game")
    parser.add_argument("--game", choices=sorted(SCENARIOS), action="append")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    failed = False
    for game in arguments.game or SCENARIOS:
        began = time.perf_counter()
        steps, differences, events = soak(game, arguments.steps, arguments.seed)
        print(report(game, steps, differences, events))
        print(f"\n  {time.perf_counter() - began:.0f} s\n", flush=True)
        failed |= bool(differences) or any(count == 0 for count in events.values())
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
