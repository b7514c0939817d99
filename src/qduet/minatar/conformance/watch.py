"""Playing one game of a port while the tracker follows, and what was seen doing so."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from qduet.minatar.conformance import policies
from qduet.minatar.conformance.ports import PortGame
from qduet.minatar.conformance.tracker import Model, Outcome, World, fingerprint
from qduet.minatar.registry import GAMES

LOOKAHEAD = {"Asterix": 2, "Breakout": 4, "Freeway": 0, "Seaquest": 2, "SpaceInvaders": 2}
"""Steps for which a careful player makes sure that the game can go on."""

STYLES: dict[str, dict[str, Callable[[Any, np.random.Generator], int]]] = {
    "Asterix": {"for gold": policies.gold_chaser, "in place": policies.noop},
    "Breakout": {"under the ball": policies.ball_tracker},
    "Freeway": {"upwards": policies.always_up},
    "Seaquest": {
        "for divers": policies.diver_seeker(6),
        "up and down": policies.bobber,
        "in place": policies.noop,
    },
    "SpaceInvaders": {"shooting": policies.alien_shooter},
}
"""How a careful player plays, where it is safe; everybody also plays at random."""


class Difference(NamedTuple):
    """A step that the original could not have made."""

    seed: int
    episode: int
    step: int
    """Counted in the episode, from 1; 0 is its start."""
    what: str

    def __str__(self) -> str:
        return f"seed {self.seed}, episode {self.episode}, step {self.step}: {self.what}"


@dataclass
class Seen:
    """Everything seen of one game of a port."""

    steps: int = 0
    episodes: int = 0
    longest: int = 0
    """Steps of the longest episode."""
    impossible: list[Difference] = field(default_factory=list)
    wrong_starts: list[Difference] = field(default_factory=list)
    cut: list[Difference] = field(default_factory=list)
    """Episodes that the port truncated."""
    as_chosen: int = 0
    repeated: int = 0
    """Steps in which it could be seen whether the chosen or the last action was executed."""
    kept: int = 0
    cleared: int = 0
    """First steps in which it could be seen whether the last action survived the reset."""


class Watcher:
    """One game of a port (batch 1), followed by the model of the original."""

    def __init__(self, game: str, played: PortGame):
        self.game, self.played = game, played
        self.channels: tuple[str, ...] = GAMES[game].CHANNELS
        self.model = Model(game)
        self.seen = Seen()

    def watch(self, steps: int, *, seed: int, style: Any = None) -> None:
        """Plays and follows for so many steps; a difference is noted, then a new seed begins."""
        rng = np.random.default_rng(seed)
        left = steps
        while left > 0 and len(self.seen.wrong_starts) < 3:
            left -= self._one_seed(seed, left, rng, style)
            seed += 1_000_000

    def _one_seed(self, seed: int, limit: int, rng: np.random.Generator, style: Any) -> int:
        """Plays until the limit or a difference; returns the steps made."""
        worlds = self._begin(self.played.reset(seed)[0] != 0, [], (seed, 1))
        episode, step, made = 1, 0, 0
        while made < limit and worlds:
            if step == 0 and style is not policies.noop:
                action = telling(self.model, worlds, rng)
            else:
                action = choose(self.model, worlds, rng, style, LOOKAHEAD[self.game])
            frame = self.played.step(np.array([action]))
            made, step = made + 1, step + 1
            observation = frame.observation[0] != 0
            result = (observation, float(frame.reward[0]), bool(frame.terminated[0]))
            worlds = self._follow(worlds, action, result, Difference(seed, episode, step, ""))
            self.seen.steps += 1
            self.seen.longest = max(self.seen.longest, step)
            if frame.truncated[0]:
                self.seen.cut.append(Difference(seed, episode, step, "truncated"))
            if worlds and (frame.terminated[0] or frame.truncated[0]):
                self.seen.episodes += 1
                episode, step = episode + 1, 0
                following = np.asarray(frame.following[0]) != 0
                worlds = self._begin(following, worlds, (seed, episode))
        return made

    def _begin(
        self, observation: np.ndarray, before: list[World], where: tuple[int, int]
    ) -> list[World]:
        """The worlds in which an episode can begin like this, for each last action before it."""
        starts = self.model.starts(observation)
        fitting = [one.world for one in starts if np.array_equal(one.observation, observation)]
        if not fitting:
            what = describe(starts, (observation, 0.0, False), self.channels)
            self.seen.wrong_starts.append(Difference(*where, 0, what))
        last_actions = {world.last_action for world in before} or {0}
        return [
            world._replace(last_action=last, cleared=cleared)
            for world in fitting
            for cleared in (False, True)
            for last in (last_actions if not cleared else {0} - last_actions)
        ]

    def _follow(
        self, worlds: list[World], action: int, result: tuple, where: Difference
    ) -> list[World]:
        """The worlds after a step that showed this; none if the original cannot show it."""
        outcomes = [one for world in worlds for one in self.model.steps(world, action, result[0])]
        fitting = [one for one in outcomes if agrees(one, result)]
        if not fitting:
            what = describe(outcomes, result, self.channels)
            self.seen.impossible.append(where._replace(what=what))
            return []
        self._count(worlds, fitting, action, first=where.step == 1)
        different = {fingerprint(one.world): one.world for one in fitting}
        return list(different.values())

    def _count(
        self, worlds: list[World], fitting: list[Outcome], action: int, *, first: bool
    ) -> None:
        """Notes whether the action was the chosen or the last one, where that can be told."""
        chosen = self.model.actions[action]
        sticky = {one.sticky for one in fitting}
        if len(sticky) != 1:
            return
        if first:
            ways = {one.was_cleared for one in fitting}
            if sticky == {True} and len(ways) == 1 and any(world.cleared for world in worlds):
                self.seen.cleared += ways == {True}
                self.seen.kept += ways == {False}
        elif all(world.last_action != chosen for world in worlds):
            self.seen.repeated += sticky == {True}
            self.seen.as_chosen += sticky == {False}


def agrees(outcome: Outcome, result: tuple) -> bool:
    """Whether the original's outcome is what the port showed."""
    observation, reward, terminated = result
    return (
        outcome.reward == reward
        and outcome.terminated == terminated
        and np.array_equal(outcome.observation, observation)
    )


