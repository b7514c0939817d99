"""The pictures of the README that show the report: ``make gallery``.

    python tools/gallery.py out/report.html docs/images [RECORDING]

Opens the page in Chromium (Playwright, Debian's chromium) and puts some of its parts side by side
into gallery.png; the first frames of RECORDING (of `qduet watch`) become play.gif.
"""

import io
import shutil
import sys
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from qduet.core.files import write_atomically
from qduet.jobs import recording_file
from qduet.jobs.recording import Recording
from qduet.show.player.gif import gif

LEFT, RIGHT, GAP = 1080, 700, 24
"""Widths of the two columns and the space around pictures, in pixels."""

EDGE = 14
"""Pixels of the page that are shown around a part of it."""

GROUND = "#c9ced6"
FRAMES = 90


def shot(browser: Browser, page: Path, what: str, *, width: int, dark: bool = False) -> Image.Image:
    """The first element that `what` selects, in a window of that width; twice the resolution."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
        device_scale_factor=2,
    )
    opened = context.new_page()
    opened.goto(page.resolve().as_uri())
    for _ in range(opened.locator(".qduet-player").count()):
        for _ in range(12):
            opened.get_by_role("button", name="one frame on").click()
    opened.evaluate("scrollTo(0, 0)")  # the box is measured from the window's edge
    box = opened.locator(what).first.bounding_box()
    assert box is not None
    clip = {"x": box["x"] - EDGE, "y": box["y"] - EDGE}
    clip |= {"width": box["width"] + 2 * EDGE, "height": box["height"] + 2 * EDGE}
    picture = opened.screenshot(clip=clip, full_page=True)
    context.close()
    return Image.open(io.BytesIO(picture)).convert("RGB")


def column(pictures: list[Image.Image], width: int) -> Image.Image:
    """The pictures below each other, all as wide as the column."""
    scaled = [
        picture.resize((width, round(picture.height * width / picture.width)), Image.LANCZOS)
        for picture in pictures
    ]
    height = sum(picture.height + GAP for picture in scaled) - GAP
    whole = Image.new("RGB", (width, height), GROUND)
    top = 0
    for picture in scaled:
        whole.paste(picture, (0, top))
        top += picture.height + GAP
    return whole


def gallery(browser: Browser, page: Path) -> Image.Image:
    """Figures on the left; the player and the theory, in the dark, on the right."""
    has_player = "qduet-replays" in page.read_text(encoding="utf-8")
    left = ["#tabular figure >> nth=2", "#minatar figure"]
    right = [".qduet-player"] * has_player + ["#theory .scroll", "#theory figure >> nth=1"]
    columns = [
        column([shot(browser, page, what, width=1180) for what in left], LEFT),
        column([shot(browser, page, what, width=800, dark=True) for what in right], RIGHT),
    ]
    height = min(part.height for part in columns)
    whole = Image.new("RGB", (LEFT + RIGHT + 3 * GAP, height + 2 * GAP), GROUND)
    whole.paste(columns[0].crop((0, 0, LEFT, height)), (GAP, GAP))
    whole.paste(columns[1].crop((0, 0, RIGHT, height)), (LEFT + 2 * GAP, GAP))
    few = Image.Quantize.MAXCOVERAGE  # 256 colours, the rare ones of the player among them
    return whole.quantize(256, method=few, dither=Image.Dither.NONE)


def beginning(recording: Recording, frames: int) -> Recording:
    """The first `frames` steps of a recording."""
    cut: dict[str, Any] = {
        name: values[: frames + (name == "observations")]
        for name, values in recording.episode._asdict().items()
    }
    short = len(recording.episode.action) <= frames
    steps = type(recording.episode)(**cut)
    return recording._replace(episode=steps, ended=recording.ended and short)


def main(page: Path, images: Path, recording: Path | None) -> None:
    """Writes the pictures."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        sys.exit("no browser found: install Debian's chromium, or Google Chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        buffer = io.BytesIO()
        gallery(browser, page).save(buffer, format="PNG", optimize=True)
        browser.close()
    write_atomically(images / "gallery.png", buffer.getvalue())
    if recording is not None:
        shown = beginning(recording_file.read(recording), FRAMES)
        write_atomically(images / "play.gif", gif(shown, fps=10))


if __name__ == "__main__":
    given = [Path(text) for text in sys.argv[1:]]
    main(given[0], given[1], given[2] if len(given) > 2 else None)
