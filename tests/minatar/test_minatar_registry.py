"""Ids, action sets, and what the game core may import."""

import ast
import sys
from pathlib import Path

import pytest

import qduet.minatar
from qduet.core.errors import InputError
from qduet.minatar import ENV_IDS, canonical_id, make

# The minimal action sets and the channels, as the original has them.
ORIGINAL = {
    "Asterix": ("asterix", 50),
    "Breakout": ("breakout", 50),
    "Freeway": ("freeway", 88),
    "Seaquest": ("seaquest", 125),
    "SpaceInvaders": ("space_invaders", 75),
}


@pytest.mark.parametrize("game", ORIGINAL)
def test_action_sets_and_channels_are_the_originals(game):
    from minatar import Environment

    name, packed_size = ORIGINAL[game]
    original = Environment(name)
    full, minimal = make(f"MinAtar/{game}-v0"), make(f"MinAtar/{game}-v1")
    assert full.actions == (0, 1, 2, 3, 4, 5)
    assert minimal.actions == tuple(original.minimal_action_set())
    assert minimal.num_actions == len(original.minimal_action_set())
    for env in (full, minimal):
        assert env.num_channels == original.state_shape()[2]
        assert env.packed_size == packed_size


@pytest.mark.parametrize(
    ("spelling", "env_id"),
    [
        ("MinAtar/Breakout-v0", "MinAtar/Breakout-v0"),
        ("minatar/breakout-V1", "MinAtar/Breakout-v1"),
        ("Breakout-MinAtar", "MinAtar/Breakout-v1"),
        ("minatar-breakout", "MinAtar/Breakout-v1"),
        ("SpaceInvaders-MinAtar", "MinAtar/SpaceInvaders-v1"),
        ("minatar-space_invaders", "MinAtar/SpaceInvaders-v1"),
        ("MinAtar/space_invaders-v0", "MinAtar/SpaceInvaders-v0"),
        ("MinAtar/Seaquest", "MinAtar/Seaquest-v1"),
    ],
)
def test_every_spelling(spelling, env_id):
    assert canonical_id(spelling) == env_id
    assert make(spelling).name == env_id


@pytest.mark.parametrize("wrong", ["MinAtar/Pong-v1", "Breakout", "MinAtar/Breakout-v2", ""])
def test_an_unknown_id_is_refused_with_the_known_ones(wrong):
    with pytest.raises(InputError, match="unknown environment") as error:
        make(wrong)
    assert all(env_id in str(error.value) for env_id in ENV_IDS)


def test_one_environment_is_made_once_so_that_compiled_code_is_found_again():
    assert make("MinAtar/Asterix-v1") is make("MinAtar/Asterix-v1")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_the_game_core_needs_only_jax_and_numpy():
    folder = Path(qduet.minatar.__file__).parent
    core = ["types", "packing", "bitboard", "chance", "slots", "layers", "own", "registry"]
    core += ["asterix", "breakout", "freeway", "space_invaders"]
    core += ["seaquest", "seaquest_state", "seaquest_picture"]
    outside = {
        name
        for file in core
        for name in imported(folder / f"{file}.py")
        if name.split(".")[0] not in sys.stdlib_module_names
    }
    allowed = ("jax", "numpy", "qduet.core.errors", "qduet.core.digests", "qduet.minatar")
    assert {name for name in outside if not name.startswith(allowed)} == set()
    assert not any("parity" in name for name in outside)
