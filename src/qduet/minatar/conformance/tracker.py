"""Plays one game of a port and keeps every state in which the original could be.

After each step the original is run from every such state, once for each outcome of its random
draws. The outcomes that show what the port showed are kept. If none is left, the port did something
that the original cannot do. Nothing has to be known of the port's own state or draws.
"""

from dataclasses import dataclass, field

import numpy as np

from qduet.minatar.conformance import policies
from qduet.minatar.conformance.policies import Policy
from qduet.minatar.conformance.ports import PortGame
from qduet.minatar.conformance.possible_steps import (
    OriginalModel,
    PossibleState,
    PossibleStep,
    Shown,
)
from qduet.minatar.registry import GAMES

LOOKAHEAD = {"Asterix": 2, "Breakout": 4, "Freeway": 0, "Seaquest": 2, "SpaceInvaders": 2}
"""Steps for which a careful player makes sure that the game can go on."""

CAREFUL: dict[str, tuple[Policy, ...]] = {
    "Asterix": (policies.gold_chaser, policies.noop),
    "Breakout": (policies.ball_tracker,),
    "Freeway": (policies.always_up,),
    "Seaquest": (policies.diver_seeker(6), policies.bobber, policies.noop),
    "SpaceInvaders": (policies.alien_shooter,),
}
"""What a careful player does where it is safe. Every game is also played at random."""


@dataclass
class Tally:
    """What was seen of one game of a port.

    Differences are told as ``seed 0, episode 1, step 5: …``; step 0 is an episode's start.
    """

    steps: int = 0
    episodes: int = 0
    longest: int = 0
    """Steps of the longest episode."""
    impossible: list[str] = field(default_factory=list)
    """Steps that the original cannot make."""
    wrong_starts: list[str] = field(default_factory=list)
    """Episodes that began as the original's cannot."""
    truncated: list[str] = field(default_factory=list)
    """Episodes that the port cut."""
    as_chosen: int = 0
    """Steps in which the chosen action was executed and not the last one, where that shows."""
    repeated: int = 0
    """Steps in which the last action was executed and not the chosen one, where that shows."""
    kept: int = 0
    """First steps in which the last action had survived the reset, where that shows."""
    cleared: int = 0
    """First steps in which it had not."""


