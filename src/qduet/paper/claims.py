"""What the paper says, tested on our data: one verdict per claim.

On MinAtar (Section 4.3), at 10M steps, mean returns over seeds unless noted:

- RDQ outperforms DQN, and Dueling DQN, in each of the five games: ten one-sided Welch tests,
  Holm-corrected together. *Holds* if our test rejects at 5 %; *does not hold* if the opposite test
  does, corrected likewise; else *undecided*. Beside each p stands the two-sided one, likewise
  corrected: where it is above 5 %, the verdict hangs on the test being one-sided.
- RDQ is more sample efficient than Dueling DQN in the five games (Section 1): the AUC instead of
  the last return, five one-sided tests, Holm-corrected. *Holds* if all reject; *does not hold* if
  the opposite test rejects in some game; else *undecided*.
- Neither DQN nor Dueling DQN is clearly superior: five two-sided tests, Holm-corrected. *Holds* if
  each agent is significantly ahead in some game; *does not hold* if one is ahead in a majority of
  the games and behind in none; else *undecided*.

The verdicts on tabular experiments and on theory are read from the files of ``qduet reproduce`` and
``qduet theory --out``; `findings` and the room `theory` hold their tests.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qduet.core.errors import InputError
from qduet.core.reading import MissingError, as_input_error, read_json
from qduet.paper.agreement import ALPHA, MEASURES, Pair, holm_pairs, measure, pair_of
from qduet.results import published
from qduet.results.published import AGENT_NAMES, title
from qduet.results.runs import Runs
from qduet.stats import Interval, number

HOLDS, FAILS, UNDECIDED, NO_DATA = "holds", "does not hold", "undecided", "no data"
CORRECTED = "holds (corrected)"
"""What was checked holds; the paper states it a little differently."""

VERDICTS = (HOLDS, CORRECTED, FAILS, UNDECIDED, NO_DATA)

MINATAR = "Fig 6"

TABULAR = {
    "figure1": "QV-learning scales better with |A| than Expected Sarsa",
    "figure3": "QVMAX is biased; BC-QVMAX is not, and lags behind Q-learning",
    "figure5": "AV-learning beats Q-learning; Hard RDQ is ahead of Dueling Q-learning",
    "figure5-soft": "Soft RDQ is noisy in the tabular setting",
}
"""What each tabular figure claims in short, shown while its data are missing."""


class Claim(NamedTuple):
    """A statement of the paper, and our verdict on it."""

    where: str
    """Where the paper makes it."""
    statement: str
    """The claim in a sentence."""
    ours: str
    """Our evidence."""
    theirs: str
    """The paper's evidence."""
    verdict: str
    """One of `VERDICTS`."""
    two_sided_p: float | None = None
    """Where our test is one-sided: the p-value of the two-sided one, Holm-corrected."""


Samples = Callable[[str, str], np.ndarray | None]
"""(game, agent) -> a measure of each run up to 10M steps, ``[seeds]``; None without such runs."""


def deep_claims(runs: Sequence[Runs], step: int) -> list[Claim]:
    """The claims on MinAtar, from `runs`; without data unless `step` is the paper's last."""
    games = {game.game: game for game in runs}

    def ours(name: str, game: str, agent: str) -> np.ndarray | None:
        if step != published.STEPS or game not in games or agent not in games[game].agents:
            return None
        return measure(games[game].scores(agent), name, step)

    def theirs(name: str, game: str, agent: str) -> np.ndarray | None:
        return measure(published.scores(game, agent), name, published.STEPS)

    returns, areas = ([partial(f, name) for f in (ours, theirs)] for name in MEASURES)
    efficient = "RDQ is more sample efficient than Dueling DQN in the five games (AUC)"
    no_winner = "Neither DQN nor Dueling DQN is clearly superior"
    claims = _rdq_is_ahead(*returns)
    for statement, test, samples in (
        (efficient, _efficiency, areas),
        (no_winner, _winners, returns),
    ):
        (our_evidence, verdict), (their_evidence, _) = map(test, samples)
        claims.append(Claim(MINATAR, statement, our_evidence, their_evidence, verdict))
    return claims


def _tested(samples: Samples, tests: Sequence[tuple[str, str, str]]) -> list[Pair | None]:
    """The two agents of each (game, first, second), Holm-corrected over all; None without runs."""
    pairs: list[Pair | None] = []
    for game, *agents in tests:
        x, y = (samples(game, agent) for agent in agents)
        pairs.append(None if x is None or y is None else pair_of(x, y))
    corrected = iter(holm_pairs([pair for pair in pairs if pair], len(pairs)))
    return [pair and next(corrected) for pair in pairs]


def _verdict(pair: Pair | None) -> str:
    """Whether the first one is ahead."""
    if pair is None or np.isnan(pair.ahead):
        return NO_DATA
    return HOLDS if pair.ahead < ALPHA else FAILS if pair.behind < ALPHA else UNDECIDED


def _evidence(pair: Pair | None) -> str:
    if pair is None:
        return NEEDED
    p, two_sided = p_text(pair.ahead), p_text(pair.two_sided)
    return f"{signed(pair.difference)}, p = {p} (two-sided {two_sided})"


def p_text(p_value: float) -> str:
    """A p-value in two digits, or in as many as tell on which side of 0.05 it is."""
    digits = 2
    while f"{p_value:.{digits}g}" == f"{ALPHA:g}" and digits < 6:
        digits += 1
    return f"{p_value:.{digits}g}"


