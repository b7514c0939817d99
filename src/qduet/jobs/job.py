"""What one training command does, as plain values: agents × seeds in one environment.

    job = Job("MinAtar/Breakout-v1", {"rdq": make_agent("rdq")}, seeds=(0, 1), steps=2_000_000)

A *run* is one agent with one seed. The runs of the first agent come first, in the order of seeds.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from qduet.agents import PROTOCOLS, Agent
from qduet.core.errors import InputError, as_setting, unknown_name
from qduet.deep import algorithms, environments, networks, optimisers
from qduet.deep.environments import canonical_id, fingerprint_of, game_of
from qduet.results.runs import FORMAT, LONGEST_LABEL, is_label

OF_ALL = ("learn_from", "sync_every")
"""Settings in which the agents of a job must agree: all runs take their steps together."""

MAX_SEED = 2**32
MAX_STEPS = 2**31 - 2**20
"""The step counter is an int32."""


class Member(NamedTuple):
    """One run of a job."""

    label: str
    """What the agent is called in this job: ``rdq``, or ``rdq-beta-0.01``."""
    agent: Agent
    seed: int


@dataclasses.dataclass(frozen=True)
class Job:
    """Agents × seeds in one environment; `InputError` if something in it cannot be."""

    env_id: str
    """``MinAtar/Breakout-v1``, ``gymnax/CartPole-v1``, or the id of a registered one."""
    agents: tuple[tuple[str, Agent], ...]
    """Pairs (label, agent); a mapping {label: agent} is taken too."""
    seeds: tuple[int, ...]
    """One run of each agent for each seed; any iterable of whole numbers is taken."""
    steps: int = 10_000_000
    """Environment steps of each run."""
    evaluate_every: int = 0
    """Steps between evaluations. The first is at step 0, the last at the end.

    0 stands for a million, or for all of `steps` if that is less.
    """
    episodes: int = 1_000
    """Episodes of an evaluation."""
    protocol: str = ""
    """The protocol's name, for the record.

    Taken from the agents' settings when they match one; otherwise what the caller gave. An ablation
    gives the protocol it starts from: each of its agents differs from it in one setting.
    """

    def __post_init__(self) -> None:
        _set_types_and_defaults(self)
        canonical_id(self.env_id)
        _check_names(self)
        _check_agents(self.env_id, [agent for _, agent in self.agents])
        agent = self.agents[0][1]
        # If the only evaluation is at the end, `steps` is what the caller gave: name that.
        every = "steps" if self.evaluate_every == self.steps else "evaluate_every"
        first = f"{agent.learn_from:,} (learn_from: steps before the first update)"
        for name, minimum, told in (("episodes", 1, "1"), (every, agent.learn_from, first)):
            if getattr(self, name) < minimum:
                raise InputError(f"{name} must be at least {told}; it is {getattr(self, name):,}")
        if self.evaluate_every % agent.sync_every:
            raise InputError(
                f"{every} must be a multiple of {agent.sync_every:,} (steps between two "
                f"copies to the target network); it is {self.evaluate_every:,}"
            )
        if self.steps > MAX_STEPS:
            raise InputError(f"steps must be at most {MAX_STEPS:,}; it is {self.steps:,}")
        if self.steps < 1 or self.steps % self.evaluate_every:
            raise InputError(
                f"steps must be a positive multiple of {self.evaluate_every:,} (steps between two "
                f"evaluations) and of {agent.sync_every:,} (between two copies to the target "
                f"network); it is {self.steps:,}"
            )

    @property
    def game(self) -> str:
        """The game's name, as in the published scores: ``Breakout``."""
        return game_of(canonical_id(self.env_id))

    @property
    def members(self) -> tuple[Member, ...]:
        """All runs, in their order."""
        return tuple(Member(*agent, seed) for agent in self.agents for seed in self.seeds)

    def config(self, provenance: Any) -> dict[str, Any]:
        """The content of ``config.json``, with fingerprints of what is not built in."""
        fingerprint = fingerprint_of(self.env_id)
        own = self._own_programs()
        return {
            "format": FORMAT,
            "kind": "train",
            "env": canonical_id(self.env_id),
            "game": self.game,
            **({"game_program": fingerprint} if fingerprint else {}),
            **({"agent_programs": own} if own else {}),
            "protocol": self.protocol,
            "agents": [{"label": label, **agent.fields()} for label, agent in self.agents],
            "seeds": list(self.seeds),
            "steps": self.steps,
            "evaluate_every": self.evaluate_every,
            "episodes": self.episodes,
            "provenance": provenance,
        }

    def _own_programs(self) -> dict[str, str]:
        """Fingerprints of the agents' algorithms, networks and optimisers that are not built in."""
        env = environments.make(self.env_id)
        found: dict[str, str | None] = {}
        for _, agent in self.agents:
            found |= {
                f"algorithm {agent.algorithm}": algorithms.fingerprint(agent.algorithm),
                f"network {agent.network}": networks.fingerprint(agent.network, env),
                f"optimiser {agent.optimiser}": optimisers.fingerprint(
                    agent.optimiser, networks.shapes(agent.network, env)
                ),
            }
        return {name: digest for name, digest in found.items() if digest}

    def identity(self) -> dict[str, Any]:
        """What two jobs must have in common for one to continue the other: all but `steps`.

        All settings of the agents are in it, so the protocol's name is not.
        """
        same = self.config(None)
        del same["steps"], same["provenance"], same["protocol"]
        return same


