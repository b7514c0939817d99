"""How random play ends, in a port or in the original."""

from typing import NamedTuple

import numpy as np

from qduet.minatar.conformance.ports import PortGame

LONGEST = 4000
"""Steps after which an episode of random play is left unfinished, whatever the port does."""


class Episodes(NamedTuple):
    """The first episode of each game of a batch."""

    returns: np.ndarray
    """float[batch]: the sum of rewards."""
    lengths: np.ndarray
    """int[batch]: steps."""
    terminated: np.ndarray
    """bool[batch]: the game was over."""
    truncated: np.ndarray
    """bool[batch]: the port cut it. Neither flag is set where it went on after `LONGEST` steps."""


def random_episodes(played: PortGame, batch: int, *, seed: int) -> Episodes:
    """One episode of each game with uniform actions, so that short episodes count no more."""
    rng = np.random.default_rng(seed)
    played.reset(seed)
    returns, lengths = np.zeros(batch), np.zeros(batch, int)
    running = np.ones(batch, bool)
    terminated, truncated = np.zeros(batch, bool), np.zeros(batch, bool)
    for _ in range(LONGEST):
        frame = played.step(rng.integers(0, played.num_actions, batch))
        returns[running] += np.asarray(frame.reward, float)[running]
        lengths[running] += 1
        terminated |= running & frame.terminated
        truncated |= running & frame.truncated & ~frame.terminated
        running &= ~(terminated | truncated)
        if not running.any():
            break
    return Episodes(returns, lengths, terminated, truncated)
