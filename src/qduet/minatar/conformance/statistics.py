"""How random play ends, in a port and in the original."""

import math
from typing import NamedTuple

import numpy as np

from qduet.minatar.conformance.ports import PortGame

LEVEL = 1e-4
"""A test says "differs" if the original would give what was seen, or worse, at most this often."""

LONGEST = 4000
"""Steps after which an episode of random play is left unfinished, whatever the port does."""


class Episodes(NamedTuple):
    """The first episode of each game of a batch."""

    returns: np.ndarray
    lengths: np.ndarray
    terminated: np.ndarray
    """bool[]: it ended as the game's own end."""
    truncated: np.ndarray
    """bool[]: the port cut it; neither flag is set where it went on after `LONGEST` steps."""


class Comparison(NamedTuple):
    """A two-sample Kolmogorov-Smirnov test; for numbers with ties it is conservative."""

    p_value: float
    evidence: str


def random_episodes(played: PortGame, batch: int, *, seed: int) -> Episodes:
    """One episode of each game, with uniform actions; none is favoured for being short."""
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


def compare(port: np.ndarray, original: np.ndarray) -> Comparison:
    """Whether two samples can be of one distribution."""
    from scipy.stats import ks_2samp

    p_value = float(ks_2samp(port, original, method="asymp").pvalue)
    evidence = f"{mean(port)}, original {mean(original)}; KS p = {p_value:.2g}"
    return Comparison(p_value, evidence)


def mean(sample: np.ndarray) -> str:
    """Mean and its standard error, as text."""
    error = sample.std(ddof=1) / math.sqrt(len(sample))
    return f"{sample.mean():.3g} ± {error:.2g}"


def binomial_p_value(successes: int, trials: int, probability: float) -> float:
    """Exact two-sided test of a frequency."""
    from scipy.stats import binomtest

    return float(binomtest(successes, trials, probability).pvalue)
