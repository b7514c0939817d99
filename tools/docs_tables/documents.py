"""Generated parts of the documentation: between markers in Markdown, and pictures.

    <!-- table: claims -->
    ... replaced by the table of that name ...
    <!-- end -->

A picture carries a digest of the data that it was drawn from, so that a stale one is noticed
without comparing pixels, which depend on the version of matplotlib.
"""

import hashlib
import importlib.resources
import io
import re
from collections.abc import Mapping
from pathlib import Path

from docs_tables.tables import (
    ABLATION,
    FIGURE6,
    PAPER,
    VALIDATION,
    protocol_shifts,
    protocols,
)
from qduet.core.errors import InputError
from qduet.core.files import write_atomically
from qduet.results.runs import SUMS

DOCUMENTS = tuple(
    map(Path, ("README.md", "docs/paper.md", "docs/reproduction.md", "docs/study.md"))
)
PICTURES = Path("docs/images")
SOURCES = {
    **dict.fromkeys(("figure6", "figure6-summary", "figure6-overestimation"), (FIGURE6,)),
    "protocols": (FIGURE6, VALIDATION, PAPER, ABLATION),
    **dict.fromkeys(
        ("study-family", "study-overestimation", "study-overestimation-steps"),
        (FIGURE6, "family"),
    ),
    "study-beta": ("beta",),
}
"""By picture: the folders of ``results/`` that it is drawn from."""

MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def filled(text: str, tables: Mapping[str, str]) -> str:
    """`text` with every marked part replaced by its table."""

    def fill(match: re.Match[str]) -> str:
        start, name, _, end = match.groups()
        if name not in tables:
            raise InputError(f"there is no table '{name}'; there are {', '.join(sorted(tables))}")
        return f"{start}\n{tables[name]}\n\n{end}"

    return MARKED.sub(fill, text)


def digest(results: Path, stem: str) -> str:
    """Of the data behind a picture: ours, and the published scores."""
    whole = hashlib.sha256(
        (importlib.resources.files("qduet.results") / "data" / "published_scores.csv").read_bytes()
    )
    for part in SOURCES[stem]:
        for path in sorted((results / part).rglob(SUMS)):
            whole.update(path.relative_to(results).as_posix().encode() + path.read_bytes())
    return whole.hexdigest()


def draw(root: Path) -> list[Path]:
    """Draws the pictures of the documentation, and returns where."""
    from docs_tables.picture import protocols_chart
    from docs_tables.study_pictures import study_charts
    from qduet.paper.admission import admit
    from qduet.show.charts.figure6 import figure6_charts
    from qduet.show.figures import draw as drawn
    from qduet.show.figures import house_style

    results = root / "results"
    there = any((results / FIGURE6).glob("*/config.json"))
    runs = admit([results / FIGURE6] if there else [])
    paths = []
    charts = figure6_charts(runs)
    charts["protocols"] = protocols_chart(*protocol_shifts(*protocols(results)))
    charts |= study_charts(results)
    for stem, chart in charts.items():
        buffer = io.BytesIO()
        with house_style():
            metadata = {"Software": None, "Source": digest(results, stem)}
            drawn(chart).savefig(buffer, format="png", dpi=150, metadata=metadata)
        paths.append(root / PICTURES / f"{stem}.png")
        write_atomically(paths[-1], buffer.getvalue())
    return paths
