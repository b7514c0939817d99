"""Play with trained weights in plain Python: a file of arrays, NumPy, and a Gymnasium environment.

    python examples/load_and_play.py out/breakout/weights/rdq-0.safetensors

`qduet train` and `qduet.jobs.train` write such files, whose metadata name the game and the agent.
Nothing of qduet's networks is used here: `values` of what `qduet.jobs.load_weights` gives would do
the same in JAX. It needs Gymnasium: ``pip install gymnasium``.
"""

import json
import sys
from pathlib import Path

import gymnasium
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from safetensors import safe_open

import qduet.minatar.gym  # noqa: F401 (registers qduet/Breakout-v1 and the other games)


def load(path: Path):
    """The arrays by name, and what they are the weights of."""
    with safe_open(path, "numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118


def q_values(x, agent, observation):
    """Q(s, ·) of an observation bool[10, 10, C]: a convolution, two streams, w V + A − c mean A.

    Agents of the QV family have no c, and w = 0: their second stream is Q itself.
    """
    relu = lambda z: np.maximum(z, 0)
    windows = sliding_window_view(observation, (3, 3), axis=(0, 1))  # [8, 8, C, 3, 3]
    patches = windows.transpose(0, 1, 3, 4, 2).reshape(64, -1).astype(np.float32)
    features = relu(patches @ x["conv.w"] + x["conv.b"]).reshape(-1)
    v = relu(features @ x["v_hidden.w"] + x["v_hidden.b"]) @ x["v.w"] + x["v.b"]
    adv = relu(features @ x["adv_hidden.w"] + x["adv_hidden.b"]) @ x["adv.w"] + x["adv.b"]
    return agent["w"] * v + adv - agent.get("c", 0.0) * adv.mean()


def main(path: Path, seed: int = 0, epsilon: float = 0.01, frames: int = 5_000) -> list[float]:
    """One ε-greedy episode (or its first `frames` steps); its rewards."""
    x, metadata = load(path)
    agent = json.loads(metadata["agent"])
    env = gymnasium.make(metadata["env"].replace("MinAtar/", "qduet/"))
    rng = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    rewards, over = [], False
    while not over and len(rewards) < frames:
        greedy = q_values(x, agent, observation).argmax()
        action = rng.integers(env.action_space.n) if rng.random() < epsilon else greedy
        observation, reward, over, _, _ = env.step(action)
        rewards.append(reward)
    print(f"{metadata['env']}, {metadata['label']}: {sum(rewards):g} in {len(rewards)} steps")
    return rewards


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python examples/load_and_play.py WEIGHTS.safetensors [SEED]")
    main(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
