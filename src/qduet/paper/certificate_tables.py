"""The certificate as tables of text, for the terminal, for Markdown and for the documentation."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from qduet.core.tables import Table
from qduet.paper.agreement import ALPHA, MARGIN, Cell, over_cells
from qduet.paper.certificate import FLOOR_MICROSECONDS, Certificate, Source
from qduet.paper.claims import HOLDS, MINATAR, VERDICTS, Claim, p_text, signed
from qduet.results import published
from qduet.results.published import AGENT_NAMES, title
from qduet.stats import Interval

MEASURED = {"return": "mean return", "auc": "AUC"}
"""How measures are called in text."""


def cells_table(rows: Sequence[tuple[str, ...]], name: str, step: int) -> Table:
    """The cells of one measure, each a `cell_row`."""
    what = "Return at" if name == "return" else "AUC up to"
    headings = ("game", "agent", "published", "ours", "difference", "margin")
    judged = ("shown within", "p (equal, Holm)", "verdict")
    return Table(f"{what} {step:,} steps", headings + judged, rows)


def cell_row(cell: Cell) -> tuple[str, ...]:
    """A cell as texts."""
    return (
        title(cell.game),
        AGENT_NAMES[cell.agent],
        with_seeds(cell.theirs),
        with_seeds(cell.ours),
        signed(cell.difference),
        margin_text(cell.margin, cell.theirs.mean),
        f"{cell.shown_within:.2f} sd" if np.isfinite(cell.shown_within) else "–",
        f"{cell.difference_p:.2g}",
        cell.verdict,
    )


def with_seeds(interval: Interval) -> str:
    """The interval, and the number of seeds if it is not the paper's."""
    return f"{interval} ({interval.n})" if interval.n != published.SEEDS else str(interval)


def margin_text(margin: float, mean: float) -> str:
    """The margin, and what share of the mean it is."""
    share = 100 * margin / mean
    return f"{margin:.2f} ({share:.0f} %)" if share >= 1 else f"{margin:.2f} ({share:.1f} %)"


def claims_table(claims: Sequence[Claim]) -> Table:
    """Each claim with the evidence of both sides."""
    rows = [(c.where, c.statement, c.ours, c.theirs, c.verdict) for c in claims]
    return Table("Claims of the paper", ("paper", "claim", "ours", "theirs", "verdict"), rows)


def sources_table(sources: Sequence[Source]) -> Table:
    """What was run, where, and what it cost."""
    headings = ("game", "runs", "steps", "device", "jax", "commit", "wall clock")
    floor = f"× the floor of {FLOOR_MICROSECONDS:g} µs"
    rows = []
    for source in sources:
        cost, made_with = source.cost, source.provenance
        timed = np.isfinite(cost.microseconds_per_iteration)
        since = lambda step: f" from step {step:,}" if step else ""
        commits = [commit[:7] + since(step) for step, commit in source.commits.items()]
        rows.append(
            (
                title(source.game),
                f"{len(source.agents)} agents × {source.seeds} seeds",
                f"{source.steps:,}",
                str(made_with.get("device") or "unknown"),
                str(made_with.get("jax") or "unknown"),
                ", ".join(commits),
                f"{cost.seconds / 60:.1f} min" if np.isfinite(cost.seconds) else "unknown",
                f"{cost.microseconds_per_iteration:,.0f}" if timed else "unknown",
                f"{source.floors:.1f}" if timed and source.floors else "–",
            )
        )
    return Table("Runs", (*headings, "µs per iteration", floor), rows)


