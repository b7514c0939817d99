"""Colours that can be told from their background, in the light and in the dark.

The colours of `show.names` are made for white paper. On a screen a line needs a contrast
of 3 : 1 to what is behind it (WCAG 2.2, 1.4.11), so each colour is moved towards black or white
until it has that; the colours of a reader's own rules as well.

    >>> on_grounds("#56B4E9")
    {'light': '#3d80a6', 'dark': '#56b4e9'}
"""

PAPER, NIGHT = "#ffffff", "#15181d"
"""The backgrounds of the page; `page.css` has the same."""

NEEDED = 3.2

AT_NIGHT = {
    "#0b3d91": "#b7c5ff",
    "#000000": "#e4e6ea",
    "#0072b2": "#5fb0e8",
    "#882255": "#ffd0d8",
}
"""Colours too dark to be only lightened: near to others if they were."""


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb``, from 0 to 1."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    """The contrast ratio of two colours, from 1 to 21."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def readable(colour: str, background: str, needed: float = NEEDED) -> str:
    """`colour`, moved away from `background` until its contrast is `needed`."""
    towards = 0 if luminance(background) > 0.2 else 255
    channels = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    for part in range(101):
        moved = [round(c + (towards - c) * part / 100) for c in channels]
        result = "#" + "".join(f"{c:02x}" for c in moved)
        if contrast(result, background) >= needed:
            break
    return result


def on_grounds(colour: str) -> dict[str, str]:
    """The colour on light and on dark ground."""
    at_night = AT_NIGHT.get(colour.lower(), colour)
    return {"light": readable(colour, PAPER), "dark": readable(at_night, NIGHT)}
