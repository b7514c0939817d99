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
    try:
        git = ["git", "-C", str(root)]
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
        status = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True
        )
    except OSError:
        return None
    if head.returncode:
        return None
    return head.stdout.strip() + ("+changes" if status.stdout.strip() else "")


def provenance() -> dict[str, str | None]:
    """Versions, commit and platform, for a results directory."""
    return {**versions(), "commit": commit(), "python": platform.python_version()}
