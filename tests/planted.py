"""Result directories made up for tests: runs as ``qduet train`` writes them, scores as wanted."""

import numpy as np

from qduet.agents import make_agent
from qduet.results import published, runs

SEEDS = tuple(range(30))
MILLION = 1_000_000


def config(game, *, agents=published.AGENTS, seeds=SEEDS, steps=10 * MILLION, **other):
    protocol = other.get("protocol", "reference")
    described = [{"label": name} | make_agent(name, protocol=protocol).fields() for name in agents]
    return {
        "format": runs.FORMAT,
        "kind": "train",
        "env": f"MinAtar/{game}-v1",
        "game": game,
        "protocol": protocol,
        "agents": described,
        "seeds": list(seeds),
        "steps": steps,
        "evaluate_every": MILLION,
        "episodes": 1_000,
        "provenance": {"commit": "0123456789abcdef", "device": "planted"},
    } | other


def resampled(game, agent, generator, *, seeds=30):
    """Published curves ``[seeds, 11]``, drawn with replacement, with a little noise each.

    The noise keeps two draws of one curve from being the same run; its scale is that of the mean of
    1,000 episodes.
    """
    curves = published.scores(game, agent).values
    noise = published.scores(game, agent, "return_std").values / np.sqrt(1_000)
    chosen = generator.integers(len(curves), size=seeds)
    return curves[chosen] + noise[chosen] * generator.standard_normal((seeds, curves.shape[1]))


def rows(configuration, curves):
    """One row per evaluation; `curves[agent]` is ``[seeds, evaluations]``."""
    every = configuration["evaluate_every"]
    return [
        {
            "game": configuration["game"],
            "agent": agent,
            "seed": seed,
            "step": i * every,
            "return_mean": float(curves[agent][k, i]),
            "elapsed_seconds": 150.0 * i,
            "frames_per_second": 600_000.0 if i else None,
            "q_overestimation": 0.1 * i,
        }
        for agent in curves
        for k, seed in enumerate(configuration["seeds"])
        for i in range(configuration["steps"] // every + 1)
    ]


def game(directory, name, generator, *, shift=None, **options):
    """Writes the runs of one game, resampled from the published ones; `shift` is in their sds."""
    configuration = config(name, **options)
    curves = {}
    for agent in (described["label"] for described in configuration["agents"]):
        spread = published.scores(name, agent).values.std(axis=0, ddof=1)
        sample = resampled(name, agent, generator, seeds=len(configuration["seeds"]))
        curves[agent] = sample + (shift or {}).get(agent, 0.0) * spread
    runs.write(directory, configuration, rows(configuration, curves))
    return directory
