"""The paper's network and the games' turns on packed boards, fast on GPUs and on CPUs.

Nothing here decides a result: each function computes what a plain one elsewhere says, but for
rounding.

    outputs, advantages   `networks.apply` on packed observations
    update                one step of Adam on a loss, as `jax.grad` of that loss would give
    turns                 `acting.turns`

The first three are in `network`, which chooses between plain code and `kernels` (Triton, for NVIDIA
GPUs). The last is in `acting`, which makes one kernel of a whole turn of a game, by `scalars`.
"""

from qduet.deep.fused.acting import turns
from qduet.deep.fused.network import advantages, outputs, update

__all__ = ["advantages", "outputs", "turns", "update"]
