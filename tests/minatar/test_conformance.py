"""Conformance: the original conforms to itself, ours conforms, planted differences are found."""

import importlib.util
import json

import numpy as np
import pytest

from qduet.cli import main
from qduet.minatar import GAMES
from qduet.minatar.conformance import Port, Verdict, examine, port
from qduet.minatar.conformance.ports import OriginalGame
from qduet.minatar.conformance.possible_steps import AllPaths, OriginalModel, read_cars

pytest.importorskip("minatar", reason="the original package is not installed")

STEPS = {"Freeway": 300, "SpaceInvaders": 500}


def verdicts(examined, game, **options):
    """Each rule's verdict."""
    options = {"steps": STEPS.get(game, 500), "episodes": 60, **options}
    return {finding.rule: finding for finding in examine(examined, game, **options)}


def broken(change=lambda frame, age: frame, *, start=lambda seen: seen, **options):
    """The original with one thing changed in what a step gives."""
    return Port(
        "broken", "0", lambda game, batch: Changed(Variant(game, batch, **options), change, start)
    )


class Changed:
    """A game whose frames are changed on the way out."""

    def __init__(self, good, change, change_start):
        self.good, self.change, self.change_start = good, change, change_start
        self.num_actions = good.num_actions

    def reset(self, seed):
        self.age = 0
        return self.change_start(self.good.reset(seed))

    def step(self, actions):
        self.age += 1
        return self.change(self.good.step(actions), self.age)


class Variant(OriginalGame):
    """The original with another stickiness, or with a last action that a new episode forgets."""

    def __init__(self, game, batch, *, sticky=0.1, forgets=False):
        super().__init__(game, batch)
        self.sticky, self.forgets = sticky, forgets

    def reset(self, seed):
        seen = super().reset(seed)
        for env in self.envs:
            env.sticky_action_prob = self.sticky
        return seen

    def step(self, actions):
        frame = super().step(actions)
        for env, over in zip(self.envs, frame.terminated, strict=True):
            if self.forgets and over:
                env.last_action = 0
        return frame


def differing(found):
    return {rule for rule, finding in found.items() if finding.verdict is Verdict.DIFFERS}


@pytest.mark.parametrize("game", GAMES)
def test_the_original_conforms_to_itself(game):
    """Nothing is reported about the original: the method has no errors of its own."""
    assert differing(verdicts(port("minatar"), game)) == set()


@pytest.mark.parametrize("game", GAMES)
def test_our_games_conform(game):
    found = verdicts(port("qduet"), game)
    assert differing(found) == set()
    assert found["transitions"].verdict is Verdict.CONFORMS
    assert found["sticky actions"].verdict is not Verdict.DIFFERS


def test_a_wrong_reward_is_found():
    found = verdicts(broken(lambda frame, _: frame._replace(reward=2 * frame.reward)), "Breakout")
    assert found["transitions"].verdict is Verdict.DIFFERS
    assert "reward 2, original 1" in found["transitions"].evidence


def test_a_picture_that_lags_behind_is_found():
    """The ball's trail is left out."""

    def without_trail(frame, _):
        seen = frame.observation.copy()
        seen[..., 2] = False
        return frame._replace(observation=seen)

    found = verdicts(broken(without_trail), "Breakout", steps=100)
    assert "trail has less at row" in found["transitions"].evidence


def test_a_missed_end_is_found():
    found = verdicts(
        broken(lambda frame, _: frame._replace(terminated=frame.terminated & False)),
        "SpaceInvaders",
        steps=300,
        episodes=2,
    )
    assert "terminated False, original True" in found["transitions"].evidence


def test_a_wrong_start_is_found():
    """A seventh column of aliens, as one port once had."""

    def wider(seen):
        seen = seen.copy()
        seen[:, :4, 8, 1] = seen[:, :4, 8, 2] = True
        return seen

    found = verdicts(broken(lambda frame, _: frame, start=wider), "SpaceInvaders", episodes=4)
    assert found["start"].verdict is Verdict.DIFFERS
    assert found["transitions"].verdict is Verdict.NOT_CHECKED


def test_a_time_limit_is_found():
    found = verdicts(
        broken(lambda frame, age: frame._replace(truncated=frame.truncated | (age == 100))),
        "Seaquest",
        episodes=4,
    )
    assert found["no time limit"].verdict is Verdict.DIFFERS
    assert "truncated" in found["no time limit"].evidence


def test_a_long_episode_that_is_given_up_is_not_a_time_limit(monkeypatch):
    """Only what the port itself truncates is one."""
    monkeypatch.setattr("qduet.minatar.conformance.rules.LONGEST", 20)
    found = verdicts(port("minatar"), "Seaquest", steps=100, episodes=8)
    assert found["no time limit"].verdict is Verdict.NOT_CHECKED
    assert "none truncated" in found["no time limit"].evidence


