"""``python -m qduet``: the command ``qduet``."""

from qduet.cli import command

command()
