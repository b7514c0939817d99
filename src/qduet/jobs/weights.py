"""The trained weights of one run as a safetensors file.

    trained = load("out/breakout/weights/rdq-0.safetensors")
    env = make(trained.env_id)
    outputs = networks.apply(trained.params, env.observe(state))
    q = agents.q_values(outputs, trained.agent.coefficients())

The file's metadata say what was trained: environment, agent with all its settings, seed and step.
"""

import dataclasses
import json
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

import qduet
from qduet.core import tensors
from qduet.core.errors import InputError
from qduet.core.reading import MissingError, as_input_error, parse_json
from qduet.deep import agents, networks
from qduet.deep.agents import Agent
from qduet.deep.networks import Params
from qduet.minatar import canonical_id, game_of, make

FOLDER = "weights"
"""Where in a results directory they are."""


class Weights(NamedTuple):
    """One run's network, and how it was trained."""

    params: Params
    """NumPy arrays."""
    agent: Agent
    """Its settings."""
    env_id: str
    """The full id: ``MinAtar/Breakout-v1``."""
    label: str
    """The agent's name in its results directory: ``rdq``, or ``rdq-beta-0.01``."""
    seed: int
    """The run's seed."""
    step: int
    """Environment steps that the run was trained for."""


def path_of(directory: Path | str, label: str, seed: int) -> Path:
    """Where a results directory keeps the weights of a run."""
    return Path(directory) / FOLDER / f"{label}-{seed}.safetensors"


def save(path: Path, weights: Weights) -> None:
    """Writes one run's weights."""
    arrays = {name: np.asarray(x) for name, x in tensors.flatten(weights.params).items()}
    metadata = {
        "qduet": qduet.__version__,
        "env": weights.env_id,
        "game": game_of(weights.env_id),
        "agent": json.dumps(dataclasses.asdict(weights.agent), sort_keys=True),
        "label": weights.label,
        "seed": str(weights.seed),
        "step": str(weights.step),
    }
    tensors.write(path, arrays, metadata)


def load(path: Path | str) -> Weights:
    """The weights of a file; `InputError` if it is missing, damaged or something else."""
    path = Path(path)
    try:
        arrays, metadata = tensors.read(path)
    except MissingError:
        told = f"{path} does not exist: qduet train writes weights when it is finished"
        raise InputError(told) from None
    try:
        with as_input_error("its header", tensors.REMEDY):
            env_id = canonical_id(metadata["env"])
            agent = agents.from_fields(parse_json(metadata["agent"], "its agent"))
            label, seed, step = metadata["label"], int(metadata["seed"]), int(metadata["step"])
    except InputError as error:
        raise InputError(f"{path} cannot be used: {error}") from None
    env = make(env_id)
    start = lambda key: networks.init(key, env.num_channels, env.num_actions)
    params = tensors.fit(jax.eval_shape(start, jax.random.key(0)), arrays, path)
    return Weights(params, agent, env_id, label, seed, step)
