"""One page that shows everything: a single HTML file that asks nothing of any network.

    page = build([Path("out"), Path("results")])
    Path("report.html").write_text(page.html)

The text, the tables and the verdicts are plain HTML made here; the charts and the player are drawn
in the browser from data that the page carries. What the command line prints and what the page
shows come from the same functions on the same files, whose names stand beside the numbers.
"""

from qduet.show.report.page import Page, build

__all__ = ["Page", "build"]
