"""What a user may touch: cheap to import, complete, and documented field by field."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import textwrap

import pytest

import qduet

ROOMS = (
    "losses",
    "tabular",
    "theory",
    "minatar",
    "deep",
    "jobs",
    "results",
    "stats",
    "paper",
    "show",
)
PUBLIC = [("qduet", name) for name in qduet.__all__]
PUBLIC += [
    (f"qduet.{room}", name)
    for room in ROOMS
    for name in importlib.import_module(f"qduet.{room}").__all__
]


def loaded_by(statement):
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


GAMES = {f"qduet.minatar.{game}" for game in ("asterix", "breakout", "seaquest")}


@pytest.mark.parametrize(
    ("statement", "left_out"),
    [
        ("import qduet", {*GAMES, "matplotlib", "scipy", "jax", "numpy"}),
        ("import qduet.cli", {"jax", "numpy", "scipy", "matplotlib", "rich"}),
        ("from qduet.minatar import make", {"qduet.tabular", "matplotlib", "scipy"}),
        ("import qduet.losses", {*GAMES, "qduet.tabular", "qduet.deep", "matplotlib", "scipy"}),
        ("import qduet.agents", {"qduet.deep", "jax", "numpy"}),
        ("import qduet.tabular", {*GAMES, "qduet.deep", "matplotlib"}),
    ],
)
def test_importing_one_thing_does_not_import_another(statement, left_out):
    assert not loaded_by(statement) & left_out


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_public_names_are_there_and_documented(module, name):
    value = getattr(importlib.import_module(module), name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert (value.__doc__ or "").strip()
        assert not value.__doc__.startswith(f"{name}(")  # what a NamedTuple has by itself


def fields_of(source):
    """The annotated fields of a class, each with the docstring that follows it."""
    (node,) = ast.parse(textwrap.dedent(source)).body
    for field, following in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign):
            text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            yield field.target.id, following.value.value if text else None


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_public_dataclasses_document_their_fields(module, name):
    value = getattr(importlib.import_module(module), name)
    if not inspect.isclass(value) or not hasattr(value, "__annotations__"):
        return
    undocumented = [
        field
        for field, text in fields_of(inspect.getsource(value))
        if text is None and not re.search(rf"`{field}`|^\s+{field}: ", value.__doc__, re.M)
    ]
    assert not undocumented
