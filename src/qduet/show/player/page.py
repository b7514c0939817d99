"""The player as a self-contained page, or as parts of another page.

    text = page([document(recording)], title="Breakout, RDQ")       # recording_file.document

A larger page puts `style()` and `script()` into it once, `embedded(documents, "replays")` where it
likes, and calls, as the top of player.js tells,

    qduet.mountGallery(element, JSON.parse(document.getElementById("replays").textContent));
"""

import html
import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""The page's own rule for browsers: nothing is ever fetched."""


def _asset(name: str) -> str:
    return resources.files("qduet.show.player").joinpath(name).read_text(encoding="utf-8")


def style() -> str:
    """The content of a ``<style>`` element."""
    return _asset("player.css")


def script() -> str:
    """The content of a ``<script>`` element; defines ``qduet.mountPlayer`` and others."""
    return _asset("player.js")


def embedded(value: Any, element_id: str) -> str:
    """A ``<script type="application/json">`` element that holds `value` and cannot end early."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="{html.escape(element_id)}">{text}</script>'


def page(documents: Sequence[dict[str, Any]], *, title: str) -> str:
    """A page that plays these recordings (`recording_file.document`) and needs no network."""
    return _asset("page.html").format(
        policy=POLICY,
        title=html.escape(title),
        style=style(),
        script=script(),
        recordings=embedded(list(documents), "recordings"),
    )
