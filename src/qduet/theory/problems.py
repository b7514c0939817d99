"""The problems that claims are checked on: an MDP, a behaviour policy, the share of each state.

`random_problem(seed)` is the family of ``qduet theory --mdps N``: 2–20 states, 1–10 actions,
discounts from 0 to 0.999, deterministic, sparse and dense transitions, rewards that depend on the
next state, some with terminal states, many with states that nothing leads to.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from qduet.core.errors import InputError
from qduet.core.reading import as_input_error, parse_json, read_text
from qduet.tabular.mdp import MDP, Floats, check_distribution, check_policy, garnet, uniform_policy

MAX_STATES, MAX_ACTIONS = 20, 10
"""|S| and |A| of random problems are at most this."""


class Problem(NamedTuple):
    """What an expected update depends on."""

    mdp: MDP
    """The problem itself."""
    behaviour: Floats
    """``[S, A]``: b(a|s)."""
    visits: Floats
    """``[S]``: d(s), the share of updates that fall on state s; 0 where the state is terminal."""
    seed: int = 0
    """Of the random numbers that checks draw."""


def problem_of(mdp: MDP, behaviour: Floats | None = None, seed: int = 0) -> Problem:
    """`mdp` under `behaviour` (uniform by default), with the visitation that follows from it."""
    policy = uniform_policy(mdp) if behaviour is None else check_policy(mdp, behaviour)
    return Problem(mdp, policy, visitation(mdp, policy), seed)


def visitation(mdp: MDP, behaviour: Floats) -> Floats:
    """d(s) ``[S]``: the long-run share of steps that b begins in s, with restarts at the end.

    It solves d = (1 − λ) start + λ d P_b for λ = 1 − 10⁻⁹, the limit of which exists for every
    chain. A state with a share below 10⁻⁶ is left for good, and counts as not visited.
    """
    chain = np.einsum("ij,ijk->ik", behaviour, mdp.p)
    chain = chain[:, ~mdp.terminal] @ np.eye(mdp.num_states)[~mdp.terminal] + (
        chain[:, mdp.terminal].sum(axis=1, keepdims=True) * mdp.start
    )
    system = np.eye(mdp.num_states) - (1 - 1e-9) * chain.T
    shares = np.linalg.solve(system, 1e-9 * mdp.start)
    shares = np.where((shares > 1e-6) & ~mdp.terminal, shares, 0.0)
    return np.asarray(shares / shares.sum(), np.float64)


def random_problem(seed: int) -> Problem:
    """The random problem number `seed`."""
    rng = np.random.default_rng([0x9D0E7, seed])
    num_states = int(rng.integers(2, MAX_STATES + 1))
    num_actions = int(rng.integers(1, MAX_ACTIONS + 1))
    branching = (1, int(rng.integers(1, num_states + 1)), num_states)[seed % 3]
    discount = (0.0, rng.uniform(0.0, 0.999), 1 - 10 ** rng.uniform(-3, 0))[
        rng.choice(3, p=[0.04, 0.48, 0.48])
    ]
    mdp = garnet(
        jax.random.key(seed),
        num_states=num_states,
        num_actions=num_actions,
        branching=branching,
        discount=discount,
    )
    terminal = np.zeros(num_states, bool)
    if rng.random() < 0.25:
        terminal[1:] = rng.random(num_states - 1) < 0.3
    reward = mdp.reward + rng.normal(size=mdp.reward.shape) * rng.integers(0, 2)
    mdp = dataclasses.replace(mdp, reward=reward, terminal=terminal, name=f"random-{seed}")
    floor = 1e-3
    behaviour = rng.dirichlet(np.full(num_actions, rng.choice([0.3, 1.0, 10.0])), num_states)
    behaviour = floor + (1 - floor * num_actions) * behaviour
    visits = np.where(terminal, 0.0, floor + rng.dirichlet(np.ones(num_states)))
    return Problem(mdp, behaviour, visits / visits.sum(), seed)


def ring(num_states: int = 12, num_actions: int = 18, discount: float = 0.99) -> MDP:
    """States in a circle: a₀ goes one step forward and pays 0, all others one step back, paying −1.

    q_* is 0 for a₀ and −1 for the others. Under a uniform behaviour almost all updates come from
    actions that lead the other way, which is what AV-learning cannot bear (docs/theory.md).
    """
    p = np.zeros((num_states, num_actions, num_states))
    states = np.arange(num_states)
    p[states, 0, (states + 1) % num_states] = 1.0
    p[states, 1:, (states - 1) % num_states] = 1.0
    reward = np.full((num_states, num_actions), -1.0)
    reward[:, 0] = 0.0
    return MDP(p, reward, discount, name=f"ring-{num_states}-{num_actions}")


# --- Problems in files ---------------------------------------------------------------------------

_FORMAT = "qduet problem 1"


def problem_json(problem: Problem, **notes: Any) -> bytes:
    """The problem as a JSON document that `load_problem` reads; floats survive exactly."""
    fields = {field.name: getattr(problem.mdp, field.name) for field in dataclasses.fields(MDP)}
    fields |= {"behaviour": problem.behaviour, "visits": problem.visits, "seed": problem.seed}
    lists = {name: x.tolist() if isinstance(x, np.ndarray) else x for name, x in fields.items()}
    return (json.dumps({"format": _FORMAT, **notes, **lists}) + "\n").encode()


def load_problem(path: Path) -> Problem:
    """The problem that `problem_json` wrote to `path`."""
    content = parse_json(read_text(path), path, finite=False)
    with as_input_error(path, "give a file that qduet theory wrote"):
        if content["format"] != _FORMAT:
            raise InputError(f"{path} is not a problem of this version: {content['format']!r}")
        mdp = MDP(**{field.name: content[field.name] for field in dataclasses.fields(MDP)})
        behaviour = check_policy(mdp, content["behaviour"])
        visits = np.array(content["visits"], np.float64)
        seed = int(content["seed"])
    if seed < 0:
        raise InputError(f"{path}: seed must be at least 0; it is {seed}")
    check_distribution("visits", visits)
    if visits.shape != (mdp.num_states,) or visits[mdp.terminal].any():
        raise InputError(f"{path}: visits must have one entry per state, 0 where it is terminal")
    return Problem(mdp, behaviour, visits, seed)
