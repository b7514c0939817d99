"""Tables of text, on the terminal and in Markdown.

table = Table("Scores", ("game", "return"), [("Breakout", "57.7 ± 1.2")])
table.show()
table.markdown()
"""

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from qduet.core.errors import printable

_NUMERIC = tuple("0123456789+−-±×∞–<")


class Table(NamedTuple):
    """Rows of text under headings."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """The table, without its title."""
        lines = [self.headings, ("---",) * len(self.headings), *self.rows]
        escaped = ([text.replace("|", "\\|") for text in line] for line in lines)
        return "\n".join("| " + " | ".join(line) + " |" for line in escaped)

    def show(self, styles: Mapping[str, str] | None = None) -> None:
        """Prints the table; a text that is in `styles` has that style of rich.

        Numbers stand to the right. Rows of one game stand together under its name.
        """
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table as RichTable
        from rich.text import Text

        shown = RichTable(box=SIMPLE_HEAD, pad_edge=False, title=Text(self.title))
        shown.title_justify = "left"
        for heading, column in zip(self.headings, zip(*self.rows, strict=True), strict=True):
            numeric = all(text.startswith(_NUMERIC) for text in column)
            shown.add_column(Text(printable(heading)), justify="right" if numeric else "left")
        first = [row[0] for row in self.rows]
        by_game = self.headings[0] == "game" and len(set(first)) < len(first)
        for before, row in zip(["", *first], self.rows, strict=False):
            repeated = by_game and row[0] == before
            if by_game and not repeated:
                shown.add_section()
            texts = ("" if repeated else row[0], *row[1:])
            shown.add_row(*(Text(printable(x), (styles or {}).get(x, "")) for x in texts))
        console = Console(width=None if sys.stdout.isatty() else 150)
        with console.capture() as captured:  # at a closed pipe, rich itself would exit with code 1
            console.print(shown)
        sys.stdout.write(captured.get())
