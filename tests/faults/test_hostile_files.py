"""Files that are no files, that expand, that claim too much, that nest: refused in one line."""

import hashlib
import io
import json
import os
import signal
import stat
import struct
import time
import tracemalloc
import zipfile

import numpy as np
import planted
import planted_cells
import pytest
from pages import read as read_page

from qduet.cli import main
from qduet.core import tensors
from qduet.core.errors import InputError
from qduet.core.files import write_json
from qduet.core.reading import checksum, read_json, read_npz
from qduet.jobs import recording_file, weights
from qduet.paper.admission import admit
from qduet.results import runs
from qduet.show import chart
from qduet.theory.problems import load_problem

READERS = {
    "JSON": read_json,
    "npz": read_npz,
    "tensors": tensors.read,
    "weights": weights.load,
    "recording": recording_file.read,
    "problem": load_problem,
}


@pytest.fixture(autouse=True)
def no_waiting():
    """A reader that waits is ended after 20 seconds."""
    signal.alarm(20)
    yield
    signal.alarm(0)


@pytest.mark.parametrize("kind", ["pipe", "directory", "device", "socket", "loop", "absent"])
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_is_refused_at_once(tmp_path, reader, kind):
    path = tmp_path / "x"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "socket":
        os.mknod(path, stat.S_IFSOCK)
    elif kind == "loop":
        path.symlink_to(path)
    with pytest.raises(InputError) as told:
        READERS[reader](path)
    assert str(path) in str(told.value)


@pytest.mark.parametrize("name", [runs.CONFIG, runs.EVALUATIONS, runs.SUMS])
def test_a_pipe_among_runs(tmp_path, name):
    planted.game(tmp_path, "Breakout", np.random.default_rng(0), seeds=[0, 1])
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match=name):
        runs.load(tmp_path)


def test_a_large_file_is_not_read(tmp_path):
    """The file is sparse: it takes no space on the disk."""
    for reader in READERS.values():
        with (tmp_path / "large").open("wb") as file:
            file.truncate(2**40)
        with pytest.raises(InputError, match="larger than"):
            reader(tmp_path / "large")


# --- Archives ------------------------------------------------------------------------------------


def npy(shape, content=b"", dtype="<f4"):
    """An array's entry, whose header says what one likes."""
    buffer = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + content


@pytest.mark.parametrize(
    "entry",
    [
        npy((10**11,)),
        npy((3,), b"\0" * 8),
        npy((-1, -2), b"\0" * 8),
        npy((0, 10**30)),
        npy((1,), b"\0" * 8, "|O"),
        npy((1,), b"\0" * 8, "<M8[s]"),
    ],
    ids=["400 GB", "too short", "negative", "empty and large", "objects", "dates"],
)
def test_an_array_is_as_large_as_its_entry(tmp_path, entry):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("x.npy", entry)
    tracemalloc.start()
    with pytest.raises(InputError, match=r"x\.npz is damaged"):
        read_npz(tmp_path / "x.npz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_nothing_is_expanded(tmp_path):
    """64 MB of zeros in 64 KB, and one entry that the directory names a thousand times."""
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", npy((2**24,), b"\0" * 2**26))
    with zipfile.ZipFile(tmp_path / "often.npz", "w") as archive:
        archive.writestr("x.npy", npy((2**18,), b"\0" * 2**20))
        for i in range(1_000):
            archive.infolist().append(archive.infolist()[0])
            archive.NameToInfo[str(i)] = archive.infolist()[0]
    for name in ("bomb.npz", "often.npz"):
        tracemalloc.start()
        with pytest.raises(InputError, match=f"{name} is damaged"):
            read_npz(tmp_path / name)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2**22


@pytest.mark.parametrize("change", [{"shape": [10**11]}, {"data_offsets": [0, 4 * 10**11]}, {}])
def test_tensors_are_where_their_header_says(tmp_path, change):
    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | change
    header = json.dumps({"__metadata__": {"checksum": "0" * 64}, "x": entry}).encode()
    length = len(header) if change else 2**60
    (tmp_path / "x").write_bytes(struct.pack("<Q", length) + header + b"\0" * 8)
    with pytest.raises(InputError, match="x is damaged"):
        tensors.read(tmp_path / "x")


@pytest.mark.parametrize("name", ["label", "seed", "env"])
def test_metadata_of_tensors_are_texts(tmp_path, name):
    """At c84f437 `qduet watch` ended with a TypeError where the label was a number."""
    metadata = {"label": "rdq", "seed": "0", "env": "x", "checksum": "0" * 64} | {name: 1.5}
    header = json.dumps({"__metadata__": metadata}).encode()
    digest = hashlib.sha256(header).hexdigest().encode()
    header = header.replace(b"0" * 64, digest)
    (tmp_path / "x").write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(InputError, match=r"x is damaged .*texts"):
        tensors.read(tmp_path / "x")


# --- JSON ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        "[" * 960 + "]" * 960,
        "[" * 10**6,
        "9" * 4_000,
        "9" * 10**5,
        r'"\ud800"',
        "NaN",
        "-Infinity",
        "1e400",
        '{"a": 1, "a": 2}',
        '"\xff"',
    ],
    ids=lambda value: value[:8],
)
def test_values_that_surprise_are_refused(tmp_path, value):
    path = tmp_path / "x-episode0.json"
    path.write_bytes(b'{"seconds": ' + value.encode("latin-1") + b"}")
    for reader in (read_json, recording_file.read):
        with pytest.raises(InputError, match=r"x-episode0\.json is damaged") as told:
            reader(path)
        assert len(str(told.value)) < 400 + len(str(path))


