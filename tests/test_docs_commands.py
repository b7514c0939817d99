"""The commands in the documentation: all are accepted, and those about a game of one's own run."""

import re
import shlex
import subprocess
import sys

import pytest
from examples_by_path import ROOT

from qduet import cli

PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.py")]


def commands(page):
    """The command lines in the fenced blocks of a page, without their comments."""
    text = page.read_text("utf-8")
    if page.suffix == ".py":  # a tutorial, whose text is in comments
        text = re.sub(r"^# ?", "", text, flags=re.MULTILINE)
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    shell = (block for kind, block in blocks if kind != "console")  # test_docs_code.py runs those
    lines = "".join(shell).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.startswith("qduet ")]


def test_commands_are_found():
    assert sum(len(commands(page)) for page in PAGES) > 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_is_accepted(page):
    for _, *words in commands(page):
        top = cli._top_parser().parse_args(words)
        if top.command:
            cli._command_parser(top.command).parse_args(top.arguments)


def test_a_game_of_ones_own_is_trained_and_watched_as_the_page_says(tmp_path):
    (tmp_path / "own_game.py").write_bytes((ROOT / "examples" / "own_game.py").read_bytes())
    for _, *words in commands(ROOT / "docs" / "training.md")[1:3]:
        words = ["1_000" if word == "10_000" else word for word in words]
        done = subprocess.run([sys.executable, "-m", "qduet", *words], cwd=tmp_path)
        assert done.returncode == 0
    assert [*tmp_path.glob("**/catch-rdq-0-step1000-episode0.html")]
