"""`--mdp maze:1000x1000` and other grid worlds."""

import json

import pytest

from qduet.cli import main


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("maze:30", "maze:30 is not a grid world: write grid:30x40"),
        ("maze:3x4:x", "is not a grid world"),
        ("grid:3x4:5", "is not a grid world"),
        ("maze:0x4", "0 rows, 4 columns"),
        ("maze:99999x99999", "a grid world needs 2 to"),
        ("mase:3x4", "unknown MDP 'mase:3x4': did you mean 'maze:30x40'?"),
    ],
)
def test_a_name_that_is_no_grid_world_is_one_line(name, message, capsys):
    assert main(["tabular", "q_learning", "--mdp", name]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_maze_by_name(capsys):
    arguments = ["--mdp", "maze:20x30:7", "--seeds", "1", "--steps", "100", "--json"]
    assert main(["tabular", "q_learning", *arguments]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["mdp"], document["num_states"]) == ("maze:20x30:7", 600)
