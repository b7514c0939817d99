"""Pytrees of arrays in safetensors files: streamed, atomic, and checked when they are read.

    write(path, flatten(tree), {"step": "1000"})
    arrays, metadata = read(path)
    tree = fit(template, arrays, path)           # the same pytree, of NumPy arrays

A leaf is named by its path in the tree, ``params.conv.w``; random keys are stored as their words.
The header holds a SHA-256 of everything else in the file, so damage is noticed. A file is read as
shapes, types and bytes only; nothing in it is executed. Leaves are fetched and written one after
another, so a state is never copied whole.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from qduet.core.errors import InputError
from qduet.core.files import replacing
from qduet.core.reading import as_input_error, opened, parse_json

_CHECKSUM = "checksum"
_BLANK = "0" * 64
"""What stands for the checksum while it is computed."""
REMEDY = "restore it, or train anew in another directory"


def flatten(tree: Any) -> dict[str, Any]:
    """The leaves by name; keys of ``jax.random`` as uint32 words."""
    pairs = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {_name(keys): _words(leaf) for keys, leaf in pairs}


def _name(keys: Any) -> str:
    return jax.tree_util.keystr(keys, simple=True, separator=".")


def is_key(leaf: Any) -> bool:
    """Whether a leaf is an array of random keys."""
    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _words(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if is_key(leaf) else leaf


def fit(template: Any, arrays: Mapping[str, np.ndarray], path: Path) -> Any:
    """The pytree `template` (of shapes and types) with the arrays of a file; keys stay words."""
    shape = lambda leaf: jax.eval_shape(_words, leaf) if is_key(leaf) else leaf
    pairs, structure = jax.tree_util.tree_flatten_with_path(jax.tree.map(shape, template))
    names = [_name(keys) for keys, _ in pairs]
    if set(names) != set(arrays):
        odd = sorted(set(names) ^ set(arrays))[0]
        raise InputError(f"{path} is not what is expected here: '{odd}' is in one of them only")
    for name, (_, leaf) in zip(names, pairs, strict=True):
        there = arrays[name]
        if there.shape != leaf.shape or there.dtype != leaf.dtype:
            raise InputError(
                f"{path} is not what is expected here: '{name}' is {there.dtype}{there.shape} "
                f"there, {leaf.dtype}{leaf.shape} here"
            )
    return jax.tree.unflatten(structure, [arrays[name] for name in names])


# --- Files ---------------------------------------------------------------------------------------


def write(path: Path, arrays: Mapping[str, Any], metadata: Mapping[str, str]) -> None:
    """Writes the arrays so that `path` is at every moment absent, as before, or complete."""
    header = _header(arrays, metadata)
    digest = hashlib.sha256(header)
    with replacing(path) as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for name in _order(arrays):
            array = np.ascontiguousarray(arrays[name])
            if array.size:
                content = array.reshape(-1).view(np.uint8).data
                digest.update(content)
                file.write(content)
        file.seek(8 + header.rindex(_BLANK.encode()))
        file.write(digest.hexdigest().encode())


def _dtype_name(dtype: np.dtype) -> str:
    return "BOOL" if dtype.kind == "b" else f"{dtype.kind.upper()}{8 * dtype.itemsize}"


_DTYPES = {_dtype_name(np.dtype(code)): np.dtype(code) for code in "?bhiqBHIQefd"}
"""The types of arrays by their names in a header."""


def _header(arrays: Mapping[str, Any], metadata: Mapping[str, str]) -> bytes:
    entries: dict[str, Any] = {"__metadata__": {**metadata, _CHECKSUM: _BLANK}}
    at = 0
    # The largest items first: every tensor then starts at a multiple of its item's size.
    for name in _order(arrays):
        array, dtype = arrays[name], np.dtype(arrays[name].dtype)
        size = int(np.prod(array.shape, dtype=np.int64)) * dtype.itemsize
        entries[name] = {
            "dtype": _dtype_name(dtype),
            "shape": list(array.shape),
            "data_offsets": [at, at + size],
        }
        at += size
    text = json.dumps(entries).encode()
    return text + b" " * (-len(text) % 8)


def _order(arrays: Mapping[str, Any]) -> list[str]:
    return sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))


MOST_WEIGHTS, MOST_HEADER = 2**30, 2**27
"""A file of weights, and a header, that are larger are not read."""


def read(path: Path, most: int = MOST_WEIGHTS) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays and the metadata of a file that `write` wrote, of at most `most` bytes."""
    arrays: dict[str, np.ndarray] = {}
    with opened(path, most) as (file, size), as_input_error(path, REMEDY):
        length = int.from_bytes(file.read(8), "little")
        if length > min(size - 8, MOST_HEADER):
            raise ValueError("its header is longer than the file")
        text = file.read(length)
        entries = parse_json(text.decode(), path)
        metadata = entries.pop("__metadata__")
        if not all(isinstance(value, str) for value in metadata.values()):
            raise ValueError("its metadata are not all texts")
        stored = metadata.pop(_CHECKSUM)
        digest = hashlib.sha256(_BLANK.encode().join(text.rsplit(stored.encode(), 1)))
        for name, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
            dtype, shape, at = _DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
            begin, end = file.tell() - 8 - length, 8 + length + at[1]
            if at != [begin, begin + math.prod(shape) * dtype.itemsize] or end > size:
                raise ValueError(f"'{name}' is not where its header says")
            content = np.empty(at[1] - begin, np.uint8)
            file.readinto(content.data)  # type: ignore[attr-defined]
            digest.update(content.data)
            arrays[name] = content.view(dtype).reshape(shape)
        if file.tell() != size or stored != digest.hexdigest():
            raise ValueError("its checksum differs")
    return arrays, metadata
