"""A few hundred random command lines; `make torture` tries 10,000."""

import command_lines
import pytest


@pytest.mark.parametrize("seed", [0, 1])
def test_random_command_lines_are_accepted_or_refused_in_one_line(seed):
    counts = command_lines.main(200, seed)
    assert counts["lines"] == counts["accepted"] + counts["refused"] == 200
    assert min(counts["accepted"], counts["refused"]) > 20


@pytest.mark.parametrize(
    "line",
    [
        ["report", "a\nb"],
        ["tabular", "\x1b[31mq_learning"],
        ["tabular", "q_learning", "--steps", "\r"],
        ["watch", "\udcff"],
    ],
)
def test_a_refusal_shows_what_a_terminal_would_obey(line, refused):
    refused(line, line[-1].encode("unicode_escape").decode())


@pytest.mark.parametrize(
    "line",
    [
        ["tabular", "q_learning", "--seeds", "1e12"],
        ["tabular", "q_learning", "--actions", "1e6"],
        ["theory", "--mdps", "1e15"],
        ["theory", "--workers", "1e6"],
        ["compare", "runs", "--resamples", "1e9"],
    ],
)
def test_numbers_that_no_memory_holds_are_refused(line, refused):
    refused(line, "is more than")
