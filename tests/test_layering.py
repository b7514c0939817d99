"""Data flows one way: docs/design.md lists rooms and files in order, and imports follow it."""

import ast
import re
from pathlib import Path

import pytest

import qduet

ROOT = Path(qduet.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "design.md"
OPTIONAL = {"matplotlib", "rich", "gymnasium", "gymnax", "pgx", "minatar", "PIL", "torch"}
MAY_NEED_MORE = ("qduet.show.figures", "qduet.bench", "qduet.cli", "qduet.minatar.gym")


def listed():
    """The modules in the order of the page; a package stands after all that is in it.

    A room is two lines and more, ``name/`` and its files; a file beside the rooms is ``name.py``.
    """
    tree = PAGE.read_text(encoding="utf-8").split("```")[1]
    rooms = re.findall(r"^  (\w+)(?:/|\.py) .*\n((?: {13}.*\n)*)", tree, flags=re.MULTILINE)
    assert rooms
    for room, files in rooms:
        names = [name.strip() for name in files.replace("\n", " ").split(",")]
        modules = [f"qduet.{room}.{name.replace('/', '.')}" for name in names if name]
        for module, following in zip(modules, [*modules, ""][1:], strict=True):
            yield module
            package = module.rpartition(".")[0]
            if package != f"qduet.{room}" and not following.startswith(package + "."):
                yield package
        yield f"qduet.{room}"


def module_of(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


ORDER = [*listed(), "qduet", "qduet.__main__"]
PATHS = {module_of(path): path for path in ROOT.rglob("*.py")}


def imports_of(module):
    """The modules of qduet that a module imports, at its top or in a function."""
    for node in ast.walk(ast.parse(PATHS[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("qduet."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("qduet"):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in PATHS else node.module


def test_the_page_lists_each_file_once():
    assert sorted(ORDER) == sorted(PATHS)


@pytest.mark.parametrize("module", sorted(set(PATHS) - {"qduet", "qduet.__main__"}))
def test_imports_flow_one_way(module):
    later = [name for name in imports_of(module) if name != "qduet"]
    later = [name for name in later if ORDER.index(name) >= ORDER.index(module)]
    assert not later, f"{module} imports {later}, which docs/design.md lists after it"


@pytest.mark.parametrize("module", sorted(PATHS))
def test_the_core_needs_only_its_dependencies(module):
    if module.startswith(MAY_NEED_MORE):
        return
    top = ast.parse(PATHS[module].read_text(encoding="utf-8")).body
    names = {a.name.split(".")[0] for n in top if isinstance(n, ast.Import) for a in n.names}
    names |= {(n.module or "").split(".")[0] for n in top if isinstance(n, ast.ImportFrom)}
    assert not names & OPTIONAL
