"""Data flows one way: a module imports only modules that stand before it in this list."""

import ast
from pathlib import Path

import pytest

import qduet

ORDER = (
    "errors",
    "machine",
    "tracing",
    "loops",
    "mdp",
    "toy_text",
    "operators",
    "rules",
    "experience",
    "trial",
    "sweep",
    "theory",
    "minatar",
    "adam",
    "scalars",
    "networks",
    "kernels",
    "layers",
    "replay",
    "agents",
    "acting",
    "training",
    "evaluation",
    "store",
    "provenance",
    "runs",
    "published",
    "tensors",
    "weights",
    "recording",
    "recording_file",
    "player",
    "stopping",
    "job",
    "program",
    "devices",
    "checkpoint",
    "resuming",
    "trainer",
    "experiments",
    "stats",
    "comparison",
    "summary",
    "findings",
    "certificate",
    "figures",
    "report",
    "reproduction",
    "benchmarking",
    "cli",
)
ROOT = Path(qduet.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem[0] != "_")


def module_of(path):
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("qduet"):
            parts = node.module.split(".")
            yield from ([parts[1]] if len(parts) > 1 else [alias.name for alias in node.names])
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("qduet."))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_flow_one_way(path):
    here = ORDER.index(module_of(path))
    for name in imports_of(path):
        if name in ORDER:
            assert ORDER.index(name) <= here, f"{path.name} imports {name}, which stands after it"


def test_every_module_has_its_place():
    assert {module_of(path) for path in FILES} <= set(ORDER)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_core_needs_only_jax_numpy_and_scipy(path):
    if module_of(path) in ("figures", "benchmarking", "cli") or path.stem in ("gym", "gym_vector"):
        return
    heavy = {"matplotlib", "rich", "plotly", "gymnasium", "minatar", "PIL", "torch"}
    top = ast.parse(path.read_text(encoding="utf-8")).body
    names = {a.name.split(".")[0] for n in top if isinstance(n, ast.Import) for a in n.names}
    names |= {(n.module or "").split(".")[0] for n in top if isinstance(n, ast.ImportFrom)}
    assert not names & heavy