OLD = {"label": "A", "colour": "#123456", "style": "-", "x": [0], "y": [0.125]}


def test_a_chart_of_the_older_form_is_refused(tmp_path):
    panel = {"title": "", "x": {"label": ""}, "y": {"label": ""}, "series": [OLD]}
    write_json(tmp_path / "rates.json", {"panels": [panel]})
    with pytest.raises(InputError, match=r"rates\.json is damaged .*; qduet theory"):
        chart.read(tmp_path / "rates.json")


def test_a_message_is_one_line_whatever_it_quotes():
    assert str(InputError("label 'a\n\x1b[31mb\u202e'")) == r"label 'a\n\x1b[31mb\u202e'"


# --- Runs ----------------------------------------------------------------------------------------


def test_evaluations_are_not_listed_to_be_counted(tmp_path):
    """An evaluation at each of 10M steps of 90 runs would be 900 million."""
    config = planted.config("Breakout", evaluate_every=1)
    short = planted.rows(config | {"steps": 1}, {"rdq": np.arange(60.0).reshape(30, 2)})
    runs.write(tmp_path, config, short)
    started = time.perf_counter()
    with pytest.raises(InputError, match=r"900000030 of 900000090 .*seed 0 of dqn at step 0"):
        admit([tmp_path])
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    "change",
    [{"steps": 10**30}, {"steps": -1}, {"seeds": [2**70]}, {"evaluate_every": 0.5}, {"agents": {}}],
    ids=str,
)
def test_settings_out_of_range_are_refused(tmp_path, change):
    config = planted.config("Breakout", seeds=[0, 1]) | change
    runs.write(tmp_path, config, [])
    with pytest.raises(InputError, match=str(tmp_path)):
        runs.load(tmp_path)


@pytest.mark.parametrize("column", [*runs.KEYS, *runs.PUBLISHED])
def test_a_column_that_every_table_has_is_missed(tmp_path, column):
    """At c84f437 `qduet train` ended with a KeyError in a finished directory."""
    planted.game(tmp_path, "Breakout", np.random.default_rng(0), seeds=[0, 1])
    change_table(tmp_path, lambda text: text.replace(column, "another", 1))
    with pytest.raises(InputError, match=rf"evaluations\.csv .* no column {column}\)"):
        runs.load(tmp_path)


