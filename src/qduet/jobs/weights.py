"""The trained weights of one run as a safetensors file.

    trained = load("out/breakout/weights/rdq-0.safetensors")
    outputs, q = trained.values(observation)       # V, A and Q(s, ·) of one observation

The file's metadata say what was trained: environment, agent with all its settings, seed and step.
Arrays in half precision, as in the files that come with qduet, are read as float32.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

import qduet
from qduet import agents
from qduet.agents import Agent
from qduet.core import tensors
from qduet.core.errors import InputError
from qduet.core.reading import MissingError, as_input_error, parse_json
from qduet.deep.algorithms import algorithm_of
from qduet.deep.environments import canonical_id, game_of, make
from qduet.deep.layers import Outputs
from qduet.deep.networks import make_network, shapes

FOLDER = "weights"
"""Where in a results directory they are."""


class Weights(NamedTuple):
    """One run's network, and how it was trained."""

    params: Any
    """The network's parameters, NumPy arrays."""
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

    def __repr__(self) -> str:
        about = f"{self.label}, {self.env_id}, seed {self.seed}, step {self.step}"
        return f"Weights({about})"  # without thousands of numbers

    def values(self, observation: ArrayLike) -> tuple[Outputs, jax.Array]:
        """The network's outputs and Q(s, ·) of one observation."""
        env = make(self.env_id)
        network, wanted = make_network(self.agent.network, env), env.observation.shape
        x = jnp.asarray(observation, jnp.float32)
        if x.shape != wanted:
            raise InputError(
                f"an observation of {self.env_id} has the shape {list(wanted)}; this one has "
                f"{list(x.shape)} (vmap a batch)"
            )
        outputs = network.apply(self.params, x)
        return outputs, algorithm_of(self.agent.algorithm).q(self.agent.numbers, outputs)


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
        "agent": json.dumps(weights.agent.fields(), sort_keys=True),
        "label": weights.label,
        "seed": str(weights.seed),
        "step": str(weights.step),
    }
    tensors.write(path, arrays, metadata)


def load(path: Path | str) -> Weights:
    """The weights of a file; `InputError` if it is missing, damaged or something else."""
    path = Path(path)
    if path.is_dir():
        raise InputError(
            f"{path} is a directory; give a file, such as DIR/{FOLDER}/rdq-0.safetensors"
        )
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
    single = {k: x.astype(np.float32) if x.dtype == np.float16 else x for k, x in arrays.items()}
    params = tensors.fit(shapes(agent.network, make(env_id)), single, path)
    return Weights(params, agent, env_id, label, seed, step)