def test_a_time_limit_of_random_play_is_found():
    """The watched game is too short to meet it."""
    found = verdicts(
        broken(lambda frame, age: frame._replace(truncated=frame.truncated | (age == 15))),
        "Seaquest",
        steps=10,
        episodes=8,
    )
    assert found["no time limit"].verdict is Verdict.DIFFERS
    assert "of random play cut, at 15 steps" in found["no time limit"].evidence


def test_another_type_of_observation_is_found():
    def as_float(frame, _):
        return frame._replace(observation=frame.observation.astype(np.float32))

    found = verdicts(
        broken(as_float, start=lambda seen: seen.astype(np.float32)), "Breakout", steps=50
    )
    assert differing(found) == {"observation"}


def test_missing_stickiness_is_found():
    found = verdicts(broken(sticky=0.0), "Breakout")
    assert differing(found) == {"sticky actions"}
    assert found["sticky actions"].evidence.startswith("0 of ")


def test_stickiness_that_is_too_frequent_is_found():
    assert "sticky actions" in differing(verdicts(broken(sticky=0.25), "Breakout"))


def test_a_cleared_last_action_is_found():
    found = verdicts(broken(forgets=True), "Breakout", steps=1500)
    assert differing(found) == {"last action survives reset"}
    kept = verdicts(broken(forgets=False), "Breakout", steps=1500)
    assert kept["last action survives reset"].verdict is Verdict.CONFORMS


def test_freeway_one_step_short_is_found():
    """Lengths alone are looked at here, so that the test is short."""
    from qduet.minatar.conformance.rules import Episodes, Measured, freeway_length

    def verdict(length, terminated):
        ends = np.array([terminated] * 2)
        ended = Episodes(np.zeros(2), np.array([length] * 2), ends, ~ends)
        return freeway_length(Measured("Freeway", 3, "bool[10, 10, 7]", None, ended, ended))[0]

    assert verdict(2501, True) is True
    assert verdict(2500, True) is False
    assert verdict(2501, False) is False


def test_every_path_is_taken_once():
    draws, seen = AllPaths(), []
    for _ in draws.paths():
        seen.append((draws.rand() < 0.5, draws.randint(low=1, high=4)))
    assert sorted(seen) == [(way, row) for way in (False, True) for row in (1, 2, 3)]


def test_cars_are_read_off_the_picture():
    """A right-driving car of speed 3 at column 0 has its trail, in channel 4, at column 9."""
    seen = np.zeros((10, 10, 7), bool)
    for row in range(1, 9):
        seen[row, 0, 1] = True
        seen[row, 9 if row == 1 else 1, 4 if row == 1 else 2] = True
    speeds, rightwards = read_cars(seen)
    assert speeds.tolist() == [3, 1, 1, 1, 1, 1, 1, 1]
    assert rightwards.tolist() == [True] + [False] * 7
    assert read_cars(np.zeros((10, 10, 7), bool)) is None


def test_the_model_does_not_change_the_states_it_is_given():
    model = OriginalModel("SpaceInvaders")
    state = model.starts(np.zeros(1))[0].after
    first, again = (list(model.steps(state, 3, np.zeros(1))) for _ in range(2))
    assert [repr(step.after) for step in first] == [repr(step.after) for step in again]
    assert all(repr(step.after) != repr(state) for step in first)


def test_the_command_prints_json_and_its_exit_code(capsys):
    arguments = ["conformance", "minatar", "--game", "breakout", "--steps", "6e1"]
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["port"] == "minatar"
    assert document["differs"] == 0
    assert {finding["game"] for finding in document["findings"]} == {"Breakout"}
    assert main(arguments) == 0
    assert "transitions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["gymnaks"], "unknown port 'gymnaks': did you mean 'gymnax'?"),
        (["qduet", "--game", "Pong"], "unknown game 'Pong'"),
        (["qduet", "--steps", "0"], "--steps: '0' is not a whole number of at least 1"),
        (["qduet", "--episodes", "many"], "--episodes: 'many' is not a whole number"),
    ],
)
def test_bad_input(refused, arguments, told):
    refused(["conformance", *arguments], told)


def test_a_port_that_is_not_installed_is_named(capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pgx", None)
    assert main(["conformance", "pgx"]) == 2
    assert "pip install pgx" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "game", "expected"),
    [
        ("gymnax", "Breakout", {"observation", "sticky actions"}),
        ("pgx", "Breakout", {"last action survives reset"}),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning:gymnax")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:pgx")
def test_public_ports(name, game, expected):
    """What is known of these ports (gymnax 1.0.1, pgx 2.6.0)."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed: pip install {name}")
    assert differing(verdicts(port(name), game, steps=1500)) >= expected
