"""The code in the documentation runs as printed, or at least parses; errors are the real ones."""

import ast
import contextlib
import doctest
import re
import shlex
import subprocess
import tomllib

import jax
import pytest
from examples_by_path import ROOT

from qduet.cli import main
from qduet.cluster.plan import read_plan
from qduet.jobs import devices

PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
FAQ = ROOT / "docs" / "faq.md"


def blocks(page, kind):
    fences = r"^```(\w*)[^\n]*\n(.*?)^```$"
    found = re.findall(fences, page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return [text for each, text in found if each == kind]


def of_all_pages(kind):
    found = [(page, block) for page in PAGES for block in blocks(page, kind)]
    assert found
    return [pytest.param(*each, id=f"{each[0].stem}-{i}") for i, each in enumerate(found)]


@pytest.mark.parametrize(("page", "block"), of_all_pages("python"))
def test_python_parses(page, block):
    ast.parse(block)


@pytest.mark.parametrize("page", ["minatar", "theory"])
def test_the_python_of_a_page_runs_from_its_top_to_its_end(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks(ROOT / "docs" / f"{page}.md", "python"):
        exec(compile(block, page, "exec"), names)


@pytest.mark.parametrize(("page", "block"), of_all_pages("pycon"))
def test_sessions_print_what_is_shown(page, block):
    test = doctest.DocTestParser().get_doctest(block, {}, page.name, str(page), 0)
    assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize(("page", "block"), of_all_pages("toml"))
def test_plans_are_accepted(page, block, tmp_path):
    if page == FAQ:
        return  # a wrong one, whose error is below
    (tmp_path / "plan.toml").write_text(block, "utf-8")
    assert read_plan(tmp_path / "plan.toml")


@pytest.mark.parametrize(("page", "block"), of_all_pages(""))
def test_scripts_parse(page, block):
    if block.startswith("#!/bin/bash"):
        subprocess.run(["bash", "-n"], input=block, text=True, check=True)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory in which the commands of the page of errors are run, in order."""
    place = tmp_path_factory.mktemp("faq")
    (place / "plan.toml").write_text(blocks(FAQ, "toml")[0], "utf-8")
    with contextlib.chdir(place), pytest.MonkeyPatch.context() as patch:
        patch.setattr(devices, "keep_compiled", lambda: None)
        yield place


@pytest.mark.parametrize("block", blocks(FAQ, "console"))
def test_errors_are_the_real_ones(block, place, capsys):
    if "--device gpu" in block and jax.default_backend() == "gpu":
        pytest.skip("there is a GPU")
    for line, told in re.findall(r"^\$ (.*)\n((?!\$ ).*\n)?", block, re.MULTILINE):
        first, *words = shlex.split(line)
        if first != "qduet":
            subprocess.run([first, *words], check=True)
            continue
        code = main(words)
        if told:
            assert (code, capsys.readouterr().err.splitlines()[-1]) == (2, told.rstrip("\n"))
        else:
            assert code == 0
    assert not (place / "new").exists()


def test_targets_and_extras_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for page in PAGES:
        text = page.read_text("utf-8")
        for target in re.findall(r"^make (\w+)", "".join(blocks(page, "")), re.MULTILINE):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{page.name}: make {target}"
        for names in re.findall(r"pip install[^\n`]*\[([\w,]+)\]", text):
            assert set(names.split(",")) <= set(extras["optional-dependencies"]), page.name
