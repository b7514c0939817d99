"""The example scripts as modules."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[1]


def example(name):
    """The module of ``examples/NAME.py``."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