def sentences(certificate: Certificate) -> list[str]:
    """The outcome, and what to know about it, one statement a line."""
    lines = []
    missing = ", ".join(map(title, certificate.missing_games))
    if missing:
        present = f"{len(certificate.sources)} of {len(published.GAMES)} games"
        lines.append(f"Runs of {present}; none of {missing}.")
    for name, measured in MEASURED.items():
        cells = [cell for cell in certificate.cells if cell.measure == name]
        if cells:
            found = Counter(cell.verdict for cell in cells)
            counted = ", ".join(f"{found[v]} {v}" for v in ("agree", "differ", "undecided"))
            at = f"In {measured} at {cells[0].step:,} steps"
            lines.append(f"{at}, of {len(cells)} cells {counted}.")
        if summary := over_cells(certificate.cells, name):
            lines.append(
                f"Mean difference over cells: {signed(summary.difference)} published standard "
                f"deviations; χ²({summary.difference.n}) = {summary.chi2:.1f}, which chance alone "
                f"exceeds with p = {summary.p_value:.2g}."
            )
    for about, deep in (("Figure 6", True), ("the other figures and the theory", False)):
        counts = Counter(c.verdict for c in certificate.claims if (c.where == MINATAR) == deep)
        listed = ", ".join(f"{v}: {counts[v]}" for v in VERDICTS if counts[v])
        if counts:
            lines.append(f"Of {counts.total()} claims on {about}, {listed}.")
        if deep:
            lines += _one_sided(certificate.claims)
    short = {(c.game, c.agent): c.missing_seeds for c in certificate.cells if c.missing_seeds}
    for (game, agent), seeds in short.items():
        lines.append(
            f"The published scores of {title(game)}, {AGENT_NAMES[agent]} lack seeds "
            f"{', '.join(map(str, seeds))}: {published.SEEDS - len(seeds)} of {published.SEEDS}."
        )
    for source in certificate.sources:
        if source.episodes_cut:
            lines.append(f"{title(source.game)}: {source.episodes_cut} episodes were cut short.")
    return lines


def _one_sided(claims: Sequence[Claim]) -> list[str]:
    """Which verdicts hang on a test being one-sided, and which command asks the other question."""
    held = [(c, c.two_sided_p) for c in claims if c.two_sided_p is not None and c.verdict == HOLDS]
    if not held:
        return []
    not_two_sided = [f"{c.statement} ({p_text(p)})" for c, p in held if p >= ALPHA]
    but = f"; not {', '.join(not_two_sided)}" if not_two_sided else ""
    return [
        "Whether RDQ outperforms is tested one-sided (is it ahead?); in brackets the two-sided p "
        "(do the two differ?), which qduet compare --baseline rdq shows of all five games. Of "
        f"{len(held)} such claims that hold, {len(held) - len(not_two_sided)} are below "
        f"{100 * ALPHA:g} % two-sided as well{but}."
    ]


def difference_line(cell: Cell) -> str:
    """What was compared in a cell, its difference and its margin, in a line."""
    return (
        f"In {MEASURED[cell.measure]} at {cell.step:,} steps, {title(cell.game)}, "
        f"{AGENT_NAMES[cell.agent]}: difference {signed(cell.difference)}, margin {cell.margin:.2f}"
    )


def explanation() -> str:
    """How to read the tables of cells."""
    return (
        "Means ± the half-width of the 95 % interval over seeds (their number in brackets if it is "
        f"not {published.SEEDS}); differences with Welch's interval. The margin is {MARGIN:g} "
        "published standard deviation over seeds. agree: two one-sided tests at 5 % show that the "
        "difference is within the margin; shown within: the smallest margin at which they do. "
        "differ: they do not, and Welch's test at 5 %, Holm-corrected over 15 cells, rejects equal "
        "means. undecided: neither. An iteration is one update and four steps of every run; with "
        f"90 runs on an H200 it takes at least about {FLOOR_MICROSECONDS:g} µs. The wall clock "
        "includes evaluations and compilation."
    )


def certificate_tables(certificate: Certificate) -> list[Table]:
    """All tables of a certificate, those without rows left out."""
    by_measure = [
        cells_table(
            [cell_row(cell) for cell in certificate.cells if cell.measure == name],
            name,
            certificate.step or 0,
        )
        for name in MEASURED
    ]
    tables = [*by_measure, claims_table(certificate.claims), sources_table(certificate.sources)]
    return [table for table in tables if table.rows]


def markdown(certificate: Certificate) -> str:
    """The certificate as a Markdown document."""
    lines = ["# Certificate: our runs against the published scores", ""]
    lines += [f"- {line}" for line in sentences(certificate)]
    for table in certificate_tables(certificate):
        lines += ["", f"## {table.title}", "", table.markdown()]
    return "\n".join([*lines, "", explanation(), ""])
