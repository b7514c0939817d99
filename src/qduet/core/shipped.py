"""The files that come with qduet besides its code: results of the paper, agents, examples.

    directory("results")        # …/site-packages/qduet/shipped/results, or results/ of a checkout

A wheel holds them as package data. A checkout has them at its root, where they are kept.
"""

from pathlib import Path

from qduet.core.errors import InputError

NAMES = ("results", "examples")
"""What there is; pyproject.toml puts the same two into the wheel."""


def directory(name: str) -> Path:
    """The directory `name`, one of `NAMES`: relative if it is in the current directory."""
    package = Path(__file__).parents[1]
    for place in (package / "shipped" / name, package.parents[1] / name):
        if place.is_dir():
            here = Path.cwd()
            return place.relative_to(here) if place.is_relative_to(here) else place
    raise InputError(f"{name} did not come with this qduet: install its wheel, or a whole checkout")


def with_short_paths(text: str) -> str:
    """`text` with paths from ``results/`` on, so that a page does not tell where qduet lies."""
    place = directory("results").parent
    return text.replace(f"{place}/", "") if place.is_absolute() else text