def choose(
    model: Model, worlds: list[World], rng: np.random.Generator, style: Any, lookahead: int
) -> int:
    """Any action; with a style mostly its action, but always one with which the game can go on."""
    anything = [int(action) for action in rng.permutation(len(model.actions))]
    if style is None:
        return anything[0]
    world = worlds[0]
    model.restore(world)
    wanted = style(model.env.env, rng)
    explores = wanted not in model.actions or (rng.random() < 0.05 and style is not policies.noop)
    order = anything if explores else [model.actions.index(wanted), *anything]
    for whatever_sticks in (True, False):
        for action in order:
            if model.survives(world, action, lookahead, whatever_sticks=whatever_sticks):
                return action
    return order[0]


def telling(model: Model, worlds: list[World], rng: np.random.Generator) -> int:
    """An episode's first action: not noop and not the last one, so that it can be told apart."""
    hidden = {0} | {world.last_action for world in worlds}
    good = [i for i, action in enumerate(model.actions) if action not in hidden]
    return int(rng.choice(good or range(len(model.actions))))


def describe(outcomes: list[Outcome], result: tuple, channels: tuple[str, ...]) -> str:
    """How the port's step differs from the nearest one of the original."""
    observation, reward, terminated = result
    if not outcomes or outcomes[0].observation.shape != observation.shape:
        return "the observation cannot be read as one of the original's"

    def distance(one: Outcome) -> int:
        cells = int((one.observation != observation).sum())
        return 2 * cells + (one.reward != reward) + (one.terminated != terminated)

    nearest = min(outcomes, key=distance)
    parts = []
    if nearest.reward != reward:
        parts.append(f"reward {reward:g}, original {nearest.reward:g}")
    if nearest.terminated != terminated:
        parts.append(f"terminated {terminated}, original {nearest.terminated}")
    for channel in np.flatnonzero((nearest.observation != observation).any(axis=(0, 1))):
        y, x = np.argwhere(nearest.observation[..., channel] != observation[..., channel])[0]
        more = "more" if observation[y, x, channel] else "less"
        parts.append(f"{channels[channel]} has {more} at row {y}, column {x}")
    last = "last picture of the episode: " if terminated and nearest.terminated else ""
    return last + "; ".join(parts)


def watch_game(game: str, played: PortGame, steps: int, *, seed: int) -> Seen:
    """All ways of playing, for `steps` steps together."""
    watcher = Watcher(game, played)
    styles = [None, *STYLES[game].values()]
    for number, style in enumerate(styles):
        watcher.watch(-(-steps // len(styles)), seed=seed + number, style=style)
    return watcher.seen