@pytest.mark.parametrize("value", ["1e400", "inf", "nan", "-1", "1.5", "9" * 400])
@pytest.mark.parametrize("column", ["seed", "step", "episodes_cut"])
def test_what_is_counted_is_a_whole_number(tmp_path, column, value):
    """At c84f437 `qduet certify` ended with an OverflowError of ``int(inf)``."""
    planted.game(tmp_path, "Breakout", np.random.default_rng(0), seeds=[0, 1])
    change_table(tmp_path, lambda text: with_cell(text, column, value))
    assert main(["certify", str(tmp_path)]) == 2
    with pytest.raises(InputError, match=r"evaluations\.csv is damaged"):
        runs.load(tmp_path)


def change_table(directory, change):
    """Changes the evaluations of a directory and makes its checksums anew."""
    texts = {name: (directory / name).read_text() for name in (runs.CONFIG, runs.EVALUATIONS)}
    texts[runs.EVALUATIONS] = change(texts[runs.EVALUATIONS])
    (directory / runs.EVALUATIONS).write_text(texts[runs.EVALUATIONS])
    sums = (f"{hashlib.sha256(text.encode()).hexdigest()}  {name}" for name, text in texts.items())
    (directory / runs.SUMS).write_text("\n".join(sums))


def with_cell(text, column, value):
    """The table with `value` in the last row."""
    *others, last = text.splitlines()
    cells = last.split(",")
    cells[runs.COLUMNS.index(column)] = value
    return "\n".join([*others, ",".join(cells)])


# --- The page ------------------------------------------------------------------------------------


def test_of_runs_whose_checksum_is_wrong_nothing_is_shown(tmp_path, capsys):
    good = planted.game(tmp_path / "a", "Breakout", np.random.default_rng(0), seeds=[0, 1])
    bad = planted.game(tmp_path / "b", "Freeway", np.random.default_rng(0), seeds=[0, 1])
    config = bad / runs.CONFIG
    config.write_text(config.read_text().replace("planted", "another device"))
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "page.html")]) == 0
    assert str(config) in capsys.readouterr().err
    page = (tmp_path / "page.html").read_text()
    assert "another device" not in page
    assert page.count(str(bad)) == 1  # where the problem is told
    assert str(good / runs.CONFIG) in page


def test_one_damaged_claim_costs_the_page_no_other(tmp_path):
    claim = {"where": "Prop. 1", "statement": "It holds", "failures": 0, "problems": 3}
    claim |= {"holds": True, "claim": "c", "worst": {"error": 0.0}, "margin": None}
    planted_cells.experiment(tmp_path / "figure3")
    finding = {"claim": "QVMAX is biased", "evidence": "7", "holds": True}
    write_json(tmp_path / "figure3" / "summary.json", {"findings": [finding]})
    write_json(tmp_path / "theory" / "theory.json", {"claims": [claim], "seconds": 1.0})
    whole, _ = read_page([tmp_path])
    verdicts = lambda page: [c["verdict"] for c in page.data["certificate-0"]["claims"]]
    assert (whole.problems, verdicts(whole).count("holds")) == ([], 2)
    path = tmp_path / "figure3" / "summary.json"
    path.write_text(path.read_text().replace("true", "false"))
    page, _ = read_page([tmp_path])
    assert verdicts(page).count("holds") == 1
    assert verdicts(page).count("does not hold") == 0
    (problem,) = page.problems
    assert str(path) in problem
    assert main(["certify", *map(str, [tmp_path]), "--reproduced", str(tmp_path)]) == 2


def test_curves_whose_arrays_are_not_of_their_settings_are_left_out(tmp_path):
    planted_cells.experiment(tmp_path / "figure5")
    planted_cells.cell(tmp_path / "figure5", "mine", 2, record_every=50)
    (tmp_path / "rates.json").write_text('{"panels": [{"title": NaN}]}')
    page, reader = read_page([tmp_path])
    assert ["mine.npz" in problem for problem in page.problems] == [True, False]
    assert "rates.json" in page.problems[1]
    assert len(reader.embedded["charts"]["tabular-0"]["groups"]) == 3


def test_the_checksum_is_over_everything_else():
    document = {"a": 1.5, "b": ["x"]}
    assert checksum(document) == checksum({**document, "sha256": "anything"})
    assert checksum(document) != checksum({**document, "a": 1.25})
