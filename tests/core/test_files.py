import errno
import json
import os
import stat
import threading
from pathlib import Path

import numpy as np
import pytest

from qduet.core import files
from qduet.core.errors import InputError
from qduet.stats import Interval

ARRAYS = {"x": np.arange(6.0).reshape(2, 3), "n": np.array([1, -1], np.int32)}
SETTINGS = {"rule": "qvmax", "seeds": 3, "nested": {"alpha": (0.1, 0.2)}}


@pytest.fixture
def curves_file(tmp_path):
    path = tmp_path / "a" / "curves.npz"
    files.write_arrays(path, ARRAYS, SETTINGS)
    return path


def test_a_program_is_named_only_if_nothing_else_differs():
    """Another jax may write the same rule in other words."""
    stored = {"fingerprint": "1", "versions": {"jax": "0.10.2"}}
    wanted = {"fingerprint": "2", "versions": {"jax": "0.10.3"}}
    told = files.first_difference(json.dumps(stored), json.dumps(wanted))
    assert told == "versions.jax is 0.10.2 there, 0.10.3 here"
    told = files.first_difference(json.dumps(stored), json.dumps(stored | {"fingerprint": "2"}))
    assert told == "the rule has changed since"


def test_of_long_lists_the_first_difference_is_named():
    told = lambda *lists: files.first_difference(*(json.dumps({"x": each}) for each in lists))
    long = list(range(61))
    assert told(long, [*long[:14], -1, *long[15:]]) == "x.14 is 14 there, -1 here"
    assert told([1, 2], [1, 3]) == "x is [1, 2] there, [1, 3] here"
    assert told(long[:50], long) == "x.50 is None there, 50 here"


def test_a_curves_file_comes_back_as_it_was(curves_file):
    arrays = files.read_arrays(curves_file, SETTINGS)
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype


def test_a_curves_file_can_be_opened_without_knowing_its_settings(curves_file):
    arrays, settings = files.open_arrays(curves_file)
    np.testing.assert_array_equal(arrays["x"], ARRAYS["x"])
    assert settings == {"rule": "qvmax", "seeds": 3, "nested": {"alpha": [0.1, 0.2]}}


def test_an_absent_cell_is_none(tmp_path):
    assert files.read_arrays(tmp_path / "none.npz", SETTINGS) is None


def test_the_same_arrays_are_the_same_bytes(curves_file, tmp_path):
    files.write_arrays(tmp_path / "again.npz", ARRAYS, SETTINGS)
    assert (tmp_path / "again.npz").read_bytes() == curves_file.read_bytes()


def test_other_settings_are_refused_and_named(curves_file):
    with pytest.raises(InputError, match=r"seeds is 3 there, 4 here.*another directory"):
        files.read_arrays(curves_file, {**SETTINGS, "seeds": 4})


@pytest.mark.parametrize("position", [0.1, 0.5, 0.9])
def test_a_flipped_byte_is_noticed(curves_file, position):
    content = bytearray(curves_file.read_bytes())
    content[int(position * len(content))] ^= 0xFF
    curves_file.write_bytes(content)
    with pytest.raises(InputError):
        files.read_arrays(curves_file, SETTINGS)


def test_a_truncated_or_foreign_file_is_damaged(curves_file):
    whole = curves_file.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"no archive"):
        curves_file.write_bytes(content)
        with pytest.raises(InputError, match=r"damaged .*delete it"):
            files.read_arrays(curves_file, SETTINGS)
        assert curves_file.read_bytes() == content  # left as it is


@pytest.mark.parametrize(
    "edit",
    [
        lambda m: {**m, "x": m["x"] + 1},
        lambda m: {**m, "x": m["n"], "n": m["x"]},
        lambda m: {**m, "x": m["x"].reshape(3, 2)},
        lambda m: {**m, "n": m["n"].view(np.uint32)},
        lambda m: {**m, "settings": files.to_json({**SETTINGS, "seeds": 4})},
    ],
    ids=["number", "names", "shape", "dtype", "settings"],
)
def test_edits_with_a_valid_archive_are_noticed(curves_file, edit):
    with np.load(curves_file) as file:
        members = dict(file)
    np.savez(curves_file, **edit(members))
    with pytest.raises(InputError, match="damaged"):
        files.read_arrays(curves_file, SETTINGS)


class Trap:
    """Makes a directory when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_a_pickle_is_never_loaded(curves_file, tmp_path):
    trap = tmp_path / "sprung"
    np.savez(curves_file, x=np.array([Trap(str(trap))], dtype=object), settings="{}", checksum="")
    with pytest.raises(InputError, match="damaged"):
        files.read_arrays(curves_file, SETTINGS)
    assert not trap.exists()


def test_a_full_disk_leaves_what_was_there(curves_file, monkeypatch):
    before = curves_file.read_bytes()

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"cannot write .*No space left on device; choose another"):
        files.write_arrays(curves_file, {"x": np.zeros(3)}, SETTINGS)
    assert curves_file.read_bytes() == before
    assert [path.name for path in curves_file.parent.iterdir()] == ["curves.npz"]


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        files.check_writable(tmp_path / "file" / "below")


def test_what_is_no_file_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path("/dev/qduet-stdout")):
        with pytest.raises(InputError, match="it is not a file"):
            files.write_atomically(path, b"content")
    assert pipe.is_fifo()


def test_a_file_in_the_way_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file is a file; give a directory"):
        files.check_writable(tmp_path / "file")
    with pytest.raises(InputError, match=r"cannot write .*: (File exists|Not a directory)"):
        files.check_writable(tmp_path / "file" / "inside")


def test_checking_leaves_nothing_behind(tmp_path):
    files.check_writable(tmp_path / "new")
    assert list((tmp_path / "new").iterdir()) == []


def test_written_files_are_readable_by_others(curves_file):
    assert stat.S_IMODE(curves_file.stat().st_mode) == 0o644


def test_many_writers_at_once_leave_one_whole_cell(tmp_path):
    path = tmp_path / "curves.npz"
    write = lambda: [files.write_arrays(path, ARRAYS, SETTINGS) for _ in range(20)]
    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert files.read_arrays(path, SETTINGS) is not None
    assert [p.name for p in tmp_path.iterdir()] == ["curves.npz"]


def test_settings_file_guards_a_directory(tmp_path):
    path = tmp_path / "settings.json"
    files.check_settings(path, SETTINGS)
    files.check_settings(path, SETTINGS)
    with pytest.raises(InputError, match="rule is qvmax there, bc_qvmax here"):
        files.check_settings(path, {**SETTINGS, "rule": "bc_qvmax"})
    path.write_text("{")
    with pytest.raises(InputError, match="damaged"):
        files.check_settings(path, SETTINGS)


def test_json_has_no_nan_and_keeps_names():
    interval = Interval(np.float32(0.5), np.nan, np.inf, 2)
    text = files.to_json({"i": interval, "a": -np.inf})
    assert json.loads(text) == {
        "a": "-Infinity",
        "i": {"mean": 0.5, "low": None, "high": "Infinity", "n": 2},
    }
    assert [*json.loads(text)] == ["a", "i"]  # sorted: equal settings are equal texts
