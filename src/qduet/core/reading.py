"""Files that may be anything: opened without waiting, read up to a bound, checked, refused by name.

    document = read_json(path)       # with its checksum, if it carries one
    arrays = read_npz(path)
    with as_input_error(path):
        title = document["title"]    # what is wrong with its content names the file too

Whatever goes wrong with a file is an `InputError` of one line that names it. Nothing is executed.
"""

import contextlib
import hashlib
import json
import math
import os
import re
import stat
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from qduet.core.errors import InputError

MOST_BYTES = 64 * 2**20
"""A text or a JSON document that is larger is not read."""
MOST_CURVES = 2**31
"""A curves file that is larger is not read."""
DEEPEST = 32
"""How far lists in lists go in a JSON document."""

_REMEDY = "restore it, or delete it and run what wrote it again"


class MissingError(InputError):
    """There is no such file."""


def damaged(path: Path | str, reason: object, remedy: str = _REMEDY) -> InputError:
    """The error for a file that is not what qduet wrote."""
    if isinstance(reason, Exception) and not isinstance(reason, ValueError):
        reason = f"{type(reason).__name__}: {reason}"
    words = " ".join(str(reason).split())[:200]
    return InputError(f"{path} is damaged ({words}); {remedy}")


@contextlib.contextmanager
def as_input_error(path: Path | str | None, remedy: str = _REMEDY) -> Iterator[None]:
    """Within the block, whatever the content of a file causes becomes an `InputError`."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise damaged(str(path), error, remedy) from None


@contextlib.contextmanager
def opened(path: Path, most: int) -> Iterator[tuple[BinaryIO, int]]:
    """A regular file of at most `most` bytes, and its size; a pipe is refused without waiting."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise InputError(f"cannot read {path}: it is not a file; give the name of one")
            if found.st_size > most:
                raise InputError(f"{path} is larger than any such file of qduet ({most:,} bytes)")
            yield file, found.st_size
    except FileNotFoundError:
        raise MissingError(f"{path} does not exist") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, line ends as they are."""
    with opened(path, MOST_BYTES) as (file, size):
        content = file.read(size + 1)  # some files of the kernel do not tell their size
    if len(content) != size:
        raise InputError(f"{path} changes while it is read; try again when it does not")
    with as_input_error(path):
        return content.decode()


# --- JSON ----------------------------------------------------------------------------------------


def parse_json(text: str, path: Path | str, *, finite: bool = True) -> Any:
    """The value of a JSON text that stands in the file `path`; NaN only if not `finite`.

    Refused are deep nesting, numbers that no float can hold, a key that is there twice, and half a
    character (a lone surrogate).
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique)
        level, depth = [value], 0
        while level:
            numbers = [x for x in level if isinstance(x, int if not finite else int | float)]
            if depth > DEEPEST or not all(abs(x) <= sys.float_info.max for x in numbers):
                raise ValueError("a number is not finite, or lists are nested too deeply")
            "".join(x for x in level if isinstance(x, str)).encode()
            parts = [[*x, *x.values()] if isinstance(x, dict) else x for x in level]
            level = [x for part in parts if isinstance(part, list) for x in part]
            depth += 1
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"it is not JSON that qduet reads: {error}") from None
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


CHECKSUM = "sha256"
"""The key of a document's checksum, which is over everything else in it."""


def checksum(document: dict[str, Any]) -> str:
    """The checksum of a document of plain values."""
    rest = {name: value for name, value in document.items() if name != CHECKSUM}
    text = json.dumps(rest, indent=2, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    """The JSON document of a file, without its checksum; `InputError` if that is wrong.

    Files from before documents had one are read without. None of them has a text like it, so that
    damage to the word "sha256" is noticed too.
    """
    document = parse_json(read_text(path), path)
    if not isinstance(document, dict):
        raise damaged(path, "it holds no settings or results")
    stored = document.pop(CHECKSUM, None)
    alike = [x for x in document.values() if re.fullmatch("[0-9a-f]{64}", str(x))]
    if (stored is not None or alike) and stored != checksum(document):
        raise damaged(path, "its checksum differs; it was damaged or edited")
    return document


# --- Arrays --------------------------------------------------------------------------------------


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file of `numpy.savez`: numbers and texts that fill their entries.

    The entries are not compressed, so that together they are no larger than the file.
    """
    arrays = {}
    with opened(path, MOST_CURVES) as (file, size), as_input_error(path):
        archive = zipfile.ZipFile(file)
        entries = archive.infolist()
        stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
        if not stored or sum(entry.file_size for entry in entries) > size:
            raise ValueError("its entries are not as numpy.savez stores them")
        for entry in entries:
            with archive.open(entry) as content:
                arrays[entry.filename.removesuffix(".npy")] = _array(content, entry.file_size)
    return arrays


def _array(content: Any, size: int) -> np.ndarray:
    """The array in an entry of `size` bytes, if its header says that it has so many."""
    version = np.lib.format.read_magic(content)
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(content)
    fits = math.prod(shape) * dtype.itemsize == size - content.tell()
    if version != (1, 0) or dtype.kind not in "biufU" or not fits:
        raise ValueError(f"an array {dtype}{shape} is not what its entry holds")
    return np.frombuffer(content.read(), dtype).reshape(shape, order="F" if fortran else "C")
