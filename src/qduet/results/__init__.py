"""Directories of training runs as tables, the published scores, and the comparison of agents.

    runs         what ``qduet train`` writes, read back: `load_runs`
    published    the scores that the authors released
    comparison   agents compared, with intervals and tests: `compare`

Each run is a row of arrays; a comparison is a tuple of summaries:

    from qduet.results import compare, load_runs

    load_runs("out/breakout").scores("rdq").values        # float[seeds, evaluations]
    compare("out/breakout", "out/seaquest").pairs         # per game and pair of agents
"""

from typing import TYPE_CHECKING, Any

from qduet.results.runs import Runs, Scores
from qduet.results.runs import load as load_runs

if TYPE_CHECKING:
    from qduet.results.comparison import Summary, compare

__all__ = ["Runs", "Scores", "Summary", "compare", "load_runs"]


def __getattr__(name: str) -> Any:
    """`compare` and `Summary`, imported when they are first used, since they need SciPy."""
    if name in ("Summary", "compare"):
        from qduet.results import comparison

        return getattr(comparison, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
