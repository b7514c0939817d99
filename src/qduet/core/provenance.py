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
    """The commit of the source tree, with ``+changes`` if it was edited; None if not known."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return None
    git = ("git", "--no-optional-locks", "-C", root)  # a kill leaves no index.lock behind
    answer = lambda *words: subprocess.run([*git, *words], capture_output=True, check=True).stdout
    try:
        head = answer("rev-parse", "--verify", "HEAD").decode().strip()
        changes = answer("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head}+changes" if changes else head


def provenance() -> dict[str, str | None]:
    """Versions, commit and platform, for a results directory."""
    return {**versions(), "commit": commit(), "python": platform.python_version()}
