"""Ids, action sets, and what `from qduet.minatar import make` imports."""

import subprocess
import sys

import pytest

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
        ("Breakout", "MinAtar/Breakout-v1"),
        ("space_invaders", "MinAtar/SpaceInvaders-v1"),
    ],
)
def test_every_spelling(spelling, env_id):
    assert canonical_id(spelling) == env_id
    assert make(spelling).name == env_id


@pytest.mark.parametrize("wrong", ["MinAtar/Pong-v1", "Breakout-v1", "MinAtar/Breakout-v2", ""])
def test_an_unknown_id_is_refused_with_the_known_ones(wrong):
    with pytest.raises(InputError, match="unknown environment") as error:
        make(wrong)
    assert all(env_id in str(error.value) for env_id in ENV_IDS)


def test_one_environment_is_made_once_so_that_compiled_code_is_found_again():
    assert make("MinAtar/Asterix-v1") is make("MinAtar/Asterix-v1")


def test_making_a_game_imports_no_other_room_and_nothing_heavy():
    """In a process of its own, because here everything is imported already."""
    code = "import sys; from qduet.minatar import make; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = run.stdout.split()
    rooms = {".".join(name.split(".")[:2]) for name in modules if name.startswith("qduet.")}
    assert rooms == {"qduet.core", "qduet.env_ids", "qduet.minatar"}
    heavy = {"scipy", "matplotlib", "rich", "gymnasium", "PIL", "minatar"}
    assert heavy.isdisjoint(modules)
