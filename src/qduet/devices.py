"""Which devices a program runs on, how much memory they have, where compiled programs are kept."""

import contextlib
import os
from pathlib import Path

import jax

from qduet.errors import InputError

KINDS = ("auto", "cpu", "gpu")


def choose(kind: str) -> list[jax.Device]:
    """The local devices of a kind; `auto` is the fastest that jax finds."""
    if kind == "cpu":
        jax.config.update("jax_platforms", "cpu")
    try:
        return jax.local_devices(backend=None if kind == "auto" else kind)
    except RuntimeError:
        raise InputError(
            f"--device {kind}: jax finds none here; use --device cpu, or install jax for your GPU "
            "(pip install 'qduet[cuda]')"
        ) from None


def keep_compiled() -> None:
    """Keeps compiled programs in the user's cache directory, unless jax was told another place."""
    if jax.config.values["jax_compilation_cache_dir"] is not None:
        return
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "qduet" / "jax"
    with contextlib.suppress(OSError):  # without it everything works, only later
        folder.mkdir(parents=True, exist_ok=True)
        jax.config.update("jax_compilation_cache_dir", str(folder))
