"""Every generated table of the documentation, by the name of its marker.

Derived from ``results/``: ``figure6/`` (10M steps, protocol=reference), ``validation/`` (1M, the
same), ``paper-protocol/`` (protocol=paper) and ``ablation/``; any of them may be absent, or hold
some of the games only, and the tables then say so.
"""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

from docs_tables.beta import beta_tables
from docs_tables.cells import NOT_YET, all_cells_table
from docs_tables.family import family_tables
from docs_tables.mechanism import mechanism_table
from docs_tables.over_time import over_time_tables
from docs_tables.protocols import (
    Shift,
    ablation_table,
    leads_table,
    protocols_table,
    shifts,
)
from docs_tables.qv import qv_tables
from docs_tables.values import published_table, values_table
from qduet import stats
from qduet.core.tables import Table
from qduet.paper.admission import admit, check_complete
from qduet.paper.agreement import Cell, compare_cells, over_cells
from qduet.paper.certificate import Certificate, certify
from qduet.paper.certificate_tables import (
    claims_table,
    sentences,
    sources_table,
)
from qduet.paper.claims import FAILS, HOLDS, MINATAR, UNDECIDED, p_text, rdq_outperforms
from qduet.paper.overall import aggregates, collections
from qduet.results import published
from qduet.results.by_game import Resampling, pair_summaries
from qduet.results.published import AGENT_NAMES, title
from qduet.results.runs import Runs, find, load

FIGURE6, VALIDATION, PAPER, ABLATION = "figure6", "validation", "paper-protocol", "ablation"


def tables(results: Path) -> dict[str, str]:
    """Each table as Markdown."""
    final = certificate(results / FIGURE6)
    early = certificate(results / VALIDATION)
    reference, paper, ablation = protocols(results)
    whole, alone = protocol_shifts(reference, paper, ablation)
    return {
        "state": _state(final),
        "state-validation": _state(early._replace(claims=())),
        "control": control(final.cells, early.cells, _judged(paper)),
        "verdicts": verdicts_table(final).markdown(),
        "rdq": rdq_table(final).markdown(),
        "sided": sided_table(_runs(results / FIGURE6)).markdown(),
        "return": all_cells_table(final.cells, "return", published.STEPS).markdown(),
        "auc": all_cells_table(final.cells, "auc", published.STEPS).markdown(),
        "validation": all_cells_table(early.cells, "return", published.EVALUATE_EVERY).markdown(),
        "claims": claims_table(final.claims).markdown(),
        "overall": overall_table(_runs(results / FIGURE6)).markdown(),
        "values": values_table(_runs(results / FIGURE6), published.STEPS).markdown(),
        "values-published": published_table(published.STEPS).markdown(),
        "runs": _sources(final, early),
        "protocols": protocols_table(whole, _judged(paper)).markdown(),
        "leads": leads_table(reference, paper).markdown(),
        "ablation": ablation_table(alone).markdown(),
        **beta_tables(results),
        **qv_tables(results),
        **family_tables(results),
        **over_time_tables(results),
        "mechanism": mechanism_table().markdown(),
    }


def protocol_shifts(
    reference: list[Runs], paper: list[Runs], ablation: list[Runs]
) -> tuple[list[Shift], list[Shift]]:
    """What ``protocol=paper`` as a whole does to the scores, and what its settings do alone."""
    return shifts(reference, paper), shifts(reference, ablation, paper)


def protocols(results: Path) -> tuple[list[Runs], list[Runs], list[Runs]]:
    """The runs of ``protocol=reference``, of ``protocol=paper``, and those in between."""
    reference = _runs(results / VALIDATION) or _runs(results / FIGURE6)
    paper = _runs(results / PAPER, protocol="paper")
    return reference, paper, _ablation(results / ABLATION)


def certificate(directory: Path) -> Certificate:
    """The certificate of what a directory holds, without the claims that need no runs."""
    whole = certify(_with_runs(directory))
    return whole._replace(claims=tuple(c for c in whole.claims if c.where == MINATAR))


def _with_runs(directory: Path) -> list[Path]:
    """The directory in a list, which is empty if it holds no runs."""
    return [directory] if any(directory.glob("*/config.json")) else []


def _runs(directory: Path, *, protocol: str = "reference") -> list[Runs]:
    return admit(_with_runs(directory), protocol=protocol)


def _judged(runs: list[Runs]) -> list[Cell]:
    return compare_cells(runs, min(r.config["steps"] for r in runs)) if runs else []


def _ablation(directory: Path) -> list[Runs]:
    """Runs of any settings: ``ablation/NAME/`` or ``ablation/NAME/GAME/``."""
    folders = [directory, *sorted(path for path in directory.glob("*") if path.is_dir())]
    found = [load(path) for path in find([p for p in folders if _with_runs(p)])]
    for runs in found:
        check_complete(runs)
    return found


def _state(certificate: Certificate) -> str:
    return "\n".join(f"- {line}" for line in sentences(certificate))


