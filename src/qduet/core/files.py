"""Results on disk: atomic, checked, resumable.

A *curves file* (npz) holds the arrays of one finished piece of work, the settings that made them
and a checksum over both. It is written to a temporary name, flushed and renamed, so it is either
absent or complete. The same work gives the same bytes. It is read back only under the settings it
was made with. Nothing is pickled.
"""

import contextlib
import dataclasses
import errno
import glob
import hashlib
import io
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from qduet.core import reading
from qduet.core.errors import InputError


def write_atomically(path: Path, content: bytes) -> None:
    """Writes `content` so that `path` is at every moment absent, as before, or complete."""
    with replacing(path) as file:
        file.write(content)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A temporary file that becomes `path` when the block ends, and is gone if it fails."""
    temporary = ""
    try:
        # Renaming onto a device would put a file in its place.
        if path.parent == Path("/dev") or (path.exists() and not path.is_file()):
            raise InputError(f"cannot write {path}: it is not a file; give the name of one")
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = _temporary(path)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)  # while it is locked: others remove what is not
        _flush_directory(path.parent)
    except BaseException as error:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, OSError):
            raise InputError(
                f"cannot write {path}: {error.strerror}; choose another place, or free space"
            ) from None
        raise


def _temporary(path: Path) -> tuple[int, str]:
    """A new file beside `path`, locked; those that killed processes left there are removed."""
    for begun in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        with contextlib.suppress(OSError), os.fdopen(open_lock(begun, make=False), "rb+") as file:
            if lock(file.fileno()):  # a process that is alive holds the lock of its own
                begun.unlink()
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        removed = False  # by another process, before it was locked
        with contextlib.suppress(OSError):
            removed = lock(handle) is False or os.fstat(handle).st_nlink == 0
        if not removed:
            return handle, name
        os.close(handle)


def open_lock(path: Path, *, make: bool = True) -> int:
    """Opens a file to lock it: never emptied, and a link is not followed."""
    flags = [getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC")]
    return os.open(path, os.O_RDWR | os.O_CREAT * make | sum(flags), 0o666)


def lock(handle: int) -> bool | None:
    """Whether this process now holds the lock of an open file, until that is closed.

    None where there are no locks, as on Windows and some network drives.
    """
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        return None
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        if error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            return None
        raise
    return True


def _flush_directory(directory: Path) -> None:
    """Makes a rename survive a loss of power, where directories can be flushed."""
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def check_not_file(directory: Path) -> None:
    """Raises if what should be a directory is a file."""
    if directory.is_file():
        raise InputError(f"{directory} is a file; give a directory")


def check_writable(directory: Path) -> None:
    """Makes `directory` if need be; raises unless files can be written there."""
    check_not_file(directory)
    probe = directory / ".qduet-probe"
    write_atomically(probe, b"")
    probe.unlink(missing_ok=True)


def to_json(value: Any) -> str:
    """`value` as JSON with sorted keys; dataclasses are dicts, and no NaN or infinity remains."""
    return json.dumps(_as_json(value), indent=2, sort_keys=True, allow_nan=False)


def _as_json(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _as_json(dataclasses.asdict(value))
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _as_json(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_as_json(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value


def write_json(path: Path, document: Any) -> None:
    """Writes a document with its checksum, as `read_json` reads it."""
    plain = _as_json(document)
    plain[reading.CHECKSUM] = reading.checksum(plain)
    write_atomically(path, (to_json(plain) + "\n").encode())


# --- Curves files --------------------------------------------------------------------------------


def _checksum(arrays: Mapping[str, np.ndarray], settings: str) -> str:
    digest = hashlib.sha256(settings.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], settings: Any) -> None:
    """Writes a curves file: the arrays, the settings and a checksum."""
    text = to_json(settings)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays, settings=text, checksum=_checksum(arrays, text))  # type: ignore[arg-type]
    write_atomically(path, buffer.getvalue())


def read_arrays(path: Path, settings: Any) -> dict[str, np.ndarray] | None:
    """The arrays of a curves file made with `settings`, or None if there is no such file.

    A file that is damaged, or that other settings made, is an `InputError`; it is left as it is.
    """
    try:
        arrays, stored = _open(path)
    except reading.MissingError:
        return None
    wanted = to_json(settings)
    if stored != wanted:
        raise InputError(
            f"{path} holds results of other settings ({first_difference(stored, wanted)}); "
            "choose another directory, or delete that file"
        )
    return arrays


def open_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays of a curves file and the settings that made it, whatever they are."""
    arrays, stored = _open(path)
    return arrays, reading.parse_json(stored, path)


def _open(path: Path) -> tuple[dict[str, np.ndarray], str]:
    arrays = reading.read_npz(path)
    with reading.as_input_error(path):
        stored, written = str(arrays.pop("settings")), str(arrays.pop("checksum"))
        if written != _checksum(arrays, stored):
            raise ValueError("its checksum differs")
        reading.parse_json(stored, path)
    return arrays, stored


_FINGERPRINTS = {"fingerprint": "the rule", "game_program": "the game"}
"""Settings that are digests of a traced function, and what the function is."""


def first_difference(stored: str, wanted: str) -> str:
    """The first setting in which two JSON texts differ.

    A fingerprint comes last: another version of jax may trace the same function differently.
    """
    there, here = (_flat(json.loads(text)) for text in (stored, wanted))
    names = sorted(there.keys() | here.keys(), key=lambda name: (name in _FINGERPRINTS, name))
    for name in names:
        if there.get(name) != here.get(name) and name in _FINGERPRINTS:
            return f"{_FINGERPRINTS[name]} has changed since"
        if there.get(name) != here.get(name):
            return f"{name} is {there.get(name)} there, {here.get(name)} here"
    return "in their order"


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted names; the entries of a long list have names of their own."""
    if isinstance(value, list) and len(value) > 8:
        value = {str(i): item for i, item in enumerate(value)}
    if not isinstance(value, dict):
        return {prefix: value}
    pairs = [_flat(item, f"{prefix}.{key}" if prefix else key) for key, item in value.items()]
    return {name: item for pair in pairs for name, item in pair.items()}


def check_settings(path: Path, settings: Any) -> None:
    """Writes `settings` to the JSON file `path`, or raises if it holds other ones."""
    text = to_json(settings)
    try:
        stored = to_json(reading.read_json(path))
    except reading.MissingError:
        write_json(path, settings)
        return
    if stored != text:
        raise InputError(
            f"{path.parent} holds results of other settings ({first_difference(stored, text)}); "
            "choose another directory"
        )