class Tracker:
    """One game of a port (batch 1), followed by the model of the original."""

    def __init__(self, game: str, played: PortGame):
        self.game, self.played = game, played
        self.channels: tuple[str, ...] = GAMES[game].CHANNELS
        self.model = OriginalModel(game)
        self.tally = Tally()
        self.seed = self.episode = self.step = 0

    def play(self, steps: int, *, seed: int, policy: Policy | None = None) -> None:
        """Plays so many steps, at random without a policy; a new seed follows a difference."""
        rng = np.random.default_rng(seed)
        end = self.tally.steps + steps
        while self.tally.steps < end and len(self.tally.wrong_starts) < 3:
            self._play_seed(seed, end, rng, policy)
            seed += 1_000_000

    def _play_seed(
        self, seed: int, end: int, rng: np.random.Generator, policy: Policy | None
    ) -> None:
        """Plays until `end` steps were taken in all, or until a difference."""
        self.seed, self.episode, self.step = seed, 1, 0
        states = self._begin(self.played.reset(seed)[0] != 0, [])
        while self.tally.steps < end and states:
            if self.step == 0 and policy is not policies.noop:
                action = self._revealing_action(states, rng)
            else:
                action = self._choose(states[0], rng, policy)
            frame = self.played.step(np.array([action]))
            self.step += 1
            terminated, truncated = bool(frame.terminated[0]), bool(frame.truncated[0])
            seen = np.asarray(frame.observation[0]) != 0
            shown = Shown(seen, float(frame.reward[0]), terminated)
            states = self._follow(states, action, shown)
            self.tally.steps += 1
            self.tally.longest = max(self.tally.longest, self.step)
            if truncated:
                self.tally.truncated.append(self._difference("truncated"))
            if states and (terminated or truncated):
                self.tally.episodes += 1
                self.episode, self.step = self.episode + 1, 0
                states = self._begin(np.asarray(frame.following[0]) != 0, states)

    def _difference(self, what: str) -> str:
        return f"seed {self.seed}, episode {self.episode}, step {self.step}: {what}"

    def _begin(self, observation: np.ndarray, before: list[PossibleState]) -> list[PossibleState]:
        """The states in which an episode can begin like this, for each last action before it."""
        starts = self.model.starts(observation)
        shown = Shown(observation, 0.0, False)
        fitting = [start.after for start in starts if start.shown.equals(shown)]
        if not fitting:
            what = _describe(starts, shown, self.channels)
            self.tally.wrong_starts.append(self._difference(what))
        last_actions = {state.last_action for state in before} or {0}
        return [
            state._replace(last_action=last, cleared=cleared)
            for state in fitting
            for cleared in (False, True)
            for last in (last_actions if not cleared else {0} - last_actions)
        ]

    def _follow(
        self, states: list[PossibleState], action: int, shown: Shown
    ) -> list[PossibleState]:
        """The states after a step that showed this; none if the original cannot show it."""
        possible = [
            step for state in states for step in self.model.steps(state, action, shown.observation)
        ]
        fitting = [step for step in possible if step.shown.equals(shown)]
        if not fitting:
            what = _describe(possible, shown, self.channels)
            self.tally.impossible.append(self._difference(what))
            return []
        self._count(states, fitting, action)
        return list({repr(step.after): step.after for step in fitting}.values())  # each once

    def _count(self, states: list[PossibleState], fitting: list[PossibleStep], action: int) -> None:
        """Counts whether the chosen or the last action was executed, where that shows."""
        chosen = self.model.actions[action]
        sticky = {step.after.last_action != chosen for step in fitting}
        if len(sticky) != 1:
            return
        if self.step == 1:
            cleared = {step.was_cleared for step in fitting}
            if sticky == {True} and len(cleared) == 1 and any(state.cleared for state in states):
                self.tally.cleared += cleared == {True}
                self.tally.kept += cleared == {False}
        elif all(state.last_action != chosen for state in states):
            self.tally.repeated += sticky == {True}
            self.tally.as_chosen += sticky == {False}

    def _choose(self, state: PossibleState, rng: np.random.Generator, policy: Policy | None) -> int:
        """Mostly the policy's action, but always one with which the game can go on; else any."""
        model, lookahead = self.model, LOOKAHEAD[self.game]
        anything = [int(action) for action in rng.permutation(len(model.actions))]
        if policy is None:
            return anything[0]
        model.restore(state)
        wanted = policy(model.env.env, rng)
        explores = wanted not in model.actions
        explores = explores or (rng.random() < 0.05 and policy is not policies.noop)
        order = anything if explores else [model.actions.index(wanted), *anything]
        for whatever_sticks in (True, False):
            for action in order:
                if model.survives(state, action, lookahead, whatever_sticks=whatever_sticks):
                    return action
        return order[0]

    def _revealing_action(self, states: list[PossibleState], rng: np.random.Generator) -> int:
        """An episode's first action: not noop and not the last one, so that sticking shows."""
        hidden = {0} | {state.last_action for state in states}
        good = [i for i, action in enumerate(self.model.actions) if action not in hidden]
        return int(rng.choice(good or range(len(self.model.actions))))


def _describe(possible: list[PossibleStep], shown: Shown, channels: tuple[str, ...]) -> str:
    """How the port's step differs from the nearest one of the original."""
    if not possible or possible[0].shown.observation.shape != shown.observation.shape:
        return "the observation cannot be read as one of the original's"

    def distance(original: Shown) -> int:
        cells = int((original.observation != shown.observation).sum())
        ends = (original.reward != shown.reward) + (original.terminated != shown.terminated)
        return 2 * cells + ends

    nearest = min((step.shown for step in possible), key=distance)
    parts = []
    if nearest.reward != shown.reward:
        parts.append(f"reward {shown.reward:g}, original {nearest.reward:g}")
    if nearest.terminated != shown.terminated:
        parts.append(f"terminated {shown.terminated}, original {nearest.terminated}")
    unequal = nearest.observation != shown.observation
    for channel in np.flatnonzero(unequal.any(axis=(0, 1))):
        y, x = np.argwhere(unequal[..., channel])[0]
        more = "more" if shown.observation[y, x, channel] else "less"
        parts.append(f"{channels[channel]} has {more} at row {y}, column {x}")
    last = "last picture of the episode: " if shown.terminated and nearest.terminated else ""
    return last + "; ".join(parts)


def track(game: str, played: PortGame, steps: int, *, seed: int) -> Tally:
    """Plays `steps` steps: at random, and with each careful policy of the game."""
    tracker = Tracker(game, played)
    players = [None, *CAREFUL[game]]
    for number, policy in enumerate(players):
        tracker.play(-(-steps // len(players)), seed=seed + number, policy=policy)
    return tracker.tally
