"""Directories of training runs as tables, the published scores, and the comparison of agents.

    runs         what ``qduet train`` writes, read back: `load_runs`
    published    the scores that the authors released
    collect      the runs of some directories, put together for a comparison
    by_game      the numbers of each game
    comparison   agents compared, with intervals and tests: `compare`

Each run is a row of arrays; a comparison is a tuple of summaries:

    from qduet.results import compare, load_runs

    load_runs("out/breakout").scores("rdq").values        # float[seeds, evaluations]
    compare("out/breakout", "out/seaquest").pairs         # per game and pair of agents
"""

from qduet.results.by_game import Resampling
from qduet.results.collect import METRICS
from qduet.results.comparison import Summary, compare
from qduet.results.runs import Runs, Scores
from qduet.results.runs import load as load_runs

__all__ = ["METRICS", "Resampling", "Runs", "Scores", "Summary", "compare", "load_runs"]
