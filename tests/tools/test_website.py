"""The site: every tutorial runs, every public name has its entry, nothing is fetched."""

import re
from pathlib import Path

import pytest
from test_front_door import PUBLIC

pytest.importorskip("mkdocs", reason="mkdocs is not installed")
pytest.importorskip("nbclient", reason="nbclient is not installed")

from mkdocs.commands.build import build
from mkdocs.config import load_config
from website import notebooks

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.py"))

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("tutorials")


def test_there_are_tutorials():
    assert len(TUTORIALS) == 6


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs(path, cache):
    cells = notebooks.executed(path, cache).cells
    assert [cell for cell in cells if cell.cell_type == "code" and cell.outputs]


@pytest.mark.parametrize(
    "text", ["# %%\n1 / 0\n", '# %% language="bash"\n# qduet no-such-command\n']
)
def test_a_cell_or_command_that_fails_is_an_error(text, tmp_path):
    (tmp_path / "wrong.py").write_text(text)
    with pytest.raises(RuntimeError, match=r"wrong\.py failed"):
        notebooks.execute(tmp_path / "wrong.py")


def test_cells_become_a_page(tmp_path):
    text = '# %% [markdown]\n# # Title\n#\n# Text.\n\n# %%\nprint("a")\n\n'
    text += '# %%\n1 + 1\n\n# %% language="bash"\n# echo b\n'
    (tmp_path / "page.py").write_text(text)
    page, pictures = notebooks.markdown(notebooks.execute(tmp_path / "page.py"), "page")
    outputs = re.findall(r"^```(.*)\n(.*)\n```$", page, re.MULTILINE)
    assert page.startswith("# Title\n\nText.\n\n")
    assert [body for _, body in outputs] == ['print("a")', "a", "1 + 1", "2", "echo b", "b"]
    assert [kind for kind, _ in outputs][::2] == ["python", "python", "bash"]
    assert not pictures


@pytest.fixture(scope="module")
def site(tmp_path_factory, cache):
    """The site, built strictly: a link that leads nowhere is an error."""
    where = tmp_path_factory.mktemp("site")
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(where), strict=True)
    (hooks,) = config["hooks"].values()  # a module of mkdocs' own
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hooks, "CACHE", cache)
        build(config)
    return where


def test_every_public_name_has_an_entry(site):
    pages = {}
    for module, name in PUBLIC:
        page = site / "reference" / f"{module.removeprefix('qduet.')}.html"
        pages.setdefault(page, page.read_text("utf-8"))
        assert re.search(rf'id="{module}\.{name}"', pages[page]), f"{module}.{name}"


def test_the_site_asks_nothing_of_any_network(site):
    loads = r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//|"""
    loads += r"""<link\b[^>]*href=["']?(?:https?:)?//|url\(["']?(?:https?:)?//"""
    for page in [*site.rglob("*.html"), *site.rglob("*.css")]:
        assert not re.search(loads, page.read_text("utf-8")), page
