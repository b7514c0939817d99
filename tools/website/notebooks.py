"""Tutorials: Python files with cells, executed as notebooks.

    # %% [markdown]
    # Text.

    # %%
    print("code")

    # %% language="bash"
    # qduet --version

Editors open such files as notebooks; jupytext calls the form *percent*. `execute` runs one as
Jupyter would, in an empty directory, and fails if a cell or a command does. `executed` does so once
for each state of the file and of qduet's sources.
"""

import base64
import copy
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import qduet

SOURCES = Path(qduet.__file__).parent
SECONDS = 900
"""So long a cell may take."""
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
SHELL = "%%bash\n"
COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def parse(text: str) -> NotebookNode:
    """The notebook of a Python file with cells, not executed."""
    first, *rest = re.split(r"^# %%(.*)\n", text, flags=re.MULTILINE)
    if first.strip():
        raise ValueError("a tutorial begins with # %%")
    cells = []
    for kind, body in zip(rest[::2], rest[1::2], strict=True):
        source = body.strip("\n")
        uncommented = re.sub(r"^# ?", "", source, flags=re.MULTILINE)
        if kind.strip() == "[markdown]":
            cells.append(new_markdown_cell(uncommented))
        elif kind.strip() == 'language="bash"':
            cells.append(new_code_cell(SHELL + uncommented))
        else:
            cells.append(new_code_cell(source))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # not a random one: the same file gives the same notebook
    return new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


def execute(path: Path) -> NotebookNode:
    """The notebook of the file at `path`, executed in an empty directory.

    A process of its own does it: nbclient leaves its event loop and sockets open.
    """
    with tempfile.TemporaryDirectory() as directory:
        environment = os.environ | {
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
            "PYTHONPATH": os.pathsep.join((str(SOURCES.parent), os.environ.get("PYTHONPATH", ""))),
            "COLUMNS": "100",
        }
        file = Path(directory) / f"{path.stem}.ipynb"
        nbformat.write(parse(path.read_text(encoding="utf-8")), file)
        words = [sys.executable, "-c", "from nbclient.cli import main; main()", "--inplace"]
        words += [f"--timeout={SECONDS}", str(file)]
        ended = subprocess.run(words, env=environment, capture_output=True, text=True)
        if ended.returncode:
            raise RuntimeError(f"{path} failed: {ended.stderr}")
        return nbformat.read(file, as_version=4)


def executed(path: Path, cache: Path) -> NotebookNode:
    """As `execute`, or from `cache` if neither the file nor a source of qduet has changed."""
    whole = hashlib.sha256(path.read_bytes())
    for source in sorted(SOURCES.rglob("*.py")):
        whole.update(source.read_bytes())
    kept = cache / f"{path.stem}-{whole.hexdigest()[:16]}.ipynb"
    if not kept.exists():
        notebook = execute(path)
        cache.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, kept)
    return nbformat.read(kept, as_version=4)


def markdown(notebook: NotebookNode, stem: str) -> tuple[str, dict[str, bytes]]:
    """The page of an executed notebook, and its pictures by name, which begin with `stem`."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        shell = cell.source.startswith(SHELL)
        source = cell.source.removeprefix(SHELL)
        parts.append(f"```{'bash' if shell else 'python'}\n{source}\n```")
        for text, picture in map(_shown, _joined(cell.outputs)):
            if picture:
                name = f"{stem}-{len(pictures) + 1}.png"
                pictures[name] = picture
                parts.append(f"![]({name})")
            elif text.strip():
                parts.append(f"```{{ .text .output }}\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n", pictures


def _joined(outputs: list[Any]) -> list[Any]:
    """The outputs of a cell, texts that follow one another as one."""
    joined: list[Any] = []
    for output in outputs:
        if joined and output.output_type == joined[-1].output_type == "stream":
            joined[-1].text += output.text
        else:
            joined.append(copy.deepcopy(output))
    return joined


def _shown(output: Any) -> tuple[str, bytes | None]:
    """An output as text, or as a picture."""
    if output.output_type == "stream":
        return COLOURS.sub("", output.text).replace("\r\n", "\n"), None
    if "image/png" in output.data:
        return "", base64.b64decode(output.data["image/png"])
    return COLOURS.sub("", output.data.get("text/plain", "")), None
