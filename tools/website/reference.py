"""Pages that are written from the code: the public names of each room, and the commands."""

import importlib
from collections.abc import Iterator

import qduet
from qduet import cli

ROOMS = ("qduet", *(f"qduet.{room}" for room in qduet._ROOMS))


def rooms() -> Iterator[tuple[str, str]]:
    """The path and text of each room's page."""
    for room in ROOMS:
        names = importlib.import_module(room).__all__
        lines = [f"# {room}", "", f"::: {room}", "    options:", "      members: false"]
        lines += ["      show_root_heading: false", "      show_root_toc_entry: false"]
        for name in sorted(names, key=lambda name: (name.islower(), name.lower())):
            lines += ["", f"::: {room}.{name}"]
        yield f"reference/{room.removeprefix('qduet.')}.md", "\n".join(lines) + "\n"


def commands() -> tuple[str, str]:
    """The path and text of the page of commands: what ``--help`` prints."""
    lines = [
        "# Commands",
        "",
        "What each command is for, with all of its options: the text of `qduet COMMAND --help`.",
        "",
        "| command | what it does |",
        "| --- | --- |",
    ]
    lines += [
        f"| [`qduet {name}`](#qduet-{name}) | {line} |" for name, line in cli.COMMANDS.items()
    ]
    lines += ["", *_fenced(cli._top_parser().format_help())]
    for name in cli.COMMANDS:
        help_text = cli._command_parser(name).format_help()
        lines += ["", f"## qduet {name}", "", *_fenced(help_text)]
    return "commands.md", "\n".join(lines) + "\n"


def _fenced(text: str) -> list[str]:
    return ["```text", text.rstrip(), "```"]
