"""Recorded play on the page: the player with every recording that was found."""

from pathlib import Path
from typing import Any

from qduet.results.published import title
from qduet.show.player.page import embedded
from qduet.show.report.html import Raw, code, details, el, table
from qduet.show.report.parts import Origin, Part

ORDER = ("rdq", "dueling_dqn", "dqn")

LARGEST = 9_000_000
"""Bytes of recordings that the page takes; it must stay below 15 MB."""


def _rank(document: dict[str, Any]) -> tuple[Any, ...]:
    """Long training before short, Breakout before other games, RDQ before other agents."""
    game, label = document["game"], document["label"]
    agent = ORDER.index(label) if label in ORDER else len(ORDER)
    return -document["step"], game != "Breakout", game, agent


def show(documents: list[tuple[Path, dict[str, Any]]], name: str) -> Part:
    """The player, and the table of what it plays."""
    documents = sorted(documents, key=lambda item: _rank(item[1]))
    kept: list[tuple[Path, dict[str, Any]]] = []
    too_large: list[tuple[Path, dict[str, Any]]] = []
    size = 0
    for path, document in documents:
        size += len(document["data"])
        (kept if size <= LARGEST else too_large).append((path, document))
    rows = [
        [
            title(d["game"]),
            d["label"],
            str(d["seed"]),
            f"{d['step']:,}",
            f"{d['score']:.7g}",
            code(str(path)),
        ]
        for path, d in kept
    ]
    headings = ("game", "agent", "run", "trained for", "score", "file")
    listed = table(headings, rows, caption="The recordings in this page")
    note = None
    if too_large:
        names = ", ".join(str(path) for path, _ in too_large)
        note = el("p", f"Too large to take along: {names}.", class_="missing")
    rest = [
        el("div", id="qduet-player", class_="player"),
        note,
        details("Recordings and their files", listed, class_="aside"),
        Raw(embedded([document for _, document in kept], "qduet-replays")),
    ]
    files = ", ".join(sorted({str(path.parent) for path, _ in kept}))
    origin = Origin(f"{len(kept)} recorded episodes", files)
    keys = ("game", "label", "seed", "step", "score", "sha256")
    data = [{k: d[k] for k in keys} for _, d in kept]
    return Part(name, "", None, None, rest, {}, {name: data}, (origin,))
