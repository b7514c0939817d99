"""Networks of one's own for any agent and environment: plain functions, flax and equinox.

    qduet --import own_network train rdq gymnax/CartPole-v1 --network small-flax --out out/mine

run in this directory. A network is two functions over any pytree of parameters:

    init(key, observation, num_actions) -> params        # observation: its shape and type
    apply(params, observation) -> (v, adv)               # V(s) [], A(s, ·) or Q(s, ·) [|A|]
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from flax import linen as nn

from qduet.deep import register_network

WIDTH = 64


# --- Plain functions ------------------------------------------------------------------------------


def init_plain(key, observation, num_actions):
    """One hidden layer for both outputs; V is the first column of the last one."""
    key_hidden, key_last = jax.random.split(key)
    hidden = jax.random.normal(key_hidden, (observation.size, WIDTH)) / observation.size**0.5
    last = jax.random.normal(key_last, (WIDTH, 1 + num_actions)) / WIDTH**0.5
    return {"hidden": hidden, "last": last}


def apply_plain(params, observation):
    """V(s) and A(s, ·)."""
    both = jnp.tanh(observation.reshape(-1) @ params["hidden"]) @ params["last"]
    return both[0], both[1:]


# --- flax -----------------------------------------------------------------------------------------


class SmallFlax(nn.Module):
    """The same in flax."""

    num_actions: int

    @nn.compact
    def __call__(self, observation):
        """V(s) and A(s, ·)."""
        x = nn.tanh(nn.Dense(WIDTH)(observation.reshape(-1)))
        return nn.Dense(1)(x)[0], nn.Dense(self.num_actions)(x)


def init_flax(key, observation, num_actions):
    """The variables of the module; the number of actions is in their shapes."""
    return SmallFlax(num_actions).init(key, jnp.zeros(observation.shape))


def apply_flax(params, observation):
    """V(s) and A(s, ·)."""
    num_actions = params["params"]["Dense_2"]["bias"].shape[0]
    return SmallFlax(num_actions).apply(params, observation)


# --- equinox --------------------------------------------------------------------------------------


class SmallEquinox(eqx.Module):
    """The same in equinox; a module of arrays alone is its own parameters."""

    hidden: eqx.nn.Linear
    v: eqx.nn.Linear
    adv: eqx.nn.Linear

    def __call__(self, observation):
        """V(s) and A(s, ·)."""
        x = jnp.tanh(self.hidden(observation.reshape(-1)))
        return self.v(x)[0], self.adv(x)


def init_equinox(key, observation, num_actions):
    """The module."""
    keys = jax.random.split(key, 3)
    return SmallEquinox(
        eqx.nn.Linear(observation.size, WIDTH, key=keys[0]),
        eqx.nn.Linear(WIDTH, 1, key=keys[1]),
        eqx.nn.Linear(WIDTH, num_actions, key=keys[2]),
    )


register_network("small-plain", init_plain, apply_plain)
register_network("small-flax", init_flax, apply_flax)
register_network("small-equinox", init_equinox, lambda params, observation: params(observation))
