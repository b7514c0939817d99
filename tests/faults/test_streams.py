"""Standard streams that are closed, full or gone, and a terminal that is closed during training."""

import os
import pty
import subprocess
import sys
import time

import pytest

from qduet.results import runs

QDUET = [sys.executable, "-m", "qduet"]
TRAIN = [
    *("train", "dqn", "MinAtar/Breakout-v1", "--steps", "2000"),
    *("--evaluate-every", "1000", "--episodes", "2", "--out"),
]
KEEP_OPEN = "import os, sys; from qduet.cli import process; process.keep_open(); "


def with_streams(redirection, *arguments, **options):
    shell = ["sh", "-c", f'exec "$@" {redirection}', "sh", *arguments]
    return subprocess.run(shell, timeout=120, **options)


@pytest.mark.parametrize("redirection", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_a_stream_that_is_closed_can_be_used(redirection):
    code = "print('a', flush=True); print('b', file=sys.stderr); sys.exit(len(sys.stdin.read()))"
    ended = with_streams(redirection, sys.executable, "-c", KEEP_OPEN + code, input=b"")
    assert ended.returncode == 0


def test_a_file_does_not_take_the_place_of_a_closed_stream(tmp_path):
    """Else what a library prints to standard error would be written into results."""
    code = "file = open(sys.argv[1], 'w'); os.write(2, b'a warning')"
    path = tmp_path / "results"
    ended = with_streams("2>&-", sys.executable, "-c", KEEP_OPEN + code, path)
    assert (ended.returncode, path.read_text()) == (0, "")


def test_output_to_a_full_disk_is_still_an_error():
    code = "print('a result', flush=True)"
    ended = with_streams(
        ">/dev/full", sys.executable, "-c", KEEP_OPEN + code, stderr=subprocess.DEVNULL
    )
    assert ended.returncode != 0


TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.parametrize(
    "arguments",
    [["theory", "--mdps", "1", "--claim", "qvmax_bias", "--workers", "1"], ["tabular", "nothing"]],
)
def test_an_exit_code_keeps_its_meaning_without_standard_error(arguments):
    ended = with_streams("2>&-", *QDUET, *arguments, stdout=subprocess.DEVNULL)
    assert ended.returncode == (2 if "nothing" in arguments else 0)


def test_a_training_goes_on_when_its_terminal_is_closed(tmp_path):
    """The kernel sends SIGHUP, and each write to the terminal fails from then on."""
    ours, theirs = pty.openpty()

    training = subprocess.Popen(
        [sys.executable, "-c", TAKE_TERMINAL, *QDUET, *TRAIN, tmp_path],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    give_up = time.monotonic() + 60
    while not (tmp_path / "evaluations.csv").exists() and time.monotonic() < give_up:
        time.sleep(0.05)
    os.close(ours)
    assert training.wait(timeout=60) == 0
    trained = runs.load(tmp_path)
    assert trained.finished
    assert sorted(set(trained.table["step"])) == [0, 1000, 2000]

    reader, writer = os.pipe()
    os.close(reader)
    again = subprocess.run(
        [*QDUET, *TRAIN, tmp_path], stdout=writer, stderr=subprocess.DEVNULL, timeout=60
    )
    os.close(writer)
    assert again.returncode == 141  # as of any command whose reader has left; 1 is "differs"