def control(final: Sequence[Cell], early: Sequence[Cell], paper: Sequence[Cell]) -> str:
    """How many cells agree, with χ²; and the same of runs that are known to be made otherwise."""
    runs = sum(cell.ours.n for cell in final if cell.measure == "return")
    return (
        f"**After 10M steps** (Figure 6) {_agreeing(final)}, in another {runs} runs "
        "(`results/figure6/`). The count alone is a weak test, as a control shows: by the same "
        "rule, of runs that were knowingly made otherwise (`protocol=paper`, 1M steps, "
        f"`results/paper-protocol/`) {_agreeing(paper)}. χ², which asks all cells at once, tells "
        f"the two apart: of those made like the published ones, at 1M steps, {_agreeing(early)}."
    )


def _agreeing(cells: Sequence[Cell]) -> str:
    """``14 of 15 cells agree, 0 differ, χ²(15) = 11.1 (p = 0.75)``, in mean return."""
    verdicts = [cell.verdict for cell in cells if cell.measure == "return"]
    counts = f"{verdicts.count('agree')} of {len(verdicts)} cells agree, {verdicts.count('differ')}"
    whole = over_cells(cells, "return")
    test = f", χ²({len(verdicts)}) = {whole.chi2:.1f} (p = {whole.p_value:.2g})" if whole else ""
    return f"{counts} differ{test}"


def _sources(*certificates: Certificate) -> str:
    sources = [source for certificate in certificates for source in certificate.sources]
    table = sources_table(sources)
    empty = (NOT_YET, *("–",) * (len(table.headings) - 1))
    return (table if table.rows else table._replace(rows=[empty])).markdown()


def verdicts_table(certificate: Certificate) -> Table:
    """The certificate in short: a row per game, published → ours and the verdicts in return."""
    found = {(c.game, c.agent): c for c in certificate.cells if c.measure == "return"}
    rows = []
    for game in published.GAMES:
        row = [title(game)]
        for agent in published.AGENTS:
            cell = found.get((game, agent))
            theirs = published.scores(game, agent).values[:, -1].mean()
            text = f"{theirs:.1f} → {NOT_YET}"
            if cell is not None:
                text = f"{cell.theirs.mean:.1f} → {cell.ours.mean:.1f}: {cell.verdict}"
            row.append(text)
        rows.append(tuple(row))
    return Table("Certificate", ("game", *AGENT_NAMES.values()), rows)


def rdq_table(certificate: Certificate) -> Table:
    """The claims on RDQ in short: a row per game, how far it is ahead of the others in our runs."""
    others = ("dueling_dqn", "dqn")
    found = {claim.statement: claim for claim in certificate.claims}
    words = {HOLDS: "ahead", FAILS: "behind", UNDECIDED: UNDECIDED}
    rows = []
    for game in published.GAMES:
        row = [title(game)]
        for other in others:
            claim = found[rdq_outperforms(game, other)]
            tested = claim.verdict in words
            row.append(f"{claim.ours}: {words[claim.verdict]}" if tested else NOT_YET)
        rows.append(tuple(row))
    return Table("RDQ", ("game", *(f"RDQ − {AGENT_NAMES[other]}" for other in others)), rows)


def sided_table(runs: list[Runs]) -> Table:
    """RDQ against the others in ``qduet compare``, with ``--baseline rdq`` and without."""
    ours, _ = collections(runs)
    fast = Resampling(resamples=100)  # p-values do not depend on it
    found = [pair_summaries(ours, fast, base) if ours else () for base in ("rdq", None)]
    of_rdq, of_all = ({(p.game, p.x): p for p in pairs if p.y == "rdq"} for pairs in found)
    rows = []
    for game, other in product(published.GAMES, ("dueling_dqn", "dqn")):
        told = [NOT_YET, *("–",) * 3]
        if (pair := of_all.get((game, other))) is not None:
            alone = of_rdq[game, other]
            told = [alone.welch_holm, alone.paired_holm, pair.welch_holm, pair.paired_holm]
            told = [p_text(p) for p in told]
        rows.append((title(game), AGENT_NAMES[other], *told))
    headings = [f"{test}, {n} tests" for n in (10, 15) for test in ("Welch", "paired")]
    return Table("Two-sided", ("game", "RDQ against", *headings), rows)


def overall_table(runs: list[Runs]) -> Table:
    """IQM and probability of improvement over the games that there are, ours and published."""
    ours, theirs = collections(runs)
    shown, mine = aggregates(theirs), None if ours is None else aggregates(ours)
    rows = []
    for i, line in enumerate(shown.iqm):
        own = _last(mine.iqm[i].y) if mine else NOT_YET
        rows.append((f"IQM of {AGENT_NAMES[line.agent]}", _last(line.y), own))
    for i, (x, y, chance) in enumerate(shown.improvement):
        own = _bracketed(mine.improvement[i].improvement) if mine else NOT_YET
        rows.append((f"P({AGENT_NAMES[x]} > {AGENT_NAMES[y]})", _bracketed(chance), own))
    games = ", ".join(map(title, theirs.games))
    return Table("Over games", (f"{games}, at step {theirs.at:,}", "published", "ours"), rows)


def _last(estimate: stats.Estimate) -> str:
    return _bracketed(stats.Estimate(*(np.asarray(bound)[-1] for bound in estimate)))


def _bracketed(estimate: stats.Estimate) -> str:
    value, low, high = (float(bound) for bound in estimate)
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"
