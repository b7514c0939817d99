"""The front door: what it exports is there, and importing it is cheap."""

import subprocess
import sys

import qduet.stats
import qduet.tabular
import qduet.theory

CHILD = """
import sys, jax
before = set(sys.modules)
import qduet.stats, qduet.tabular, qduet.theory
print(*sorted({name.split(".")[0] for name in set(sys.modules) - before}))
"""


def test_what_is_exported_is_there():
    for room in (qduet.stats, qduet.tabular, qduet.theory):
        assert sorted(room.__all__) == sorted(set(room.__all__))
        assert all(hasattr(room, name) for name in room.__all__)
    assert set(qduet.tabular.RULES) < set(qduet.tabular.__all__), "every rule by its name"


def test_importing_them_is_cheap():
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert "qduet" in imported
    assert not imported & {"scipy", "matplotlib", "gymnasium", "rich"}
