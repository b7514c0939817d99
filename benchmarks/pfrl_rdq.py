"""RDQ in PFRL: its DQN agent with the paper's two-stream network and loss."""

import warnings
from typing import Any

import numpy as np
import torch

from qduet.agents import make_agent
from qduet.deep import board
from qduet.deep.environments import make
from qduet.deep.training import make_setting

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PFRL still imports gym
    import pfrl
from pfrl.action_value import DiscreteActionValue
from pfrl.utils.batch_states import batch_states

SETTING = make_setting(make("MinAtar/Breakout-v1"), make_agent("rdq"))
"""What both sides do."""


class Network(torch.nn.Module):
    """The paper's two-stream network, LeCun normal; Q = V + A as PFRL's action value."""

    def __init__(self, num_channels: int, num_actions: int):
        super().__init__()
        features = board.FILTERS * board.SIDE**2
        self.conv = torch.nn.Conv2d(num_channels, board.FILTERS, board.KERNEL)
        self.v_hidden = torch.nn.Linear(features, board.HIDDEN)
        self.adv_hidden = torch.nn.Linear(features, board.HIDDEN)
        self.v = torch.nn.Linear(board.HIDDEN, 1)
        self.adv = torch.nn.Linear(board.HIDDEN, num_actions)
        for layer in self.children():
            pfrl.initializers.init_lecun_normal(layer.weight)
            torch.nn.init.zeros_(layer.bias)

    def forward(self, observation: torch.Tensor) -> DiscreteActionValue:
        """``[n, C, 10, 10]`` -> Q; V and A are kept beside it for the penalty."""
        x = torch.relu(self.conv(observation)).flatten(1)
        v = self.v(torch.relu(self.v_hidden(x)))
        adv = self.adv(torch.relu(self.adv_hidden(x)))
        values = DiscreteActionValue(v + adv)
        values.v, values.adv = v, adv
        return values


class RDQ(pfrl.agents.DQN):
    """PFRL's DQN with RDQ's loss."""

    beta = SETTING.agent.numbers.beta

    def _compute_loss(self, exp_batch: dict, errors_out: list | None = None) -> torch.Tensor:
        values = self.model(exp_batch["state"])
        with torch.no_grad():
            target = self._compute_target_values(exp_batch)
        chosen = values.evaluate_actions(exp_batch["action"])
        penalty = values.v.square().sum(1) + values.adv.square().sum(1)
        return 0.5 * ((target - chosen).square() + self.beta * penalty).mean()


def phi(observation: np.ndarray) -> np.ndarray:
    """Bool ``[10, 10, C]`` -> float32 ``[C, 10, 10]``."""
    return observation.transpose(2, 0, 1).astype(np.float32)


def stack(observations: list[np.ndarray], device: Any, phi: Any) -> torch.Tensor:
    """`phi` of a whole batch at once."""
    return torch.from_numpy(np.stack(observations)).permute(0, 3, 1, 2).float()


def make_rdq(tuned: bool) -> RDQ:
    """PFRL's agent with the settings of `SETTING`.

    If `tuned`, with a faster Adam and a faster way to make a batch than PFRL's examples have.
    """
    agent, env = SETTING.agent, SETTING.env
    network = Network(env.observation.shape[-1], env.num_actions)
    optimizer = torch.optim.Adam(
        network.parameters(), lr=agent.learning_rate, eps=agent.adam_epsilon, fused=tuned
    )
    random = np.random.RandomState(0)
    explorer = pfrl.explorers.LinearDecayEpsilonGreedy(
        1.0,
        agent.epsilon_final,
        agent.epsilon_decay_steps,
        lambda: random.randint(env.num_actions),
    )
    return RDQ(
        network,
        optimizer,
        pfrl.replay_buffers.ReplayBuffer(agent.capacity),
        agent.discount,
        explorer,
        replay_start_size=agent.learn_from,
        minibatch_size=agent.batch_size,
        update_interval=4,
        target_update_interval=agent.sync_every,
        phi=phi,
        batch_states=stack if tuned else batch_states,
    )


def as_torch(params: board.Params) -> dict[str, torch.Tensor]:
    """Our weights under PyTorch's names and in its axis orders."""
    channels = params.conv.w.shape[0] // board.KERNEL**2
    kernel = params.conv.w.reshape(board.KERNEL, board.KERNEL, channels, board.FILTERS)
    map_of = (board.SIDE, board.SIDE, board.FILTERS, board.HIDDEN)
    weights = {"conv.weight": kernel.transpose(3, 2, 0, 1), "conv.bias": params.conv.b}
    for name in ("v_hidden", "adv_hidden"):
        # ours flattens the map row by row with its filters inside, PyTorch filter by filter
        w = getattr(params, name).w.reshape(map_of).transpose(3, 2, 0, 1)
        weights[f"{name}.weight"] = w.reshape(board.HIDDEN, -1)
        weights[f"{name}.bias"] = getattr(params, name).b
    for name in ("v", "adv"):
        weights[f"{name}.weight"] = getattr(params, name).w.T
        weights[f"{name}.bias"] = getattr(params, name).b
    return {name: torch.from_numpy(np.array(w)) for name, w in weights.items()}


def load(network: Network, params: board.Params) -> None:
    """Gives PyTorch's network our weights."""
    network.load_state_dict(as_torch(params))