def _rdq_is_ahead(ours: Samples, theirs: Samples) -> list[Claim]:
    tests = [(game, "rdq", other) for game in published.GAMES for other in ("dueling_dqn", "dqn")]
    compared = zip(tests, _tested(ours, tests), _tested(theirs, tests), strict=True)
    return [
        Claim(
            MINATAR,
            rdq_outperforms(game, other),
            _evidence(our),
            _evidence(their),
            _verdict(our),
            our.two_sided if our else None,
        )
        for (game, _, other), our, their in compared
    ]


def rdq_outperforms(game: str, other: str) -> str:
    """The claim, in words."""
    return f"{title(game)}: RDQ outperforms {AGENT_NAMES[other]}"


NEEDED = "needs runs of 10M steps"
"""Our evidence for a claim on Figure 6 while there are no runs."""


def signed(interval: Interval) -> str:
    """A difference with its sign and the half-width of its interval."""
    return f"{number(interval.mean, '+.2f')} ± {interval.half_width:.2f}"


def _efficiency(samples: Samples) -> tuple[str, str]:
    """Evidence and verdict on RDQ's AUC against Dueling DQN's."""
    pairs = _tested(samples, [(game, "rdq", "dueling_dqn") for game in published.GAMES])
    verdicts = list(map(_verdict, pairs))
    verdict = next(v for v in (FAILS, NO_DATA, UNDECIDED, HOLDS) if v in verdicts)
    games = len(verdicts) - verdicts.count(NO_DATA)
    if not games:
        return NEEDED, verdict
    held = [pair.ahead for pair in pairs if pair and _verdict(pair) == HOLDS]
    largest = f", largest p = {max(held):.2g}" if held else ""
    return f"of {_games(games)}, RDQ ahead in {len(held)}{largest}", verdict


def _winners(samples: Samples) -> tuple[str, str]:
    """Evidence and verdict on which of DQN and Dueling DQN is ahead where."""
    pairs = _tested(samples, [(game, "dueling_dqn", "dqn") for game in published.GAMES])
    tested = zip(published.GAMES, pairs, strict=True)
    shown = {game: p.difference.mean for game, p in tested if p and p.two_sided < ALPHA}
    dueling = [game for game, mean in shown.items() if mean > 0]
    dqn = [game for game, mean in shown.items() if mean < 0]
    games = len(pairs) - pairs.count(None)
    if dueling and dqn:
        verdict = HOLDS
    elif games < len(pairs):
        verdict = NO_DATA
    else:
        verdict = FAILS if max(len(dueling), len(dqn)) > len(pairs) / 2 else UNDECIDED
    if not games:
        return NEEDED, verdict
    names = lambda ahead: ", ".join(ahead) or "none"
    wins = f"Dueling DQN ahead: {names(dueling)}; DQN ahead: {names(dqn)}"
    return f"of {_games(games)}, {wins}", verdict


def _games(number: int) -> str:
    return f"{number} game{'s' * (number != 1)}"


# --- What qduet reproduce and qduet theory wrote --------------------------------------------------


def reproduced_claims(out: Path | None, problems: list[str] | None = None) -> list[Claim]:
    """The claims on tabular experiments and theory, from the directory of ``qduet reproduce``.

    A damaged file is an `InputError`, or a line more in `problems` if that is given.
    """
    directory = out or Path()
    judges: dict[Path, Callable[..., list[Claim]]] = {
        directory / name / "summary.json": partial(_tabular, name, about)
        for name, about in TABULAR.items()
    }
    claims: list[Claim] = []
    for path, judge in {**judges, directory / "theory" / "theory.json": _theory}.items():
        try:
            with as_input_error(path):
                claims += judge(read_json(path) if out else None)
        except MissingError:
            claims += judge(None)
        except InputError as error:
            if problems is None:
                raise
            problems += [str(error)] if str(error) not in problems else []
            claims += judge(None)
    return claims


def _tabular(figure: str, about: str, document: Mapping[str, Any] | None) -> list[Claim]:
    where = figure.replace("figure", "Fig ").replace("-soft", ", text")
    found = (document or {}).get("findings")
    if not found:  # no file, or a smoke run, which is not judged
        return [Claim(where, about, f"not run: qduet reproduce {figure}", "its text", NO_DATA)]
    return [
        Claim(where, f["claim"], f["evidence"], "its text", HOLDS if f["holds"] else FAILS)
        for f in map(with_texts, found)
    ]


def _theory(document: Mapping[str, Any] | None) -> list[Claim]:
    if document is None:
        statement = "The theorem, the propositions and the invariants"
        return [Claim("theory", statement, "not run: qduet theory --out DIR", "proofs", NO_DATA)]
    return [
        Claim(
            claim["where"],
            claim["statement"],
            f"{claim['failures']} failures on {claim['problems']:,} MDP"
            + ("s" if claim["problems"] != 1 else ""),
            f"its text: {claim['paper']}" if claim.get("paper") else "proof or text",
            FAILS if not claim["holds"] else CORRECTED if claim.get("paper") else HOLDS,
        )
        for claim in map(with_texts, document["claims"])
        if claim["where"] != "ours"
    ]


def with_texts(record: dict[str, Any]) -> dict[str, Any]:
    """`record`; raises unless its texts are strings."""
    paper = [] if record.get("paper") is None else ["paper"]  # None: nothing to correct
    for name in ("claim", "where", "statement", "evidence", *paper):
        if not isinstance(record.get(name, ""), str):
            raise ValueError(f"'{name}' is not a text")
    return record
