"""Where results come from: versions, device, commit."""

import platform
import subprocess
from pathlib import Path

import jax
import numpy as np

import qduet


def versions() -> dict[str, str]:
    """What can change a number: the releases of the software and the kind of device."""
    return {
        "qduet": qduet.__version__,
        "jax": jax.__version__,
        "numpy": np.__version__,
        "device": jax.devices()[0].device_kind if jax.default_backend() != "cpu" else "cpu",
    }


def commit() -> str | None:
    """The commit of the source tree, with ``+changes`` if it was edited; None outside of one."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return None
    described = ("describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+changes")
    try:
        git = subprocess.run(["git", "-C", root, *described], capture_output=True, text=True)
    except OSError:
        return None
    return git.stdout.strip() or None


def provenance() -> dict[str, str | None]:
    """Versions, commit and platform, for a results directory."""
    return {**versions(), "commit": commit(), "python": platform.python_version()}