OWN = "own"
"""The protocol's name if the agents' settings match none."""


def _set_types_and_defaults(job: Job) -> None:
    """Gives the fields their declared types, and fills in what was left out."""
    for name in ("env_id", "protocol"):
        object.__setattr__(job, name, as_setting(str, name, getattr(job, name)))
    object.__setattr__(job, "agents", _pairs(job.agents))
    if not isinstance(job.seeds, Iterable) or getattr(job.seeds, "ndim", 1) != 1:
        raise InputError(f"seeds must be several, such as range(30); it is {job.seeds!r}")
    object.__setattr__(job, "seeds", tuple(as_setting(int, "a seed", seed) for seed in job.seeds))
    for name in ("steps", "evaluate_every", "episodes"):
        object.__setattr__(job, name, as_setting(int, name, getattr(job, name)))
    if job.evaluate_every == 0:
        object.__setattr__(job, "evaluate_every", min(1_000_000, job.steps))
    if job.protocol not in ("", *PROTOCOLS, OWN):
        raise unknown_name("protocol", job.protocol, PROTOCOLS)
    matching = _protocol([agent for _, agent in job.agents])
    if matching != OWN or not job.protocol:
        object.__setattr__(job, "protocol", matching)


def _pairs(agents: Any) -> tuple[tuple[str, Agent], ...]:
    """Pairs (label, agent), from a mapping or from an iterable of pairs."""
    try:
        iterable = agents.items() if isinstance(agents, Mapping) else agents
        pairs = tuple((label, agent) for label, agent in iterable)
    except (TypeError, ValueError):
        pairs = ((None, None),)
    if not all(isinstance(label, str) and isinstance(agent, Agent) for label, agent in pairs):
        raise InputError('agents must be given as {"label": agent}, with what make_agent makes')
    return pairs


def _protocol(agents: list[Agent]) -> str:
    for name, settings in PROTOCOLS.items():
        if all(getattr(a, key) == value for a in agents for key, value in settings.items()):
            return name
    return OWN


def _check_names(job: Job) -> None:
    named: dict[str, list[Any]] = {"agent": [a for a, _ in job.agents], "seed": [*job.seeds]}
    for what, values in named.items():
        if not values:
            raise InputError(f"at least one {what} is needed")
        twice = [value for value in values if values.count(value) > 1]
        if twice:
            raise InputError(f"{what} {twice[0]} is there twice; name each one once")
    wrong = [x for x, _ in job.agents if not re.fullmatch(r"[\w.+-]+", x) or not is_label(x)]
    if wrong:
        raise InputError(
            f"agent label '{wrong[0][:50]}' must be of letters, digits and . _ + - (file names), "
            f"and of at most {LONGEST_LABEL} bytes"
        )
    outside = [seed for seed in job.seeds if not 0 <= seed < MAX_SEED]
    if outside:
        raise InputError(f"seeds must be in [0, 2^32); one is {outside[0]}")


def _check_agents(env_id: str, agents: list[Agent]) -> None:
    first = agents[0]
    for agent in agents:
        for name in OF_ALL:
            if getattr(first, name) != getattr(agent, name):
                raise InputError(
                    f"agents of one job must have the same {name}; these have "
                    f"{getattr(first, name)} and {getattr(agent, name)}: train them with two "
                    "commands"
                )
    if first.learn_from % first.sync_every:
        raise InputError(
            f"learn_from must be a multiple of sync_every ({first.sync_every}); it is "
            f"{first.learn_from}: give --learn-from {first.sync_every} with --target-every"
        )
    env = environments.make(env_id)
    for agent in agents:
        optimisers.fingerprint(agent.optimiser, networks.shapes(agent.network, env))
