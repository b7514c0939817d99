"""Files changed at random, with checksums as they were or computed anew.

A mutation changes bytes, a value of a JSON document, a cell of a table, an array.
"""

import hashlib
import io
import json
import random
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Mutation = Callable[[bytes, random.Random], bytes]

DEEP = 5_000
ODD_NUMBERS = ["NaN", "Infinity", "1e400", "-1", "0", "1e-400", "-0.0", "1.5", "9" * 5_000, "2e18"]
ODD_TEXTS = ["", "\ud800", "\x1b[31mred\x1b[0m", "../../outside", "x" * 5_000, "<script>", "\0"]
ODD_TEXTS += ["a\nb", "\u202e", "/etc/passwd", "rdq", "None", "٣", "Ω" * 300]


def flip(content: bytes, generator: random.Random) -> bytes:
    """One bit is the other one."""
    at = generator.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << generator.randrange(8)]) + content[at + 1 :]


def digit(content: bytes, generator: random.Random) -> bytes:
    """One decimal digit is another one."""
    places = [match.start() for match in re.finditer(rb"\d", content)]
    if not places:
        return flip(content, generator)
    at = generator.choice(places)
    other = generator.choice([d for d in b"0123456789" if d != content[at]])
    return content[:at] + bytes([other]) + content[at + 1 :]


def cut(content: bytes, generator: random.Random) -> bytes:
    """The end is missing, or a piece of the middle, or all of it."""
    first, last = sorted(generator.randrange(len(content) + 1) for _ in range(2))
    return generator.choice([content[:first], content[:first] + content[last:], b""])


def overwrite(content: bytes, generator: random.Random) -> bytes:
    """A piece is zeros, noise, or another piece of the same file."""
    at, size = generator.randrange(len(content)), generator.randint(1, 64)
    other = generator.randrange(len(content))
    piece = [bytes(size), generator.randbytes(size), content[other : other + size]]
    return content[:at] + generator.choice(piece) + content[at + size :]


def insert(content: bytes, generator: random.Random) -> bytes:
    """A piece stands there twice, or noise was put in."""
    at, size = generator.randrange(len(content) + 1), generator.randint(1, 200)
    piece = generator.choice([content[at : at + size], generator.randbytes(size), b'"', b"\xff"])
    return content[:at] + piece + content[at:]


RAW: tuple[Mutation, ...] = (flip, flip, digit, digit, cut, overwrite, insert)


# --- Values of a JSON document -------------------------------------------------------------------


def json_value(content: bytes, generator: random.Random) -> bytes:
    """A value of a JSON document is another one, is gone, or stands there twice."""
    try:
        document = json.loads(content)
        holders = list(_holders(document))
    except (ValueError, RecursionError):
        return flip(content, generator)
    if not holders:
        return b"null"
    holder, key = generator.choice(holders)
    if generator.random() < 0.15:
        del holder[key]
        return json.dumps(document).encode()
    holder[key] = "@here@"
    text = json.dumps(document)
    return text.replace('"@here@"', _odd(generator)).encode("utf-8", "surrogatepass")


def _holders(value: Any) -> Any:
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(pairs)[:2_000]:
        yield value, key
        if isinstance(item, dict | list):
            yield from _holders(item)


def _odd(generator: random.Random) -> str:
    kind = generator.random()
    if kind < 0.4:
        return generator.choice(ODD_NUMBERS)
    if kind < 0.7:
        return json.dumps(generator.choice(ODD_TEXTS), ensure_ascii=generator.random() < 0.5)
    if kind < 0.73:
        return "[" * DEEP + "]" * DEEP
    return generator.choice(["null", "true", "[]", "{}", "[1,2,3]", '{"a":{}}', "[null]", "[[]]"])


# --- Tables, arrays, tensors ---------------------------------------------------------------------


def csv_cell(content: bytes, generator: random.Random) -> bytes:
    """A cell of a table is another one; or a row or column is gone or stands there twice."""
    rows = [line.split(",") for line in content.decode("utf-8", "replace").splitlines()]
    if len(rows) < 2:
        return b""
    row = generator.choice(rows)
    column = generator.randrange(len(row))
    kind = generator.random()
    if kind < 0.5:
        row[column] = generator.choice([*ODD_NUMBERS, *ODD_TEXTS])
    elif kind < 0.65:
        rows = [[cell for i, cell in enumerate(row) if i != column] for row in rows]
    elif kind < 0.8:
        rows.remove(row)
    elif kind < 0.9:
        rows.insert(generator.randrange(len(rows)), row)
    else:
        rows = rows[:1]
    return "\n".join(",".join(row) for row in [*rows, []]).encode("utf-8", "surrogatepass")


