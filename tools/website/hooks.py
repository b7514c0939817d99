"""What mkdocs calls while it builds the site (``hooks`` in mkdocs.yml).

Pages stay where they are in the repository, and so do their links, so that both work on a code
host too. Files outside of docs/ become pages here, and links are led to them; a link to a file
that is no page becomes plain text.
"""

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat
from mkdocs.structure.files import File, Files

from website import notebooks, reference

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "tutorials"
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "speed.md",
    "results/weights/README.md": "weights.md",
}
"""Pages of the site that are not in docs/."""


def _examples() -> Iterator[tuple[str, str]]:
    """A page for each example, and one that lists them by the first line of their docstrings."""
    lines = ["# Examples", "", "Programs to copy and change. Each runs as it stands.", ""]
    for path in sorted((ROOT / "examples").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        about = text.splitlines()[0].strip('"')
        lines.append(f"- [{path.name}]({path.stem}.md): {about}")
        yield f"examples/{path.stem}.md", f"# {path.name}\n\n```python\n{text}```\n"
    yield "examples/index.md", "\n".join(lines) + "\n"


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages that are not in docs/, or not written by hand."""

    def add(uri: str, content: str | bytes) -> None:
        files.append(File.generated(config, uri, content=content))

    for path, uri in OUTSIDE.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        front = "---\nhide: [navigation]\n---\n" if uri == "index.md" else ""
        add(uri, front + text.replace('src="docs/', 'src="'))
    for uri, text in (*_examples(), *reference.rooms(), reference.commands()):
        add(uri, text)
    tutorials = sorted((ROOT / "docs" / "tutorials").glob("*.py"))
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda path: notebooks.executed(path, CACHE), tutorials))
    for path, notebook in zip(tutorials, done, strict=True):
        files.remove(files.get_file_from_path(f"tutorials/{path.name}"))
        text, pictures = notebooks.markdown(notebook, path.stem)
        link = f"\n[:material-download: Notebook]({path.stem}.ipynb){{ .md-button download }}\n"
        add(f"tutorials/{path.stem}.md", text + link)
        add(f"tutorials/{path.stem}.ipynb", nbformat.writes(notebook))
        for name, picture in pictures.items():
            add(f"tutorials/{name}", picture)
    return files


def _uri(path: str) -> str | None:
    """Where a file of the repository is on the site."""
    if path in OUTSIDE:
        return OUTSIDE[path]
    if path == "examples":
        return "examples/index.md"
    if re.fullmatch(r"examples/\w+\.py", path):
        return path.removesuffix(".py") + ".md"
    if re.fullmatch(r"docs/tutorials/\w+\.py", path):
        return path.removeprefix("docs/").removesuffix(".py") + ".md"
    return path.removeprefix("docs/") if path.startswith("docs/") else None


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Leads the links of a page to where their files are on the site."""
    uri = page.file.src_uri
    source = next((path for path, there in OUTSIDE.items() if there == uri), f"docs/{uri}")

    def led(match: re.Match[str]) -> str:
        text, target = match.groups()
        path, hash_sign, fragment = target.partition("#")
        found = os.path.normpath(PurePosixPath(source).parent / path) if path else ""
        if not path or ":" in path or not (ROOT / found).exists():
            return match[0]
        there = _uri(found)
        if there is None:
            return text
        if text.endswith(".md"):  # on the site a page is called by its title
            text = (ROOT / found).read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
        return f"[{text}]({os.path.relpath(there, PurePosixPath(uri).parent)}{hash_sign}{fragment})"

    return re.sub(r"\[([^\[\]]*)\]\(([^()\s]+)\)", led, markdown)