def npz_array(content: bytes, generator: random.Random) -> bytes:
    """An array of a curves file has another type, shape or value, with the right checksum."""
    from qduet.core import files

    with np.load(io.BytesIO(content), allow_pickle=False) as opened:
        arrays = {name: opened[name] for name in opened.files}
    settings = str(arrays.pop("settings"))
    arrays.pop("checksum")
    name = generator.choice([*arrays, "settings"])
    if name == "settings":
        settings = json_value(settings.encode(), generator).decode("utf-8", "replace")
    else:
        arrays[name] = _odd_array(arrays[name], generator)
        if generator.random() < 0.1:
            del arrays[name]
    buffer = io.BytesIO()
    checksum = files._checksum(arrays, settings)
    np.savez(buffer, **arrays, settings=settings, checksum=checksum)  # type: ignore[arg-type]
    return buffer.getvalue()


def _odd_array(array: np.ndarray, generator: random.Random) -> np.ndarray:
    changed = array.copy().reshape(-1)
    if changed.dtype.kind == "f" and changed.size:
        value = generator.choice([np.nan, np.inf, -np.inf, -1.0, 3e38])
        changed[generator.randrange(changed.size)] = value
    shapes = [changed.reshape(array.shape), changed, array[:0], array[..., None], array[:1]]
    other = generator.choice(shapes)
    kind = generator.choice([None, None, None, np.float64, np.int8, np.bool_, "U3"])
    with np.errstate(all="ignore"):
        return other if kind is None else other.astype(kind)


def tensor_header(content: bytes, generator: random.Random) -> bytes:
    """A value in the header of a file of tensors is another one, with the right length before."""
    (size,) = struct.unpack("<Q", content[:8])
    header = json_value(content[8 : 8 + size], generator)
    return struct.pack("<Q", len(header)) + header + content[8 + size :]


# --- Checksums -----------------------------------------------------------------------------------


def json_checksum(content: bytes) -> bytes:
    """A JSON document whose ``sha256`` is right again, if it has one and can still be read."""
    try:
        document = json.loads(content)
        stored = document.pop("sha256").encode()
        text = json.dumps(document, indent=2, sort_keys=True)
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return content
    return content.replace(stored, hashlib.sha256(text.encode()).hexdigest().encode())


def tensor_checksum(content: bytes) -> bytes:
    """A file of tensors whose checksum is right again, if its header can still be read."""
    (size,) = struct.unpack("<Q", content[:8].ljust(8, b"\0"))
    header, rest = content[8 : 8 + size], content[8 + size :]
    found = re.search(rb'"checksum": ?"([0-9a-f]{64})"', header)
    if not found:
        return content
    blank = header[: found.start(1)] + b"0" * 64 + header[found.end(1) :]
    digest = hashlib.sha256(blank + rest).hexdigest().encode()
    return content[:8] + header[: found.start(1)] + digest + header[found.end(1) :] + rest


def sums(directory: Path) -> None:
    """Writes SHA256SUMS of a directory of runs anew."""
    names = [name for name in ("config.json", "evaluations.csv") if (directory / name).exists()]
    digest = lambda name: hashlib.sha256((directory / name).read_bytes()).hexdigest()
    lines = [f"{digest(name)}  {name}\n" for name in names]
    (directory / "SHA256SUMS").write_text("".join(lines))


# --- Files that are larger than they look --------------------------------------------------------


def zip_bomb(gigabytes: float = 4.0) -> bytes:
    """An npz of a few megabytes whose array is `gigabytes` when it is expanded."""
    buffer, size = io.BytesIO(), int(gigabytes * 2**30)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "|u1", "fortran_order": False, "shape": (size,)}
    )
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("percent.npy", "w", force_zip64=True) as file,
    ):
        file.write(header.getvalue())
        for _ in range(size >> 20):
            file.write(bytes(1 << 20))
    return buffer.getvalue()


def large_header(entry: str = "percent.npy") -> bytes:
    """An npz whose header claims 400 GB."""
    buffer, header = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (10**11,)}
    )
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(entry, header.getvalue() + bytes(100))
    return buffer.getvalue()
